"""Pictures of points in the plane and in space, and of the elements of a cyclic group on a circle.

    point_drawing(space, construction)      # all points of the list faint, those that are chosen in colour

Space is drawn in parallel projection, x to the front left, y to the right, z up; nearer points are larger.
"""

import math
from collections.abc import Sequence

from handloom.discover.spaces import Construction, Space
from handloom.view.svg.drawing import Disc, Drawing, Label, Segment, Shape

MARGIN, SIDE = 16, 360
FRONT = (-0.42, 0.3)  # where the x axis of space points on paper, in units of y


def point_drawing(space: Space, construction: Construction) -> Drawing:
    """Points of two or three coordinates."""
    chosen = set(construction)
    at = [(p[0], -p[1]) for p in space.elements] if space.sides[0] == 2 else [projected(p) for p in space.elements]
    far = [0.0 if space.sides[0] == 2 else -p[0] for p in space.elements]
    low = [min(axis) for axis in zip(*at, strict=True)]
    span = [max(axis) - least for axis, least in zip(zip(*at, strict=True), low, strict=True)]
    unit = min(40.0, SIDE / max(1.0, *span))
    radius = max(1.2, min(7.0, 0.24 * unit))
    depth = max(1.0, max(far) - min(far))
    space_is_deep = space.sides[0] > 2
    stems = [stem(space.elements[i], space.elements, unit, low) for i in sorted(chosen) if space_is_deep]
    shapes: list[Shape] = [line for lines in stems for line in lines]
    for i in sorted(range(len(at)), key=lambda i: (i in chosen, -far[i])):
        x, y = (MARGIN + unit * (c - least) for c, least in zip(at[i], low, strict=True))
        near = 1.15 - 0.3 * (far[i] - min(far)) / depth if space_is_deep else 1.0
        part, size = ("chosen", radius * near) if i in chosen else ("box", 0.45 * radius * near)
        shapes.append(Disc(x, y, size, part, str(space.elements[i])))
    return Drawing(2 * MARGIN + unit * span[0], 2 * MARGIN + unit * span[1], tuple(shapes))


def projected(p: Sequence[int]) -> tuple[float, float]:
    return p[1] + FRONT[0] * p[0], -p[2] + FRONT[1] * p[0]


def stem(p: Sequence[int], listed: Sequence[Sequence[int]], unit: float, low: Sequence[float]) -> list[Shape]:
    """A line down to the lowest plane, which shows how high a point is."""
    ground = min(q[2] for q in listed)
    ends = [projected(p), projected((p[0], p[1], ground))]
    (x, y), (to_x, to_y) = [(MARGIN + unit * (a - low[0]), MARGIN + unit * (b - low[1])) for a, b in ends]
    return [Segment(x, y, to_x, to_y, "frame", width=0.8)] if p[2] > ground else []


def cycle_drawing(space: Space, construction: Construction) -> Drawing:
    """The elements of a cyclic group on a circle, 0 on top; those that are chosen have their names."""
    order, chosen = space.sides[0], set(construction)
    radius = max(60.0, min(260.0, 4.0 * order))
    room = radius + MARGIN + 18
    dot = max(1.0, min(6.0, 0.8 * math.pi * radius / order))
    shapes: list[Shape] = []
    labels: list[Shape] = []
    for x in sorted(range(order), key=lambda x: x in chosen):
        turn = 2 * math.pi * x / order - math.pi / 2
        c, s = math.cos(turn), math.sin(turn)
        part = "chosen" if x in chosen else "box"
        shapes.append(Disc(room + radius * c, room + radius * s, dot if x in chosen else 0.5 * dot, part, str(x)))
        if x in chosen and order <= 400:
            labels.append(Label(room + (radius + 15) * c, room + (radius + 15) * s, str(x), size=10))
    return Drawing(2 * room, 2 * room, (*shapes, *labels))
