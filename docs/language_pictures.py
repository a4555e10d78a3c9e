"""The pictures of docs/language.md and docs/compiled-and-trained.md, each for light and for dark pages.

The first three are read off a trace of the compiled program `reverse`. Those of attention patterns are drawn from
docs/language/compiled-and-trained.json.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from addition_picture import THEMES, box, text

from handloom.core import Model, trace
from handloom.write import program

NAME, QUESTION, ANSWER = "compiled/reverse:n=5,letters=4", "abcd>", "dcba"
RESULTS = Path(__file__).parent / "language" / "compiled-and-trained.json"
FONT = "Inter, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


def page(width: int, height: int, about: str, parts: list[str], colours: Any) -> str:
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="{FONT}">'
    )
    card = box(0.5, 0.5, width - 1, height - 1, colours["card"], colours["line"], 10)
    return "\n".join([opening, f"<title>{about}</title>", card, *parts, "</svg>"]) + "\n"


def line(x0: float, y0: float, x1: float, y1: float, stroke: str, width: float = 1.5) -> str:
    return f'<path d="M{x0:g} {y0:g}L{x1:g} {y1:g}" stroke="{stroke}" stroke-width="{width:g}"/>'


def reverse() -> Model:
    return program(NAME)


def levels_picture(theme: str) -> str:
    """How far below the best score each position is, at two positions of reverse's second head."""
    colours, model = THEMES[theme], reverse()
    ids = model.vocab.encode(QUESTION + ANSWER)
    scores = trace(model, ids, want="1.scores")["1.scores"][0]
    tokens = [model.vocab.tokens[i] for i in ids]
    parts: list[str] = []
    for panel, (at, sought) in enumerate(((5, "d"), (7, "b"))):
        parts += levels(scores[at, : at + 1], tokens[: at + 1], 20 + 300 * panel, sought, panel, colours)
    about = "Scores of the head that fetches the letter: the sought position is 40 above the next, all others lower"
    return page(776, 330, about, parts, colours)


def levels(scores: Any, tokens: list[str], left: int, sought: str, panel: int, colours: Any) -> list[str]:
    """A panel: a bar per position, as long as its score is below the best, cut off at −200."""
    ink, colour, top, step = colours["ink"], colours["answer"][panel], 78, 44
    below = [round(float(score - scores.max())) for score in scores]
    where = f"At position {len(tokens) - 1}, {tokens[-1]}: fetch {sought}"
    parts = [text(left, 30, where, 15, ink, bold=True, anchor="start")]
    parts.append(text(left, 50, "score below the best, position by position", 13, colours["soft"], anchor="start"))
    for level in (0, 40, 160):
        y = top + level
        parts.append(line(left + 8, y, left + (280 if len(tokens) < 7 else 440), y, colours["line"], 1))
        parts.append(
            text(
                left + (280 if len(tokens) < 7 else 440),
                y - 4,
                f"−{level}" if level else "0",
                12,
                colours["soft"],
                anchor="end",
            )
        )
    for i, (token, amount) in enumerate(zip(tokens, below, strict=True)):
        x, best = left + 28 + step * i, amount == 0
        length = min(-amount, 185)
        if not best:
            parts.append(box(x - 12, top, 24, length, colours["look"], round_=2))
        y = top + length + (16 if not best else -8)
        label = f"−{-amount}" if amount else "best"
        parts.append(text(x, y, label, 12, colour if best else ink, bold=best))
        parts.append(box(x - 15, 288, 30, 30, colour if best else colours["card"], colour if best else colours["line"]))
        parts.append(text(x, 309, token, 15, colours["card"] if best else ink, bold=True))
    return parts


def norm_picture(theme: str) -> str:
    """The stream of two positions before and behind layer norm, and read."""
    colours, model, soft = THEMES[theme], reverse(), THEMES[theme]["soft"]
    seen = trace(model, QUESTION, want=["0.resid_pre", "0.ln1"])
    before, after = seen["0.resid_pre"], seen["0.ln1"]
    names = ["high", "low", "token", "", "", "position", "square", "(free)"]
    factor = float(1024 * np.sqrt(2 / len(names)))
    xs = [214 + 72 * i for i in range(len(names))]
    parts = [text(x, 30, name, 13, soft) for x, name in zip(xs, names, strict=True)]
    parts[2] = text(xs[3], 30, "token (three dimensions, sum 0)", 13, soft)
    rows = [("in the stream", before, 1.0), ("behind layer norm", after, 1.0), ("read, times 512", after, factor)]
    for block, at in enumerate((2, 4)):
        for i, (name, values, times) in enumerate(rows):
            y = 46 + 128 * block + 36 * i
            shade = colours["band"] if i != 2 else colours["card"]
            parts.append(box(10, y, 790, 32, shade, "none" if i != 2 else colours["line"]))
            label = f"{model.vocab.decode([int(t) for t in model.vocab.encode(QUESTION)][at : at + 1])}: {name}"
            parts.append(text(22, y + 21, label, 13, colours["ink"], bold=i == 2, anchor="start"))
            for j, x in enumerate(xs):
                amount = float(values[at, j] - (values[at, 2:5].mean() if i == 2 else 0)) * times
                digits = 0 if abs(amount) > 100 else 2 if times > 1 or i == 0 else 4
                words = f"{amount + 0.0:.{digits}f}".replace("-", "−")
                loud = abs(amount) > 1 and j < 2
                parts.append(
                    text(x, y + 21, "0" if float(amount) == 0 else zero(words), 13, soft if loud else colours["ink"])
                )
    about = "The stream of reverse at b and at d: layer norm divides by 512 everywhere, because of 1024 and −1024"
    return page(810, 300, about, parts, colours)


def zero(words: str) -> str:
    return words.lstrip("−") if not words.strip("−0.") else words


def circle_picture(theme: str) -> str:
    """Tokens in their plane, and where the stream is before and behind the head that answers."""
    colours, model = THEMES[theme], reverse()
    ids = model.vocab.encode(QUESTION)
    seen = trace(model, ids, want=["0.resid_pre", "1.resid_post", "logits"])
    axes = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])  # of the plane whose coordinates add up to 0
    points = model.params["W_E"][:, 2:5] @ axes.T
    here, then = (seen[site][-1, 2:5] @ axes.T for site in ("0.resid_pre", "1.resid_post"))
    parts = around("tokens in their plane", 200, 62, points, here, here, model, colours)
    parts += around("the answer, written loudly at >: d", 590, 62 / 26, points, here, then, model, colours)
    logits = dict(zip(model.vocab.tokens, seen["logits"][-1], strict=True))
    words = "  ".join(f"{token} {float(logit):.0f}".replace("-", "−") for token, logit in logits.items())
    parts.append(text(590, 376, f"logits: {words}", 13, colours["soft"]))
    parts.append(text(200, 374, "six tokens, each nearest to itself", 13, colours["soft"]))
    return page(790, 392, "Six tokens on a circle; the answer is written onto the same plane, far out", parts, colours)


def around(
    title: str, x0: int, unit: float, points: Any, here: Any, then: Any, model: Model, colours: Any
) -> list[str]:
    """The plane of the tokens around (x0, 200), `unit` pixels per 1."""

    def spot(point: Any) -> tuple[float, float]:
        return round(x0 + unit * float(point[0]), 1), round(200 - unit * float(point[1]), 1)

    colour, small = colours["answer"][0], unit < 20
    radius = round(unit * float(np.hypot(*points[0])), 1)
    parts = [text(x0, 30, title, 15, colours["ink"], bold=True)]
    parts.append(
        f'<circle cx="{x0}" cy="200" r="{radius:g}" fill="none" stroke="{colours["line"]}" stroke-width="1.5"/>'
    )
    if small:
        (x, y), (hx, hy) = spot(then), spot(here)
        parts += [line(hx, hy, x, y, colour, 3), f'<circle cx="{x:g}" cy="{y:g}" r="7" fill="{colour}"/>']
        parts.append(text(x, y + (24 if y > 200 else -14), "the stream here", 13, colours["ink"], bold=True))
        parts.append(text(x0 + radius + 8, 196, "the circle, to scale", 13, colours["soft"], anchor="start"))
    for token, point in zip(model.vocab.tokens, points, strict=True):
        x, y = spot(point)
        fill = colours["look"] if small else colours["card"]
        stroke = colours["line"] if token != ">" else colours["answer"][1]
        parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{2 if small else 19}" fill="{fill}" stroke="{stroke}" stroke-width="2"/>'
        )
        if not small:
            parts.append(text(x, y + 6, token, 16, colours["ink"], bold=True))
    return parts


def patterns_picture(task: str, theme: str) -> str:
    """The attention patterns of the compiled model, and of trained ones, on one input."""
    colours, results = THEMES[theme], json.loads(RESULTS.read_text())[task]
    kinds = {kind: best(runs) for kind, runs in results["models"].items()}
    tokens = next(iter(kinds.values()))["tokens"]
    cell = 13
    size = cell * len(tokens)
    parts: list[str] = []
    column = {"compiled": 0, "same shape": 1, "usual shape": 2}
    for kind, run in kinds.items():
        left = 20 + column[kind] * (size + 40)
        words = {
            "compiled": "compiled",
            "same shape": "trained, same shape",
            "usual shape": "trained, 4 heads, 64 wide",
        }
        parts.append(text(left, 28, words[kind], 14, colours["ink"], bold=True, anchor="start"))
        parts.append(text(left, 46, f"{run['parameters']:,} parameters", 13, colours["soft"], anchor="start"))
        for i, layer in enumerate(run["layers"]):
            for h, pattern in enumerate(layer):
                x, y = left + h * (size + 14), 84 + i * (size + 44)
                parts.append(text(x, y - 20, f"layer {i}, head {h}", 12, colours["soft"], anchor="start"))
                parts += grid(pattern, tokens, x, y, cell, colours)
    width = 20 + 2 * (size + 40) + 4 * (size + 14) + 6
    height = 84 + 2 * (size + 44) - 28
    shown = "".join(tokens[1:])
    return page(width, height, f"Attention patterns on {shown}: compiled, and trained in two shapes", parts, colours)


def best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The run with the fewest wrong answers, then the largest margin."""
    return min(runs, key=lambda run: (run["certificate"]["wrong"], -run["certificate"]["margin"]))


def grid(pattern: list[list[float]], tokens: list[str], x: int, y: int, cell: int, colours: Any) -> list[str]:
    size, ink = cell * len(tokens), colours["answer"][0]
    short = [token if len(token) == 1 else "·" for token in tokens]
    parts = [box(x, y, size, size, colours["band"], round_=0)]
    parts += [text(x + cell * (j + 0.5), y - 4, token, 11, colours["ink"]) for j, token in enumerate(short)]
    for i, row in enumerate(pattern):
        for j, weight in enumerate(row[: i + 1]):
            if weight >= 0.02:
                at = f'x="{x + cell * j}" y="{y + cell * i}" width="{cell}" height="{cell}"'
                parts.append(f'<rect {at} fill="{ink}" fill-opacity="{weight:.2f}"/>')
    return parts
