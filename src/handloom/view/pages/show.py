"""A model explained: its weights drawn with the names of their parts, what each head and MLP does, an example with its
answer position by position, the residual stream, and the certificate. As text for a terminal, or as one HTML page.

What the parts are called comes from the model's notes, where its writer put it: `directions` (name → [first, last + 1]
of the stream's dimensions), `heads` ("layer.head" → words) and `mlps` ("layer" → words).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, Trace, count, generate, trace
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.core.files import one_line
from handloom.read.answer import MOST as MOST_STEPS
from handloom.read.answer import Step, as_html, as_lines, steps, table_of
from handloom.tasks import Certificate, Language, Task, certify, task_of
from handloom.tasks.certificate import Prove
from handloom.tasks.certify import ALL, proven
from handloom.tasks.task import Ids
from handloom.view.architecture import draw
from handloom.view.svg.heatmap import heatmap
from handloom.write import PROGRAMS, prover_of

CERTIFIED = 2_000  # inputs tried for the explanation; `handloom certify` tries all
PROVEN = 14  # positions up to which a proof takes a few seconds
MOST = 48  # rows and columns of a matrix that are drawn


@dataclass(frozen=True)
class Explanation:
    """All that is to be shown of a model. A model of one's own may have no task, and then has no certificate."""

    name: str
    about: str
    model: Model
    task: Task | None
    certificate: Certificate | None
    provable: bool  # by what its program has for its own task
    given: str  # the example
    said: str  # what the model says after it
    ids: Ids  # the example, all of its answer included
    at: int  # the last position of the example as given
    trace: Trace  # of the example with its answer
    answer: list[Step]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "about": self.about,
            "takes": self.task.takes if self.task else None,
            **asdict(count(self.model)),
            "directions": direction_names(self.model),
            "heads": {head: words for head, words, _ in heads(self)},
            "mlps": dict(mlps(self)),
            "example": {"input": self.given, "output": self.said, "stream": dict(stream_rows(self))},
            "answer": [step.to_json() for step in self.answer],
            "certificate": self.certificate.to_json() if self.certificate else None,
        }

    @property
    def tokens(self) -> list[str]:
        return [self.model.vocab.tokens[i] for i in self.ids]

    @property
    def certified(self) -> str:
        if self.certificate is None:
            return "Not certified, as no task with questions is known for it: name one, such as min:n=5."
        return f"{self.certificate}{self.stronger}"

    @property
    def stronger(self) -> str:
        """What `handloom certify`, which takes longer, would look for."""
        if self.certificate is None or self.certificate.method != "sampled":
            return ""
        if self.provable:
            return f"; handloom certify {self.name} looks for a proof"
        count = self.task.count if self.task else None
        return f"; handloom certify {self.name} tries all {count:,}" if count and count <= ALL else ""


def explain(
    name: str,
    model: Model,
    example: str | None = None,
    task: Task | Language | None = None,
    folder: Path | None = None,
) -> Explanation:
    """Run a model on an example (by default one of its task's) and gather what there is to say. The task is by default
    that of the model's notes; one of the user's own is looked for in the folder. An example may have the beginning of
    its answer behind it: 995+007=10."""
    prove = prover_of(model) if task is None else None
    task = questions_of(model, folder) if task is None else task if isinstance(task, Task) else None
    check_notes(name, model)
    if task is not None and task.vocab.tokens != model.vocab.tokens:
        raise HandloomError(
            f"{name}: its tokens are not the task's: {model.vocab.sample()} against {task.vocab.sample()}"
        )
    given = example_for(model, task) if example is None else example
    asked = model.vocab.encode(given) if task is None else question(task, given)
    ids, answer = model.vocab.encode(given), generate(model, [asked])[0]
    said = generate(model, [ids], steps=max(0, len(asked) + len(answer) - len(ids)))[0]
    whole = [*ids, *said][: model.config.block + 1] if model.config.causal else [*ids, *said[:1]]
    run = trace(model, whole[: max(len(whole) - 1, len(ids))])
    return Explanation(
        name=name,
        about=PROGRAMS[program].about
        if (program := model.notes.get("program")) in PROGRAMS
        else "a model of one's own",
        model=model,
        task=task,
        certificate=None if task is None or task.near is not None else strongest(model, task, prove),
        provable=prove is not None,
        given=given,
        said=model.vocab.decode(said),
        ids=whole,
        at=len(ids) - 1,
        trace=run,
        answer=steps(model, run, whole, len(asked) - 1, direction_names(model)) if said else [],
    )


def questions_of(model: Model, folder: Path | None) -> Task | None:
    """The task that a model's notes name, if it can be had and asks questions."""
    try:
        found = task_of(model, folder)
    except HandloomError:
        return None
    return found if isinstance(found, Task) else None


def example_for(model: Model, task: Task | None) -> str:
    """One of the task's; without a task the first tokens there are."""
    if task is not None:
        return task.example()
    plain = [token for token in model.vocab.tokens if token not in model.vocab.specials]
    return model.vocab.separator.join((plain or list(model.vocab.tokens))[: min(3, model.config.block)])


def question(task: Task, text: str) -> Ids:
    """The input of a task that a text begins with, if the rest is the beginning of its answer."""
    try:
        ids = task.vocab.encode(text)
    except HandloomError:
        ids = []
    for end in range(len(ids), 0, -1):
        answer = task.oracle(ids[:end])
        if answer is not None and answer[: len(ids) - end] == ids[end:]:
            return ids[:end]
    raise HandloomError(f"this takes {task.takes}, or that and the beginning of its answer; it was given {shown(text)}")


def strongest(model: Model, task: Task, prove: Prove | None) -> Certificate:
    """The strongest certificate that takes a few seconds: a proof, all inputs, or some."""
    if prove and model.config.block <= PROVEN and (proof := proven(prove, model, task.count, None)):
        return proof
    few = task.count is not None and task.count <= 10 * CERTIFIED
    return certify(model, task, samples=None if few else CERTIFIED)


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
    """Every head, what it is for, and where it looks from the last position of the example as given."""
    words, tokens = e.model.notes.get("heads", {}), e.tokens
    for i in range(e.model.config.layers):
        for h in range(e.model.config.heads):
            row = e.trace[f"{i}.pattern"][h, e.at]
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
    """The stream at the last position of the example as given, from the embedding to what the unembedding reads."""
    wanted = ["embed", "pos_embed"]
    for i in range(e.model.config.layers):
        wanted += [f"{i}.resid_pre", f"{i}.attn_out", f"{i}.resid_mid", f"{i}.mlp_out"]
    wanted += ["resid_final", "ln_final"]
    for site in wanted:
        if site in e.trace and (e.model.config.d_ff or not site.endswith("mlp_out")):
            yield site, e.trace[site][e.at].tolist()


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
        *([f"It takes {e.task.takes}."] if e.task else []),
        f"{c.total:,} parameters, {c.nonzero:,} of them not zero, {c.unique:,} different values.",
        "",
        draw(e.model.config),
        "",
    ]
    for label, matrix, rows, columns in matrices(e.model):
        lines += [*sign_map(label, matrix, rows, columns), ""]
    lines += [f"On {e.given!r} it says {e.said!r}. At the last position, {e.at}:", ""]
    parts = [(f"head {head}", words, where) for head, words, where in heads(e)]
    parts += [(f"MLP {i}", words, "") for i, words in mlps(e)]
    lines += [f"  {name:<10} {'; '.join(filter(None, (words, where)))}" for name, words, where in parts]
    lines += ["", *stream_table(e), ""]
    if e.answer:
        lines += [f"{title_of_answer(e)}:", "", *as_lines(answer_table(e)), ""]
    return "\n".join([*lines, e.certified])


def title_of_answer(e: Explanation) -> str:
    part = f" (the first {MOST_STEPS} of {len(e.answer)})" if len(e.answer) > MOST_STEPS else ""
    return f"The answer, token by token{part}"


def answer_table(e: Explanation) -> list[list[str]]:
    return table_of(e.answer, e.tokens, [f"head {head}" for head, words, _ in heads(e) if words == "not used"])


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
    """The stream at the last position as given, one line per site, one column per dimension."""
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
    where = [f"{i} {token}" for i, token in enumerate(e.tokens)][: len(e.trace["embed"])]
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
        f"stream at position {e.at}, by row",
    )
    return PAGE.format(
        name=escape(e.name),
        about=escape(e.about),
        takes=f": it takes {escape(e.task.takes)}" if e.task else "",
        sizes=f"{c.total:,} parameters, {c.nonzero:,} of them not zero, {c.unique:,} different values",
        drawing=escape(draw(e.model.config)),
        pictures=pictures,
        example=f"On <code>{escape(e.given)}</code> it says <code>{escape(e.said)}</code>.",
        patterns=patterns,
        neurons=neurons,
        stream=stream,
        table=escape("\n".join(stream_table(e))),
        answer=f"<h2>{title_of_answer(e)}</h2>{as_html(answer_table(e))}" if e.answer else "",
        certificate=escape(e.certified),
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
.answer {{ border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto }}
.answer th, .answer td {{ padding: .15rem .7rem; text-align: left; font-weight: normal; white-space: nowrap }}
.answer tr:first-child, .answer tr:last-child {{ font-weight: bold }} .answer th {{ color: #666 }}
pre {{ padding: .8rem 1rem; overflow-x: auto; background: #f4f4f1; border-radius: 6px;
      font: 13px/1.4 "DejaVu Sans Mono", Menlo, Consolas, monospace }}
</style></head><body>
<h1>{name}</h1>
<p>{about}{takes}. {sizes}.</p>
<p><b>{certificate}</b></p>
<pre>{drawing}</pre>
<h2>An example</h2>
<p>{example}</p>
<div class=side>{patterns}</div>
{neurons}
<figure>{stream}</figure>
<pre>{table}</pre>
{answer}
<h2>Weights</h2>
<p>White is zero, blue above, orange below, as strong as the largest entry of the matrix.</p>
<div class=side>{pictures}</div>
</body></html>
"""
