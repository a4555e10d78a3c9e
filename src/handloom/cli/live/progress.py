"""Says how far something is, once it has taken longer than a moment.

On a terminal it is a bar on standard error that goes away in the end; elsewhere a line every ten seconds. What is over
in two seconds shows nothing, and costs nothing.
"""

import sys
import time
from types import TracebackType
from typing import Any

PATIENCE, PAUSE = 2.0, 10.0  # seconds


class Slowly:
    """`with Slowly("decoding") as progress:` and call progress(done, most) from time to time."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.next = float("inf")  # until the first call: what is loaded before it is not what takes long
        self.bar: Any = None

    def __enter__(self) -> "Slowly":
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
    """A place on the terminal that changes and is gone in the end (Rich's Live, begun); None where there is none."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.live import Live

    live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
    live.start()
    return live
