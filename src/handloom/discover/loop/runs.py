"""Runs of discovery: begun from the name of a problem, kept in a folder, and gone on with.

run.json              the problem, the settings, the store
metrics.jsonl         a line a generation
state.json            the pool and where the run stands, at its last whole generation
records.jsonl         which records of the store the run has found, and how
model.safetensors     the model, a model file as any other; with checkpoint.safetensors it learns on
problem.py            a copy of the user's own file, if the problem is one
page.html             what one looks at
"""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.files import one_line, what_is
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.ledger import RECORDS
from handloom.discover.loop.loop import Discovery, Make, on_threads
from handloom.discover.loop.settings import Settings
from handloom.discover.model.torchrun import join
from handloom.discover.problem import Problem
from handloom.discover.records.store import Store
from handloom.runs.folder import PROBLEM_COPY, Folder, damaged
from handloom.tasks.user_file import python_file


def discover(problem: str | Problem, **how: Any) -> Discovery:
    """Look for constructions: `seconds`, `generations` or `until` say when to stop, `store` and `folder` where to keep
    what is found; the rest are Settings. `discover("isosceles:n=10", seconds=5).best.score`"""
    return begin(problem, **how).run()


def begin(
    problem: str | Problem,
    *,
    store: str | os.PathLike[str] = "records.sqlite",
    folder: str | os.PathLike[str] | None = None,
    seconds: float | None = None,
    generations: int | None = None,
    until: float | None = None,
    on: str = "threads",
    device: str = "cpu",
    began: float | None = None,
    **choices: Any,
) -> Discovery:
    """The same, not yet run. Without a folder only the records are kept."""
    join()
    known = problem_named(problem) if isinstance(problem, str) else problem
    limits: dict[str, Any] = {"seconds": seconds, "generations": generations, "until": until, "began": began}
    discovery = Discovery(
        known, Settings.from_json(choices), Store.open(store), make=maker(on), device=device, **limits
    )
    if folder is not None:
        keep(
            discovery,
            Folder.create(Path(folder), "run"),
            problem if isinstance(problem, str) else None,
        )
    return discovery


def maker(on: str) -> Make:
    """Who does the searching."""
    if on not in ("threads", "ray"):
        raise HandloomError(f"no workers called {shown(on)}; there are threads, and ray")
    if on == "ray":
        from handloom.discover.loop.ray_executor import on_ray

        return on_ray
    return on_threads


def keep(discovery: Discovery, folder: Folder, name: str | None) -> None:
    """Have a run kept in a folder."""
    about = {
        "problem": discovery.problem.name,
        "asked": name,
        "settings": discovery.settings.to_json(),
        "seed": discovery.settings.seed,
        "store": str(discovery.store.path.absolute()),
    }
    try:
        if name and (file := python_file(name)):
            path, parameters = file
            folder.copy_python(path, PROBLEM_COPY)
            about["asked"] = PROBLEM_COPY + (f":{parameters}" if parameters else "")
        folder.write_about("discover", about)
    except BaseException:
        folder.remove()
        raise
    discovery.folder, discovery.made, discovery.lock = folder.path, folder.made, folder.lock


def reopen(
    folder: str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
    on: str = "threads",
    device: str = "cpu",
    **limits: Any,
) -> Discovery:
    """A run as it was after its last whole generation; `limits` are seconds, generations, until and began."""
    join()
    path, kept = Path(folder), Folder(Path(folder))
    about = kept.about("discover", needed=("problem", "asked", "settings", "store"))
    if not all(isinstance(about[key], str | None) for key in ("problem", "asked", "store")):
        raise damaged(path / "run.json", "its problem, what was asked and its store must be text")
    if about["asked"] is None:
        raise HandloomError(f"{path} is a run of a problem that was made in Python; it cannot be gone on with by name")
    asked = str(path / about["asked"]) if about["asked"].startswith(PROBLEM_COPY) else about["asked"]
    problem = replace(problem_named(asked), name=about["problem"])
    settings, place = Settings.from_json(about["settings"]), store or about["store"]
    discovery = Discovery(problem, settings, Store.open(place), folder=path, make=maker(on), device=device, **limits)
    kept.hold()
    discovery.lock = kept.lock
    try:
        if what_is(path / "state.json") == "file":
            restore(discovery, kept.read_json("state.json"))
        discovery.lines = [line for line in kept.lines() if line["generation"] < discovery.generation]
        discovery.ledger.folder = path
        discovery.ledger.own(records := kept.lines(RECORDS))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        kept.release()
        if isinstance(error, HandloomError):
            raise
        raise HandloomError(f"the run in {path} is damaged: {one_line(error)}") from error
    kept.rewrite(discovery.lines)
    kept.rewrite(records, RECORDS)
    return discovery


def restore(discovery: Discovery, state: dict[str, Any]) -> None:
    """Put a run back to where it was."""
    folder, problem = discovery.folder, discovery.problem
    assert folder is not None
    for name in ("generation", "number", "steps"):
        setattr(discovery, name, state[name])
    discovery.before, discovery.turns = state["seconds"], Counter(state["turns"])
    if discovery.seconds is not None:
        discovery.seconds += discovery.before  # that much more
    discovery.ledger.restore(state["ledger"])
    smaller = [build().space for build in problem.smaller[: discovery.settings.smaller]]
    discovery.apprentice.restore(state["apprentice"], folder, smaller)
