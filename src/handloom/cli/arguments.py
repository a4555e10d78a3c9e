"""What several commands take and give: the MODEL argument, options in panels, and JSON."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from handloom.core import Model
    from handloom.tasks import Learnable

MODEL_HELP = "A model file, a .taotp file, a run folder, or a program with its parameters: hello, hello:message=Hi."
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]
TopK = Annotated[int | None, typer.Option("--top-k", help="Draw from the K likeliest tokens.", metavar="K")]
TopP = Annotated[
    float | None, typer.Option("--top-p", help="Draw from the fewest tokens whose chances add up to P.", metavar="P")
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="What the whole text must match, such as [01]{30,40}.", metavar="REGEX")
]
SeedOption = Annotated[int, typer.Option(help="One seed gives one result.", min=0)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]


def option(text: str, panel: str, *flags: str, **more: Any) -> Any:
    """An option in a panel of the help; its text has the default in brackets, which Rich must not take for markup."""
    plain = re.sub(r"\[(?=[a-z])", r"\\[", text)
    return typer.Option(*flags, help=plain, rich_help_panel=panel, show_default=False, **more)


def find_model(name: str) -> "Model":
    """The model a MODEL argument stands for: a program of that name, or else what is on disk."""
    from handloom.core import load
    from handloom.write import PROGRAMS, program

    if name.partition(":")[0] in PROGRAMS:
        return program(name)
    path = find_file(name)
    if path.suffix == ".taotp":
        from handloom.write.taotp import load_taotp

        return load_taotp(path)
    return load(path)


def find_file(name: str) -> Path:
    """The file of a model that is on disk."""
    from handloom.core import HandloomError
    from handloom.core.files import check_ordinary, what_is
    from handloom.write import nearest

    path = Path(name)
    check_ordinary(path)
    if not name or what_is(path) == "nothing":
        hint = f"did you mean {near}?" if (near := nearest(name)) else "`handloom write list` shows the programs"
        raise HandloomError(f"{name or repr(name)}: no such file, and no program of that name; {hint}")
    if what_is(path) == "folder":
        if what_is(path / "model.safetensors") != "file":
            raise HandloomError(
                f"{name} is a folder without a model.safetensors in it; name a model file or a run folder"
            )
        path = path / "model.safetensors"
    return path


def task_for(name: str, model: "Model") -> "Learnable | None":
    """What the model of a MODEL argument is for, if that is known: the task of its program, or of its run."""
    from handloom.core.files import what_is
    from handloom.write import task_of

    folder = Path(name) if what_is(Path(name)) == "folder" else Path(name).parent
    if (task := task_of(model)) or what_is(folder / "run.json") != "file" or name.endswith(".taotp"):
        return task
    from handloom.core import HandloomError
    from handloom.learn.folder import Folder
    from handloom.learn.runs import task_of_run

    try:
        run = Folder.old(folder)
        return task_of_run(run, run.about())
    except HandloomError:
        if folder == Path(name):
            raise
        return None  # what is beside a file need not be about it


def print_json(value: Any) -> None:
    print(json.dumps(value))
