"""One long job of the studio, in a process of its own: `python -m handloom.studio.worker`.

The first line on standard input says what to do, and lines on standard output tell what happens, all of them JSON:

    {"kind": "learn", "task": "s[2]==s[5]", "choices": {"steps": 2000}, "out": null}
    {"kind": "resume", "run": "runs/strings-1", "steps": null}
    {"kind": "discover", "problem": "isosceles:n=16", "choices": {}, "seconds": 60, "store": null}
    {"kind": "resume-discover", "run": "runs/isosceles-1", "seconds": 60}
    {"kind": "certify", "model": "addition", "samples": null}

    {"type": "begun", …}, then "step", "evaluation", "saved", "frame", "generation", "stage", "improved", "progress",
    and at the end {"type": "done", "halted": false, …} or {"type": "error", "message": "one line"}

A later line `halt`, or the end of standard input, as when the studio died, stops the work at its next step; the run is
saved. Ctrl-C in a terminal reaches this process too, and is ignored: the studio tells it to halt. `files` in the spec
are the Python files that it may run.
"""

import json
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from handloom.core.errors import HandloomError, one_line, shown
from handloom.core.registry import loaded

KINDS = {  # of jobs, and what does them: a function of the spec, of what tells, and of the Halt
    "learn": "handloom.studio.learn_job:learn",
    "resume": "handloom.studio.learn_job:resume",
    "discover": "handloom.studio.discover_job:discover",
    "resume-discover": "handloom.studio.discover_job:resume",
    "certify": "handloom.studio.certify_job:certify",
}
PAUSE = 0.2  # seconds between two events of one frequent type

Spec = Mapping[str, Any]
Tell = Callable[..., None]  # the type of an event, and its values


class Halt:
    """Whether the studio wants the work to stop, and what to call when it does."""

    def __init__(self) -> None:
        self.asked = False
        self.call: Callable[[], None] = lambda: None

    def calls(self, call: Callable[[], None]) -> None:
        """Call this when the work has to stop; at once, if it has already."""
        self.call = call
        if self.asked:
            call()

    def ask(self) -> None:
        self.asked = True
        self.call()


class Pace:
    """Lets one pass every `pause` seconds."""

    def __init__(self, pause: float = PAUSE) -> None:
        self.pause, self.next = pause, 0.0

    def is_due(self) -> bool:
        now = time.monotonic()
        if now < self.next:
            return False
        self.next = now + self.pause
        return True


def teller(out: int) -> Tell:
    """What writes events as lines to a file descriptor. When nobody reads them any more, the work does not end for
    that: it is told to stop, and saves."""

    def tell(kind: str, **values: Any) -> None:
        line = (json.dumps({"type": kind} | plain(values)) + "\n").encode()
        try:
            while line:
                line = line[os.write(out, line) :]
        except OSError:
            pass

    return tell


def plain(value: Any) -> Any:
    """A value as JSON has it. A number that is not finite, which JSON has not, becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def lines_of(descriptor: int) -> Iterator[str]:
    """The lines of a file, as they come. They are read without Python's buffer, which a thread that waits for more
    would hold when the process ends."""
    text = b""
    while more := os.read(descriptor, 1 << 16):
        *lines, text = (text + more).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)


def listen(lines: Iterator[str], halt: Halt) -> None:
    """Ask to halt when the studio says so, or is gone."""
    for line in lines:
        if line.strip() == "halt":
            halt.ask()
    halt.ask()


def words(spec: Spec, name: str) -> str:
    """A text that a spec must have."""
    if not isinstance(value := spec.get(name), str) or not value:
        raise HandloomError(f"{spec['kind']}: {name}={shown(value)} (expected text); give a {name}")
    return value


def choices_of(spec: Spec) -> dict[str, Any]:
    """The choices of a spec, as the functions of the other rooms take them. JSON has lists in place of tuples."""
    choices = spec.get("choices") or {}
    if not isinstance(choices, dict):
        raise HandloomError(f"{spec['kind']}: choices={shown(choices)} (expected an object of names and values)")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in choices.items()}
    return {name: value for name, value in values.items() if value is not None}


def work(lines: Iterator[str], tell: Tell) -> int:
    """Do what the first line asks for; the exit code."""
    halt = Halt()
    spec = {"files": []} | json.loads(next(lines, "{}"))
    threading.Thread(target=listen, args=(lines, halt), daemon=True).start()
    try:
        if spec.get("kind") not in KINDS:
            raise HandloomError(f"job {shown(spec)}: unknown kind (expected one of {', '.join(KINDS)})")
        loaded(KINDS[spec["kind"]])(spec, tell, halt)
        return 0
    except HandloomError as error:
        tell("error", message=" ".join(str(error).split()))
    except Exception as error:
        traceback.print_exc()
        tell("error", message=f"{type(error).__name__}: {one_line(error)}; report it, with what was asked for")
    return 1


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.dup(1)
    os.dup2(2, 1)  # what a user's own function prints goes to standard error
    return work(lines_of(0), teller(out))


if __name__ == "__main__":
    sys.exit(main())
