"""The loop on several devices: of the processes that torchrun starts the first runs the loop, the others learn with it.

    torchrun --nproc-per-node 2 -m handloom discover isosceles:n=16 --minutes 10

Whenever the first one is to learn, it sends the others the model as it is and what it is to learn from; then every step
is made by all of them together (learn/processes.py). Searching, sampling and keeping are left to the first.
"""

import atexit
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from handloom.core import HandloomError
from handloom.discover.model.proposer import Speaker
from handloom.learn.batches import Strings
from handloom.learn.processes import Processes


def join() -> None:
    """To be called before a run begins. In the first process, or in the only one, this returns at once; the others
    learn with the first until it ends, and end with it."""
    processes = Processes()
    if processes.count == 1:
        return
    if processes.first:
        atexit.unregister(release)  # once, also if there are several runs
        atexit.register(release)
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first one says when it is over
    while (task := processes.told(None)) is not None:
        follow(*task)
    os._exit(0)  # at once: what torch has running must not be taken apart while the first one ends too


def release() -> None:
    Processes().told(None)


def learn_together(
    speaker: Speaker,
    strings: Strings,
    steps: int,
    deadline: float | None,
    weights: Any,
    report: Callable[[int, float], None],
    stop: Callable[[], bool],
) -> float | None:
    """As the speaker trains, with the processes that follow, if there are any."""
    if speaker.processes.count > 1:  # packing takes time
        speaker.processes.told((*speaker.packed(), strings, steps, weights))
    return speaker.train(strings, steps, deadline, weights, report, stop)


def follow(arrays: Any, where: Any, strings: Strings, steps: int, weights: Any) -> None:
    with suppress(HandloomError):  # the first one has it too, and tells the user
        Speaker.unpacked(arrays, where).train(strings, steps, weights=weights)
