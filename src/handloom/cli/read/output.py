"""What every command of `handloom read` does with its result: print it, as text or as JSON, and draw it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handloom.cli.options import print_json

if TYPE_CHECKING:
    from handloom.core import Model
    from handloom.view.svg.drawing import Drawing

PictureOption = Annotated[
    Path | None, typer.Option("-o", "--output", help="Draw it to this file: .svg or .png.", show_default=False)
]
OnOption = Annotated[
    str | None, typer.Option("--on", metavar="INPUT", help="The input; default: an example of the model's task.")
]
AnswerOption = Annotated[
    str | None, typer.Option(metavar="TOKEN", help="The token; default: the one that the model predicts.")
]
AgainstOption = Annotated[
    str | None, typer.Option(metavar="TOKEN", help="Compare its logit with that of this token; default: the mean.")
]
PairsOption = Annotated[
    int | None, typer.Option(help="Pairs of inputs to try; default: 256, or fewer for a large model.", min=2)
]
TaskOption = Annotated[
    str | None, typer.Option(help="The task of the model, such as min:n=5; default: the one in its notes.")
]
SeedOption = Annotated[int, typer.Option(help="Which inputs.", min=0)]
MethodOption = Annotated[
    str | None,
    typer.Option(
        help="A method to compare with the truth in the picture: one of ours, or FILE.py.", show_default=False
    ),
]


def check_picture(output: Path | None) -> None:
    """Raise an error at once if the picture could not be written."""
    if output is not None:
        from handloom.view.figures.painting import check_drawable

        check_drawable(output)


def given_to(name: str, on: str | None) -> "tuple[Model, str]":
    """The model of a name, and the input that is given, or an example of its task."""
    from handloom.core.finding import find
    from handloom.read.overview import example_input

    model, folder = find(name)
    return model, example_input(model, folder) if on is None else on


def tell(
    result: Any,
    as_json: bool,
    output: Path | None = None,
    drawing: "Callable[[], Drawing] | None" = None,
    title: str = "",
) -> None:
    """Print a result; with an output draw it, and print the name of the file."""
    if output is not None and drawing is not None:
        from handloom.view.figures.painting import write_drawing

        write_drawing(drawing(), output, title)
    if as_json:
        print_json(result.to_json())
    else:
        print(result if output is None else output)
