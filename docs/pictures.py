"""Draws the pictures of the README and of these pages anew: `make docs`."""

import io
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from addition_picture import addition_picture
from language_pictures import circle_picture, levels_picture, norm_picture, patterns_picture

from handloom.core import trace
from handloom.view.figures.figure import STYLE, matplotlib_parts
from handloom.view.pages.tour import hello_picture
from handloom.view.svg.drawing import as_svg, beside, titled
from handloom.view.svg.heatmap import heatmap
from handloom.write import program
from handloom.write.taotp import load_taotp

HERE = Path(__file__).parent


def rounded(values: Any) -> Any:
    """Without the last digits, which another machine may compute differently."""
    return np.round(values, 6) + 0.0  # no −0


def stream_picture() -> str:
    """The stream of Hello World from the embedding to what the unembedding reads."""
    model = program("book/hello")
    ids = model.vocab.encode("Hello World!")
    seen = trace(model, ids, want=["embed", "pos_embed", "ln_final", "logits"])
    names = [token if token.strip() else "␣" for token in model.vocab.tokens]
    rows = [f"{names[token]:>5} → {names[then]:<5}" for token, then in zip(ids, seen["logits"].argmax(-1), strict=True)]
    columns = [f"{what} {i}" for what in ("token", "position / 10⁶", "norm of the sum") for i in range(3)]
    stream = np.hstack([seen["embed"], seen["pos_embed"] / 1e6, seen["ln_final"]])
    return as_svg(heatmap(rounded(stream), rows, columns, "token, and the next"), "Hello World!, along the message")


def search_picture() -> str:
    """Where the heads of the book's search look from the last position, those left out that only clear."""
    model, text = program("book/search"), "1 2 3 4 5 6 1 2 3"
    seen = trace(model, text, want=["0.pattern", "1.pattern"])
    looks = np.vstack([seen["0.pattern"][1:, -1], seen["1.pattern"][:1, -1]])
    rows = [*(f"layer 0, head {h}" for h in (1, 2, 3)), "layer 1, head 0"]
    drawn = heatmap(rounded(looks), rows, text.split(), column_title="the last position looks at")
    return as_svg(drawn, f"{text} → {model(text)}")


def sort_picture() -> str:
    """Where the book's sort looks while it answers."""
    model, text = program("book/sort"), "6 2 12 18 7 0"
    answer = model(text).split()
    whole = [*text.split(), *answer[:-1]]
    pattern = trace(model, " ".join(whole), want="0.pattern")["0.pattern"][0, -len(answer) :]
    rows = [f"at {at:>2} predicts {then:>2}" for at, then in zip(whole[-len(answer) :], answer, strict=True)]
    return as_svg(heatmap(rounded(pattern), rows, whole, column_title="looks at"), "6 2 12 18 7 in order")


def taotp_picture() -> str:
    """The arrays of examples/min.taotp, under the names they have there."""
    model = load_taotp(HERE.parent / "examples" / "min.taotp")
    layer, dimensions = model.params["layers"][0], ["0", "1", "2"]
    tokens = titled(heatmap(rounded(model.params["W_E"].T), dimensions, model.vocab.tokens), "tok_emb, on its side")
    Q, K, V, P = layer["W_Q"][0] / 1e8, layer["W_K"][0], layer["W_V"][0], layer["W_O"][0].T / 1e6
    parts = {"Q / 10⁸": Q, "K": K, "V": V, "P / 10⁶": P}
    drawn = [titled(heatmap(rounded(part), dimensions, dimensions), name) for name, part in parts.items()]
    return as_svg(beside(tokens, *drawn))


def carries_picture() -> str:
    """Where the last layer of the adder looks while it answers."""
    model, text = program("addition:digits=4"), "0995+0007=0100"
    seen = trace(model, text, want=["3.pattern", "logits"])
    pattern, answer = seen["3.pattern"][0, 9:], seen["logits"][9:].argmax(-1)
    rows = [f"predicts {model.vocab.tokens[token]}" for token in answer]
    return as_svg(heatmap(rounded(pattern), rows, list(text), column_title="looks at"), "0995+0007=01002")


# The picture of docs/native.md: where the numbers of a training step lie, and how they move.
FORWARD, BACKWARD, REDUCTION = "#1f5fa8", "#cc6600", "#3a7d44"
BANDS = [  # top, height, lines
    (34, 142, "registers", "16 vectors", "of 8 floats"),
    (204, 76, "L1", "32 KB"),
    (308, 92, "L2", "512 KB"),
    (428, 92, "L3 and", "memory"),
]
BOXES = [  # left, top, width, height, lines
    (100, 76, 142, 52, "2 vectors of B"),
    (692, 60, 100, 86, "lane 1", "+ … + lane 8,", "in this order;", "then AdamW"),
    (100, 212, 142, 60, "a panel of B", "64 × 16 floats", "4 KB"),
    (256, 212, 142, 60, "6 rows of A", "6 × 64 floats", "1.5 KB"),
    (100, 316, 142, 76, "B: a matrix, packed", "64 × 256: 64 KB", "(a layer: 192 KB)"),
    (256, 316, 142, 76, "A: rows of a group", "160 × 64", "50 KB"),
    (412, 316, 142, 76, "C: the result", "160 × 256", "170 KB"),
    (568, 316, 112, 76, "or C: gradient", "of a matrix", "64 KB"),
    (692, 316, 100, 76, "a chunk:", "8,192 weights", "32 KB per array"),
    (100, 436, 142, 76, "packed weights", "W and Wᵀ, all layers", "1.5 MB"),
    (256, 436, 298, 76, "kept for the backward, all layers", "21 KB per token", "160 tokens: 3.3 MB"),
    (568, 436, 112, 76, "8 lanes'", "gradients", "0.8 MB each"),
    (692, 436, 100, 76, "weights, m, v,", "gradient", "0.8 MB each"),
]
ARROWS = [  # colour, and the corners of the way
    *((colour, (x, 436), (x, 392)) for colour, x in ((FORWARD, 162), (BACKWARD, 180), (BACKWARD, 340))),
    *((colour, (x, 316), (x, 272)) for x0 in (162, 318) for colour, x in ((FORWARD, x0), (BACKWARD, x0 + 18))),
    *((colour, (x, 212), (x, 128)) for colour, x in ((FORWARD, 162), (BACKWARD, 180))),
    *((colour, (x, 212), (x, 160)) for colour, x in ((FORWARD, 318), (BACKWARD, 336))),
    *((colour, (242, y), (276, y)) for colour, y in ((FORWARD, 93), (BACKWARD, 111))),
    (FORWARD, (392, 133), (474, 133), (474, 316)),
    (BACKWARD, (392, 115), (492, 115), (492, 316)),
    (BACKWARD, (392, 97), (624, 97), (624, 316)),
    (FORWARD, (474, 392), (474, 436)),
    (BACKWARD, (624, 392), (624, 436)),
    (REDUCTION, (660, 436), (706, 392)),
    (REDUCTION, (733, 316), (733, 146)),
    (REDUCTION, (751, 146), (751, 316)),
    (REDUCTION, (733, 436), (733, 392)),
    (REDUCTION, (751, 392), (751, 436)),
    (REDUCTION, (742, 512), (742, 540), (171, 540), (171, 512)),
]


def caches_picture() -> str:
    """Where the numbers of a training step lie, and how they move: the native engine, AVX2, 4 layers, 64 wide."""
    figure_class, styles = matplotlib_parts()
    with styles(STYLE | {"svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = figure_class(figsize=(11.1, 7.8))  # 800 points wide
        axis = figure.add_axes((0, 0, 1, 1), xlim=(0, 800), ylim=(562, 0))
        axis.axis("off")

        def box(x: float, y: float, w: float, h: float, face: str, edge: str = "#999999") -> None:
            axis.fill([x, x + w, x + w, x], [y, y, y + h, y + h], facecolor=face, edgecolor=edge, linewidth=0.8)

        def write(x: float, y: float, words: str, ha: str = "center", **how: str) -> None:
            axis.text(x, y, words, ha=ha, va="baseline", **{"fontsize": 11.5, "color": "#222222"} | how)

        for top, height, *lines in BANDS:
            box(4, top, 792, height, "#f3f3f0", "none")
            for i, line in enumerate(lines):
                write(12, top + 24 + 16 * i, line, "left", weight="normal" if i else "bold")
        for x, y, w, h, *lines in BOXES:
            box(x, y, w, h, "#ffffff")
            for i, line in enumerate(lines):
                write(x + w / 2, y + h / 2 + 4 + 18 * (i - (len(lines) - 1) / 2), line)
        for i, j in np.ndindex(6, 2):  # the tile
            box(276 + 58 * j, 82 + 13 * i, 58, 13, "#e3ecf6")
        write(334, 58, "a tile of C: 12 sums")
        write(334, 74, "6 rows × 2 vectors")
        write(346, 194, "one at a time", "left")
        for colour, *way in ARROWS:
            axis.plot(*zip(*way, strict=True), color=colour, linewidth=1.6)
            head = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
            axis.annotate("", way[-1], way[-2], arrowprops=head)
        phases = ((100, FORWARD, "forward"), (256, BACKWARD, "backward"), (412, REDUCTION, "reduction, AdamW"))
        for x, colour, words in phases:
            axis.plot([x, x + 30], [16, 16], color=colour, linewidth=3)
            write(x + 38, 20, words, "left", color=colour, weight="bold")
        write(456, 556, "packed again", color=REDUCTION)
        page = io.StringIO()
        figure.savefig(page, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub('<text style="([^"]*)"', plain, page.getvalue())


def plain(style: re.Match[str]) -> str:
    """The style of a text; how Matplotlib writes it depends on its version."""
    fill, anchor = (re.search(rf"{name}: ([#\w]+)", style[1])[1] for name in ("fill", "text-anchor"))
    weight = "bold" if "700" in style[1] else "normal"
    font = f"font: {weight} 11.5px 'DejaVu Sans', Verdana, sans-serif"
    return f'<text style="{font}; fill: {fill}; text-anchor: {anchor}"'


PICTURES = {
    "addition-light.svg": partial(addition_picture, "light"),
    "addition-dark.svg": partial(addition_picture, "dark"),
    **{
        f"language/{name}-{theme}.svg": partial(draw, theme)
        for theme in ("light", "dark")
        for name, draw in {"levels": levels_picture, "norm": norm_picture, "circle": circle_picture}.items()
    },
    **{
        f"language/{task}-{theme}.svg": partial(patterns_picture, task, theme)
        for theme in ("light", "dark")
        for task in ("reverse", "sort", "induction")
    },
    "hello.svg": lambda: as_svg(hello_picture(), "Hello World! in 72 numbers"),
    "book/stream.svg": stream_picture,
    "book/search.svg": search_picture,
    "book/sort.svg": sort_picture,
    "book/addition.svg": carries_picture,
    "book/taotp.svg": taotp_picture,
    "native/caches.svg": caches_picture,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw())
