"""The command line. One file a command; each imports what it needs when it runs, so that help is instant.

Whatever goes wrong with what the user gave ends here, as one line on standard error and exit code 2.
"""

import os
import signal
import sys
from io import TextIOWrapper

import typer

from handloom.cli.certify import certify
from handloom.cli.curves import curves
from handloom.cli.discover import discover
from handloom.cli.heatmap import heatmap
from handloom.cli.info import info
from handloom.cli.learn import learn, resume
from handloom.cli.planned import ANY, compile, export
from handloom.cli.records import records
from handloom.cli.run import run
from handloom.cli.runs import runs
from handloom.cli.sample import sample
from handloom.cli.score import score
from handloom.cli.tasks import tasks
from handloom.cli.tour import tour
from handloom.cli.write import write

app = typer.Typer(
    name="handloom",
    help="A workbench for small transformers: write one, train one, take either apart, discover with it.",
    epilog="Try: handloom run hello",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(info)
app.command()(certify)
app.add_typer(write)
app.command()(tasks)
app.command()(learn)
app.command()(resume)
app.command()(sample)
app.command()(score)
app.command()(runs)
app.command()(curves)
app.command()(heatmap)
app.command()(discover)
app.command()(records)
app.command()(tour)
app.command(hidden=True, context_settings=ANY)(export)
app.command(hidden=True, context_settings=ANY)(compile)


@app.callback(invoke_without_command=True)
def options(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        from handloom import __version__

        print(f"handloom {__version__}")
        raise typer.Exit


def main() -> None:
    """The `handloom` command. (A reader that has gone, as in `handloom … | head`, is Typer's, and so is Ctrl-C in a
    command. What ends by Ctrl-C has exit code 130 and no traceback.)"""
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
    except OSError as error:  # standard output cannot be written to; it must not be tried again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = fail(f"cannot write the output: {error.strerror}")
    except ValueError as error:
        from handloom.core import HandloomError

        if not isinstance(error, HandloomError):
            raise
        code = fail(str(error))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # from here on Ctrl-C finds nothing to interrupt
    sys.exit(code)


def fail(message: str) -> int:
    if message:
        print("handloom:", " ".join(message.splitlines()), file=sys.stderr)
    return 2


def usage_message(error: typer.TyperException) -> str:
    """What was wrong with the command's words, and where its help is."""
    said = getattr(error, "format_message", lambda: str(error))()
    if not said:  # no words at all: the help has been shown
        return ""
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "handloom"
    return f"{' '.join(said.split()).rstrip('.')}; see {where} --help"
