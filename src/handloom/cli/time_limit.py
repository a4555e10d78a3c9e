"""A time limit that a user's code cannot outlast: a rule or a score that never ends, compiled or not, is killed.

The command forks early, with one thread of Python and before the problem and the search are loaded. Only a command can
do so: a library has the caller's threads. The child does the work, and ends by itself when its time is over. The parent
waits and passes on signals. If the child is late, the parent asks where it is: faulthandler writes the stack of its
main thread to a pipe, whoever holds Python's lock. In a user's function it is killed, if it has had the processor for
long enough to end; anywhere else, as when a busy machine is slow to load or to save, it gets more time.
"""

import atexit
import faulthandler
import json
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

import typer

from handloom.core.errors import LIBRARIES, HandloomError

GRACE = 2.0  # seconds for a child to end after its limit,
ENOUGH = 1.0  # and then of the processor, for a busy machine may not let it have any;
LATEST = 60.0  # seconds for one that is not in the user's code
STARTING = 60.0  # for Ray to start, before the time begins to count
TICK = 0.5  # seconds between two looks
AGAIN = '"again": true'  # in what a child tells that begins another run, with the same limit
ENDED = "ended"  # the last line of a child that ends by itself
COMMANDS = Path(__file__).parent
CALLER = COMMANDS.parent / "discover" / "problem.py"  # calls the user's functions

Tell = Callable[..., None]  # tells the parent the run's folder, and the folders that were made for it
Frame = tuple[str, str, str]  # a file, a line in it, a function


def tell_nobody(**known: Any) -> None:
    """Where there is no parent."""


def in_child(seconds: float | None, slack: float = 0.0, cause: str = "") -> Tell:
    """Continue in a child that is killed if it does not end within `seconds`, plus `slack` that is not its fault; where
    there can be no child, in this process. Only the child returns. If it is lost, the cause is given as the reason."""
    captured = sys.stdout is not sys.__stdout__  # by a caller who would not see what a child prints
    if captured or threading.active_count() > 1 or not hasattr(os, "fork"):
        return tell_nobody
    sys.stdout.flush()
    sys.stderr.flush()
    parent, (reads, writes) = os.getpid(), os.pipe()
    child = os.fork()
    if child:
        os.close(writes)
        Watched(child, reads, seconds, slack, cause).wait()
    os.close(reads)
    end_with(parent)
    faulthandler.register(signal.SIGUSR1, file=writes, all_threads=False)
    atexit.register(os.write, writes, f"{ENDED}\n".encode())  # not reached if it is killed, or lost with Ray
    return partial(write_line, writes)


def write_line(pipe: int, **known: Any) -> None:
    os.write(pipe, f"{json.dumps(known)}\n".encode())


def end_with(parent: int) -> None:
    """Have this process killed when its parent is. Where the system cannot do that, it ends when its time is over."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


class Watched:
    """A child process, watched by its parent."""

    def __init__(self, child: int, pipe: int, seconds: float | None, slack: float, cause: str) -> None:
        self.child, self.pipe, self.seconds, self.cause = child, pipe, seconds, cause
        self.slack = slack
        self.left = float("inf") if seconds is None else seconds + slack + GRACE
        self.text = ""  # what has come through the pipe
        self.used: float | None = None  # seconds of the processor until it was late
        self.signals: list[int] = []
        self.whole, self.begun = self.left, 0  # the time of one run; and how many runs it has been given to
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(kind) is not signal.SIG_IGN:  # an ignored signal stays ignored
                signal.signal(kind, self.pass_on)

    def pass_on(self, kind: int, frame: Any) -> None:
        """Ctrl-C in a terminal reaches the child too, and two would end it at once. So it gets another signal that does
        the same; a second Ctrl-C, which may come because the first did nothing, kills it."""
        again = kind == signal.SIGINT and kind in self.signals
        self.signals.append(kind)
        os.kill(self.child, signal.SIGKILL if again else signal.SIGTERM if kind == signal.SIGINT else kind)

    def wait(self) -> NoReturn:
        """Wait until the child has ended, and exit with its code; or until it is late."""
        while (ended := os.waitpid(self.child, os.WNOHANG))[0] == 0:
            began = time.monotonic()
            self.hear(min(TICK, self.left) if self.left > 0 else TICK)
            self.left -= min(time.monotonic() - began, 2 * TICK)  # a command that Ctrl-Z stopped is not late at once
            if self.left <= 0 and not self.has_ended:
                self.end_if_stuck()
        self.hear(0)
        code = os.waitstatus_to_exitcode(ended[1])
        if code < 0:
            show_cursor()
        if self.signals and code < 0:
            raise typer.Exit(128 + self.signals[0])
        if code and not self.has_ended:
            how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
            raise HandloomError(f"the run was lost ({self.cause or how}){self.how_to_resume()}")
        raise typer.Exit(code)

    def hear(self, seconds: float) -> None:
        """Read what the child writes within that time; do not wait for a child that has ended."""
        if select.select([self.pipe], [], [], seconds)[0]:
            heard = os.read(self.pipe, 1 << 16).decode(errors="replace")
            self.text += heard
            if not heard:
                time.sleep(0.01)
            if (begun := self.text.count(AGAIN)) > self.begun:  # the next of several runs
                self.left, self.used, self.begun = self.whole, None, begun

    def end_if_stuck(self) -> None:
        """Kill the child if it stays in the user's code, or is very late."""
        state, used = processor(self.child)
        self.used = used if self.used is None else self.used
        os.kill(self.child, signal.SIGUSR1)
        time.sleep(TICK)  # the stack arrives in pieces
        self.left -= TICK
        self.hear(0)
        where = users_function(frames_in(self.text.rpartition("Stack (most recent call first)")[2]))
        starved = state == "R" and used - self.used < ENOUGH  # it is ready to run, but gets no processor
        if (where is None or starved) and self.left > -LATEST:
            return
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        show_cursor()
        late = f"{GRACE + self.slack - self.left:.0f} s after the limit of {self.seconds:g} s"
        raise HandloomError(f"{where or 'the run'}: still running {late}, so it was stopped{self.what_is_left()}")

    @property
    def has_ended(self) -> bool:
        """Whether the child has done all its work."""
        return ENDED in self.text.splitlines()

    @property
    def told(self) -> dict[str, Any]:
        """What the child has told its parent last."""
        lines = [line for line in self.text.splitlines() if line.startswith("{")]
        known: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return known

    def how_to_resume(self) -> str:
        return f"; handloom discover --resume {self.told['folder']} resumes it" if self.told else ""

    def what_is_left(self) -> str:
        """What a user can do with a run that was stopped. Of one that never started nothing is left."""
        from handloom.runs.folder import SEVERAL

        kept = ("metrics.jsonl", "records.jsonl", *SEVERAL)
        if not self.told or any((Path(self.told["folder"]) / name).exists() for name in kept):
            return self.how_to_resume()
        from handloom.runs import Folder

        Folder(Path(self.told["folder"]), [Path(one) for one in self.told["made"]]).remove()
        return f"; what it had found is in {self.told['store']}" if Path(self.told["store"]).exists() else ""


def show_cursor() -> None:
    """Show the cursor, which the view of a killed child had hidden."""
    if sys.stderr.isatty():
        print("\x1b[?25h", end="", file=sys.stderr, flush=True)


def processor(pid: int) -> tuple[str, float]:
    """The state of a process (R: running, or ready to), and the seconds of processor it has had; where the system does
    not tell, no state and the clock."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", time.monotonic()
    return stat[0], (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def frames_in(text: str) -> list[Frame]:
    """The frames of a stack that faulthandler wrote, the newest first."""
    return re.findall(r'^  File "(.*)", line (\d+) in (.*)$', text, re.MULTILINE)


def users_function(frames: Sequence[Frame]) -> str | None:
    """The user's function that a stack is in, in words, or None. A compiled function has no frame, but its caller
    has."""
    inner = list(takewhile(lambda frame: not Path(frame[0]).is_relative_to(COMMANDS), frames))
    users = [frame for frame in inner if not any(Path(frame[0]).is_relative_to(path) for path in LIBRARIES)]
    for file, line, name in users:
        if not file.startswith("<"):
            return f"{file}, line {line}" + (f", in {name}" if name != "<module>" else "")
    return "a function of the problem" if any(Path(frame[0]) == CALLER for frame in inner) else None
