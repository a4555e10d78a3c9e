"""handloom studio: the workbench in a browser."""

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

WHAT_HELP = (
    "A model, a run or a problem to open; two models are compared. Python files are run only if they are named here."
)


def studio(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL|RUN|PROBLEM]...", help=WHAT_HELP, show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(help="The port on this machine; 0 is a free one.", min=0, max=65535)] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address, and open no browser.")] = False,
) -> None:
    """Open the studio in a browser: see a model compute, change it, watch one learn, discover, read, compare.

    It works in the current folder and answers this machine only. Ctrl-C ends it; runs are saved.

    \b
    handloom studio
    handloom studio addition
    handloom studio search runs/induction-1
    handloom studio my_problem.py:n=12
    """
    from threading import Event
    from webbrowser import open as open_browser

    from handloom.core.finding import is_program
    from handloom.studio import Studio, serve
    from handloom.studio.home import check_given

    for name in what or ():
        if not is_program(name):
            check_given(name)
    server = serve(Studio(Path(), tuple(what or ())), port)
    print(server.address, flush=True)
    print("the studio is at this address, on this machine only; Ctrl-C ends it and saves its runs", file=sys.stderr)
    ended = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    if not no_open:
        open_browser(server.address)
    ended.wait()
    print("ending; runs are saved", file=sys.stderr)
    server.close()
