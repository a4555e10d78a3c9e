"""The picture on the first screen: `addition` computing 045+978=1023, drawn from a trace of the program.

A column is a position, and the line down it its residual stream, from the token at the top to the output at the bottom.
A band is a layer. A curve leads from a position to one whose head attends to it (by more than 5 %). A chip shows what
the layer has left in the stream there. All of it is read off the trace.
"""

from html import escape
from typing import Any

from handloom.core import trace
from handloom.write import program

QUESTION, ANSWER = "045+978=", "1023"
PLUS, EQUALS = QUESTION.index("+"), QUESTION.index("=")
UNIT = 8  # 1 of a sum in the direction `digit`: write/addition.py

LEFT, STEP, TOP, BAND = 212, 59, 104, 106  # left of the first column, between columns, above the first band, of a band
WIDTH, HEIGHT = LEFT + 11 * STEP + 8, TOP + 4 * BAND + 66
WORDS = """
Layer 0: spot the nines / Each position adds two digits. / A sum of 9 is marked, because / a carry passes through it.
Layer 1: add / Add the two digits of a place; / in the answer, of the place / that is to be written.
Layer 2: make the carries / A sum above 9 makes a carry. / Next to a nine, find where / the run of nines ends.
Layer 3: fetch the carry / Look at the place that makes / the carry for this digit. / Add it, drop the ten.
"""
THEMES = {
    "light": {
        "card": "#ffffff", "band": "#f2f4f8", "line": "#c8ced8", "ink": "#1d2430", "soft": "#566070", "look": "#a4acb9",
        "answer": ["#1f5fa8", "#b3541e", "#2b7a4b", "#8a3fa0"],
    },
    "dark": {
        "card": "#171b22", "band": "#212833", "line": "#49515e", "ink": "#eceff4", "soft": "#aab3c1", "look": "#6d7787",
        "answer": ["#7db4f0", "#f0a268", "#7ccb98", "#d49be6"],
    },
}  # fmt: skip


def addition_picture(theme: str) -> str:
    """SVG in the colours of a theme."""
    model, colours = program("addition"), THEMES[theme]
    sites = ["*.pattern", "0.mlp_out", "1.resid_post", "2.resid_post", "3.attn_out", "logits"]
    seen = trace(model, QUESTION + ANSWER[:-1], want=sites)
    parts = [*opening(colours), *(band(layer, colours) for layer in range(4)), *streams(colours)]
    for layer in range(4):
        parts += looks(layer, seen[f"{layer}.pattern"][0], colours)
    for layer, words in enumerate(left_in_the_stream(seen, model.notes["directions"])):
        parts += [chip(layer, at, text, colours) for at, text in words.items()]
    output = [model.vocab.tokens[token] for token in seen["logits"][EQUALS:].argmax(-1)]
    return "\n".join([*parts, *tokens(colours), *outputs(output, colours), "</svg>"]) + "\n"


def left_in_the_stream(seen: Any, directions: dict[str, int]) -> list[dict[int, str]]:
    """For each layer, by position: a nine, a sum, a carry, and the sum with the carry that was fetched."""

    def numbers(site: str, direction: str, unit: float) -> list[int]:
        return [round(float(value) / unit) for value in seen[site][:, directions[direction]]]

    nines = numbers("0.mlp_out", "mark", -0.25)
    sums, carries = numbers("1.resid_post", "digit", UNIT), numbers("2.resid_post", "square", 1)
    fetched, positions = numbers("3.attn_out", "digit", UNIT), range(len(nines))
    return [
        {at: "nine" for at in positions if nines[at]},
        {at: f"sum {sums[at]}" for at in positions if at > PLUS},
        {at: f"carry {carries[at]}" for at in positions if PLUS < at < EQUALS},
        {at: f"{sums[at]} + {fetched[at]}" for at in positions if at >= EQUALS},
    ]


def x_of(at: int) -> int:
    return LEFT + STEP * at + STEP // 2


def text(x: float, y: float, words: str, size: int, fill: str, bold: bool = False, anchor: str = "middle") -> str:
    weight = "600" if bold else "400"
    style = f'font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>'


def box(x: float, y: float, width: int, height: int, fill: str, stroke: str = "none", round_: int = 6) -> str:
    at = f'x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="{round_}"'
    return f'<rect {at} fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'


def ink_of(at: int, colours: Any) -> str:
    """Each digit of the answer has a colour of its own."""
    return colours["answer"][at - EQUALS] if at >= EQUALS else colours["soft"]


def opening(colours: Any) -> list[str]:
    about = f"A transformer with four layers reads {QUESTION} and outputs {ANSWER}, one digit per position"
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" font-family="Inter, \'Segoe UI\', Roboto, Helvetica, Arial, sans-serif">',
        f"<title>{about}</title>",
        box(0.5, 0.5, WIDTH - 1, HEIGHT - 1, colours["card"], colours["line"], 10),
    ]


def band(layer: int, colours: Any) -> str:
    top, (title, *lines) = TOP + BAND * layer, WORDS.strip().splitlines()[layer].split(" / ")
    parts = [box(10, top, WIDTH - 20, BAND - 8, colours["band"])]
    parts.append(text(22, top + 26, title, 14, colours["ink"], bold=True, anchor="start"))
    parts += [text(22, top + 46 + 17 * i, line, 13, colours["soft"], anchor="start") for i, line in enumerate(lines)]
    return "\n".join(parts)


def streams(colours: Any) -> list[str]:
    ends = [(x_of(at), HEIGHT - 58 if at >= EQUALS else TOP + 4 * BAND - 8) for at in range(11)]
    return [f'<path d="M{x} 84V{y}" stroke="{colours["line"]}" stroke-width="2"/>' for x, y in ends]


def looks(layer: int, pattern: Any, colours: Any) -> list[str]:
    """Curves from what is attended to, at the top of the band, to where it is read."""
    top, curves = TOP + BAND * layer, []
    for at in sorted(range(len(pattern)), key=lambda at: at >= EQUALS):
        for source in range(at):
            if pattern[at, source] > 0.05:
                colour, width = (colours["look"], 1.4) if at < EQUALS else (ink_of(at, colours), 2.2)
                x0, x1, y0, y1 = x_of(source), x_of(at), top + 6, top + BAND - 40
                way = f"M{x0} {y0}C{x0} {y0 + 46} {x1} {y1 - 46} {x1} {y1}"
                curves.append(f'<path d="{way}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
                curves.append(f'<circle cx="{x0}" cy="{y0}" r="3" fill="{colour}"/>')
                curves.append(f'<path d="M{x1 - 4} {y1 - 3}h8l-4 7z" fill="{colour}"/>')
    return curves


def chip(layer: int, at: int, words: str, colours: Any) -> str:
    x, y, ink = x_of(at), TOP + BAND * (layer + 1) - 36, ink_of(at, colours)
    frame = box(x - 26, y, 52, 22, colours["card"], ink, 11)
    return frame + text(x, y + 15.5, words, 12, colours["ink"], bold=True)


def tokens(colours: Any) -> list[str]:
    """Which token stands at each position, and what it is part of."""
    groups = [(0, 2, "first number"), (4, 6, "second number"), (8, 10, "answer so far, fed back")]
    parts = [text((x_of(a) + x_of(b)) / 2, 28, words, 13, colours["soft"]) for a, b, words in groups]
    parts.append(text(22, 58, "Input", 14, colours["ink"], bold=True, anchor="start"))
    parts.append(text(22, 77, "A column: a residual stream", 13, colours["soft"], anchor="start"))
    for at, token in enumerate(QUESTION + ANSWER[:-1]):
        stroke = ink_of(at - 1, colours) if at > EQUALS else colours["line"]  # the colour of the position that wrote it
        parts.append(box(x_of(at) - 19, 42, 38, 40, colours["card"], stroke))
        parts.append(text(x_of(at), 69, token, 21, colours["ink"], bold=True))
    return parts


def outputs(output: list[str], colours: Any) -> list[str]:
    parts = [text(22, HEIGHT - 30, "Output: the nearest digit", 14, colours["ink"], bold=True, anchor="start")]
    for i, token in enumerate(output):
        x, fill = x_of(EQUALS + i), colours["answer"][i]
        parts.append(box(x - 19, HEIGHT - 57, 38, 42, fill))
        parts.append(text(x, HEIGHT - 29, token, 21, colours["card"], bold=True))
    return parts
