"""An explanation of a model as one page: its architecture, the model computing an example, what each of its parts is
for, the answer position by position, and its weights drawn with the names of their parts.

A model that is too large to compute in a page is shown by drawings: the pattern of every head, and the stream.
"""

import numpy as np

from handloom.core import count
from handloom.core.arrays import Array
from handloom.read.explanation import Explanation
from handloom.read.part_names import NOT_USED, direction_names, head_words, matrices, mlp_words, token_names
from handloom.view.answer_table import answer_table, title_of_answer
from handloom.view.architecture import architecture_drawing
from handloom.view.pages.looms import blocks, is_lively, loom_figure, loom_of
from handloom.view.pages.skeleton import figure, line, skeleton, table
from handloom.view.svg.heatmap import heatmap

MOST = 48  # rows and columns of a matrix that are drawn
EMBEDS = ("W_E", "W_pos")  # whose columns are directions, each on a scale of its own


def explanation_page(e: Explanation) -> str:
    """The page as text."""
    lively = is_lively(e.model)
    parts = [top(e), *((living(e), parts_in_words(e)) if lively else (example(e),)), answer(e), weights(e, lively)]
    body, looms = "\n".join(filter(None, parts)), {"-shown": loom_of(e)} if lively else {}
    return skeleton(e.name, body, ["unpack.js"] * lively, wide=True, data=blocks(looms))


def top(e: Explanation) -> str:
    """What the model is, the certificate, and the architecture."""
    c = count(e.model)
    takes = f": it takes {line(e.task.takes)}" if e.task else ""
    look = "" if e.certificate is None else "good" if e.certificate.right else "bad"
    sizes = f"{c.total:,} parameters, {c.nonzero:,} of them not zero, {c.unique:,} different values"
    return (
        '<header class="facing"><div><p class="eyebrow">handloom write show</p>'
        f"<h1>{line(e.name)}</h1><p>{line(e.about)}{takes}. {sizes}.</p>"
        f'<p><span class="badge {look}">{line(e.certified)}</span></p></div>'
        f"{figure(architecture_drawing(e.model.config))}</header>"
    )


def living(e: Explanation) -> str:
    """The example, computed in the page."""
    told = f"On <code>{line(e.given)}</code> it outputs <code>{line(e.output)}</code>."
    more = "Type another, click a position and a stage, take a head out or drag a weight: all of it is computed here."
    return f"<h2>An example</h2><p>{told} {more}</p>{loom_figure(e.name, '-shown')}"


def parts_in_words(e: Explanation) -> str:
    """What every head and MLP is for, and where each head looks in the example."""
    looks = e.attention()
    told = {f"head {head}": (words, looks[head]) for head, words in head_words(e.model).items()}
    told |= {f"MLP {i}": (words, "") for i, words in mlp_words(e.model).items()}
    rows = [(part, words, "" if words == NOT_USED else look) for part, (words, look) in told.items() if words or look]
    at = f"at position {e.at} of the example"
    return f"<h2>Its parts</h2>{table([('', 'what it is for', at), *rows], 'parts')}" if rows else ""


def example(e: Explanation) -> str:
    """The example: the pattern of every head that is used, and the stream at the last position as given."""
    tokens = [token_names(e.model)[i] for i in e.ids]
    looks, parts = e.attention(), []
    for head, words in head_words(e.model).items():
        if words == NOT_USED:
            continue
        layer, _, h = head.partition(".")
        pattern = e.trace[f"{layer}.pattern"][int(h)]
        where = tokens[: len(pattern)]
        told = line("; ".join(filter(None, (words, looks[head]))))
        drawn = heatmap(pattern, where, where, numbered=True, marked=[(e.at, int(np.abs(pattern[e.at]).argmax()))])
        parts.append(f'<div class="words"><h3>Head {head}</h3><p>{told}</p>{figure(drawn)}</div>')
    neurons = "".join(f"<p>MLP {i}: {line(words)}</p>" for i, words in mlp_words(e.model).items() if words)
    told = f"On <code>{line(e.given)}</code> it outputs <code>{line(e.output)}</code>."
    rows = "A row is a position that looks, a column one that is looked at; the frame is in the last row of the input."
    return (
        f"<h2>An example</h2><p>{told}{f' {rows}' if parts else ''}</p>"
        f'<div class="side">{"".join(parts)}</div>{neurons}{stream(e)}'
    )


def stream(e: Explanation) -> str:
    """The residual stream, site by site, at the last position of the example as given."""
    rows = list(e.stream())
    values = np.array([row[:MOST] for _, row in rows])
    names = direction_names(e.model)[:MOST]
    drawn = heatmap(values, [site for site, _ in rows], names, scale=stream_scale([site for site, _ in rows], values))
    cells = [["", *names[:10]], *([site, *(f"{v:.4g}" for v in row[:10])] for site, row in rows)]
    return (
        f"<h2>The stream at position {e.at}</h2><p>From the embedding to what the unembedding reads, blue above zero "
        "and orange below; each direction has its own scale, and so has the row behind the last norm.</p>"
        f"{figure(drawn)}"
        f"<details><summary>The same as numbers</summary>{table(cells, 'answer')}</details>"
    )


def stream_scale(sites: list[str], values: Array) -> Array:
    """What counts as largest: of a direction its largest entry, of what a norm gave its own."""
    normed = np.array([site == "ln_final" for site in sites])
    largest = np.abs(values[~normed]).max(0, initial=0.0)
    return np.where(normed[:, None], np.abs(values).max(1, keepdims=True), largest)


def answer(e: Explanation) -> str:
    return f"<h2>{title_of_answer(e)}</h2>{table(answer_table(e), 'answer')}" if e.answer else ""


def weights(e: Explanation, lively: bool = False) -> str:
    """Every matrix that is not all zero; beside a loom, which shows those of the layers, only the others."""
    parts = []
    for label, matrix, rows, columns in matrices(e.model):
        if lively and label.startswith("layers."):
            continue
        more = f", of {matrix.shape[0]:,} × {matrix.shape[1]:,} the first" if max(matrix.shape) > MOST else ""
        part = matrix[:MOST, :MOST]
        drawn = heatmap(part, rows[:MOST], columns[:MOST], scale=np.abs(part).max(0) if label in EMBEDS else None)
        parts.append(f"<div>{figure(drawn, f'{label}{more}')}</div>")
    words = (
        "Zero is the colour of the page, blue above, orange below, as strong as the largest entry of the matrix, "
        "and where tokens and positions are embedded, as the largest of the direction."
    )
    words += " Those of a head or an MLP stand beside the loom, with the part that is selected." * lively
    return f'<h2>Weights</h2><p>{words}</p><div class="side">{"".join(parts)}</div>'
