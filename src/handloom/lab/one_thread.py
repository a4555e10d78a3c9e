"""What a new process does before it loads NumPy: allow matrix products one thread.

So this file imports no NumPy, and nothing that does. A process that unpickles a function of another file loads that
file first, and a library that is loaded has its threads.
"""

import multiprocessing
import os
import signal
from threading import Thread
from typing import Any

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")

PROGRESS: Any = None  # in a worker of the lab: the array of its pool


def use_one_thread() -> None:
    """NumPy's libraries read these once, when they are loaded."""
    os.environ.update(dict.fromkeys(THREADS, "1"))


def begin_worker(parts: Any) -> None:
    """What a new process does first. Ctrl-C ends the main process; and whatever ends that one ends this one."""
    global PROGRESS
    use_one_thread()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=end_with_parent, daemon=True).start()
    PROGRESS = parts


def end_with_parent() -> None:
    """Wait for the main process to end, however it does, and end this one at once."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
