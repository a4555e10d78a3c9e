"""What the folder of a run tells a page: what it is, its curves, its kept models; whether it is being trained or not."""

import re
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.runs import Folder
from handloom.runs.listing import read_run, runs_in
from handloom.studio.desk import Studio
from handloom.studio.models import text_of

NAMED = ("model", "best")  # files of a run of learn, beside its kept steps
ABOUT = ("settings", "experiment", "claim", "given", "task", "problem", "seed", "best_known")


def open_run(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """A run below the start folder, of either kind."""
    folder = Folder.open(studio.place(text_of(body, "run")))
    about, run = folder.about(), read_run(folder.path)
    values = {name: about[name] for name in ABOUT if name in about}
    return values | {
        "run": studio.shown(folder.path),
        "kind": about["kind"],
        "title": run.task,
        "step": run.steps,
        "steps": run.goal,
        "damaged": run.damaged,
        "lines": folder.lines(),
        "kept": kept(studio, folder.path),
        "named": {name: studio.shown(file) for name in NAMED if (file := folder.path / f"{name}.safetensors").exists()},
    }


def kept(studio: Studio, path: Path) -> list[dict[str, Any]]:
    """The models that a run kept, by step."""
    found = ((re.fullmatch(r"model-([0-9]+)", file.stem), file) for file in path.glob("model-*.safetensors"))
    steps = {int(match[1]): file for match, file in found if match}
    return [{"step": step, "file": studio.shown(steps[step])} for step in sorted(steps)]


def runs(studio: Studio, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The runs of one kind below the start folder, the newest first."""
    try:
        listed = [run for run in runs_in(studio.folder) if run.kind == body.get("kind", run.kind)]
    except HandloomError:
        return []
    newest = sorted(listed, key=lambda run: run.path.stat().st_mtime, reverse=True)
    return [run.to_json() | {"run": studio.shown(run.path)} for run in newest]
