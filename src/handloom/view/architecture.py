"""A drawing of a Config, as text or as a picture: the residual stream runs from the tokens at the bottom to the logits
at the top, and what adds to it stands beside it.

    >>> from handloom.core import Config
    >>> print(architecture_text(Config(vocab=11, block=13, d_model=3)))
                 logits     T × 11
                   ▲
                   │  unembed     3 → 11, the embedding transposed
                   │  layer norm  eps 1e-05
                   │
                   ⊕─ positions   a table of 13
                   │  embed       11 → 3
                   ▲
                 tokens     T ≤ 13
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from handloom.core import Config
from handloom.view.svg.drawing import Disc, Drawing, Label, Polyline, Rect, Segment, Shape

STREAM = "               │"
POSITIONS = {"table": "a table of {N}", "sinusoid": "sinusoidal, computed"}
NORMS = {"layer": "layer norm", "rms": "RMS norm"}
STEP, MIDDLE, BESIDE, NAME, WORDS = 34, 112, 184, 104, 302  # of the picture: height of a row, and places from the left


@dataclass(frozen=True)
class Row:
    """Something the stream goes through (along), something that adds to it, or through which that reads it."""

    kind: Literal["along", "added", "reads"]
    name: str
    what: str


def above(c: Config) -> list[Row]:
    """What stands between the last layer and the logits, the last first."""
    unembed = Row("along", "unembed", f"{c.d_model} → {c.vocab}{', the embedding transposed' if c.tied else ''}")
    return [unembed, *(norm(c, "along") if c.place == "pre" else [])]


def layer(c: Config) -> list[Row]:
    """What adds to the stream in a layer, the last first."""
    turned = ", rotary positions" if c.positions == "rotary" else ""
    sees = "causal" if c.causal else "seeing both ways"
    kind = {"softmax": "", "least-squares": f"least-squares (ridge {c.ridge:g}), "}.get(c.attention, f"{c.attention}, ")
    shared = f" ({c.kv_heads} for keys and values)" if c.kv_heads else ""
    heads = f"{c.heads} head{'' if c.heads == 1 else 's'} of {c.d_head}{shared}, {kind}{sees}{turned}"
    used = f"{c.top} of {c.experts} experts, each " if c.experts else ""
    neurons = f"{used}{c.d_model} → {c.d_ff} → {c.d_model}, {c.activation}{', gated' if c.gated else ''}"
    rows: list[Row] = []
    for name, what, there in (
        ("MLP", neurons, c.d_ff),
        ("attention", heads, c.heads),
    ):
        skips = c.parallel or {"MLP": "mlp", "attention": "attn"}[name] in c.skips
        part = [Row("added" if skips else "along", name, what)] if there else []
        around = norm(c, "reads" if c.place == "pre" and skips else "along") if there else []
        rows += [*part, *around] if c.place == "pre" else [*around, *part]
    return parallel(c, rows) if c.parallel else rows


def parallel(c: Config, rows: list[Row]) -> list[Row]:
    """Attention and MLP above the norm that both read, and what becomes of the stream without a skip."""
    both = [Row(row.kind, row.name, row.what + ", parallel") for row in rows if row.kind == "added"]
    ends = [] if c.skips else [Row("along", "no skip", "only what attention and MLP add goes on")]
    return [*both, *[row for row in rows if row.kind == "reads"][:1], *ends]


def below(c: Config) -> list[Row]:
    """What stands between the tokens and the first layer, the last first."""
    places = POSITIONS.get(c.positions, "").format(N=c.block)
    added = [Row("added", "positions", places)] if places else []
    return [*added, Row("along", "embed", f"{c.vocab} → {c.d_model}")]


def norm(c: Config, kind: Literal["along", "reads"]) -> list[Row]:
    return [Row(kind, NORMS[c.norm], f"eps {c.eps:g}")] if c.norm in NORMS else []


def architecture_text(config: Config) -> str:
    """The drawing in text, from the logits down to the tokens."""
    lines = [f"             logits     T × {config.vocab}", "               ▲", *map(as_text, above(config)), STREAM]
    if config.layers:
        lines += [*bracketed(config), STREAM]
    lines += [*map(as_text, below(config)), "               ▲", f"             tokens     T ≤ {config.block}"]
    return "\n".join(lines)


def as_text(row: Row) -> str:
    if row.kind == "reads":
        return f"{STREAM}    └ reads through {row.name}, {row.what}"
    stream = f"{STREAM} " if row.kind == "along" else f"{STREAM[:-1]}⊕─"
    return f"{stream} {row.name:<12}{row.what}"


def bracketed(c: Config) -> Iterator[str]:
    """One layer, in a bracket with the number of layers."""
    inside = [STREAM, *map(as_text, layer(c)), STREAM]
    edges = ["╭", *"│" * (len(inside) - 2), "╰"]
    for i, (edge, line) in enumerate(zip(edges, inside, strict=True)):
        count = f"{c.layers:,} ×" if i == len(edges) // 2 else ""
        yield f"{count:>10} {edge}{line[12:]}"


def architecture_drawing(config: Config) -> Drawing:
    """The same as a picture."""
    parts = [above(config), layer(config) if config.layers else [], below(config)]
    shapes: list[Shape] = [*end("logits", f"T × {config.vocab}", 16)]
    y = 30.0
    starts = []
    for rows in parts:
        starts.append(y + STEP / 2)
        for row, under in pairwise([*rows, None]):
            y += STEP
            shapes += row_shapes(row, y, under is not None and under.kind == "reads") if row else []
        y += 12 if rows else 0
    bottom = y + STEP / 2
    if parts[1]:
        shapes = [*layer_frame(config, starts[1], starts[2] - 12), *shapes]
    shapes += end("tokens", f"T ≤ {config.block}", bottom + 16)
    longest = max(len(row.what) for rows in parts for row in rows)
    stream = Segment(MIDDLE, 28, MIDDLE, bottom + 4, "frame", width=3)
    return Drawing(WORDS + 6.4 * longest + 12, bottom + 32, (stream, *shapes))


def end(name: str, what: str, y: float) -> list[Label]:
    return [Label(MIDDLE, y, name, "title", 13), Label(WORDS, y, what, size=12, anchor="start")]


def layer_frame(c: Config, top: float, bottom: float) -> list[Shape]:
    left = MIDDLE - NAME / 2 - 12
    around = Polyline(((left + 10, top), (left, top), (left, bottom), (left + 10, bottom)), "frame")
    return [around, Label(left - 8, (top + bottom) / 2, f"{c.layers:,} ×", "title", 13, "end")]


def row_shapes(row: Row, y: float, is_read: bool) -> Iterator[Shape]:
    """A box on the stream, or beside it with a plus where it adds; its reading, from below, through a norm."""
    if row.kind == "reads":
        yield Label(BESIDE + NAME / 2 + 12, y, f"reads through {row.name}, {row.what}", anchor="start")
        return
    if row.kind == "added":
        yield Segment(MIDDLE, y, BESIDE, y, "frame")
        if is_read:
            corner = (BESIDE + NAME / 2, y + STEP)
            yield Polyline(((MIDDLE, corner[1]), corner, (corner[0], y)), "frame", width=1)
    left = MIDDLE - NAME / 2 if row.kind == "along" else BESIDE
    yield Rect(left, y - 12, NAME, 24, "box")
    yield Label(left + NAME / 2, y, row.name, "on-light", 12)
    yield Label(WORDS, y, row.what, size=12, anchor="start")
    if row.kind == "added":
        yield Disc(MIDDLE, y, 8, "vertex")
        yield Label(MIDDLE, y, "+", "on-light", 13)
