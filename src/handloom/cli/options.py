"""What commands take and print: the MODEL argument, options in panels, options made from the fields they set, JSON.

`handloom learn --steps` is made from Settings.steps. A command takes such options as `**choices`: those that the user
gave, by the names of the fields.
"""

import json
import re
from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from handloom.core import Model
    from handloom.learn.settings import Option

METAVARS = {int: "N", float: "X", str: "NAME"}
Command = TypeVar("Command", bound=Callable[..., None])

MODEL_HELP = (
    "A model file, a .taotp file, a run folder, a Hugging Face folder, or a program with its parameters: hello, "
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


def takes(options: Callable[[], list[Parameter]]) -> Callable[[Command], Command]:
    """Give a command these options; they are made when it is run, for what they are made from takes long to load."""

    def add(command: Command) -> Command:
        command.options = options  # type: ignore[attr-defined]
        return command

    return add


def with_options(command: Any) -> Callable[..., None]:
    """The command with all its options in its signature, from which Typer reads them."""
    if not hasattr(command, "options"):
        return command
    made = {one.name: one for one in command.options()}
    named = {name: one for name, one in signature(command).parameters.items() if one.kind is not Parameter.VAR_KEYWORD}

    def run(**values: Any) -> None:
        command(**{name: value for name, value in values.items() if name in named or value is not None})

    every = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (named | made).values()]
    every.sort(key=lambda one: one.name == "as_json")  # --json is listed last
    run.__doc__, run.__name__ = command.__doc__, command.__name__
    run.__signature__ = signature(command).replace(parameters=every)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in every}
    return run


def option_parameters(options: "Iterable[Option]", **flags: str) -> list[Parameter]:
    """The options of fields. One that is True by default has the flag --no-FIELD, or the one given here."""
    return [parameter(one, flags.get(one.name)) for one in options]


def parameter(made: "Option", flag: str | None) -> Parameter:
    """An option as a parameter that is None where the user does not give it."""
    kind: Any = int if made.default is None else type(made.default)
    name, about = f"--{made.name.replace('_', '-')}", made.about[0].upper() + made.about[1:]
    text = f"{about} [{made.written or shown(made.default)}]."
    if kind is bool:
        name = flag or (f"--no-{made.name}" if made.default else name)
        info = option(f"{about}.", made.group, name, callback=negated if made.default else None)
    elif kind is tuple:
        kind = Any
        info = option(text, made.group, name, metavar="A,B…", parser=parts_of(type(made.default[0])))
    else:
        info = option(text, made.group, name, metavar=METAVARS[kind], min=made.least)
    return Parameter(made.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info])


def negated(given: bool | None) -> bool | None:
    """The value of a field that its flag turns off."""
    return None if given is None else not given


def parts_of(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """What reads texts such as 0.9,0.99; none has no parts."""

    def parts(text: str) -> tuple[Any, ...]:
        return () if text == "none" else tuple(kind(part) for part in text.split(","))

    return parts


def shown(default: Any) -> str:
    """A default as one would write it on the command line."""
    if isinstance(default, tuple):
        return ",".join(map(str, default)) or "none"
    return f"{default:g}" if isinstance(default, float) else str(default)


def find_model(name: str) -> "Model":
    """The model that a MODEL argument names: a program, or else a file or a folder."""
    from handloom.core.finding import find

    return find(name).model


def print_json(value: Any) -> None:
    print(json.dumps(value))


def refuse_options(given: dict[str, Any], why: str) -> None:
    """Raise an error if one of these options is given, which here would have no effect."""
    useless = [option for option, value in given.items() if value]
    if useless:
        from handloom.core import HandloomError  # loads NumPy, which some commands do without

        raise HandloomError(f"{useless[0]}: {why}; leave it out")
