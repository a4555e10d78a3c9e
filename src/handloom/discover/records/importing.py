"""Constructions from files, verified and kept.

import_constructions("by_hand.txt", store, "no-three-in-line:n=10")
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.callbacks import Progress
from handloom.core.files import as_path
from handloom.discover.catalogue import problem_named
from handloom.discover.problem import Problem
from handloom.discover.records.exchange import constructions, written_in
from handloom.discover.records.selection import Asked, is_asked, problem_of
from handloom.discover.records.store import Find, NotLegal, Record, Store
from handloom.discover.spaces import Construction

AT_ONCE = 100  # constructions in one transaction
ORIGIN = {"how": "import", "symmetry": None, "seed": 0, "run": None, "generation": 0, "parent": None}


@dataclass(frozen=True)
class Imported:
    """What became of the constructions in a file."""

    new: list[Record]
    existing: int  # how many the store had already
    refused: list[str]  # why, of each that is not legal

    @property
    def count(self) -> int:
        return len(self.new) + self.existing + len(self.refused)


@dataclass(frozen=True)
class Offer:
    """A construction from a file, to be kept if it is legal."""

    problem: Problem
    construction: Construction
    origin: dict[str, Any]


def import_constructions(
    path: str | os.PathLike[str], store: Store, asked: Asked = None, progress: Progress = lambda done, most: None
) -> Imported:
    """Verify the constructions in a file and keep those that are legal. A file that cannot be read to its end raises
    an error, and nothing of it is kept."""
    from handloom.discover.search.canonical import form_of  # Numba takes a second to load

    offers = offers_in(as_path(path), asked)
    problems = {offer.problem.name: offer.problem for offer in offers}
    form = {name: form_of(problem) for name, problem in problems.items()}
    for problem in problems.values():
        store.check_same(problem)
    kept: list[Record | NotLegal | None] = []
    for problem, some in together(offers):
        progress(len(kept), len(offers))
        finds = [Find(one.construction, one.origin, form[problem.name](one.construction)) for one in some]
        kept += store.add_all(problem, finds)
    refused = [f"number {number}, of {one}" for number, one in enumerate(kept, 1) if isinstance(one, NotLegal)]
    new = [one for one in kept if isinstance(one, Record)]
    return Imported(new, len(kept) - len(new) - len(refused), refused)


def together(offers: Sequence[Offer]) -> Iterator[tuple[Problem, list[Offer]]]:
    """The offers in their order, as many of one problem as are stored at once."""
    for _, same in groupby(offers, key=lambda offer: offer.problem.name):
        some = list(same)
        for first in range(0, len(some), AT_ONCE):
            yield some[0].problem, some[first : first + AT_ONCE]


def import_one(problem: Problem, construction: Construction, store: Store, file: str) -> Record:
    """Verify a construction that somebody has made, and keep it. `file` says where it is from. One that the store has
    already, in this form or another, raises an error."""
    from handloom.discover.search.canonical import form_of

    store.check_same(problem)
    key = form_of(problem)(construction)
    record = store.add(problem, construction, ORIGIN | {"file": file, "said": {}}, key)
    if record is None:
        same = store.find(problem, key)
        exact = problem.space.read(same.construction) == construction
        how = "" if exact else ", which is the same up to symmetry"
        raise HandloomError(f"{problem}: the construction is record {same.id} already{how}; change it")
    return record


def offers_in(path: Path, asked: Asked) -> list[Offer]:
    """The constructions in a file, each with its problem: the one asked for, or the one that the file names."""
    given = problem_named(asked) if isinstance(asked, str) else asked
    offers: list[Offer] = []
    for written in written_in(path):
        name = written.problem or (given.name if given else None)
        if name is None:
            raise HandloomError(f"{path} names no problem; name the problem as well as the file")
        if given and name != given.name and not is_asked(name, asked):
            raise HandloomError(f"{path} has records of {name}, not of {given.name}; name that problem")
        problem = given if given and name == given.name else problem_of(name, asked)
        try:
            found = constructions(problem.space, written)
        except HandloomError as error:
            raise HandloomError(f"{path}, number {len(offers) + 1}: {error}") from error
        origin = ORIGIN | {"file": path.name, "said": written.origin}
        offers += [Offer(problem, construction, origin) for construction in found]
    if not offers:
        raise HandloomError(f"there is no construction in {path}")
    return offers
