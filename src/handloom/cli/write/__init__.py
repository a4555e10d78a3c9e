"""handloom write: the transformers programmed by hand."""

import typer

from handloom.cli.commands import Commands


class Write(Commands):
    """The commands of `handloom write`, as they are listed."""

    package = __name__
    names = ("list", "show", "build", "ngrams", "precision", "encodings")


write = typer.Typer(
    name="write",
    cls=Write,
    help="Transformers programmed by hand: list them, explain them, build model files. Start with: handloom write list",
    no_args_is_help=True,
    add_completion=False,
)


@write.callback()
def group() -> None:
    """Typer makes a group only of what has commands or a callback."""
