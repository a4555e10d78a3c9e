"""Random small programs of the language, for tests: graphs of its words over two or three letters."""

from hypothesis import strategies as st

from handloom.language import (
    END,
    apply,
    at,
    back,
    choose,
    count,
    find,
    first,
    greater,
    greatest,
    latest,
    least,
    lesser,
    mean,
    number,
    position,
    program,
    seen,
    table,
    there,
    token,
)

ASKED = (
    "[ab]{0,3}",
    "[ab]{1,3}>",
    "[abc]{1,3}",
    "[01]{1,4}",
    "[01]{0,3}>",
    "[0-2]{1,3}",
    "a{0,3}b{0,2}",
    "(ab|b){1,2}c",
)
MOST = 5  # values that a program computes


class Draws:
    """Draws a program step by step; texts and numbers are the values so far."""

    def __init__(self, draw, letters):
        self.draw, self.letters = draw, letters
        self.texts, self.numbers = [token], [position, number(token)]

    def one(self, of):
        return self.draw(st.sampled_from(of))

    def text(self):
        return self.one(self.texts)

    def numeral(self):
        return self.one(self.numbers)

    def letter(self):
        return self.one([*self.letters, END])

    def small(self):
        return self.draw(st.integers(-2, 3))

    def flag(self):
        """A condition of here."""
        kinds = [
            lambda: self.text() == self.letter(),
            lambda: self.numeral() == self.small(),
            lambda: self.numeral() < self.numeral(),
            lambda: (self.numeral() >= self.small()) & (self.text() != self.letter()),
            lambda: ~(self.text() == self.letter()) | (self.numeral() > self.small()),
        ]
        return self.one(kinds)()

    def where(self):
        """A condition of here and there."""
        kinds = [
            lambda: there(self.text()) == self.letter(),
            lambda: there(self.text()) == self.text(),
            lambda: there(self.numeral()) == self.numeral() + self.small(),
            lambda: there(self.flag()),
            lambda: (there(self.text()) == self.text()) & there(self.flag()),
            lambda: (there(self.text()) == self.letter()) & self.flag(),
            lambda: (there(self.numeral()) == self.numeral()) & (there(self.text()) == self.text()),
        ]
        return self.one(kinds)()

    def new_text(self):
        kinds = [
            lambda: at(self.numeral(), self.text()),
            lambda: back(self.draw(st.integers(0, 3)), self.text()),
            lambda: latest(self.text(), where=self.where(), otherwise=self.one([None, self.letter()])),
            lambda: first(self.text(), where=self.where(), otherwise=self.one([None, self.letter()])),
            lambda: choose(self.flag(), self.text(), self.text()),
            lambda: choose(self.flag(), self.letter(), self.text()),
            lambda: greatest(self.numeral(), self.text(), otherwise=self.letter()),
            lambda: least(self.numeral(), self.text(), where=self.where()),
            lambda: table({self.letter(): self.letter(), END: END}, self.text(), otherwise=self.letter()),
        ]
        return self.one(kinds)()

    def new_number(self):
        kinds = [
            lambda: self.numeral() + self.numeral(),
            lambda: 2 * self.numeral() - self.numeral() + self.small(),
            lambda: self.numeral() % 3,
            lambda: self.numeral() // 2,
            lambda: greater(self.numeral(), self.numeral()),
            lambda: lesser(self.numeral(), self.small()),
            lambda: self.flag(),
            lambda: find(self.letter()),
            lambda: count(self.where()),
            lambda: seen(self.where()),
            lambda: at(self.numeral(), self.numeral()),
            lambda: latest(self.numeral(), where=self.where(), otherwise=self.one([None, self.small()])),
            lambda: first(self.numeral(), where=self.where(), otherwise=self.one([None, self.small()])),
            lambda: least(self.numeral(), where=self.where(), otherwise=self.small()),
            lambda: greatest(self.numeral(), self.numeral()),
            lambda: mean(self.numeral()),
            lambda: mean(self.flag(), where=self.where(), otherwise=self.small()),
            lambda: apply(lambda a, b: (a * b) % 4, self.numeral(), self.numeral()),
        ]
        return self.one(kinds)()


@st.composite
def programs(draw):
    """A random program whose answer has one or two tokens."""
    asks = draw(st.sampled_from(ASKED))
    steps = draw(st.integers(1, 2))
    letters = sorted({character for character in asks if character.isalnum()} & set("abc012" if "{" in asks else "abc"))

    @program(asks=asks, steps=steps)
    def drawn():
        draws = Draws(draw, letters)
        for _ in range(draw(st.integers(1, MOST))):
            if draw(st.booleans()):
                draws.texts.append(draws.new_text())
            else:
                draws.numbers.append(draws.new_number())
        return draws.one([draws.texts[-1], draws.numbers[-1], draws.new_text(), draws.new_number()])

    return drawn
