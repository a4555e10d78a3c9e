"""A job while it runs: what interrupts it, its clock, and the device it computes on."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import one_line, shown

GPUS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # made by the drivers of NVIDIA, Windows, AMD


@contextmanager
def interrupts(halt: Callable[[], None]) -> Iterator[None]:
    """Around a job: Ctrl-C, SIGTERM and SIGHUP call `halt`, so that the job can finish its step and save. A second
    Ctrl-C raises KeyboardInterrupt. Signals that are ignored stay ignored, as under nohup."""
    if threading.current_thread() is not threading.main_thread():  # Python delivers signals to the main thread only
        yield
        return
    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    before = {kind: handler for kind, handler in before.items() if handler not in (signal.SIG_IGN, None)}

    def handle(kind: int, frame: Any) -> None:
        halt()
        if signal.SIGINT in before:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    for kind in before:
        signal.signal(kind, handle)
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@dataclass
class Clock:
    """The seconds that a job has taken, including those before it was resumed.

    >>> Clock(before=60.0, now=iter([5.0, 7.5]).__next__).elapsed()
    62.5
    """

    before: float = 0.0
    now: Callable[[], float] = time.monotonic
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.now()

    def elapsed(self) -> float:
        return self.before + self.now() - self.since


def best_device() -> str:
    """cuda if torch finds a GPU. torch, which takes a second to load, is asked only where a driver is installed."""
    if not any(Path(path).exists() for path in GPUS):
        return "cpu"
    try:
        import torch
    except ModuleNotFoundError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def check_device(device: str) -> None:
    """Raise an error if this machine does not have the device."""
    if device == "cpu":
        return
    try:
        import torch

        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:
        raise HandloomError(f"no device {shown(device)} here ({one_line(error)}); use cpu") from error
