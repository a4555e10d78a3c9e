"""handloom heatmap: what the heads of a model attend to."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, ModelArgument, print_json

if TYPE_CHECKING:
    from handloom.core import Model
    from handloom.read import Look
    from handloom.tasks import Learnable

TEXTS = "One text: its own picture. Several: their average. None: strings from the model, or from its task."
MARKS = "Digits to mark, counted from 1; default: those of the run's rule."
CHECKED = 100  # strings on which it is checked whether a head is used
Texts = Annotated[list[str] | None, typer.Argument(metavar="TEXT…", help=TEXTS, show_default=False)]
Output = Annotated[Path, typer.Option("-o", "--output", help="The picture: .png, .svg or .pdf.")]
Samples = Annotated[int, typer.Option(help="Strings to average over, if none are given.", min=1)]
Seed = Annotated[int, typer.Option(help="Which strings.", min=0)]
Marks = Annotated[str | None, typer.Option(help=MARKS, metavar="I,J")]
Layer = Annotated[int | None, typer.Option(help="Only this layer, counted from 0.", metavar="L", min=0)]
Head = Annotated[int | None, typer.Option(help="Only this head of each layer.", metavar="H", min=0)]


def heatmap(
    model: ModelArgument,
    texts: Texts = None,
    output: Output = Path("attention.png"),
    samples: Samples = 200,
    seed: Seed = 0,
    marks: Marks = None,
    layer: Layer = None,
    head: Head = None,
    as_json: JsonOption = False,
) -> None:
    """Draw the attention of every head: averaged over strings, or on one.

    A row is a position that looks, a column one that is looked at. Digits are counted from 1, and row t predicts digit
    t + 1: if digit 22 repeats digit 13, it shows in row 21, column 13. If a head looks from one marked digit at another
    more than twice as much as evenly, that is printed with its effect, measured by mean ablation. Over a head that
    writes nothing stands "not used".

    \b
    handloom heatmap runs/strings-1 -o attention.svg
    handloom heatmap runs/strings-1/model-5000.safetensors --layer 1 --marks 13,22
    handloom heatmap addition "045+078=012"
    """
    from handloom.core.finding import find
    from handloom.read.attention import check_averages, check_heads, mean_attention
    from handloom.read.heads import unused_on
    from handloom.view.figures.attention import draw_attention

    check_picture(output)
    chosen, folder = find(model)
    check_heads(chosen)
    check_averages(chosen, "heatmap")
    layers, heads = pick("layer", layer, chosen.config.layers), pick("head", head, chosen.config.heads)
    task = task_if_known(chosen, folder)
    rows = strings(chosen, task, texts, samples, seed)
    first = first_digit(chosen, rows)
    marked = digits(marks, max(map(len, rows)) + first - 1) if marks is not None else named(task, rows, first)
    with SlowProgress("strings run") as progress:
        patterns = mean_attention(chosen, rows, progress=progress)
    tokens = [chosen.vocab.tokens[i] for i in rows[0]] if len(rows) == 1 else None
    look: dict[str, Any] = {"first": first, "marks": marked, "layers": layers, "heads": heads}
    words: dict[str, Any] = {"title": title(model, chosen, len(rows)), "written": chosen.config.causal}
    draw_attention(
        patterns[layers][:, heads], output, tokens=tokens, unused=unused_on(chosen, rows[:CHECKED]), **words, **look
    )
    seen = looks(chosen, task, patterns, rows, look, samples, seed) if chosen.config.causal else []
    report({"file": str(output), "strings": len(rows), "longest": max(map(len, rows)), "marks": marked}, seen, as_json)


def check_picture(output: Path) -> None:
    """Raise an error at once if the picture could not be written."""
    from handloom.core.files import check_place
    from handloom.view.figures.figure import check_format, matplotlib_parts

    check_format(output)
    check_place(output)
    matplotlib_parts()


def task_if_known(model: "Model", folder: Path | None) -> "Learnable | None":
    """The model's task. If it is not here, or the model is one of a discovery, texts can be drawn all the same."""
    from handloom.core import HandloomError
    from handloom.tasks import task_of

    try:
        return task_of(model, folder)
    except HandloomError:
        return None


def strings(
    model: "Model", task: "Learnable | None", texts: list[str] | None, samples: int, seed: int
) -> list[list[int]]:
    from handloom.read import strings_for

    if texts:
        return [model.vocab.encode(text) for text in texts]
    with SlowProgress("tokens sampled") as progress:
        return strings_for(model, task, samples, seed, progress)


def first_digit(model: "Model", rows: Sequence[list[int]]) -> int:
    """The number of the first position: 0 for a token that begins every string, or else digit 1."""
    bos = model.vocab.bos
    return 0 if bos is not None and all(row[:1] == [model.vocab.id(bos)] for row in rows) else 1


def looks(
    model: "Model",
    task: "Learnable | None",
    patterns: Any,
    rows: Sequence[list[int]],
    look: dict[str, Any],
    samples: int,
    seed: int,
) -> "list[Look]":
    """The looks between marked digits, tested on right strings of the task, or on the strings drawn."""
    from handloom.read import effects, looks_between, right_strings

    seen = looks_between(patterns, look["marks"], look["first"], look["layers"], look["heads"])
    if not seen:
        return []
    known = task is not None and task.vocab == model.vocab
    right = right_strings(task, model, samples, seed) if task is not None and known else rows
    with SlowProgress("looks tested") as progress:
        return effects(model, seen, right, look["marks"], look["first"], progress)


def report(about: dict[str, Any], seen: "Sequence[Look]", as_json: bool) -> None:
    """All looks as JSON, or the file and, on standard error, the looks that stand out."""
    import sys

    if as_json:
        print_json(about | {"looks": [asdict(look) for look in seen]})
        return
    print(about["file"])
    for look in seen:
        if look.marked:
            print(look, file=sys.stderr)


def pick(what: str, number: int | None, count: int) -> list[int]:
    """The number given, or all of them."""
    from handloom.core import HandloomError

    if number is None:
        return list(range(count))
    if number >= count:
        raise HandloomError(f"there is no {what} {number}; this model has {what}s 0 to {count - 1}")
    return [number]


def digits(text: str, longest: int) -> list[int]:
    """13,22 as numbers."""
    from handloom.core import HandloomError
    from handloom.core.errors import shown

    pieces = [piece.strip() for piece in text.split(",")]
    if not all(piece.isdecimal() and len(piece) <= 9 for piece in pieces):
        raise HandloomError(f"--marks {shown(text)} are not digits of a string; write them as 13,22")
    if not all(1 <= int(piece) <= longest for piece in pieces):
        raise HandloomError(f"--marks {shown(text)}: the digits here are 1 to {longest}")
    return [int(piece) for piece in pieces]


def named(task: "Learnable | None", rows: Sequence[list[int]], first: int) -> list[int]:
    """The digits that a task's rule names in all of these strings that are well-formed."""
    from handloom.tasks import Language

    if not isinstance(task, Language):
        return []
    whole = [row[1 - first :] for row in rows]
    lengths = {len(row) for row in whole if task.formed(task.vocab.decode(row))}
    return sorted(set.intersection(*(set(task.marks(length)) for length in lengths))) if lengths else []


def title(name: str, model: "Model", strings: int) -> str:
    steps = model.notes.get("steps")
    after = f" after {steps:,} steps" if isinstance(steps, int) else ""
    return f"{name}{after}" + (f", mean of {strings:,} strings" if strings > 1 else "")
