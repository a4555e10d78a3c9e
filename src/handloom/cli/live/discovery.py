"""The live view of a run of discover: on a terminal a picture that changes, elsewhere a line now and then.

The picture has the best score and its origin, the time left, the current stage, small curves over the generations and,
for a grid that fits, the best construction.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from handloom.cli.live.progress import PAUSE, REFRESH, duration, screen
from handloom.discover.loop.report import DiscoveryReport
from handloom.discover.records.origin import came_from
from handloom.view.svg.charts import exact, finite, measured, short_number

if TYPE_CHECKING:
    from rich.text import Text

BLOCKS = "▁▂▃▄▅▆▇█"
WIDEST, NARROWEST = 64, 36  # of the words
LARGEST = 32  # side of a grid that is drawn
SOON = 1.0  # seconds between lines, however good the news


class DiscoveryView:
    """`with DiscoveryView() as view:` and call view(progress) as often as you like."""

    def __init__(self) -> None:
        self.live: Any = None
        self.last = -PAUSE  # when a line was last printed
        self.told: tuple[Any, ...] = ()  # what is worth another line if it changes

    def __enter__(self) -> "DiscoveryView":
        self.live = screen()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.live is not None:
            self.live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        if self.live is None:
            print(text, file=sys.stderr, flush=True)
        else:
            self.live.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def __call__(self, progress: DiscoveryReport) -> None:
        waited = time.monotonic() - self.last
        if self.live is not None:
            if waited >= REFRESH:
                self.last = time.monotonic()
                size = self.live.console.size
                self.live.update(picture(progress, size.width, size.height), refresh=True)
            return
        news = (progress.best, progress.generation, progress.stage == "done")
        if (
            waited >= PAUSE
            or (news != self.told and waited >= SOON)
            or (progress.stage == "done" and news != self.told)
        ):
            self.last, self.told = time.monotonic(), news
            print(line(progress), file=sys.stderr, flush=True)


def line(p: DiscoveryReport) -> str:
    """All in one line: 41 s: generation 4, sampling, best 28 (best known: 28; model, generation 4), 57 records."""
    words = [
        f"generation {p.generation}",
        p.stage,
        best_words(p),
        f"{p.record_count:,} record{'s' * (p.record_count != 1)}",
    ]
    if p.loss is not None:
        words.append(f"loss {p.loss:.3f}")
    return f"{duration(p.seconds)}: {', '.join(words)}"


def best_words(p: DiscoveryReport) -> str:
    if p.best is None:
        return "nothing found yet"
    known = [f"best known: {exact(p.best_known)}"] if p.best_known is not None else []
    about = "; ".join([*known, *filter(None, [came_from(p.origin)])])
    return f"best {exact(p.best)}" + (f" ({about})" if about else "")


def picture(p: DiscoveryReport, width: int, height: int = 40) -> Any:
    """What is shown on a terminal of that size."""
    from rich.console import Group
    from rich.table import Table

    beside = drawn(p, width - NARROWEST - 3, height - 2)
    room = min(WIDEST, width - 1 - (beside[1] + 3 if beside else 0))
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(width=room, no_wrap=True, overflow="ellipsis")
    words = Group(*story(p, room))
    if beside:
        table.add_column(width=beside[1], no_wrap=True)
        table.add_row(words, beside[0])
    else:
        table.add_row(words)
    return table


def story(p: DiscoveryReport, room: int) -> list["Text"]:
    """The words, the bars and the curves, line by line."""
    from rich.text import Text

    score = Text("nothing found yet") if p.best is None else Text(f"best {exact(p.best)}", style="bold")
    if p.best is not None and p.best_known is not None:
        reached = p.best <= p.best_known if p.minimise else p.best >= p.best_known
        style = "green" if reached else ""
        score += Text(f"  best known {exact(p.best_known)}", style=style)
    lines = [Text(p.problem, style="bold cyan"), score, Text(came_from(p.origin), style="dim")]
    lines += [timing(p, room), stage(p, room)]
    counts = f"{p.steps:,} steps of search, {p.record_count:,} record{'s' * (p.record_count != 1)}"
    return [*lines, Text(counts, style="dim"), Text(), *curves(p.lines, room)]


def timing(p: DiscoveryReport, room: int) -> "Text":
    """The share of the time that is over."""
    from rich.text import Text

    if p.limit is None:
        return Text(duration(p.seconds))
    left = f" {duration(max(0.0, p.limit - p.seconds))} left"
    return bar(p.seconds / p.limit if p.limit > 0 else 1.0, room - len(left), "green") + Text(left)


def stage(p: DiscoveryReport, room: int) -> "Text":
    """The current stage and its progress."""
    from rich.text import Text

    loss = f", loss {p.loss:.3f}" if p.loss is not None else ""
    words = f"generation {p.generation}, {p.stage}{loss} "
    return Text(words) + bar(p.stage_done, min(20, room - len(words)), "blue")


def bar(share: float, wide: int, style: str) -> "Text":
    from rich.text import Text

    wide = max(0, wide)
    done = round(wide * min(1.0, max(0.0, share)))
    return Text("━" * done, style=style) + Text("─" * (wide - done), style="dim")


def curves(lines: Sequence[Mapping[str, Any]], room: int) -> list["Text"]:
    """Small curves over the generations, each with its last value."""
    from rich.text import Text

    illegal = [finite(line.get("illegal")) for line in lines]
    kinds = {
        "best": ([finite(line.get("best")) for line in lines], short_number),
        "mean after": ([measured(line, "after", "mean") for line in lines], short_number),
        "legal": ([None if share is None else 1 - share for share in illegal], percent),
        "duplicates": ([finite(line.get("duplicates")) for line in lines], percent),
    }
    shown = []
    for name, (values, words) in kinds.items():
        known = [value for value in values if value is not None]
        if known:
            curve = sparkline(values, room - 21)
            shown.append(Text(f"{name:<11}", style="dim") + Text(curve, style="cyan") + Text(f" {words(known[-1])}"))
    return shown


def percent(share: float) -> str:
    return f"{share:.0%}"


def sparkline(values: Sequence[float | None], wide: int) -> str:
    """A curve in one line of blocks; if there are too many values, each block shows the last of several.

    >>> sparkline([1, 2, None, 8], 10)
    '▁▂ █'
    """
    wide = min(max(1, wide), len(values))
    few = [values[(i + 1) * len(values) // wide - 1] for i in range(wide)]
    known = [value for value in few if value is not None]
    low, high = min(known, default=0), max(known, default=0)
    span, top = (high - low) or 1, len(BLOCKS) - 1
    return "".join(" " if value is None else BLOCKS[round((value - low) / span * top)] for value in few)


def drawn(p: DiscoveryReport, wide: int, tall: int) -> tuple["Text", int] | None:
    """The best construction in characters and its width, if it is a grid that fits."""
    from rich.text import Text

    if p.picture is None or p.picture[0].kind != "grid" or len(p.picture[0].sides) != 2:
        return None
    space, construction = p.picture
    rows, columns = space.sides
    if max(rows, columns) > LARGEST:
        return None
    chosen = {space.elements[i] for i in construction}
    if 2 * columns <= wide and rows <= tall:
        lines = ["".join("● " if (i, j) in chosen else "· " for j in range(columns)) for i in range(rows)]
    elif columns <= wide and (rows + 1) // 2 <= tall:
        lines = [halves(chosen, i, columns) for i in range(0, rows, 2)]
    else:
        return None
    text = Text("\n".join(lines))
    text.highlight_regex("·", "bright_black")
    text.highlight_regex("[●▀▄█]+", "cyan")
    return text, len(lines[0])


def halves(chosen: set[Any], row: int, columns: int) -> str:
    """Two rows in one line of characters."""
    marks = {(False, False): "·", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    return "".join(marks[(row, j) in chosen, (row + 1, j) in chosen] for j in range(columns))
