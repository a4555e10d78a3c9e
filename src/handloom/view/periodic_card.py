"""Pictures of periodic structure: shares by frequency as bars, losses over the steps of a run as curves.

    as_svg(share_bars("logits", found.logits, found.frequencies))
    as_svg(loss_curves(found.checkpoints))

Losses are on a logarithmic axis: those of a grokking run span many powers of ten.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from handloom.view.pages.skeleton import figure, table
from handloom.view.svg.charts import Axis, Curve, curve_shapes, short_number, ticks
from handloom.view.svg.drawing import Drawing, Label, Polyline, Rect, Segment, Shape

if TYPE_CHECKING:
    from handloom.read.periodic import Losses, Periodic

WIDE, TALL = 560, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 96, 14, 40
LEAST = 1e-6  # nats: losses below are drawn as this
CURVES = {"train": "search", "test": "after", "restricted": "before", "excluded": "best"}  # loss → look


def periodic_card(found: "Periodic") -> str:
    """The key frequencies, the shares, and the losses over the checkpoints."""
    few = found.fewest()
    rows = [
        ("group", f"numbers modulo {found.modulus}"),
        ("key frequencies", ", ".join(map(str, found.frequencies)) or "none"),
        ("they carry", f"{found.losses.carried:.1%} of the logits' variance"),
        ("95 % of it", f"{len(few)} frequencies" if few else "not reached by waves of a + b"),
        ("right", f"{found.losses.right:.1%}"),
    ]
    parts = [
        figure(share_bars(found.logits, found.frequencies), "Logits: share of the variance by frequency"),
        figure(share_bars(found.embedding, found.frequencies), "Embedding: share of the variance by frequency"),
    ]
    if len(found.checkpoints) > 1:
        parts.append(figure(loss_curves(found.checkpoints), "Losses over the steps, in nats"))
    return f"<h3>Periodic structure</h3>{table(rows)}{''.join(parts)}"


def share_bars(shares: Sequence[float], keys: Collection[int]) -> Drawing:
    """A bar per frequency; key frequencies are blue and have their number."""
    top = max(*shares, 0.01)
    y = Axis(0.0, 1.1 * top, TALL - BOTTOM, TOP)
    step = (WIDE - LEFT - 16) / len(shares)
    shapes: list[Shape] = list(share_levels(y, WIDE - 16))
    for k, share in enumerate(shares, 1):
        x, tall = LEFT + step * (k - 1), y.start - y.at(share)
        look = "after" if k in keys else "search"
        shapes.append(Rect(x + 0.1 * step, y.at(share), 0.8 * step, max(tall, 0.5), look, f"{k}: {share:.2%}"))
        if k in keys:
            shapes.append(Label(x + step / 2, y.at(share) - 8, str(k), "name"))
    whole = [tick for tick in ticks(1, len(shares), 8) if isinstance(tick, int)]
    shapes += [Label(LEFT + step * (k - 0.5), TALL - BOTTOM + 12, str(k), "tick") for k in whole]
    shapes.append(Label((LEFT + WIDE - 16) / 2, TALL - 9, "frequency", "label"))
    return Drawing(WIDE, TALL, tuple(shapes))


def share_levels(y: Axis, right: float) -> Iterator[Shape]:
    for tick in ticks(0, y.high):
        yield Segment(LEFT, y.at(tick), right, y.at(tick), "level")
        yield Label(LEFT - 6, y.at(tick), f"{100 * tick:.3g} %", "tick", anchor="end")


def loss_curves(checkpoints: Sequence["Losses"]) -> Drawing:
    """The four losses over the steps, those that are known, each with its name at its end."""
    steps = [one.step for one in checkpoints]
    curves = [
        Curve(name, look, [logarithm(getattr(one, name)) for one in checkpoints]) for name, look in CURVES.items()
    ]
    curves = [curve for curve in curves if any(value is not None for value in curve.values)]
    known = [value for curve in curves for value in curve.values if value is not None]
    x = Axis(steps[0], steps[-1], LEFT, WIDE - RIGHT)
    y = Axis(math.floor(min(known)), math.ceil(max(known) + 0.01), TALL - BOTTOM, TOP)
    shapes: list[Shape] = [*powers(y), *step_names(x, steps)]
    for curve in curves:
        shapes += [shape for shape in curve_shapes(curve, steps, x, y) if isinstance(shape, Polyline)]
    return Drawing(WIDE, TALL, (*shapes, *names_at_ends(curves, y)))


def logarithm(loss: float | None) -> float | None:
    return None if loss is None else math.log10(max(loss, LEAST))


def powers(y: Axis) -> Iterator[Shape]:
    for power in range(int(y.low), int(y.high) + 1):
        yield Segment(LEFT, y.at(power), WIDE - RIGHT, y.at(power), "level")
        name = f"{10.0**power:g}" if power > -4 else f"1e{power}"
        yield Label(LEFT - 6, y.at(power), name, "tick", anchor="end")


def step_names(x: Axis, steps: Sequence[int]) -> Iterator[Shape]:
    for tick in ticks(steps[0], steps[-1], 5):
        yield Label(x.at(tick), TALL - BOTTOM + 12, short_number(tick), "tick")
    yield Label((LEFT + WIDE - RIGHT) / 2, TALL - 9, "step", "label")


def names_at_ends(curves: Sequence[Curve], y: Axis) -> Iterator[Shape]:
    """The name of each curve beside its last value, pushed apart so that none covers another."""
    ends = {curve.name: y.at(next(v for v in reversed(curve.values) if v is not None)) for curve in curves}
    low = -math.inf
    for i, curve in enumerate(sorted(curves, key=lambda curve: ends[curve.name])):
        low = min(max(ends[curve.name], low + 14), TALL - BOTTOM - 14 * (len(curves) - 1 - i))
        yield Segment(WIDE - RIGHT + 4, low, WIDE - RIGHT + 18, low, f"{curve.look}-line", width=1.8)
        yield Label(WIDE - RIGHT + 22, low, curve.name, "label", anchor="start")
