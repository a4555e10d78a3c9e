"""A sweep: one run per size of a problem, one after the other, in one folder that can be resumed.

    with begin_sweep("isosceles:n=6..16", {"seconds": 20.0}) as sweep:
        for run in sweep.runs(watch=print):
            print(run.sentence())

The folder has sweep.json (what was asked), a copy of the user's file, and a folder per size, each a run like any other.
sizes.jsonl has a line per size that is done; a resumed sweep leaves these out, and resumes the size that was cut short.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.files import what_is
from handloom.discover.catalogue import sizes_named
from handloom.discover.loop.plan import Plan
from handloom.discover.loop.setup import Watch, ignore
from handloom.discover.loop.start import Discovery, PathText, begin, reopen
from handloom.discover.loop.starts import SMALLER, smaller_starts
from handloom.discover.problem import Problem
from handloom.discover.records.store import Store
from handloom.discover.size_ranges import has_range, names_in_range, parameters_in
from handloom.runs import Folder
from handloom.runs.folder import ABOUT, damaged
from handloom.tasks.naming import python_file

SWEEP, SIZES = "sweep.json", "sizes.jsonl"
LIMITS = ("seconds", "generations", "until")  # of each size
KEPT = ("generations", "until", "on", "device")  # what a resumed run of one size is given again
Before = Callable[[Discovery], None]


@dataclass
class Sweep:
    """The runs of a problem's sizes, done and still to do."""

    folder: Folder
    asked: str  # the name with its range; a user's file is the copy in the folder
    store: Path
    how: dict[str, Any]  # the limits of each size, and the choices of all
    halted: bool = False  # by Ctrl-C

    def __enter__(self) -> "Sweep":
        return self

    def __exit__(self, *error: object) -> None:
        self.folder.release()

    @property
    def names(self) -> list[str]:
        """The problems, in the order in which they are run."""
        return names_in_range(self.asked)

    @cached_property
    def problems(self) -> dict[str, Problem]:
        return sizes_named(self.names)

    @property
    def done(self) -> list[dict[str, Any]]:
        """The sizes that are done."""
        return self.folder.lines(SIZES)

    @property
    def left(self) -> list[str]:
        """The problems still to do."""
        done = {line["size"] for line in self.done}
        return [name for name in self.names if parameters_in(name) not in done]

    def runs(self, watch: Watch = ignore, before: Before = lambda run: None) -> Iterator[Discovery]:
        """Run the sizes that are left. `before` is called with each one that is about to run."""
        for name in self.left:
            run = self.opened(name)
            before(run)
            run.run(watch)
            if run.halted:
                self.halted = True
                return
            self.folder.append({"size": parameters_in(name), **run.to_json()}, SIZES)
            yield run

    def opened(self, name: str) -> Discovery:
        """The run of one size: a new one, or one that was cut short, with the time that it still has."""
        path, began = self.folder.path / parameters_in(name), time.monotonic()
        if what_is(path / ABOUT) != "file":
            how = self.how | {"start": self.starts(name)}
            return begin(self.problems[name], asked=name, store=self.store, folder=path, began=began, **how)
        run = reopen(path, self.store, began=began, **{key: self.how[key] for key in KEPT if key in self.how})
        run.setup = replace(run.setup, seconds=self.how.get("seconds"))  # with those that it has had
        return run

    def starts(self, name: str) -> list[str]:
        """What the searches of a size start from; the first size has no smaller one, unless the store has it."""
        start = self.how.get("start") or []
        known = [start] if isinstance(start, str) else [*start]
        none = name == self.names[0] and not any(smaller_starts(self.problems[name], Store.open(self.store)))
        return [one for one in known if not (one == SMALLER and none)]


def begin_sweep(
    asked: str, how: Mapping[str, Any], store: PathText = "records.sqlite", folder: PathText | None = None
) -> Sweep:
    """A new sweep, not yet started. The problem's name has a range, such as isosceles:n=6..16; `how` has the limits of
    each size (seconds, generations, until) and other options of `discover`."""
    if not has_range(asked):
        raise HandloomError(f"{asked} has no range of sizes (expected one such as n=6..16); give a parameter one")
    check_limits(asked, how)
    Plan.from_json({key: value for key, value in how.items() if key not in (*KEPT, "seconds", "start")})
    sizes_named(names_in_range(asked))  # a wrong one raises its error before the first is run
    where = Store.open(store).path
    made = Folder.create(None if folder is None else Path(folder), asked)
    try:
        kept = copied(made, asked)
        made.write_json(SWEEP, {"asked": kept, "store": str(where.absolute()), "how": dict(how)})
    except BaseException:
        made.remove()
        raise
    return Sweep(made, from_here(made.path, kept), where, dict(how))


def check_limits(asked: str, how: Mapping[str, Any]) -> None:
    if all(how.get(limit) is None for limit in LIMITS):
        raise HandloomError(f"{asked}: a size without a limit never ends (expected {', '.join(LIMITS)}); give one")


def copied(folder: Folder, asked: str) -> str:
    """The name with its range, for the folder; of a user's file that of its copy there, which has the same name."""
    if not (file := python_file(asked)):
        return asked
    folder.copy_python(file[0], file[0].name)
    return f"{file[0].name}:{file[1]}"


def from_here(folder: Path, asked: str) -> str:
    """The same name as it is found from the current folder."""
    return str(folder / asked) if python_file(str(folder / asked)) else asked


def is_sweep(folder: Path) -> bool:
    return what_is(folder / SWEEP) == "file"


def reopen_sweep(folder: PathText, store: PathText | None = None, **limits: Any) -> Sweep:
    """A sweep as it was left, not yet started; limits that are given replace its own."""
    kept = Folder(Path(folder))
    kept.hold()
    about = kept.read_json(SWEEP)
    asked, where, how = (about.get(key) for key in ("asked", "store", "how"))
    if not isinstance(asked, str) or not isinstance(where, str) or not isinstance(how, dict):
        raise damaged(kept.path / SWEEP, "asked and store must be text, and how an object")
    given = {key: value for key, value in limits.items() if value is not None}
    opened = Store.open(store or where).path
    return Sweep(kept, from_here(kept.path, asked), opened, how | given)
