"""The greatest common divisor, and sums modulo a number: tasks from papers on small transformers.

>>> gcd().answer("+160+120=")
'+40'
>>> gcd(base=100).answer("+ 1 60 + 1 20 =")
'+ 40'
>>> addition_modulo(113).answer("100 50 =")
'37'
"""

import math
from collections.abc import Iterator

import numpy as np

from handloom.core import Vocab
from handloom.tasks.number_tokens import read_integer, write_integer
from handloom.tasks.sums import Pair
from handloom.tasks.task import Ids, Task, whole_within

EOS = "<eos>"


def gcd(most: int = 1000, base: int = 10) -> Task:
    """The greatest common divisor of two numbers from 1 to `most`, in that base, followed by <eos>.

    (Charton, "Learning the greatest common divisor", 2023; he takes numbers up to a million.)
    """
    whole_within("gcd: most", most, 1, 10**18)
    whole_within("gcd: base", base, 2, 100_000)
    vocab = Vocab(("+", *map(str, range(base)), "=", EOS), "" if base <= 10 else " ", eos=EOS)

    def write(tokens: list[str]) -> Ids:
        return [vocab.ids[token] for token in tokens]

    def ask(a: int, b: int) -> Ids:
        return write([*write_integer(a, base), *write_integer(b, base), "="])

    def oracle(ids: Ids) -> Ids | None:
        pair = read_pair([vocab.tokens[i] for i in ids], base)
        if pair is None or not 1 <= min(pair) <= max(pair) <= most:
            return None
        return write([*write_integer(math.gcd(*pair), base), EOS])

    def formed(output: Ids) -> bool:
        *number, end = [vocab.tokens[i] for i in output] or [""]
        return end == EOS and read_integer(number, base) is not None

    example = vocab.decode(ask(min(160, most), min(120, most)))
    return Task(
        takes=f"two numbers from 1 to {most} in base {base}, such as {example}",
        vocab=vocab,
        oracle=oracle,
        draw=lambda rng: ask(*rng.integers(1, most + 1, 2).tolist()),
        count=most**2,
        every=lambda: (ask(a, b) for a in range(1, most + 1) for b in range(1, most + 1)),
        hard=lambda: (ask(*pair) for a, b in telling_pairs(most) for pair in ((a, b), (b, a))),
        formed=formed,
    )


def read_pair(tokens: list[str], base: int) -> Pair | None:
    """The two numbers of a question: + a + b =."""
    if tokens[-1:] != ["="] or "+" not in tokens[1:]:
        return None
    second = tokens.index("+", 1)
    a, b = read_integer(tokens[:second], base), read_integer(tokens[second:-1], base)
    return None if a is None or b is None else (a, b)


def telling_pairs(most: int) -> Iterator[Pair]:
    """The ends, neighbours, equals, multiples, and Fibonacci numbers, on which Euclid's algorithm takes longest."""
    yield from ((1, 1), (1, most), (most, most), (most, max(most - 1, 1)), (most, (most + 1) // 2))
    for n in range(2, math.isqrt(min(most, 10_000)) + 1):
        yield from ((n, n), (n, n * (most // n)), (n - 1, n), (n * (n - 1), n * n))
    a, b = 1, 1
    while b <= most:
        yield a, b
        a, b = b, a + b


def addition_modulo(modulus: int = 113) -> Task:
    """a b = c, where c is a + b modulo a number, and each of the three is one token: the task on which grokking was
    discovered. (Power et al. 2022; Nanda et al. 2023, with 113.)"""
    p = whole_within("modular-addition: modulus", modulus, 2, 100_000)
    equals = p
    numbers = range(p)

    def oracle(ids: Ids) -> Ids | None:
        if len(ids) != 3 or ids[2] != equals or equals in ids[:2]:
            return None
        return [(ids[0] + ids[1]) % p]

    def draw(rng: np.random.Generator) -> Ids:
        return [*rng.integers(0, p, 2).tolist(), equals]

    return Task(
        takes=f"two numbers from 0 to {p - 1} and then =, such as {p - 1} {p // 2} =",
        vocab=Vocab((*map(str, numbers), "=")),
        oracle=oracle,
        draw=draw,
        count=p**2,
        every=lambda: ([a, b, equals] for a in numbers for b in numbers),
        hard=lambda: ([a, b, equals] for a in numbers for b in ((p - 1 - a) % p, (p - a) % p)),
        formed=lambda output: len(output) == 1 and output[0] in numbers,
    )
