"""Numbers that may be written where another one is, which is 0 wherever an answer is given.

A model is asked behind its input only. A token that every input has, such as >, was seen there: so what was masked by
having seen it is 0, and a number that only the answer is computed from can be added to it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.codes import Codes
from handloom.write.compiler.layering import LayerParts, reads_of, writes_of
from handloom.write.compiler.lowered import PLANE, Column, HeadPart, Lowered, NeuronPart, Read
from handloom.write.compiler.merge import Timed, timed_parts


def shareable(lowered: Lowered, layers: Sequence[LayerParts], codes: Codes) -> dict[str, list[str]]:
    """For numbers that only the answer is computed from: those in whose dimensions they may be written."""
    timed = timed_parts(layers)
    zero = {name: time for name in lowered.bounds if (time := zero_from(name, lowered, timed, codes)) is not None}
    found: dict[str, list[str]] = {}
    for name in lowered.bounds:
        writers = [(time, part) for time, part in timed if name in writes_of(part)]
        readers = [part for _, part in timed if name in reads_of(part)]
        alone = all(isinstance(part, NeuronPart) and writes_of(part) <= set(PLANE) for part in readers)
        if writers and alone and all(isinstance(part, HeadPart) for _, part in writers):
            written = min(time for time, _ in writers)
            found[name] = [
                old
                for old, time in zero.items()
                if time < written and all(read <= written for read, part in timed if old in reads_of(part))
            ]
    return found


def zero_from(name: str, lowered: Lowered, timed: Timed, codes: Codes) -> int | None:
    """From when on a number is 0 wherever an answer is given, whatever the token is; None if it may not be."""
    column = lowered.columns.get(name, Column("token", (0.0,) * len(codes.tokens)))
    writers = [(time, part) for time, part in timed if name in writes_of(part)]
    times = {time for time, _ in writers}
    if column.of != "token" or len(times) != 1 or not all(isinstance(part, NeuronPart) for _, part in writers):
        return None
    known = known_by_token(lowered, timed, codes, min(times))
    total = np.array(column.values)
    for _, part in writers:
        assert isinstance(part, NeuronPart)
        for read, write in part.rows:
            if name in write and not read.keys() <= known.keys():
                return None
            total = total + write.get(name, 0.0) * np.maximum(value_of(read, known), 0) if name in write else total
    return min(times) if np.abs(total).max() < 1e-9 * max(map(abs, lowered.bounds[name])) else None


def known_by_token(lowered: Lowered, timed: Timed, codes: Codes, time: int) -> Mapping[str, Array]:
    """The numbers that the token determines where an answer is given, as long as nothing is added to them."""
    changed = {one for earlier, part in timed if earlier < time for one in writes_of(part)}
    count = len(codes.tokens)
    columns = {one: np.array(c.values) for one, c in lowered.columns.items() if c.of == "token" and one not in changed}
    return {
        "one": np.ones(count),
        **{one: np.zeros(count) for one in lowered.zeros},
        **dict(zip(PLANE, codes.points.T, strict=True)),
        **columns,
    }


def value_of(read: Read, known: Mapping[str, Array]) -> Array:
    return np.sum([amount * known[one] for one, amount in read.items()], axis=0)
