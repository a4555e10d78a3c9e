"""Models as text: what a page's editor opens, reads at every pause, and writes.

    POST /api/source {"model": "hello"}              its .taotp text, and for a compiled program its source
    POST /api/text {"text": …, "name": "hello"}      the model and its page, or the line in which something is wrong
    POST /api/text/edits {"text": …, "edits": […]}   the text with edits of the loom in it

The text of a .taotp file is that of the file, with its comments; of any other model it is written.
"""

import inspect
from pathlib import Path
from typing import Any

from handloom.core import HandloomError, Model, count
from handloom.core.finding import is_program
from handloom.studio.desk import Studio
from handloom.studio.edits import edited, edits_of
from handloom.studio.models import LONGEST_TEXT, found, page_of, program_file, text_of
from handloom.write.standard import STANDARD
from handloom.write.taotp import TextError, read_taotp, with_weights, write_taotp

MOST_NUMBERS = 100_000  # of a model with a text: more take seconds to write


class InText(HandloomError):
    """An error in a text that a page sent; `more` says where."""

    def __init__(self, error: TextError) -> None:
        super().__init__(str(error))
        self.more = {"line": error.line, "column": error.column}


def source(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """What can be read of a model: `text`, or else `why` there is none; and `source`, its program in Python."""
    name = text_of(body, "model")
    model, _ = found(studio, name)
    text, why = taotp_of(studio, name, model)
    return {"text": text, "why": why, "source": python_of(studio, name)}


def taotp_of(studio: Studio, name: str, model: Model) -> tuple[str | None, str]:
    """The .taotp text of a model; if it is none to edit, why."""
    if (numbers := count(model).total) > MOST_NUMBERS:
        return None, f"it has {numbers:,} numbers (expected up to {MOST_NUMBERS:,} in a text); change it in Run"
    try:
        if not is_program(name) and (path := studio.place(name)).suffix == ".taotp":
            text = path.read_text("utf-8-sig")
        else:
            text = write_taotp(model)
    except HandloomError as error:
        return None, str(error)
    if len(text) > LONGEST_TEXT:
        return None, (
            f"its text has {len(text):,} characters (expected up to {LONGEST_TEXT:,}); change it in Run, where a "
            "number is dragged"
        )
    return text, ""


def python_of(studio: Studio, name: str) -> dict[str, str] | None:
    """The source of a compiled program: a standard one, or one in a file that the command line named."""
    if file := program_file(studio, name):
        return {"name": file.name, "text": file.read_text("utf-8")}
    known = name.partition(":")[0].removeprefix("compiled/")
    if not name.startswith("compiled/") or known not in STANDARD:
        return None
    function = STANDARD[known].make
    return {"name": Path(inspect.getfile(function)).name, "text": inspect.getsource(function)}


def read(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """The model of a text, with its page. A file beside which the text belongs, `beside`, may have its task."""
    model = in_text(text_of(body, "text"))
    name, beside = str(body.get("name") or "a text"), body.get("beside")
    folder = None
    if isinstance(beside, str) and beside and not is_program(beside):
        path = studio.place(beside)
        folder = path if path.is_dir() else path.parent
    return page_of(studio, name, model, folder, body.get("on"))


def with_edits(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """The text with the edits in it, and the entries that are written anew."""
    text = text_of(body, "text")
    new, changes = with_weights(text, edited(in_text(text), edits_of(body)))
    return {"text": new, "changes": [change._asdict() for change in changes]}


def in_text(text: str) -> Model:
    """The model of a text."""
    try:
        return read_taotp(text)
    except TextError as error:
        raise InText(error) from error
