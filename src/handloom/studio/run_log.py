"""What the folder of a run tells a page: what it is, its curves, its kept models and the film of their heads."""

import re
from pathlib import Path
from typing import Any

from handloom.core import HandloomError, Model, generate
from handloom.core.files import load_file
from handloom.read.explanation import example_for
from handloom.runs import Folder
from handloom.runs.listing import read_run
from handloom.studio.board import own_problems, store_of
from handloom.studio.desk import Studio
from handloom.studio.form_fields import discover_form, learn_form
from handloom.studio.frames import fitting, frame
from handloom.studio.home import runs as listed
from handloom.studio.models import task_in, text_of

NAMED = ("model", "best")  # files of a run of learn, beside its kept steps
MOST_FRAMES = 24
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


def film(studio: Studio, body: dict[str, Any]) -> list[dict[str, Any]]:
    """What the heads of a run's kept models attend to, all on one input of the last one; nothing for models of other
    kinds, which have no heads."""
    path = studio.place(text_of(body, "run"))
    steps = kept(studio, path)[-MOST_FRAMES:]
    try:
        models = [load_file(studio.place(one["file"])) for one in steps]
    except HandloomError:
        return []
    if not models or not models[-1].config.layers * models[-1].config.heads:
        return []
    ids = fitting(models[-1].config, input_of(studio, models[-1], path))
    return [{"step": one["step"]} | frame(model, ids) for one, model in zip(steps, models, strict=True)]


def input_of(studio: Studio, model: Model, folder: Path) -> list[int]:
    """An example of the model's task with the model's answer; without a task a string of the model."""
    task, _ = task_in(studio, model, folder)
    asked = model.vocab.encode_prompt(example_for(model, task) if task else "")
    (answer,) = generate(model, [asked], temperature=0.0 if task else 1.0)
    return [*asked, *map(int, answer)]


def improved(studio: Studio, folder: Folder, problem: str) -> list[dict[str, Any]]:
    """The records of a run of discover that were better than all before, as far as the studio's store has them."""
    lines = folder.lines(RECORDS)
    kept = {record.key: record for record in store_of(studio).records(problem)} if lines else {}
    found: list[dict[str, Any]] = []
    for line in lines:
        record, origin = kept.get(line["key"]), line["origin"]
        if record and (not found or record.exceeds(found[-1]["score"])):
            about = {"construction": record.construction, "origin": origin, "seconds": origin.get("seconds")}
            found.append({"score": record.score} | about)
    return found


def runs(studio: Studio, body: dict[str, Any]) -> list[dict[str, Any]]:
    """All runs below the start folder, the newest first."""
    return listed(studio)


def forms(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """What the forms of Learn and Discover ask."""
    discover = discover_form()
    return {"learn": learn_form(), "discover": discover | {"problems": discover["problems"] + own_problems(studio)}}
