"""What several commands take and print: the MODEL argument, options in panels, and JSON."""

import json
import re
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from handloom.core import Model

MODEL_HELP = (
    "A model file, a .taotp file, a run folder, a folder of Hugging Face, or a program with its parameters: hello, "
    "hello:message=Hi."
)
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]


def option(text: str, panel: str, *flags: str, **more: Any) -> Any:
    """An option in a panel of the help; its text has the default in brackets, which Rich must not take for markup."""
    plain = re.sub(r"\[(?=[a-z])", r"\\[", text)
    return typer.Option(*flags, help=plain, rich_help_panel=panel, show_default=False, **more)


def decoding() -> list[Parameter]:
    """The options of every command that draws tokens."""
    return [
        drawn("top_k", int, help="Draw from the K likeliest tokens.", metavar="K"),
        drawn("top_p", float, help="Draw from the fewest tokens whose probabilities add up to P.", metavar="P"),
        drawn("format", str, help="A pattern for the whole text, such as [01]{30,40}.", metavar="REGEX"),
        drawn("seed", int, default=0, help="One seed gives one result.", min=0),
    ]


def drawn(name: str, kind: Any, default: Any = None, **more: Any) -> Parameter:
    info = typer.Option(f"--{name.replace('_', '-')}", **more)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind | None, info])


def find_model(name: str) -> "Model":
    """The model that a MODEL argument names: a program, or else a file or a folder."""
    from handloom.core.finding import find

    return find(name).model


def print_json(value: Any) -> None:
    print(json.dumps(value))
