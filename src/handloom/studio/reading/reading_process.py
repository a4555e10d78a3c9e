"""The child process that reads models: one line of JSON in, lines of progress out, and one with what was found.

    python -P -m handloom.studio.reading.reading_process

Apart from the server, a reading of a minute keeps nobody waiting, and is ended by ending the process.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from handloom.core import HandloomError, Model
from handloom.core.checks import to_json
from handloom.core.errors import shown
from handloom.studio.desk import Studio
from handloom.studio.models import found, not_run
from handloom.studio.reading.analyses import ANALYSES, Question, matching
from handloom.tasks import task_of

PAUSE = 0.1  # seconds between lines of progress


def reading(folder: Path, given: tuple[str, ...], body: dict[str, Any], tell: Any) -> dict[str, Any]:
    """What a page asked to read. Nothing that the command line did not name is run."""
    studio = Studio(folder, given)
    asked = asked_of(studio, body, tell)
    if body["reading"] == "matching":
        found = matching(asked, safe(studio, str(body.get("beside"))).model)
    else:
        found = ANALYSES[body["reading"]].show(asked)
    return found.to_json() | {"shape": shape_of(asked.model)}


def shape_of(model: Model) -> dict[str, int]:
    """Where Run shows a head: the stage of the first attention, and the stages of a layer."""
    config = model.config
    has_places = config.positions == "sinusoid" or ("W_pos" in model.flat and bool(model.flat["W_pos"].any()))
    first = 2 if has_places and config.layers < 2 else 1
    parts = 1 if config.parallel or not (config.heads and config.d_ff) else 2
    return {"layers": config.layers, "heads": config.heads, "first": first, "parts": parts}


def asked_of(studio: Studio, body: dict[str, Any], tell: Any) -> Question:
    fields = {name: value for name, value in body.items() if isinstance(value, str)}
    return replace(safe(studio, body["model"]), fields=fields, progress=tell)


def safe(studio: Studio, name: str) -> Question:
    """The model of a name with its task. One whose task is code that may not be run is read without it."""
    model, folder = found(studio, name)
    if not_run(studio, model, folder) is not None:
        return Question(without_task(model), None, None, {}, ignore)
    return Question(model, folder, task_or_none(model, folder), {}, ignore)


def task_or_none(model: Model, folder: Path | None) -> Any:
    try:
        return task_of(model, folder)
    except HandloomError:
        return None


def without_task(model: Model) -> Model:
    return replace(model, notes={name: note for name, note in model.notes.items() if name != "task"})


def ignore(done: int, most: int) -> None:
    """Nobody listens."""


class Teller:
    """Writes lines of JSON; progress not too often."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.next = out, 0.0

    def tell(self, values: dict[str, Any]) -> None:
        self.out.write(to_json(values).replace("\n", " ") + "\n")
        self.out.flush()

    def progress(self, done: int, most: int) -> None:
        if time.monotonic() >= self.next:
            self.next = time.monotonic() + PAUSE
            self.tell({"done": done, "most": most})


def answer(line: str, teller: Teller) -> None:
    """Read what a line asks for, and tell it or what is wrong."""
    try:
        asked = json.loads(line)
        result = reading(Path(asked["folder"]), tuple(asked["given"]), asked["body"], teller.progress)
        teller.tell({"result": result})
    except HandloomError as error:
        teller.tell({"error": str(error)})
    except Exception as error:  # whatever it is, the next one is answered
        teller.tell({"error": f"{shown(type(error).__name__)}: {' '.join(str(error).split())[:300]}"})


def main() -> None:
    teller = Teller(sys.stdout)
    sys.stdout = sys.stderr  # what an analysis prints is no answer
    for line in sys.stdin:
        answer(line, teller)


if __name__ == "__main__":
    main()
