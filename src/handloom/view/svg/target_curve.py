"""Time to target as a picture: after how many CPU seconds which share of the seeds had reached a score.

write_drawing(target_curve(times), Path("curve.svg"), str(times))
"""

from collections.abc import Iterator
from itertools import pairwise

from handloom.discover.loop.targets import TimesToTarget
from handloom.view.svg.charts import Axis, short_number, ticks
from handloom.view.svg.drawing import Disc, Drawing, Label, Polyline, Segment, Shape

WIDE, TALL = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 14, 44


def target_curve(times: TimesToTarget) -> Drawing:
    """A step at each seed's time; dashed lines at the half of the seeds."""
    slowest = times.times[-1] if times.times else 1.0
    last = times.limit if len(times.times) < len(times.trials) and times.limit else 1.05 * slowest
    x = Axis(0.0, max(last, slowest), LEFT, WIDE - RIGHT)
    y = Axis(0.0, 1.0, TALL - BOTTOM, TOP)
    shapes: list[Shape] = [*lines_across(y), *names_below(x)]
    if times.median is not None:
        shapes += [
            Segment(LEFT, y.at(0.5), x.at(times.median), y.at(0.5), "known"),
            Segment(x.at(times.median), y.at(0.5), x.at(times.median), TALL - BOTTOM, "known"),
        ]
    shapes += steps(times.curve, x, y)
    shapes += [Disc(x.at(cpu), y.at(share), 3.0, "after", f"{cpu:.1f} s: {share:.0%}") for cpu, share in times.curve]
    return Drawing(WIDE, TALL, tuple(shapes))


def steps(curve: list[tuple[float, float]], x: Axis, y: Axis) -> Iterator[Polyline]:
    """From nothing at time 0 to the share at the end."""
    corners = [(0.0, 0.0)]
    for (_, low), (cpu, high) in pairwise([(0.0, 0.0), *curve]):
        corners += [(cpu, low), (cpu, high)]
    corners.append((x.high, corners[-1][1]))
    yield Polyline(tuple((x.at(cpu), y.at(share)) for cpu, share in corners), "after-line", width=1.8)


def lines_across(y: Axis) -> Iterator[Shape]:
    shares = [0, 0.25, 0.5, 0.75, 1.0]
    yield from (Segment(LEFT, y.at(share), WIDE - RIGHT, y.at(share), "level") for share in shares)
    yield from (Label(LEFT - 6, y.at(s), f"{100 * s:.0f} %", "tick", anchor="end") for s in shares)
    yield Label(14, (y.start + y.end) / 2, "share of the seeds", "label", upwards=True)


def names_below(x: Axis) -> Iterator[Label]:
    yield from (Label(x.at(tick), TALL - 28, short_number(tick), "tick") for tick in ticks(x.low, x.high, 6))
    yield Label((x.start + x.end) / 2, TALL - 10, "CPU seconds", "label")
