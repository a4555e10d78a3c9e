"""What it costs a run of training to be watched in the studio: at most 3 % is the aim.

    OPENBLAS_NUM_THREADS=1 python benchmarks/studio_jobs.py             # as jobs are run; minutes on two cores
    OPENBLAS_NUM_THREADS=1 python benchmarks/studio_jobs.py --rounds 9

The same run, of makemore's size, is trained without a watcher and as a job of the studio, with one page that follows
its events, in turn, round by round, each in a process of its own; the fastest of each count, since other work on the
machine can only slow a run down. Besides, in one process, the share of the processor's time that is spent on telling:
on frames, and on everything else. A busy machine changes that little.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from handloom.learn.api import in_new_folder, prepare
from handloom.studio.events import Events
from handloom.studio.jobs import Jobs
from handloom.studio.learn_job import Watching
from handloom.studio.worker import plain

CASES = {
    "strings of 30 to 40": "strings:rule=s[13]==s[22],length=30-40",
    "strings of 50 to 200": "strings:rule=s[18]==s[47],length=50-200",
}
ALONE = """
import sys, json
from handloom.learn.api import train
task, folder, choices = json.loads(sys.argv[1])
print(train(task, folder=folder, **choices).where.seconds)
"""


def alone(task: str, folder: str, choices: dict[str, Any]) -> float:
    """Seconds of a run that nobody watches."""
    given = json.dumps([task, folder, choices])
    done = subprocess.run([sys.executable, "-c", ALONE, given], capture_output=True, text=True, check=True)
    return float(done.stdout)


def watched(task: str, folder: str, choices: dict[str, Any]) -> float:
    """Seconds of the same run as a job, its events followed as a page follows them."""
    events, sent = Events(), threading.Event()
    jobs = Jobs(events)
    jobs.start({"kind": "learn", "task": task, "choices": choices, "out": folder})
    for event in events.follow(0, sent.is_set):
        json.dumps(event)
        if event["type"] == "error":
            raise SystemExit(event["message"])
        if event["type"] == "done":
            sent.set()
    jobs.close()
    lines = (Path(folder) / "metrics.jsonl").read_text().splitlines()
    return float(json.loads(lines[-1])["seconds"])


class Timed:
    """A function, and the seconds of the processor spent in it."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function, self.seconds, self.calls = function, 0.0, 0

    def __call__(self, *values: Any) -> None:
        began = time.process_time()
        self.function(*values)
        self.seconds += time.process_time() - began
        self.calls += 1


def write(kind: str, **values: Any) -> None:
    """What telling costs the run itself."""
    json.dumps({"type": kind} | plain(values))


def shares(task: str, folder: str, choices: dict[str, Any]) -> str:
    """Where the time of a watched run goes."""
    training = prepare(task, **choices)
    watching = Watching(training, write)
    film, whole, run = Timed(watching.film.show), Timed(watching), Timed(training.run)
    setattr(watching.film, "show", film)  # noqa: B010
    training.watch = whole
    with in_new_folder(training, Path(folder), task):
        run()
    seconds, rest = run.seconds, (whole.seconds - film.seconds) / run.seconds
    each = 1e3 * film.seconds / max(1, film.calls)
    return f"frames {film.seconds / seconds:.2%} ({film.calls} of {each:.1f} ms), everything else {rest:.2%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=400)
    given = parser.parse_args()
    choices = {"steps": given.steps, "every": given.steps, "count": 1000, "samples": 10}
    for name, task in CASES.items():
        with tempfile.TemporaryDirectory() as place:
            times: dict[Callable[..., float], list[float]] = {alone: [], watched: []}
            for i in range(given.rounds):
                for run, found in times.items():
                    found.append(run(task, f"{place}/{run.__name__}-{i}", choices))
            best = {run: min(found) for run, found in times.items()}
            print(f"{name}, {given.steps} steps: alone {best[alone]:.2f} s, watched {best[watched]:.2f} s:", end=" ")
            print(f"{best[watched] / best[alone] - 1:+.1%}; {shares(task, f'{place}/shares', choices)}", flush=True)


if __name__ == "__main__":
    main()
