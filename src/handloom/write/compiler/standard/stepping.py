"""Programs that go through their input step by step, and say each step: so they can be as deep as the input is long."""

from typing import Any

from handloom.core import HandloomError
from handloom.language import (
    END,
    apply,
    at,
    back,
    find,
    first,
    greater,
    latest,
    number,
    position,
    program,
    there,
    token,
)
from handloom.write.compiler.source import TokenProgram
from handloom.write.compiler.values import Value

S3 = "120453,345012"  # the six permutations of three things: a turns, b swaps


def parity(n: int = 10) -> TokenProgram:
    @program(asks=f"[01]{{0,{n}}}>")
    def parity() -> Any:
        bit = at(position - find(">") + 1, apply(lambda text: {"0": 0, "1": 1}.get(text, 2), token))
        return apply(lambda parity, bit: END if bit == 2 else (parity + bit) % 2, number(token), bit)

    return parity


def automaton(n: int = 8, table: str = S3) -> TokenProgram:
    """`table` has a word per letter, a, b, …: the state behind each state."""
    words = table.split(",")
    if not all(word.isdecimal() and len(word) == len(words[0]) > max(map(int, word)) for word in words):
        raise HandloomError(f"table: {table} (expected words of digits below their length, such as 10,01)")
    following = {(str(state), chr(97 + i)): next for i, word in enumerate(words) for state, next in enumerate(word)}

    @program(asks=f"[a-{chr(96 + len(words))}]{{0,{n}}}>" if len(words) > 1 else f"a{{0,{n}}}>")
    def automaton() -> Any:
        letter = at(position - find(">") + 1, apply(letter_or_end, token))
        return apply(lambda state, letter: following.get((str(state), letter), END), number(token), letter)

    return automaton


def letter_or_end(text: str) -> str:
    return text if text.isalpha() else END


def increment(n: int = 6) -> TokenProgram:
    """What is behind the last 0 becomes 0, and that 0 becomes 1; if there is none, a 1 is put in front."""

    @program(asks=f"[01]{{1,{n}}}>")
    def increment() -> Any:
        zero = first(latest(position, where=there(token) == "0", otherwise=0), where=there(token) == ">")
        place = position - find(">") + (zero > 0)
        bit = at(place, apply(lambda text: {"0": 0, "1": 1}.get(text, 2), token))
        side = apply(lambda difference: (difference > 0) - (difference < 0), place - zero)
        return apply(lambda bit, side: END if bit == 2 and side else (1, 0, bit)[side], bit, side)

    return increment


def sum_of_digits() -> tuple[Value, Value]:
    """In an addition, least digit first: the next two digits with their carry, and whether both numbers are over."""
    plus, equals, digit = find("+"), find("="), number(token)
    said = position - equals

    def pair(k: Value) -> Value:
        return at(plus - 1 - k, digit) + at(greater(equals - 1 - k, plus), digit)

    carry = pair(said - 1) - digit >= 5  # the digit that was said tells whether it carried
    return pair(said) + carry, said >= greater(plus - 1, equals - plus - 1)


def addition(digits: int = 10) -> TokenProgram:
    @program(asks=f"[0-9]{{1,{digits}}}[+][0-9]{{1,{digits}}}=")
    def addition() -> Any:
        total, over = sum_of_digits()
        return apply(lambda s, over: s % 10 if not over else (END, 1)[min(s, 1)], total, over)

    return addition


def scratch_addition(digits: int = 10) -> TokenProgram:
    """Behind >, nothing is left to add; digits are fetched backwards, up to =, and are 2 more than they are."""

    @program(asks=f"[0-9]{{1,{digits}}}[+][0-9]{{1,{digits}}}=")
    def scratch_addition() -> Any:
        total, over = sum_of_digits()
        fetched = at(2 * find(">") - position - 1, apply(two_more, token))
        answers = (">", 1, *range(10), END)

        def answer(s: int, over: bool) -> object:
            """Two digits add up to 19 at most; beyond, all is the same up to the first answer behind them."""
            if over:
                return answers[min(s, len(answers) - 1)]
            return s % 10 if s < 20 else answers[0]

        return apply(answer, total + fetched, over)

    return scratch_addition


def two_more(text: str) -> int:
    return int(text) + 2 if text.isdecimal() else 12 if text == "=" else 0


def fibonacci(terms: int = 8) -> TokenProgram:
    @program(asks="[0-9][0-9]", steps=terms)
    def fibonacci() -> Any:
        return (number(token) + back(1, number(token))) % 10

    return fibonacci
