"""Look up a key in a table: the last tokens are the key, and the tokens before them do not matter.

    >>> table = Table([[1, 2, 3], [4, 5, 6]], [4, 7], Vocab.numbers(10))
    >>> table_task(table, block=8).answer("1 2 3 4 5 6")
    '7'

A table may be random, or hold the n-grams of a text: the first words are the key and the last is the value.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.tasks.task import Ids, Task, check_longest, count_of_sequences, whole_within

LARGEST = 10_000  # keys and tokens of a random table: programs compare each with all others


@dataclass(frozen=True, eq=False)
class Table:
    """Keys (entries, length), all different, and for each its value; all are token ids."""

    keys: Array
    values: Array
    vocab: Vocab

    def __post_init__(self) -> None:
        keys, values = np.array(self.keys), np.array(self.values)
        if (
            keys.ndim != 2
            or not keys.size
            or values.shape != keys.shape[:1]
            or {keys.dtype.kind, values.dtype.kind} != {"i"}
        ):
            raise HandloomError("a Table takes keys, all of one length, and a value for each, as token ids")
        if min(keys.min(), values.min()) < 0 or max(keys.max(), values.max()) >= len(self.vocab):
            raise HandloomError(
                f"a Table's tokens must be from 0 to {len(self.vocab) - 1}: its vocabulary has no others"
            )
        if len(set(map(tuple, keys.tolist()))) < len(keys):
            raise HandloomError("a Table's keys must all be different; leave out repeated ones")
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def length(self) -> int:
        """How many tokens a key has."""
        return int(self.keys.shape[1])


def lookup(entries: int = 10, vocab: int = 10, length: int = 5, block: int = 20, seed: int = 0) -> Task:
    """A random table."""
    return table_task(random_table(entries, vocab, length, seed), block)


def random_table(entries: int, vocab: int, length: int, seed: int = 0) -> Table:
    """Different keys and any values, all equally likely."""
    for name, value in (("entries", entries), ("vocab", vocab)):
        whole_within(f"lookup: {name}", value, 1, LARGEST)
    check_longest(f"lookup: length={shown(length)}", whole("lookup: length", length, 1))
    if entries > vocab**length:
        raise HandloomError(f"{entries} keys of {length} tokens need more than {vocab} tokens: give a larger vocab")
    rng = np.random.default_rng(whole("lookup: seed", seed, 0))
    keys: dict[tuple[int, ...], None] = {}
    while len(keys) < entries:
        keys |= dict.fromkeys(map(tuple, rng.integers(0, vocab, (entries, length)).tolist()))
    return Table(np.array(list(keys)[:entries]), rng.integers(0, vocab, entries), Vocab.numbers(vocab))


def ngrams(text: str, n: int = 6, most: int = 1000) -> Table:
    """The first `most` n-grams of a text, each beginning where the last ended: n − 1 words and the word that follows
    them. Words are letters, in lower case. Of n-grams with the same key only the first is kept."""
    whole("ngrams: n", n, 2), whole("ngrams: most", most, 1)
    words = re.findall(r"[^\W\d_]+", text.lower())
    found: dict[tuple[str, ...], str] = {}
    for at in range(0, len(words) - n + 1, n):
        found.setdefault(tuple(words[at : at + n - 1]), words[at + n - 1])
        if len(found) == most:
            break
    if not found:
        raise HandloomError(
            f"the text has {len(words)} words, and an {shown(n)}-gram needs {shown(n)}; give a longer text"
        )
    vocab = Vocab(tuple(dict.fromkeys(word for key, value in found.items() for word in (*key, value))))
    keys = [[vocab.ids[word] for word in key] for key in found]
    return Table(np.array(keys), np.array([vocab.ids[word] for word in found.values()]), vocab)


def table_task(table: Table, block: int) -> Task:
    """Looking up in this table. The inputs are all prefixes with all keys; `every` iterates over them."""
    n, length = table.keys.shape
    room = whole("lookup: block", block, length) - length
    check_longest(f"lookup: block={shown(block)}", block)
    prefixes = count_of_sequences(len(table.vocab), room)
    keys: list[Ids] = table.keys.tolist()
    answers = {tuple(key): [value] for key, value in zip(keys, table.values.tolist(), strict=True)}

    def oracle(ids: Ids) -> Ids | None:
        return answers.get(tuple(ids[len(ids) - length :])) if length <= len(ids) <= block else None

    def draw(rng: np.random.Generator) -> Ids:
        prefix = rng.integers(0, len(table.vocab), rng.integers(0, room + 1)).tolist()
        return [*prefix, *keys[int(rng.integers(n))]]

    def every() -> Iterator[Ids]:
        for size in range(room + 1):
            for prefix in product(range(len(table.vocab)), repeat=size):
                yield from ([*prefix, *key] for key in keys)

    def hard() -> Iterator[Ids]:
        """Every key alone, after the key that follows it in the table, and after as many others as fit."""
        for i, key in enumerate(keys):
            others = [token for j in range(-(-room // length), 0, -1) for token in keys[(i + j) % n]]
            for size in sorted({0, min(length, room), room}):
                yield [*others[len(others) - size :], *key]

    some = ", ".join(table.vocab.decode(key) for key in keys[:3])
    return Task(
        takes=f"up to {block} tokens that end in one of the table's {n} keys: {some}{', …' * (n > 3)}",
        vocab=table.vocab,
        oracle=oracle,
        draw=draw,
        count=None if prefixes is None else n * (1 + prefixes),
        every=every,
        hard=hard,
    )
