"""Sequences on which attention is studied: induction, hops, Markov chains in context, parity and brackets.

    >>> induction().answer("dkcbjd")            # what followed d when it last occurred?
    'k'
    >>> hops(4, "1-20", hops=2).answer("bdacabda")  # after the last a came b, and after the b before this one came d
    'd'
    >>> parity().answer("10110=")
    '1'
    >>> dyck(kinds=2).right("([])()"), dyck(kinds=2).right("([)]")
    (True, False)

`length` is a number or a range, such as 100 or 1-20; all lengths of a range are equally likely.
"""

from bisect import bisect
from collections.abc import Iterator
from itertools import pairwise, product
from string import ascii_lowercase

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.tasks.language import Language
from handloom.tasks.strings import in_words, lengths
from handloom.tasks.task import Ids, Task, whole_within

LONGEST = 1000
NONE = "⊥"
OPENING, CLOSING = "([{<", ")]}>"


def induction(symbols: int = 20, length: str = "2-20") -> Task:
    """Random symbols of which the last has occurred before: what followed it the last time? (… a b … a gives b.)

    Every place before the last is equally likely to be the one that the last symbol repeats. (Olsson et al.,
    "In-context learning and induction heads", 2022.)
    """
    low, high = lengths_within("induction", length, least=2)
    tokens = symbol_tokens("induction", symbols)
    vocab = vocab_of(tokens)

    def oracle(ids: Ids) -> Ids | None:
        at = hop(ids, len(ids) - 1) if low <= len(ids) <= high else None
        return None if at is None else [ids[at]]

    def draw(rng: np.random.Generator) -> Ids:
        ids: Ids = rng.integers(0, symbols, rng.integers(low, high + 1)).tolist()
        ids[-1] = ids[rng.integers(len(ids) - 1)]
        return ids

    return Task(
        takes=f"{in_words(low, high)} symbols from {tokens[0]} to {tokens[-1]}, of which the last occurred before, "
        f"such as {vocab.decode([0, 1, 0] if low <= 3 <= high else [0] * low)}",
        vocab=vocab,
        oracle=oracle,
        draw=draw,
        count=sum(symbols**size - symbols * (symbols - 1) ** (size - 1) for size in range(low, high + 1)),
        every=lambda: (ids for ids in every_sequence(symbols, low, high) if ids[-1] in ids[:-1]),
        hard=lambda: (ids for ids in telling_sequences(symbols, low, high) if ids[-1] in ids[:-1]),
        formed=lambda answer: len(answer) == 1 and answer[0] < symbols,
    )


def hops(symbols: int = 4, length: str = "20", hops: int = 2) -> Task:
    """k-hop induction: from the last symbol, go to the place after its last earlier occurrence, and from there again, k
    times. The answer is the symbol one arrives at, or ⊥ if a hop is impossible. (Sanford, Hsu and Telgarsky,
    "Transformers, parallel computation, and logarithmic depth", 2024.)
    """
    low, high = lengths_within("hops", length)
    tokens = symbol_tokens("hops", symbols)
    vocab = vocab_of((*tokens, NONE))
    whole_within("hops: hops", hops, 1, LONGEST)

    def oracle(ids: Ids) -> Ids | None:
        if not low <= len(ids) <= high or symbols in ids:
            return None
        at: int | None = len(ids) - 1
        for _ in range(hops):
            if at is None:
                break
            at = hop(ids, at)
        return [symbols if at is None else ids[at]]

    return Task(
        takes=f"{in_words(low, high)} symbols from {tokens[0]} to {tokens[-1]}, "
        f"such as {vocab.decode(([0, 0, 1] * LONGEST)[: min(high, max(low, 8))])}",
        vocab=vocab,
        oracle=oracle,
        draw=lambda rng: rng.integers(0, symbols, rng.integers(low, high + 1)).tolist(),
        count=sum(symbols**size for size in range(low, high + 1)),
        every=lambda: every_sequence(symbols, low, high),
        hard=lambda: telling_sequences(symbols, low, high),
        formed=lambda answer: len(answer) == 1,
    )


def hop(ids: Ids, at: int) -> int | None:
    """The place after the last earlier occurrence of the symbol at this place."""
    for before in range(at - 1, -1, -1):
        if ids[before] == ids[at]:
            return before + 1
    return None


def parity(length: str = "1-20") -> Task:
    """Is the number of ones odd? Zeros and ones and then =, and the answer is 0 or 1."""
    low, high = lengths_within("parity", length)
    equals = 2

    def oracle(ids: Ids) -> Ids | None:
        bits = ids[:-1]
        return [sum(bits) % 2] if ids[-1:] == [equals] and equals not in bits and low <= len(bits) <= high else None

    def hard() -> Iterator[Ids]:
        """No ones, all ones, and a single one or a single zero at any place."""
        for size in range(low, high + 1):
            for bit in (0, 1):
                yield [bit] * size + [equals]
                yield from ([bit] * at + [1 - bit] + [bit] * (size - at - 1) + [equals] for at in range(size))

    example = ("10110" * LONGEST)[: min(high, max(low, 5))]
    return Task(
        takes=f"{in_words(low, high)} zeros and ones and then =, such as {example}=",
        vocab=Vocab.of("01="),
        oracle=oracle,
        draw=lambda rng: [*rng.integers(0, 2, rng.integers(low, high + 1)).tolist(), equals],
        count=2 ** (high + 1) - 2**low,
        every=lambda: ([*bits, equals] for bits in every_sequence(2, low, high)),
        hard=hard,
        formed=lambda answer: answer in ([0], [1]),
    )


def markov(symbols: int = 3, length: str = "100") -> Language:
    """Markov chains, each with its own transition probabilities: they can only be learned in context.

    The rows of a chain's matrix are uniform among all distributions (Dirichlet with all ones), and so is the first
    symbol, so that `bigram_predictions` is the best prediction. (Edelman et al., "The evolution of statistical
    induction heads", 2024.) Every string of the right length can be drawn, so every one is right; how well a model has
    learned them shows in its loss, compared with `markov_loss`.
    """
    low, high = lengths_within("markov", length)
    tokens = symbol_tokens("markov", symbols, most=len(ascii_lowercase))

    def draw(rng: np.random.Generator) -> str:
        rows = np.cumsum(rng.standard_exponential((symbols, symbols)), axis=1)  # divided by their sums: Dirichlet
        chances: list[list[float]] = (rows[:, :-1] / rows[:, -1:]).tolist()
        state = int(rng.integers(symbols))
        states = [state]
        for luck in rng.random(int(rng.integers(low, high + 1)) - 1).tolist():
            state = bisect(chances[state], luck)
            states.append(state)
        return "".join([tokens[state] for state in states])

    return Language(
        about=f"Markov chains of {in_words(low, high)} symbols from {tokens[0]} to {tokens[-1]}, each with its own "
        f"transition probabilities, such as {beginning(draw(np.random.default_rng(0)))}",
        tokens=tokens,
        longest=high,
        draw=draw,
        right=lambda text: True,
        formed=lambda text: low <= len(text) <= high,
    )


def bigram_predictions(states: Ids, symbols: int) -> Array:
    """The best prediction of each symbol of `markov` from those before it: (T, symbols), each row sums to 1.

    It counts which symbols have followed the present one, adds one to each count and divides by their sum: the mean of
    the posterior distribution of a row of the chain's matrix. Before the first symbol all are equally likely.
    """
    counts = np.ones((symbols, symbols))
    predicted = np.full((len(states), symbols), 1 / symbols)
    for t, (state, following) in enumerate(pairwise(states), start=1):
        predicted[t] = counts[state] / counts[state].sum()
        counts[state, following] += 1
    return predicted


def markov_loss(text: str, symbols: int = 3, length: str = "100") -> float:
    """The loss of the best predictor on a string of `markov(symbols, length)`: nats per token, <end> counted as a
    token.

    It knows the possible lengths, which are equally likely; this costs ln(number of lengths) per string.
    """
    low, high = lengths_within("markov", length)
    tokens = symbol_tokens("markov", symbols, most=len(ascii_lowercase))
    states = vocab_of(tokens).encode(text)
    if not low <= len(states) <= high:
        raise HandloomError(f"markov_loss takes {low} to {high} symbols; it was given {len(states)}: {shown(text)}")
    chances = bigram_predictions(states, symbols)[range(len(states)), states]
    return float(np.log(high - low + 1) - np.log(chances).sum()) / (len(states) + 1)


def dyck(kinds: int = 1, length: str = "2-40", depth: int = 20) -> Language:
    """Balanced brackets of one to four kinds, nested up to `depth`: all words of one length are equally likely."""
    whole_within("dyck: kinds", kinds, 1, len(OPENING))
    whole("dyck: depth", depth, 1)
    low, high = lengths_within("dyck", length)
    if low == high and high % 2:
        raise HandloomError(f"dyck: length={shown(length)} must have an even number in it: brackets come in pairs")
    opens = opening_chances(high, depth)

    def draw(rng: np.random.Generator) -> str:
        size = 2 * int(rng.integers((low + 1) // 2, high // 2 + 1))
        which = rng.integers(0, kinds, size).tolist()
        word: list[str] = []
        owed: list[str] = []
        for left, luck, kind in zip(range(size, 0, -1), rng.random(size).tolist(), which, strict=True):
            if luck < opens[left][len(owed)]:
                word.append(OPENING[kind])
                owed.append(CLOSING[kind])
            else:
                word.append(owed.pop())
        return "".join(word)

    return Language(
        about=f"{in_words(low, high)} balanced brackets of {kinds} kind{'s' * (kinds != 1)}, at most {depth} deep, "
        f"such as {beginning(draw(np.random.default_rng(0)))}",
        tokens=OPENING[:kinds] + CLOSING[:kinds],
        longest=high,
        draw=draw,
        right=lambda text: 0 <= nesting(text) <= depth,
        formed=lambda text: low <= len(text) <= high,
    )


def nesting(word: str) -> int:
    """How deep balanced brackets are nested, or −1 if they are not balanced."""
    owed: list[str] = []
    deepest = 0
    for bracket in word:
        if bracket in OPENING:
            owed.append(CLOSING[OPENING.index(bracket)])
            deepest = max(deepest, len(owed))
        elif not owed or owed.pop() != bracket:
            return -1
    return -1 if owed else deepest


def opening_chances(longest: int, depth: int) -> list[list[float]]:
    """[left][open]: how likely the next bracket opens, in a uniform balanced word, given how many brackets are left and
    how many are open."""
    top = min(depth, longest // 2)
    # how likely a fair walk from a height is at 0 after some steps, and never left 0 … top in between
    home = np.zeros((longest + 1, top + 2))
    home[0, 0] = 1
    for left in range(1, longest + 1):
        home[left, :-1] = home[left - 1, 1:] / 2
        home[left, 1:-1] += home[left - 1, :-2] / 2
    chances = np.zeros((longest + 1, top + 1))
    np.divide(home[:-1, 1:] / 2, home[1:, :-1], out=chances[1:], where=home[1:, :-1] > 0)
    return chances.tolist()


def every_sequence(symbols: int, low: int, high: int) -> Iterator[Ids]:
    return (list(ids) for size in range(low, high + 1) for ids in product(range(symbols), repeat=size))


def telling_sequences(symbols: int, low: int, high: int) -> Iterator[Ids]:
    """One symbol only; all symbols in turn; and one symbol that returns after all the others."""
    for size in sorted({low, (low + high) // 2, high}):
        for symbol in {0, symbols - 1}:
            yield [symbol] * size
            yield [(symbol + i) % symbols for i in range(size)]
            for at in range(size):
                others = [(symbol + 1 + i % (symbols - 1)) % symbols for i in range(size)]
                others[at] = others[-1] = symbol
                yield others


def lengths_within(name: str, length: str, least: int = 1) -> tuple[int, int]:
    """The shortest and the longest; beyond a thousand, tables and counts of all inputs would be too large."""
    low, high = lengths(str(length))
    if low < least or high > LONGEST:
        raise HandloomError(f"{name}: length={shown(length)} must be from {least} to {LONGEST}")
    return low, high


def symbol_tokens(name: str, symbols: int, most: int = 1000) -> tuple[str, ...]:
    """Letters, or numbers if there are more symbols than letters."""
    whole_within(f"{name}: symbols", symbols, 2, most)
    return tuple(ascii_lowercase[:symbols]) if symbols <= len(ascii_lowercase) else tuple(map(str, range(symbols)))


def vocab_of(tokens: tuple[str, ...]) -> Vocab:
    return Vocab(tokens, "" if all(len(token) == 1 for token in tokens) else " ")


def beginning(text: str) -> str:
    return text if len(text) <= 20 else text[:20] + "…"
