"""Find the last tokens earlier in the text, and say what followed them there."""

import numpy as np

from handloom.core import Vocab
from handloom.tasks.task import Ids, Task


def search(tokens: int = 10, length: int = 3, block: int = 100) -> Task:
    """The last `length` tokens stand once before; what came after them there is to be said."""

    def oracle(ids: Ids) -> Ids | None:
        query = ids[len(ids) - length :]
        places = [at for at in range(len(ids) - length) if ids[at : at + length] == query]
        return [ids[places[0] + length]] if len(places) == 1 and len(ids) <= block else None

    def draw(rng: np.random.Generator) -> Ids:
        while True:
            text = rng.integers(0, tokens, rng.integers(length + 1, max(length + 2, block - length + 1))).tolist()
            at = int(rng.integers(0, len(text) - length))
            whole = [*text, *text[at : at + length]]
            if oracle(whole):
                return whole

    return Task(
        takes=f"up to {block} tokens, the last {length} of which stand once before, such as {example(tokens, length)}",
        vocab=Vocab.numbers(tokens),
        oracle=oracle,
        draw=draw,
    )


def example(tokens: int, length: int) -> str:
    text = [i % tokens for i in range(1, length + 2)]
    return " ".join(map(str, [*text, *text[:length]]))
