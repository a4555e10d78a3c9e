"""Long jobs, each in a child process: `python -m handloom.studio.worker`.

    jobs = Jobs(events)
    job = jobs.start({"kind": "learn", "task": "s[2]==s[5]", "choices": {"steps": 2000}})
    jobs.halt(job.id)

The child gets its work as one line of JSON on its standard input, and tells what happens by lines of JSON on its
standard output, which are published with the job's number (`job`) and the seconds since it began (`at`). Whatever ends
a child, be it an exception or a signal, becomes an "error" event of one line; nothing of it reaches this process. A
child whose standard input closes, because this process died, saves its run and ends.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import handloom
from handloom.core.errors import HandloomError, shown
from handloom.studio.events import Event, Events
from handloom.studio.worker import KINDS

State = Literal["running", "stopping", "done", "stopped", "failed"]
Spec = dict[str, Any]

# -P: a file in the current folder, such as json.py, must not be imported in place of a module
COMMAND = [sys.executable, "-P", "-m", "handloom.studio.worker"]
SINGLE = {"OPENBLAS_NUM_THREADS": "1"}  # NumPy's threads would wait for the cores that the training is busy on
LAST_WORDS = 20  # lines of a child's standard error that are kept
PATIENCE, HURRY = 10.0, 2.0  # seconds that a child has to save and end; and after SIGTERM, before it is killed
SUBJECTS = ("task", "problem", "model", "run")  # what a job is about, in its spec
LASTING = ("title", "folder", "step", "steps", "best", "loss", "generation")  # of events, kept for the list


@dataclass
class Job:
    """A child process and what it has told."""

    id: int
    spec: Spec
    process: "subprocess.Popen[str]"
    state: State = "running"
    known: dict[str, Any] = field(default_factory=dict)  # the last values of what its events say
    words: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_WORDS))  # its standard error
    began: float = field(default_factory=time.monotonic)
    readers: list[threading.Thread] = field(default_factory=list)

    @property
    def is_running(self) -> bool:
        return self.state in ("running", "stopping")

    def to_json(self) -> dict[str, Any]:
        subject = next((self.spec[name] for name in SUBJECTS if name in self.spec), "")
        about = {"id": self.id, "kind": self.spec["kind"], "state": self.state, "pid": self.process.pid}
        return about | {"title": subject} | {name: self.known.get(name) for name in LASTING if name in self.known}

    def hear(self, event: Event) -> None:
        """Keep what an event says of the whole job."""
        self.known |= {name: event[name] for name in LASTING if event.get(name) is not None}
        if event["type"] == "improved":
            self.known["best"] = event.get("score")
        if event["type"] == "done":
            self.state = "stopped" if event.get("halted") else "done"
        if event["type"] == "error":
            self.state = "failed"

    def tell(self, line: str) -> None:
        """Write a line to the child, if it is still there."""
        with suppress(OSError, ValueError):
            assert self.process.stdin is not None
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def epitaph(self) -> str:
        """Why the child ended without a result, and what to do."""
        code = self.process.returncode
        how = f"was killed (signal {-code})" if code < 0 else f"ended with exit code {code}"
        last = f": {self.words[-1][:200]}" if self.words and code > 0 else ""
        return f"the process {how}{last}; {self.remedy()}"

    def remedy(self) -> str:
        if "folder" not in self.known:
            return "start it again"
        kept = "whole generation" if "discover" in self.spec["kind"] else "checkpoint"
        return f"resume continues from its last {kept}"


class Jobs:
    """The jobs of a studio. `most` may run at once. `files` are the Python files that a job may run, as a task or a
    problem: those that the studio's user has named, and no others, whatever a spec says."""

    def __init__(self, events: Events, most: int = 2, files: Sequence[str | os.PathLike[str]] = ()) -> None:
        self.events, self.most, self.files = events, most, [str(Path(file).absolute()) for file in files]
        self.jobs: dict[int, Job] = {}
        self.lock = threading.RLock()
        self.closed = False

    def start(self, spec: Spec) -> Job:
        """Start a job; worker.py has the kinds and what they take."""
        if not isinstance(spec, dict) or spec.get("kind") not in KINDS:
            raise HandloomError(f"job {shown(spec)}: unknown kind (expected one of {', '.join(KINDS)})")
        with self.lock:
            if self.closed:
                raise HandloomError("the studio is closing: no job can start; start the studio again")
            running = [job for job in self.jobs.values() if job.is_running]
            if len(running) >= self.most:
                raise HandloomError(
                    f"{len(running)} jobs are running (expected up to {self.most} at once); stop one, or wait"
                )
            job = Job(len(self.jobs) + 1, spec, child())
            self.jobs[job.id] = job
        job.tell(json.dumps(spec | {"files": self.files}))
        job.readers = [threading.Thread(target=read, args=(job,), daemon=True) for read in (self.follow, self.listen)]
        for reader in job.readers:
            reader.start()
        return job

    def halt(self, number: int) -> None:
        """Tell a job to save and end; it goes on to its next step before it does."""
        job = self.job(number)
        if job.state == "running":
            job.state = "stopping"
            self.publish(job, {"type": "stopping"})
        job.tell("halt")

    def job(self, number: int) -> Job:
        if number not in self.jobs:
            raise HandloomError(f"job {shown(number)}: there is none (expected one of {[*self.jobs]}); list the jobs")
        return self.jobs[number]

    def list(self) -> list[dict[str, Any]]:
        """All jobs, as JSON values, the newest last."""
        return [job.to_json() for job in [*self.jobs.values()]]

    def close(self) -> None:
        """Have all jobs save and end. One that takes too long is terminated."""
        with self.lock:
            self.closed = True
        left = [job for job in self.jobs.values() if job.process.poll() is None]
        for job in left:
            self.halt(job.id)
        for ask, patience in ((None, PATIENCE), (subprocess.Popen.terminate, HURRY), (subprocess.Popen.kill, HURRY)):
            end = time.monotonic() + patience
            for job in left:
                if ask and job.process.poll() is None:
                    ask(job.process)
            left = [job for job in left if not has_ended(job.process, end)]
        for job in self.jobs.values():
            for reader in job.readers:
                reader.join(1.0)

    # What the child says

    def publish(self, job: Job, event: Event) -> None:
        self.events.publish(event | {"job": job.id, "at": round(time.monotonic() - job.began, 3)})

    def follow(self, job: Job) -> None:
        """Publish what a child tells, until it ends; and how it ended, if it did not say so itself."""
        assert job.process.stdout is not None
        with job.process.stdout as lines:
            for line in lines:
                event = json.loads(line)
                job.hear(event)
                self.publish(job, event)
        job.process.wait()
        job.readers[1].join(1.0)  # its last words
        if job.is_running:
            event = {"type": "error", "message": job.epitaph()}
            job.hear(event)
            self.publish(job, event)
        with suppress(OSError):
            assert job.process.stdin is not None
            job.process.stdin.close()

    def listen(self, job: Job) -> None:
        """Keep the last lines of a child's standard error."""
        assert job.process.stderr is not None
        with job.process.stderr as lines:
            job.words.extend(line.strip() for line in lines if line.strip())


def child() -> "subprocess.Popen[str]":
    """A worker that waits for its spec."""
    path = [str(Path(handloom.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = SINGLE | os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, text=True, encoding="utf-8", errors="replace",
            env=environment,
        )  # fmt: skip
    except OSError as error:
        raise HandloomError(f"the job cannot start: {error.strerror}; end some programs") from error


def has_ended(process: "subprocess.Popen[str]", end: float) -> bool:
    """Whether a process has ended by that time."""
    try:
        process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True
