"""Find the last tokens earlier in the text, and output what followed them there."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.errors import shown
from handloom.tasks.task import Ids, Task, check_longest

FEW = 50_000  # texts that are cheap to enumerate when a task is made


def search(tokens: int = 10, length: int = 3, block: int = 100) -> Task:
    """The last `length` tokens occur once before; the answer is the token that followed them there."""
    return searching(tokens, length, block, phantoms=True)


def book_search(tokens: int = 10, length: int = 3, block: int = 100) -> Task:
    """The same, except that texts with a phantom are not inputs."""
    return searching(tokens, length, block, phantoms=False)


def has_phantom(ids: Ids, length: int) -> bool:
    """Whether the last tokens would occur at the beginning too, if the first token were repeated before it.

    A head that looks further back than there is text sees the first token, so that the book's construction takes
    1 2 4 … for 1 1 1 2 4 …, and finds 1 1 2 there."""
    query = ids[len(ids) - length :]
    return any([ids[0]] * (length - at) + ids[:at] == query for at in range(length))


def searching(tokens: int, length: int, block: int, phantoms: bool) -> Task:
    if tokens < 1 or length < 1 or block <= length:
        given = f"tokens={shown(tokens)}, length={shown(length)}, block={shown(block)}"
        raise HandloomError(
            f"{given}: search needs at least 1 token, a length of at least 1 and a block of at least one more"
        )
    check_longest(f"block={shown(block)}", block)
    vocab = Vocab.numbers(tokens)

    def oracle(ids: Ids) -> Ids | None:
        query = ids[len(ids) - length :]
        places = [at for at in range(len(ids) - length) if ids[at : at + length] == query]
        if len(places) != 1 or len(ids) > block or (not phantoms and has_phantom(ids, length)):
            return None
        return [ids[places[0] + length]]

    def draw(rng: np.random.Generator) -> Ids:
        while True:
            text = rng.integers(0, tokens, rng.integers(1, block - length + 1)).tolist()
            if oracle(whole := ask(text, int(rng.integers(0, len(text))), length)):
                return whole

    def hard() -> Iterator[Ids]:
        rng = np.random.default_rng(0)
        for ids in hard_texts(tokens, length, block, rng):
            if oracle(ids):
                yield ids

    def every() -> Iterator[Ids]:
        texts = (list(ids) for size in range(length + 1, block + 1) for ids in product(range(tokens), repeat=size))
        return (ids for ids in texts if oracle(ids))

    few = sum(tokens**size for size in range(min(block, 40) + 1)) <= FEW and block < 40
    beginning = "" if phantoms else ", and not at the beginning with the first token repeated before it"
    return Task(
        takes=f"up to {block} tokens, the last {length} of which occur once before{beginning}, "
        f"such as {example(tokens, length)}",
        vocab=vocab,
        oracle=oracle,
        draw=draw,
        count=sum(1 for _ in every()) if few else None,
        every=every if few else None,
        hard=hard,
    )


def ask(text: Ids, at: int, length: int) -> Ids:
    """A text, and after it again the `length` tokens that begin at a place in it (and may reach into themselves)."""
    whole = list(text)
    for k in range(length):
        whole.append(whole[at + k])
    return whole


def hard_texts(tokens: int, length: int, block: int, rng: np.random.Generator) -> Iterator[Ids]:
    """Texts, most of them inputs: as long as the block or as short as possible, with the first and the last possible
    place, with phantoms, and with all queries that differ from the right one in one token, by one (also for numbers at
    the ends, where constructions have the least room)."""
    for _ in range(20):
        for size in {1, 2, length + 1, (block - length) // 2 + 1, block - length}:
            text = rng.integers(0, tokens, max(size, 1)).tolist()
            for at in {0, 1, length, len(text) - length, len(text) - 1}:
                if 0 <= at < len(text):
                    yield ask(text, at, length)
        for at in range(length):
            yield with_phantom(at, tokens, length, block, rng)
        for among in ({0, tokens - 1}, {0, 1, tokens - 2, tokens - 1}, range(tokens)):
            query = rng.choice([token for token in among if 0 <= token < tokens], length).tolist()
            yield from near_misses(query, tokens, block, rng)


def with_phantom(at: int, tokens: int, length: int, block: int, rng: np.random.Generator) -> Ids:
    """A text in which the query seems to end just before position `at`."""
    start = rng.integers(0, tokens, at + 1).tolist()
    query = [start[0]] * (length - at) + start[:at]
    rest = rng.integers(0, tokens, max(0, block - len(start) - 2 * length)).tolist()
    cut = int(rng.integers(0, len(rest) + 1))
    return [*start, *rest[:cut], *query, *rest[cut:], *query]


def near_misses(query: Ids, tokens: int, block: int, rng: np.random.Generator) -> Iterator[Ids]:
    """The query among queries that are almost it, with any tokens after them, once before them and once after."""
    length, text = len(query), list[int]()
    for k in range(length):
        for change in (1, -1):
            miss = list(query)
            miss[k] += change
            if 0 <= miss[k] < tokens and len(text) + 3 * length + 2 <= block:
                text += [*miss, int(rng.integers(0, tokens))]
    right = [*query, int(rng.integers(0, tokens))]
    yield [*right, *text, *query]
    yield [*text, *right, *query]


def example(tokens: int, length: int) -> str:
    text = [i % tokens for i in range(1, length + 2)]
    return " ".join(map(str, [*text, *text[:length]]))
