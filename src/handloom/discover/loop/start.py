"""Start or resume a run of discovery, with or without a folder.

run.json              the problem, the plan, the store
metrics.jsonl         one line per generation
state.json            the pool and the position of the run, after its last whole generation
records.jsonl         the records of the store that the run has found, and how
model.safetensors     the model, a model file like any other; with checkpoint.safetensors its training resumes
problem.py            a copy of the user's own file, if the problem is one
page.html             the run as a page
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import one_line
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.executors import Lost
from handloom.discover.loop.ledger import RECORDS
from handloom.discover.loop.loop import run
from handloom.discover.loop.plan import Plan
from handloom.discover.loop.setup import Setup, Watch, ignore
from handloom.discover.loop.starts import Start, starts_from
from handloom.discover.loop.state import STATE, Line, State, restored
from handloom.discover.model.torchrun import join
from handloom.discover.problem import Problem
from handloom.discover.records.origin import came_from
from handloom.discover.records.store import Record, Store
from handloom.learn.settings import options_of, with_help
from handloom.runs.folder import PROBLEM_COPY, Folder, damaged
from handloom.tasks.naming import python_file

PathText = str | os.PathLike[str]


@dataclass
class Discovery:
    """A run: what it was given, its state, and its results."""

    setup: Setup
    state: State
    new: bool = True  # False: resumed

    def __repr__(self) -> str:
        best = f"best {self.best.score:,}" if self.best else "nothing found yet"
        return f"<Discovery: {self.setup.problem}, {best}, {self.generation} generation{'s' * (self.generation != 1)}>"

    def run(self, watch: Watch = ignore) -> "Discovery":
        """Run until a limit is reached or Ctrl-C. `watch` is called several times per second."""
        self.setup = replace(self.setup, watch=watch)
        folder = self.setup.folder
        try:
            run(self.setup, self.state)
        except HandloomError as error:
            began = isinstance(error, Lost) or self.records or self.lines
            if folder and self.new and not began:
                folder.remove()  # nothing is left of a run that never began
            raise
        finally:
            if folder:
                folder.release()
        return self

    @property
    def best(self) -> Record | None:
        """The best record of this run."""
        return self.state.ledger.best

    @property
    def records(self) -> list[Record]:
        """The records of this run, in the order in which they were found."""
        return self.state.ledger.records

    @property
    def lines(self) -> list[Line]:
        """One line of metrics per generation."""
        return self.state.lines

    @property
    def generation(self) -> int:
        """The number of generations done."""
        return self.state.generation

    @property
    def steps(self) -> int:
        """Steps of search."""
        return self.state.steps

    @property
    def halted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.state.halted

    @property
    def problem(self) -> Problem:
        return self.setup.problem

    @property
    def settings(self) -> Plan:
        return self.setup.plan

    @property
    def store(self) -> Store:
        return self.setup.store

    @property
    def folder(self) -> Path | None:
        return self.setup.folder.path if self.setup.folder else None

    @property
    def made(self) -> Sequence[Path]:
        """The folders that were made for it."""
        return self.setup.folder.made if self.setup.folder else ()

    def elapsed(self) -> float:
        """Seconds of the run, with those before it was resumed."""
        return self.state.clock.elapsed()

    @property
    def only_greedy(self) -> bool:
        """Whether the run ended before any search made a step."""
        return self.best is not None and self.best.origin.get("how") == "greedy" and self.steps == 0

    def to_json(self) -> dict[str, Any]:
        """The result, as JSON values."""
        best = self.best
        return {
            "run": str(self.folder),
            "problem": str(self.problem),
            "best": best.score if best else None,
            "best_known": self.problem.best_known,
            "minimise": self.problem.minimise,
            "verified": best is not None,
            "only_greedy": self.only_greedy,
            "seconds": round(self.elapsed(), 2),
            "generations": self.generation,
            "steps": self.steps,
            "origin": best.origin if best else None,
            "construction": best.construction if best else None,
        }

    def sentence(self) -> str:
        """The same in one line."""
        best, known = self.best, self.problem.best_known
        if best is None:
            return f"{self.problem}: nothing was found in {self.elapsed():.1f} s; give it more time"
        beside = "" if known is None else f" (best known: {known})"
        merit = self.problem.merit
        news = ", which would be new" if known is not None and merit(best.score) > merit(known) else ""
        stored = self.store.best(self.problem.name)
        better = stored is not None and merit(stored.score) > merit(best.score)
        more = f"; {self.store.path} has {stored.score} from before" if stored and better else ""
        return f"{self.problem}: {best.score}{beside}{news}, verified; found by {came_from(best.origin)}{more}"


def discover(
    problem: str | Problem,
    *,
    seconds: float | None = None,
    generations: int | None = None,
    until: float | None = None,
    store: PathText = "records.sqlite",
    folder: PathText | bool | None = None,
    on: str = "threads",
    device: str = "cpu",
    start: str | Sequence[str] = (),
    watch: Watch = ignore,
    **plan: Any,
) -> Discovery:
    """Search for constructions of a problem, given by its name or as a Problem, until `seconds`, `generations` or the
    score `until` is reached, or until Ctrl-C. Every record is verified and kept in `store`, by default the file
    records.sqlite in the current folder; with folder=True the run also has a folder under runs/, from which it can be
    resumed. `on` is threads or ray, `device` is where the model trains. `watch` is called with a DiscoveryReport
    several times per second; watch=print shows them. The other options, with their defaults:"""
    where: dict[str, Any] = {"store": store, "folder": folder, "on": on, "device": device, "start": start}
    return begin(problem, seconds=seconds, generations=generations, until=until, **where, **plan).run(watch)


with_help(discover, options_of(Plan))


def begin(
    problem: str | Problem,
    *,
    store: PathText = "records.sqlite",
    folder: PathText | bool | None = None,
    seconds: float | None = None,
    generations: int | None = None,
    until: float | None = None,
    on: str = "threads",
    device: str = "cpu",
    began: float | None = None,
    asked: str | None = None,
    start: str | Sequence[str] = (),
    **plan: Any,
) -> Discovery:
    """A new run, not yet started. With folder=True its folder is the next free one under runs/; without a folder only
    the records are kept. `asked` is the name by which a Problem is found again when the run is resumed."""
    join()
    known, opened = problem_named(problem) if isinstance(problem, str) else problem, Store.open(store)
    setup = Setup(
        problem=known,
        plan=Plan.from_json(plan),
        store=opened,
        starts=tuple(starts_from(known, [start] if isinstance(start, str) else start, opened)),
        seconds=seconds,
        generations=generations,
        until=until,
        on=on,
        device=device,
        began=began,
    )
    if folder is None or folder is False:
        return Discovery(setup, State.new(setup))
    name = problem if isinstance(problem, str) else asked
    made = Folder.create(None if folder is True else Path(folder), name or "run")
    try:
        setup = replace(setup, folder=made)
        write_about(setup, made, name)
        return Discovery(setup, State.new(setup))
    except BaseException:
        made.remove()
        raise


def write_about(setup: Setup, folder: Folder, name: str | None) -> None:
    """Write run.json, and a copy of the user's file if the name is one."""
    about = {
        "problem": setup.problem.name,
        "asked": name,
        "settings": setup.plan.to_json(),
        "seed": setup.plan.seed,
        "store": str(setup.store.path.absolute()),
        **({"starts": [start.to_json() for start in setup.starts]} if setup.starts else {}),
    }
    if name and (file := python_file(name)):
        path, parameters = file
        folder.copy_python(path, PROBLEM_COPY)
        about["asked"] = PROBLEM_COPY + (f":{parameters}" if parameters else "")
    folder.write_about("discover", about)


def reopen(
    folder: PathText,
    store: PathText | None = None,
    on: str = "threads",
    device: str = "cpu",
    seconds: float | None = None,
    **limits: Any,
) -> Discovery:
    """A run as it was after its last whole generation, not yet started. `seconds` are counted from now; `limits` are
    generations, until and began."""
    join()
    path, kept = Path(folder), Folder(Path(folder))
    about = kept.about("discover", needed=("problem", "asked", "settings", "store"))
    if not all(isinstance(about[key], str | None) for key in ("problem", "asked", "store")):
        raise damaged(path / "run.json", "problem, asked and store must be text")
    if about["asked"] is None:
        raise HandloomError(f"cannot resume {path}: its problem was made in Python, and has no name to find it by")
    asked = str(path / about["asked"]) if about["asked"].startswith(PROBLEM_COPY) else about["asked"]
    setup = Setup(
        problem=replace(problem_named(asked), name=about["problem"]),
        plan=Plan.from_json(about["settings"]),
        store=Store.open(store or about["store"]),
        starts=tuple(map(Start.from_json, about.get("starts", []))),
        folder=kept,
        on=on,
        device=device,
        **limits,
    )
    kept.hold()
    try:
        return resumed(setup, kept, seconds)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        kept.release()
        if isinstance(error, HandloomError):
            raise
        raise damaged(path / STATE, one_line(error)) from error


def resumed(setup: Setup, folder: Folder, seconds: float | None) -> Discovery:
    """The run with its state, lines and records; what came after the last whole generation is cut off."""
    state = restored(setup, folder)
    state.lines = [line for line in folder.lines() if line["generation"] < state.generation]
    state.ledger.restore_records(records := folder.lines(RECORDS))
    folder.rewrite(state.lines)
    folder.rewrite(records, RECORDS)
    limit = None if seconds is None else seconds + state.clock.before
    return Discovery(replace(setup, seconds=limit), state, new=False)
