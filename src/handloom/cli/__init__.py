"""The command line. One file per command; each loads what it needs when it runs, so that help is instant.

Every error in what the user gave ends here, as one line on standard error and exit code 2.
"""

import os
import signal
import sys
from io import TextIOWrapper

import typer

from handloom.cli.commands import Commands


class Handloom(Commands):
    """The commands, as they are listed."""

    package = __name__
    names = (
        *("run", "info", "certify", "write", "compile", "export", "import"),
        *("tasks", "learn", "resume", "sample", "score", "runs", "curves", "read", "heatmap", "page"),
        *("discover", "prove", "records", "lab", "studio", "tour"),
    )


app = typer.Typer(
    name="handloom",
    cls=Handloom,
    help="A workbench for small transformers: write one, train one, take either apart, discover with it.",
    epilog="Try: handloom run hello",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def options(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        from handloom import __version__

        print(f"handloom {__version__}")
        raise typer.Exit


def main() -> None:
    """The `handloom` command. Ctrl-C ends it with exit code 130 and no traceback. (Typer handles Ctrl-C in a command,
    and a closed pipe, as in `handloom … | head`.)"""
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show ▲ gets a question mark
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False) or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except typer.TyperException as error:
        code = fail(usage_message(error))
    except OSError as error:  # standard output cannot be written to, and Python must not try again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = fail(f"cannot write the output: {error.strerror}")
    except ValueError as error:
        from handloom.cli.remedies import with_remedy
        from handloom.core import HandloomError

        if not isinstance(error, HandloomError):
            raise
        code = fail(with_remedy(error))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # from here on Ctrl-C finds nothing to interrupt
    sys.exit(code)


def fail(message: str) -> int:
    if message:
        print("handloom:", " ".join(message.splitlines()), file=sys.stderr)
    return 2


def usage_message(error: typer.TyperException) -> str:
    """What is wrong with the command's words, and how to show its help."""
    message = getattr(error, "format_message", lambda: str(error))()
    if not message:  # no words at all: the help has been shown
        return ""
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "handloom"
    return f"{' '.join(message.split()).rstrip('.')}; see {where} --help"
