"""The skeleton of every page: one HTML file with its style sheet and scripts in it, which asks the network for nothing.

    skeleton("A title", "<h1>A title</h1>", scripts=["enlarge.js"])

The style sheet, `style.css`, is built from `web/style.css`: it has light and dark colours, and everything fits a phone.
`notebook_part` puts what a notebook shows in the same style, without what only looms need.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from handloom.view.svg.drawing import Drawing, as_svg, clean

BROAD = 640  # pixels from which on a picture scrolls instead of being shrunk
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:; "
    "img-src data: blob:"
)


def skeleton(
    title: str,
    body: str,
    scripts: Iterable[str] = (),
    wide: bool = False,
    live: bool = False,
    data: Mapping[str, str] | None = None,
) -> str:
    """A page with this body, in HTML: an article that scrolls, or with `live` a loom that fills the window. `data` are
    blocks of JSON for the scripts, each of which HTML can hold as it is."""
    blocks = (f'<script type="application/json" id="{name}">{text}</script>\n' for name, text in (data or {}).items())
    run = "".join([*blocks, *(f"<script>\n{asset(name)}</script>\n" for name in scripts)])
    look = f"handloom{' wide' * wide}{' live' * live}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<title>{line(title)}</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<style>\n{asset("style.css")}</style></head>\n<body class="{look}">\n{body}\n{run}</body></html>\n'
    )


def notebook_part(body: str) -> str:
    """What a notebook shows of a value: a part of a page, with its style."""
    return f'<div class="handloom value"><style>\n{asset("notebook.css")}</style>{body}</div>'


@cache
def asset(name: str) -> str:
    """A style sheet or a script of this folder."""
    return (files(__package__) / name).read_text("utf-8")


def line(text: object) -> str:
    """Text as HTML can hold it, in one line."""
    return clean(" ".join(str(text).split()))


def figure(drawing: Drawing, caption: str = "") -> str:
    """A drawing as part of a page."""
    broad = ' class="broad"' if drawing.width > BROAD else ""
    words = f"<figcaption>{line(caption)}</figcaption>" if caption else ""
    return f"<figure{broad}>{words}{as_svg(drawing)}</figure>"


def table(rows: Iterable[Sequence[object]], kind: str = "") -> str:
    """A table; the first cell of a row is its heading."""
    look = f' class="{kind}"' if kind else ""
    written = (f"<th>{line(row[0])}</th>" + "".join(f"<td>{line(cell)}</td>" for cell in row[1:]) for row in rows)
    return f"<table{look}>{''.join(f'<tr>{cells}</tr>' for cells in written)}</table>"


def block(text: str, kind: str = "") -> str:
    """Text as it is, such as code. It may scroll, and does so by keyboard too."""
    look = f' class="{kind}"' if kind else ""
    return f'<pre{look} tabindex="0">{escape(text)}</pre>'
