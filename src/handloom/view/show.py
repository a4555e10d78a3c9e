"""A program explained: its weights drawn with the names of their parts, what each head and MLP does, the residual
stream along an example, and the certificate. As text for a terminal, or as one HTML page.

What the parts are called comes from the model's notes, where its writer put it: `directions` (name → [first, last + 1]
of the stream's dimensions), `heads` ("layer.head" → words) and `mlps` ("layer" → words).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, Trace, count, trace
from handloom.core.files import one_line
from handloom.tasks import Certificate, Task, certify, task_of
from handloom.view.architecture import draw
from handloom.view.heatmap import heatmap
from handloom.write import PROGRAMS

CERTIFIED = 2_000  # inputs tried for the explanation; `handloom certify` tries all
MOST = 48  # rows and columns of a matrix that are drawn
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Explanation:
    """All that is to be shown of a program."""

    name: str
    about: str
    model: Model
    task: Task
    certificate: Certificate
    given: str  # the example
    said: str
    trace: Trace  # of the example

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "about": self.about,
            "takes": self.task.takes,
            **asdict(count(self.model)),
            "directions": direction_names(self.model),
            "heads": {head: words for head, words, _ in heads(self)},
            "mlps": dict(mlps(self)),
            "example": {"input": self.given, "output": self.said, "stream": dict(stream_rows(self))},
            "certificate": self.certificate.to_json(),
        }


def explain(name: str, model: Model, example: str | None = None) -> Explanation:
    """Run a written model on an example (one of its task's, unless told) and gather what there is to say."""
    task = task_of(model)
    if not isinstance(task, Task) or model.notes.get("program") not in PROGRAMS:
        raise HandloomError(f"{name} is no program, by its notes; handloom info and handloom heatmap show any model")
    check_notes(name, model)
    given = task.example() if example is None else example
    task.check(given)
    few = task.count is not None and task.count <= 10 * CERTIFIED
    return Explanation(
        name=name,
        about=PROGRAMS[model.notes["program"]].about,
        model=model,
        task=task,
        certificate=certify(model, task, samples=None if few else CERTIFIED),
        given=given,
        said=model(given),
        trace=trace(model, given),
    )


def check_notes(name: str, model: Model) -> None:
    """A file may say anything."""
    try:
        direction_names(model)
        parts = [*model.notes.get("heads", {}).values(), *model.notes.get("mlps", {}).values()]
        if not all(isinstance(words, str) for words in parts):
            raise ValueError("what heads and MLPs do must be text")
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise HandloomError(f"{name}: its notes are damaged: {one_line(error)}") from error


def direction_names(model: Model) -> list[str]:
    """A name for every dimension of the stream."""
    names = [f"d{i}" for i in range(model.config.d_model)]
    for name, place in model.notes.get("directions", {}).items():
        first, end = place if isinstance(place, list | tuple) else (place, place + 1)
        for i in range(first, end):
            names[i] = name if end - first == 1 else f"{name} {i - first}"
    return names


def heads(e: Explanation) -> Iterator[tuple[str, str, str]]:
    """Every head, what it is for, and where it looks from the last position of the example."""
    words = e.model.notes.get("heads", {})
    tokens = [e.model.vocab.tokens[i] for i in e.model.vocab.encode(e.given)]
    for i in range(e.model.config.layers):
        for h in range(e.model.config.heads):
            row = e.trace[f"{i}.pattern"][h, -1]
            at = int(row.argmax())
            even = np.flatnonzero(row > 0.5 * row[at])
            if len(even) > 1:
                where = f"looks at {len(even)} positions, at most {row[at]:.0%} at one"
            else:
                where = f"looks at position {at}, {tokens[at]!r}, {row[at]:.0%}"
            yield f"{i}.{h}", words.get(f"{i}.{h}", "not used" if unused(e.model, i, h) else ""), where


def unused(model: Model, i: int, h: int) -> bool:
    layer = model.params["layers"][i]
    return not (np.any(layer["W_V"][h]) and np.any(layer["W_O"][h]))


def mlps(e: Explanation) -> Iterator[tuple[str, str]]:
    """Every MLP, and what it is for."""
    if e.model.config.d_ff:
        words = e.model.notes.get("mlps", {})
        for i, layer in enumerate(e.model.params["layers"]):
            silent = not (np.any(layer["W_out"]) or np.any(layer.get("b_out", 0.0)))
            yield str(i), words.get(str(i), "not used" if silent else "")


def stream_rows(e: Explanation) -> Iterator[tuple[str, list[float]]]:
    """The stream at the last position of the example, from the embedding to what the unembedding reads."""
    wanted = ["embed", "pos_embed"]
    for i in range(e.model.config.layers):
        wanted += [f"{i}.resid_pre", f"{i}.attn_out", f"{i}.resid_mid", f"{i}.mlp_out"]
    wanted += ["resid_final", "ln_final"]
    for site in wanted:
        if site in e.trace and (e.model.config.d_ff or not site.endswith("mlp_out")):
            yield site, e.trace[site][-1].tolist()


def matrices(model: Model) -> Iterator[tuple[str, Array, list[str], list[str]]]:
    """Every weight matrix that is not all zero, with the names of its rows and columns."""
    directions, vocab = direction_names(model), model.vocab
    tokens = [token if token.strip() and token.isprintable() else repr(token) for token in vocab.tokens]
    for name, array in model.flat.items():
        part = name.rpartition(".")[2]
        if array.ndim < 2 or not np.any(array):
            continue
        for h, matrix in enumerate(array if array.ndim == 3 else [array]):
            label = f"{name}[{h}]" if array.ndim == 3 else name
            inner = [str(k) for k in range(max(matrix.shape))]
            rows = {"W_E": tokens, "W_pos": inner, "W_O": inner, "W_out": inner}.get(part, directions)
            columns = {"W_E": directions, "W_pos": directions, "W_O": directions, "W_out": directions, "W_U": tokens}
            if np.any(matrix):
                height, width = matrix.shape
                yield label, matrix, rows[:height], columns.get(part, inner)[:width]


def as_text(e: Explanation) -> str:
    """All of it in plain text."""
    c = count(e.model)
    lines = [
        f"{e.name}: {e.about}",
        f"It takes {e.task.takes}.",
        f"{c.total:,} parameters, {c.nonzero:,} of them not zero, {c.unique:,} different values.",
        "",
        draw(e.model.config),
        "",
    ]
    for label, matrix, rows, columns in matrices(e.model):
        lines += [*sign_map(label, matrix, rows, columns), ""]
    lines += [f"On {e.given!r} it says {e.said!r}. At the last position:", ""]
    parts = [(f"head {head}", words, where) for head, words, where in heads(e)]
    parts += [(f"MLP {i}", words, "") for i, words in mlps(e)]
    lines += [f"  {name:<10} {'; '.join(filter(None, (words, where)))}" for name, words, where in parts]
    lines += ["", *stream_table(e), "", str(e.certificate)]
    return "\n".join(lines)


def sign_map(label: str, matrix: Array, rows: list[str], columns: list[str]) -> list[str]:
    """A matrix as signs: + above zero, − below, · zero; equal rows one after the other are said once."""
    marks = np.where(matrix > 0, "+", np.where(matrix < 0, "−", "·"))
    height, width = matrix.shape
    sizes = np.abs(matrix[matrix != 0])
    title = f"{label}  {height} × {width}, {len(sizes):,} not zero, from {sizes.min():.3g} to {sizes.max():.3g} in size"
    more = " …" if width > MOST else ""
    folded: list[tuple[list[str], str]] = []
    for name, line in zip(rows[:MOST], marks[:MOST], strict=True):
        drawn = " ".join(line[:MOST]) + more
        if folded and folded[-1][1] == drawn:
            folded[-1][0].append(name)
        else:
            folded.append(([name], drawn))
    named = [(run(names), drawn) for names, drawn in folded]
    pad = max(len(name) for name, _ in named)
    body = [f"  {name:>{pad}}  {drawn}" for name, drawn in named]
    return [title, f"  {'':>{pad}}  to {', '.join(groups(columns))}", *body, *(["  …"] if height > MOST else [])]


def groups(names: list[str]) -> list[str]:
    """Names of columns in runs: token 0–2, position 0–2."""
    runs: list[list[str]] = []
    for name in names:
        if runs and stem(name) == stem(runs[-1][0]) != name:
            runs[-1].append(name)
        else:
            runs.append([name])
    return [run(names) for names in runs[:MOST]]


def stem(name: str) -> str:
    """A name without the number at its end."""
    return name.rstrip("0123456789")


def run(names: list[str]) -> str:
    """A run of names as one: token 0–2."""
    if len(names) == 1:
        return names[0]
    same = stem(names[0]) == stem(names[-1])
    return f"{names[0]}–{names[-1][len(stem(names[-1])) :] if same else names[-1]}"


def stream_table(e: Explanation) -> list[str]:
    """The stream at the last position, one line a site, one column a dimension."""
    names = direction_names(e.model)[:10]
    wide = max(12, *(len(name) + 2 for name in names))
    lines = [f"  {'':<12}" + "".join(f"{name:>{wide}}" for name in names)]
    for site, values in stream_rows(e):
        more = " …" if len(values) > len(names) else ""
        lines.append(f"  {site:<12}" + "".join(f"{value:>{wide}.4g}" for value in values[: len(names)]) + more)
    return lines


def as_page(e: Explanation) -> str:
    """All of it as one HTML file, with the weights and patterns in colour."""
    c = count(e.model)
    pictures = "\n".join(
        f"<figure>{heatmap(matrix[:MOST, :MOST], rows[:MOST], columns[:MOST], label)}</figure>"
        for label, matrix, rows, columns in matrices(e.model)
    )
    tokens = [e.model.vocab.tokens[i] for i in e.model.vocab.encode(e.given)]
    where = [f"{i} {token}" for i, token in enumerate(tokens)]
    patterns = "\n".join(
        f"<div><h3>Head {head}</h3><p>{escape('; '.join(filter(None, (words, looks))))}</p><figure>"
        + heatmap(e.trace[f"{head.split('.')[0]}.pattern"][int(head.split(".")[1])], where, where, f"pattern {head}")
        + "</figure></div>"
        for head, words, looks in heads(e)
        if words != "not used"
    )
    neurons = "".join(f"<p>MLP {i}: {escape(words)}</p>" for i, words in mlps(e) if words)
    rows = list(stream_rows(e))
    stream = heatmap(
        np.array([values[:MOST] for _, values in rows]) / scale_of(rows),
        [site for site, _ in rows],
        direction_names(e.model)[:MOST],
        "stream at the last position, by row",
    )
    return PAGE.format(
        name=escape(e.name),
        about=escape(e.about),
        takes=escape(e.task.takes),
        sizes=f"{c.total:,} parameters, {c.nonzero:,} of them not zero, {c.unique:,} different values",
        drawing=escape(draw(e.model.config)),
        pictures=pictures,
        example=f"On <code>{escape(e.given)}</code> it says <code>{escape(e.said)}</code>.",
        patterns=patterns,
        neurons=neurons,
        stream=stream,
        table=escape("\n".join(stream_table(e))),
        certificate=escape(str(e.certificate)),
    )


def scale_of(rows: list[tuple[str, list[float]]]) -> Array:
    """The largest entry of each row, as a column; 1 where there is none."""
    largest = np.array([max(map(abs, values)) for _, values in rows])[:, None]
    return np.where(largest > 0, largest, 1.0)


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ max-width: 60rem; margin: 3rem auto; padding: 0 1.2rem; color: #222; background: #fff;
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }}
h1 {{ font-size: 1.9rem; margin-bottom: .2rem }} h2 {{ font-size: 1.3rem; margin: 2.4rem 0 .4rem }}
h3 {{ font-size: 1rem; margin: 1.4rem 0 0 }} p {{ margin: .3rem 0 .8rem }}
figure {{ margin: .6rem 0; overflow-x: auto; max-width: 100% }}
.side {{ display: flex; flex-wrap: wrap; gap: 0 1.6rem; align-items: flex-start }} .side div {{ max-width: 24rem }}
pre {{ padding: .8rem 1rem; overflow-x: auto; background: #f4f4f1; border-radius: 6px;
      font: 13px/1.4 "DejaVu Sans Mono", Menlo, Consolas, monospace }}
</style></head><body>
<h1>{name}</h1>
<p>{about}: it takes {takes}. {sizes}.</p>
<p><b>{certificate}</b></p>
<pre>{drawing}</pre>
<h2>An example</h2>
<p>{example}</p>
<div class=side>{patterns}</div>
{neurons}
<figure>{stream}</figure>
<pre>{table}</pre>
<h2>Weights</h2>
<p>White is zero, blue above, orange below, as strong as the largest entry of the matrix.</p>
<div class=side>{pictures}</div>
</body></html>
"""
