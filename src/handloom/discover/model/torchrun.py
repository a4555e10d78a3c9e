"""The loop on several devices: of the processes of torchrun the first runs the loop, the others train with it.

    torchrun --nproc-per-node 2 -m handloom discover isosceles:n=16 --minutes 10

When the first process trains, it sends the others its current model and the strings; then all of them make every step
together (learn/processes.py). Only the first searches, samples and saves.
"""

import atexit
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from handloom.core import HandloomError
from handloom.discover.model.proposer import Proposer
from handloom.learn.data import Strings
from handloom.learn.processes import Processes


def join() -> None:
    """Call this before a run starts. In the first process, or in the only one, it returns at once; the others train
    with the first until it ends, and end with it."""
    processes = Processes()
    if processes.count == 1:
        return
    if processes.first:
        atexit.unregister(release)  # once, even for several runs
        atexit.register(release)
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides when the run is over
    while (task := processes.told(None)) is not None:
        follow(*task)
    os._exit(0)  # at once: torch must not be torn down here while the first process ends


def release() -> None:
    Processes().told(None)


def train_together(
    proposer: Proposer,
    strings: Strings,
    steps: int,
    deadline: float | None,
    weights: Any,
    report: Callable[[int, float], None],
    stop: Callable[[], bool],
) -> float | None:
    """Train the proposer, together with the other processes, if there are any."""
    processes = proposer.stepper.processes
    if processes.count > 1:  # packing takes time
        processes.told((*proposer.packed(), strings, steps, weights))
    return proposer.train(strings, steps, deadline, weights, report, stop)


def follow(arrays: Any, where: Any, strings: Strings, steps: int, weights: Any) -> None:
    with suppress(HandloomError):  # the first process has it too, and reports it
        Proposer.unpacked(arrays, where).train(strings, steps, weights=weights)
