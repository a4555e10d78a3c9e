"""Commands by name: each is in the module of that name, and is loaded when it is run or listed.

So `handloom run` loads nothing of `learn`, and the list of commands is instant: it needs of each command only its
docstring. A command's options are made when it is run, or asked for its help (`options.py`).
"""

from collections.abc import Callable
from importlib import import_module
from inspect import getdoc
from keyword import iskeyword
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from handloom.cli.options import with_options


class Commands(TyperGroup):
    """A group whose commands are the functions of their own name in the modules of a package."""

    package: ClassVar[str]
    names: ClassVar[tuple[str, ...]]  # as they are listed

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = dict.fromkeys(self.names)  # type: ignore[assignment]  # for "Did you mean"

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.names:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name  # no function can be called import
        command = getattr(import_module(f"{self.package}.{name}"), name)
        return typer.main.get_command(command) if isinstance(command, typer.Typer) else LazyCommand(cmd_name, command)


class LazyCommand(TyperCommand):
    """A command as the list shows it; what runs is made from its function when there are words to parse."""

    def __init__(self, name: str, function: Callable[..., None]) -> None:
        super().__init__(name, help=getdoc(function))
        self.function = function

    def whole(self) -> Any:
        """The command with its options."""
        app = typer.Typer(add_completion=False)
        app.command(self.name)(with_options(self.function))
        return typer.main.get_command(app)

    def make_context(self, *words: Any, **more: Any) -> Any:
        return self.whole().make_context(*words, **more)
