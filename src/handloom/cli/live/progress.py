"""Progress of a command that takes longer than two seconds, on standard error.

On a terminal it is a bar that disappears at the end, elsewhere a line every ten seconds.
"""

import sys
import time
from types import TracebackType
from typing import Any

PATIENCE, PAUSE, REFRESH = 2.0, 10.0, 0.1  # seconds: before a view, between lines, between pictures


class SlowProgress:
    """`with SlowProgress("decoding") as progress:` and call progress(done, most) from time to time."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.next = float("inf")  # until the first call: loading does not count
        self.bar: Any = None

    def __enter__(self) -> "SlowProgress":
        return self

    def __call__(self, done: int, most: int) -> None:
        if self.next == float("inf"):
            self.next = time.monotonic() + PATIENCE
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=done, total=most)
        elif time.monotonic() >= self.next:
            self.next += PAUSE
            if sys.stderr.isatty():
                self.start()
            else:
                print(f"{self.what}: {done:,} of at most {most:,}", file=sys.stderr)

    def start(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self.bar = Progress(console=Console(stderr=True), transient=True)
        self.bar.add_task(self.what)
        self.bar.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()


def screen() -> Any:
    """A part of the terminal that changes and disappears at the end (Rich's Live, started); None without a terminal."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.live import Live

    live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
    live.start()
    return live


def duration(seconds: float) -> str:
    """A time for people: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
