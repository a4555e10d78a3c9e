"""What the model of a run trains on: the constructions of the pool, or images of them; and those it is measured on.

A tenth of the pool is never trained on. The model's loss on it, in nats per construction, stands beside that of the
pool's marginals, which say of each cell how often it is chosen and know nothing else. Where the model is no better,
its samples cannot be expected to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from handloom.discover.loop.ledger import Member
from handloom.discover.model.codec import Codec
from handloom.discover.model.images import Image
from handloom.discover.model.nulls import cells
from handloom.discover.model.orbit_writing import Orbitwise
from handloom.discover.spaces import Construction

ENOUGH = 100  # constructions from which on some are held out
ONE_IN = 10


@dataclass(frozen=True)
class Examples:
    """Constructions to train on, each with its member of the pool, and others to measure on."""

    trained: list[Construction]
    members: list[Member]
    held_out: list[Construction]


def examples_of(
    pool: Sequence[Member], codec: Codec, image: Image | None, count: int, rng: np.random.Generator
) -> Examples:
    """The pool as the codec can write it. With a count, that many images of each; otherwise itself."""
    fitting = [(member, some) for member in pool if (some := as_written(member, codec)) is not None]
    many = len(fitting) >= ENOUGH
    trained, members, held_out = list[Construction](), list[Member](), list[Construction]()
    for member, some in fitting:
        drawn = [some] if image is None or not count else [image(some, rng) for _ in range(count)]
        if many and is_held_out(member):
            held_out += drawn[:1]
        else:
            trained += drawn
            members += [member] * len(drawn)
    return Examples(trained, members, held_out)


def as_written(member: Member, codec: Codec) -> Construction | None:
    """The construction of a member that is written; None for one that has not the symmetry of the orbits."""
    if not isinstance(codec.writing, Orbitwise):
        return member.construction
    return member.as_found if codec.writing.whole(member.as_found) else None


def is_held_out(member: Member) -> bool:
    """Of equal constructions always the same answer, in every generation."""
    return crc32(np.array(member.construction, np.int32).tobytes()) % ONE_IN == 0


def marginal_loss(codec: Codec, trained: Sequence[Construction], held_out: Sequence[Construction]) -> float:
    """Nats per construction of those held out, by the frequencies of each cell alone."""
    space = codec.spaces[0]
    if not space.is_subset:
        return by_places(np.array(trained), np.array(held_out), len(space.elements))
    orbits = codec.writing if isinstance(codec.writing, Orbitwise) else None
    known, asked = (cells(space, some, orbits) for some in (trained, held_out))
    p = (known.sum(axis=0) + 0.5) / (len(known) + 1)
    return float(-np.where(asked, np.log(p), np.log(1 - p)).sum(axis=1).mean())


def by_places(known: Any, asked: Any, letters: int) -> float:
    counts = np.array([np.bincount(column, minlength=letters) for column in known.T])
    p = (counts + 0.5) / (len(known) + 0.5 * letters)
    return float(-np.log(p[np.arange(asked.shape[1]), asked]).sum(axis=1).mean())
