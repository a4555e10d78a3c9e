"""Which records of a store: those of a problem, or of all that share a name or a file.

    select(store)                      # all records, problem by problem
    select(store, "isosceles:n=16")    # of one problem, the best first
    select(store, "isosceles", 1)      # the best of each of its sizes
    select(store, "my_problem.py")     # of all sizes of a problem of one's own
    select(store, "isosceles:n=6..16") # of some of its sizes

A store names problems, but no file is run because a store names it: the Python file of a problem must be given.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.registry import offered
from handloom.discover.catalogue import PROBLEMS, problem_named
from handloom.discover.problem import Problem
from handloom.discover.records.store import Record, Store
from handloom.discover.size_ranges import has_range, names_in_range

Asked = Problem | str | None  # a problem, its name, the part of the name before the parameters, its file; None: all


class Records(list[Record]):
    """A list of records, which a notebook shows as a table."""

    def _repr_html_(self) -> str | None:
        return offered("html")(self)


def records(
    store: str | os.PathLike[str] = "records.sqlite",
    problem: Asked = None,
    best: int | None = None,
    newest: bool = False,
) -> Records:
    """The records of an existing store, problem by problem, the best first; with newest=True those found last first.
    `best` limits their number per problem."""
    found = select(Store.open(store, create=False), problem, best)
    return Records(sorted(found, key=lambda record: (record.found, record.id), reverse=True) if newest else found)


def select(store: Store, asked: Asked = None, best: int | None = None) -> list[Record]:
    """The records asked for, problem by problem; of each problem all, or the `best` best if given."""
    return [record for name in problem_names(store, asked) for record in store.records(name, limit=best)]


def problem_names(store: Store, asked: Asked = None) -> list[str]:
    """The full names of the problems asked for, in natural order; of one without records, its name."""
    if isinstance(asked, str) and has_range(asked):
        sizes, there = [full_name(name) for name in names_in_range(asked)], set(store.problems())
        return [name for name in sizes if name in there] or sizes
    stored = [name for name in store.problems() if is_asked(name, asked)]
    if not stored and asked is not None:
        return [asked.name if isinstance(asked, Problem) else problem_named(asked).name]
    return sorted(stored, key=in_natural_order)


def full_name(name: str) -> str:
    """A problem's name with all its parameters; as it is written if it is in a store, and its file is not here."""
    try:
        return problem_named(name).name
    except HandloomError:
        known = name.partition(":")[0]
        if known in PROBLEMS or known.endswith(".py"):
            raise
        return name


def is_asked(name: str, asked: Asked) -> bool:
    """Whether a problem is asked for: isosceles asks for isosceles:n=16, own.py for own:n=3."""
    if asked is None or isinstance(asked, Problem):
        return asked is None or name == asked.name
    return name == asked or name.partition(":")[0] == (Path(asked).stem if asked.endswith(".py") else asked)


def in_natural_order(name: str) -> list[Any]:
    """n=9 before n=10."""
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"([0-9]{1,18})", name))]


def problem_of(name: str, asked: Asked = None) -> Problem:
    """The problem of a record: a built-in one, the one asked for, or from the file asked for."""
    if isinstance(asked, Problem) and asked.name == name:
        return asked
    full, known = name_with_file(name, asked), name.partition(":")[0]
    if full == name and known not in PROBLEMS:
        raise HandloomError(f"{name} is not a built-in problem; name its file, such as {known}.py")
    return problem_named(full)


def name_with_file(name: str, asked: Asked = None) -> str:
    """The name of a record's problem as a command takes it: with the file that was asked for.

    >>> name_with_file("corners:n=7", "mine/corners.py:n=6..9"), name_with_file("squares:n=6", "squares:n=6..9")
    ('mine/corners.py:n=7', 'squares:n=6')
    """
    file = re.match(r".+?\.py(?=:|$)", asked) if isinstance(asked, str) else None
    return file[0] + name[len(name.partition(":")[0]) :] if file else name


def problem_or_none(name: str, asked: Asked = None) -> Problem | None:
    """The problem of a record, or None where its file is not given."""
    try:
        return problem_of(name, asked)
    except HandloomError:
        return None


def by_problem(records: Iterable[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Selected records, in groups of one problem each."""
    return ((name, list(some)) for name, some in groupby(records, lambda record: record.problem))
