"""handloom read: take a model apart."""

from difflib import get_close_matches
from typing import Any

import typer

from handloom.cli.commands import Commands


class Read(Commands):
    """The commands of `handloom read`, as they are listed. Without one, `handloom read MODEL` is its overview."""

    package = __name__
    names = ("overview", "heads", "circuit", "paths", "shares", "lens", "patch", "film", "score")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        more = [word for word in args[1:2] if not word.startswith("-")]
        misspelt = bool(more) and bool(get_close_matches(args[0], self.names))
        model = bool(args) and args[0] not in self.names and not misspelt
        return super().resolve_command(ctx, ["overview", *args] if model else args)


read = typer.Typer(
    name="read",
    cls=Read,
    help="Take a model apart: its heads by name, its circuit, the paths to an answer. Start with: handloom read search",
    no_args_is_help=True,
    add_completion=False,
)


@read.callback()
def group() -> None:
    """Typer makes a group only of what has commands or a callback."""
