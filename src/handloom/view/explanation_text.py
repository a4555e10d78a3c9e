"""An explanation of a model as text for a terminal: its weights as signs, what each head and MLP does, the example."""

import numpy as np

from handloom.core import count
from handloom.core.arrays import Array
from handloom.read.explanation import Explanation
from handloom.read.part_names import direction_names, head_words, matrices, mlp_words
from handloom.view.answer_table import answer_table, title_of_answer
from handloom.view.architecture import architecture_text

MOST = 48  # rows and columns of a matrix that are shown
COLUMNS = 10  # dimensions of the stream that are shown


def as_text(e: Explanation) -> str:
    """All of it in plain text."""
    c = count(e.model)
    lines = [
        f"{e.name}: {e.about}",
        *([f"It takes {e.task.takes}."] if e.task else []),
        f"{c.total:,} parameters, {c.nonzero:,} of them not zero, {c.unique:,} different values.",
        "",
        architecture_text(e.model.config),
        "",
    ]
    for label, matrix, rows, columns in matrices(e.model):
        lines += [*sign_map(label, matrix, rows, columns), ""]
    lines += [f"On {e.given!r} it outputs {e.output!r}. At the last position, {e.at}:", ""]
    looks = e.attention()
    parts = [(f"head {head}", words, looks[head]) for head, words in head_words(e.model).items()]
    parts += [(f"MLP {i}", words, "") for i, words in mlp_words(e.model).items()]
    lines += [f"  {name:<10} {'; '.join(filter(None, (words, where)))}" for name, words, where in parts]
    lines += ["", *stream_table(e), ""]
    if e.answer:
        lines += [f"{title_of_answer(e)}:", "", *aligned(answer_table(e)), ""]
    return "\n".join([*lines, e.certified])


def sign_map(label: str, matrix: Array, rows: list[str], columns: list[str]) -> list[str]:
    """A matrix as signs: + above zero, − below, · zero; equal rows below each other are one line."""
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
    names = direction_names(e.model)[:COLUMNS]
    wide = max(12, *(len(name) + 2 for name in names))
    lines = [f"  {'':<12}" + "".join(f"{name:>{wide}}" for name in names)]
    for site, values in e.stream():
        more = " …" if len(values) > len(names) else ""
        lines.append(f"  {site:<12}" + "".join(f"{value:>{wide}.4g}" for value in values[: len(names)]) + more)
    return lines


def aligned(table: list[list[str]]) -> list[str]:
    """A table as text, its columns in line."""
    widths = [max(len(row[i]) for row in table) + 2 for i in range(len(table[0]))]
    lines = ("".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in table)
    return [f"  {line.rstrip()}" for line in lines]
