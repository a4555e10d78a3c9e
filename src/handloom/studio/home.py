"""The first screen: lessons, programs, runs, model files and problems, and what the command line asked to see."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from handloom.core.errors import HandloomError
from handloom.core.finding import find_file, is_program
from handloom.runs.listing import Run, run_folders, runs_in
from handloom.studio.desk import Studio
from handloom.studio.lessons.lesson import LEARNED, lessons, picture
from handloom.write.catalogue import NAMED

DEEP = 3  # levels of folders in which files are looked for
MOST = 200  # files listed
MODELS = (".safetensors", ".taotp")


def home(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "folder": studio.folder.name,
        "programs": [{"name": one.name, "about": one.about} for one in NAMED.values()],
        "lessons": [one.card() | {"picture": picture(one.name)} for one in lessons()],
        "runs": runs(studio),
        "files": files(studio),
        "problems": problems(),
        "start": start(studio),
    }


def runs(studio: Studio) -> list[dict[str, Any]]:
    """The runs below the start folder, the newest first."""
    try:
        listed = runs_in(studio.folder)
    except HandloomError:
        return []
    newest = sorted(listed, key=lambda run: run.path.stat().st_mtime, reverse=True)
    active = running(studio)
    return [
        run.to_json()
        | {"run": studio.shown(run.path), "reached": reached(run)}
        | {"state": "running" if run.path.resolve() in active else "ended"}
        for run in newest
    ]


def running(studio: Studio) -> set[Path]:
    """The folders of the runs that are running now."""
    jobs = (job for job in studio.jobs.list() if job["state"] in ("running", "stopping") and job.get("folder"))
    return {(studio.folder / job["folder"]).resolve() for job in jobs}


def reached(run: Run) -> str:
    """What a run has reached, in words."""
    if run.damaged:
        return run.damaged
    steps = run.steps or 0
    unit = "generation" if run.kind == "discover" else "step"
    what = f"of {run.goal:,} steps" if run.goal and run.kind != "discover" else unit if steps == 1 else f"{unit}s"
    facts = [f"{steps:,} {what}"]
    facts += [] if run.success is None else [f"{run.success:.1%} right"]
    facts += [] if run.best is None else [f"best {run.best:g}"]
    facts += [] if run.loss is None or run.success is not None or run.best is not None else [f"loss {run.loss:.3f}"]
    return ", ".join(facts)


def problems() -> list[dict[str, str]]:
    """The problems of `discover` by name."""
    from handloom.discover.catalogue import PROBLEMS

    return [{"name": name, "about": entry.about} for name, entry in PROBLEMS.items()]


def files(studio: Studio) -> list[dict[str, Any]]:
    """Model files below the start folder that are not part of a run."""
    ours = set(run_folders(studio.folder))
    found = (path for path in walk(studio.folder, DEEP) if not ours & {*path.parents})
    return [{"file": studio.shown(path), "bytes": path.stat().st_size} for path in islice(found, MOST)]


def walk(folder: Path, deep: int) -> Iterator[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return
    yield from (path for path in inside if path.suffix in MODELS and path.is_file())
    for path in inside:
        if deep and path.is_dir() and not path.is_symlink() and not path.name.startswith((".", "node_modules")):
            yield from walk(path, deep - 1)


def start(studio: Studio) -> dict[str, Any]:
    """What the command line asked to see: models, a run, a problem."""
    return {"given": [{"name": name, "kind": kind_of(studio, name)} for name in studio.given]}


def check_given(name: str) -> None:
    """Raise an error for a name on the command line that stands for nothing."""
    from handloom.discover.catalogue import PROBLEMS

    files = (name, name.rpartition(".py:")[0] + ".py")
    exists = bool(name) and any(Path(file).exists() for file in files)
    if not (exists or name.startswith(LEARNED) or name.partition(":")[0] in PROBLEMS):
        find_file(name)


def kind_of(studio: Studio, name: str) -> str:
    """What a name on the command line is: a model, a run of learn or discover, a problem, or a Python file."""
    from handloom.discover.catalogue import PROBLEMS

    if is_program(name):
        return "model"
    path = Path(name)
    if path.is_dir():
        return next((run.kind for run in runs_in(path)), "model")
    if path.is_file() and path.suffix != ".py":
        return "model"
    return "problem" if name.partition(":")[0] in PROBLEMS or name.partition(":")[0].endswith(".py") else "model"
