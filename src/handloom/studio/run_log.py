"""What the folder of a run tells a page: what it is, its curves, its kept models; whether it is being trained or not."""

import re
from pathlib import Path
from typing import Any

from handloom.runs import Folder
from handloom.runs.listing import read_run
from handloom.studio.board import store_of
from handloom.studio.desk import Studio
from handloom.studio.form_fields import discover_form, learn_form
from handloom.studio.home import runs as listed
from handloom.studio.models import text_of

NAMED = ("model", "best")  # files of a run of learn, beside its kept steps
RECORDS = "records.jsonl"  # of a run of discover; loop/ledger.py, which writes it, would load Numba
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
        "improved": improved(studio, folder, str(about.get("problem"))),
        "kept": kept(studio, folder.path),
        "named": {name: studio.shown(file) for name in NAMED if (file := folder.path / f"{name}.safetensors").exists()},
    }


def kept(studio: Studio, path: Path) -> list[dict[str, Any]]:
    """The models that a run kept, by step."""
    found = ((re.fullmatch(r"model-([0-9]+)", file.stem), file) for file in path.glob("model-*.safetensors"))
    steps = {int(match[1]): file for match, file in found if match}
    return [{"step": step, "file": studio.shown(steps[step])} for step in sorted(steps)]


def improved(studio: Studio, folder: Folder, problem: str) -> list[dict[str, Any]]:
    """The records of a run of discover that were better than all before, as far as the studio's store has them."""
    lines = folder.lines(RECORDS)
    kept = {record.key: record for record in store_of(studio).records(problem)} if lines else {}
    found: list[dict[str, Any]] = []
    for line in lines:
        record, origin = kept.get(line["key"]), line["origin"]
        if record and (not found or record.score > found[-1]["score"]):
            about = {"construction": record.construction, "origin": origin, "seconds": origin.get("seconds")}
            found.append({"score": record.score} | about)
    return found


def runs(studio: Studio, body: dict[str, Any]) -> list[dict[str, Any]]:
    """All runs below the start folder, the newest first."""
    return listed(studio)


def forms(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """What the forms of Learn and Discover ask, and the Python files that they may name."""
    named = [one for one in studio.given if one.partition(":")[0].endswith(".py")]
    return {"learn": learn_form(), "discover": discover_form(), "given": named}
