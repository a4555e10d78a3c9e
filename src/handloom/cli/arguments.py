"""What several commands take and give: the MODEL argument, options in panels, and JSON."""

import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from handloom.core import Model

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
    from handloom.core.finding import find

    return find(name).model


def print_json(value: Any) -> None:
    print(json.dumps(value))
