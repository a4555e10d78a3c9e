"""Readings as the page asks for them: begun in a child process, asked for again until they are there, or ended.

    begin(studio, {"model": "search", "reading": "circuit"})        # {"id": 1, "state": "reading", "done": 12, …}
    follow(studio, {"id": 1})                                       # the same, or {"state": "read", "result": …}

A process that has answered is kept for the next question, since starting one takes a second.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import Any
from weakref import WeakKeyDictionary

import handloom
from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.studio.desk import Studio
from handloom.studio.models import text_of
from handloom.studio.reading.analyses import ANALYSES

COMMAND = [sys.executable, "-P", "-m", "handloom.studio.reading.reading_process"]
MOST = 2  # at once
KEPT = 20  # results
WAIT = 0.4  # seconds that a question waits for the answer


@dataclass(eq=False)
class Reading:
    """A reading that was asked for, and what is known of it."""

    id: int
    known: dict[str, Any] = field(default_factory=lambda: {"state": "reading"})
    child: "subprocess.Popen[str] | None" = None
    change: Condition = field(default_factory=Condition)

    def tell(self, **values: Any) -> None:
        with self.change:
            self.known |= values
            self.change.notify_all()

    def after(self, seconds: float) -> dict[str, Any]:
        """What is known when it is there, or after this time."""
        with self.change:
            self.change.wait_for(lambda: self.known["state"] != "reading", seconds)
            return {"id": self.id, **self.known}


class Readers:
    """The readings of one studio, and the processes that are idle."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.all: dict[int, Reading] = {}
        self.idle: list[subprocess.Popen[str]] = []
        self.last = 0

    def begin(self, question: dict[str, Any]) -> Reading:
        with self.lock:
            busy = [one for one in self.all.values() if one.known["state"] == "reading"]
            for oldest in busy[: len(busy) - MOST + 1]:  # perhaps nobody waits for it: a page was closed
                self.stop(oldest, "a newer reading has taken its place; read it again")
            self.last += 1
            made = self.all[self.last] = Reading(self.last)
            self.all.pop(self.last - KEPT, None)
            made.child = self.idle.pop() if self.idle else child()
        Thread(target=self.run, args=(made, question), daemon=True).start()
        return made

    def run(self, made: Reading, question: dict[str, Any]) -> None:
        """Ask the child, and hear what it tells."""
        process = made.child
        assert process
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                told = json.loads(line)
                if "done" in told:
                    made.tell(**told)
                    continue
                self.idle.append(process)
                made.tell(state="read" if "result" in told else "failed", **told)
                return
        except (OSError, ValueError):
            process.kill()
        process.wait()
        with suppress(OSError):  # of a question that was never read
            process.stdin.close()
        process.stdout.close()
        stopped = made.known["state"] == "stopped"
        if not stopped:
            made.tell(state="failed", error="the process that read it has ended; read it again")

    def stop(self, made: Reading, why: str = "stopped; read it again") -> None:
        if made.known["state"] == "reading" and made.child is not None:
            made.tell(state="stopped", error=why)
            made.child.kill()


def child() -> "subprocess.Popen[str]":
    """A process that ends when this one does, since its input ends then."""
    source = str(Path(handloom.__file__).parent.parent)
    paths = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths}
    pipe = subprocess.PIPE
    return subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, text=True, encoding="utf-8", env=environment)


READERS: "WeakKeyDictionary[Any, Readers]" = WeakKeyDictionary()


def readers_of(studio: Studio) -> Readers:
    return READERS.setdefault(studio.jobs, Readers())


def listed(studio: Studio, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The readings that there are."""
    return [{"name": n, "title": one.title, "says": one.says, "asks": one.asks} for n, one in ANALYSES.items()]


def begin(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """Begin a reading, or give it at once if it is quick."""
    name, model = text_of(body, "reading"), text_of(body, "model")
    if name not in ANALYSES and name != "matching":
        raise HandloomError(f"there is no reading {shown(name)} (expected one of {', '.join(ANALYSES)})")
    fields = {key: value for key, value in body.items() if isinstance(value, str)}
    question = {"folder": str(studio.folder), "given": studio.given, "body": fields | {"model": model}}
    return readers_of(studio).begin(question).after(WAIT)


def follow(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """What has become of a reading."""
    return reading_of(studio, body).after(WAIT)


def stop(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """End a reading."""
    made = reading_of(studio, body)
    readers_of(studio).stop(made)
    return made.after(0)


def reading_of(studio: Studio, body: dict[str, Any]) -> Reading:
    made = readers_of(studio).all.get(body.get("id", 0))
    if made is None:
        raise HandloomError(f"there is no reading {shown(body.get('id'))}; begin it again")
    return made
