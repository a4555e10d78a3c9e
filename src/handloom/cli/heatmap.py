"""handloom heatmap: where the heads of a model look."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handloom.cli.arguments import JsonOption, ModelArgument, print_json
from handloom.cli.live.progress import Slowly

if TYPE_CHECKING:
    from handloom.core import Model
    from handloom.tasks import Learnable

TEXTS = "One text: its own picture. Several: their average. None: strings from the model, or from its task."


def heatmap(
    model: ModelArgument,
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT…", help=TEXTS, show_default=False)] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture: .png, .svg or .pdf.")] = Path(
        "attention.png"
    ),
    samples: Annotated[int, typer.Option(help="Strings to average over, where none are given.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Which strings.", min=0)] = 0,
    marks: Annotated[
        str | None,
        typer.Option(help="Digits to mark, counted from 1; default: those of the run's rule.", metavar="I,J"),
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Only this layer, counted from 0.", metavar="L", min=0)] = None,
    head: Annotated[int | None, typer.Option(help="Only this head of each layer.", metavar="H", min=0)] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw the attention of every head: averaged over strings, or on one.

    In a panel a row is a position that looks, and a column one that is looked at. Digits are counted from 1, and row t
    is where digit t + 1 is written: if digit 22 repeats digit 13, it shows in row 21, column 13. Marked digits that a
    head looks at more than twice as much as evenly, where another of them is written, are printed, and whether that
    has an effect: what the head reads there is replaced by its mean over strings of the task.

    \b
    handloom heatmap runs/strings-1 -o attention.svg
    handloom heatmap runs/strings-1/model-5000.safetensors --layer 1 --marks 13,22
    handloom heatmap addition "045+078=012"
    """
    import sys

    from handloom.core import HandloomError
    from handloom.core.files import check_place
    from handloom.core.finding import find
    from handloom.read.attention import check_heads, mean_attention, right_strings, strings_for
    from handloom.read.looks import effects, looks
    from handloom.tasks import task_of
    from handloom.view.figures.attention import draw_attention
    from handloom.view.figures.figure import check_format, matplotlib_parts

    check_format(output)
    check_place(output)
    matplotlib_parts()
    chosen, folder = find(model)
    check_heads(chosen)
    layers = pick("layer", layer, chosen.config.layers)
    heads = pick("head", head, chosen.config.heads)
    try:
        task = task_of(chosen, folder)
    except HandloomError:  # it is not here, or the model is of a discovery: texts can be drawn all the same
        task = None
    if texts:
        rows = [chosen.vocab.encode(text) for text in texts]
    else:
        with Slowly("tokens sampled") as progress:
            rows = strings_for(chosen, task, samples, seed, progress)
    begins = all(chosen.vocab.bos is not None and row[:1] == [chosen.vocab.id(chosen.vocab.bos)] for row in rows)
    longest = max(len(row) - begins for row in rows)
    marked = digits(marks, longest) if marks is not None else named(task, [row[begins:] for row in rows])
    with Slowly("strings run") as progress:
        patterns = mean_attention(chosen, rows, progress=progress)
    draw_attention(
        patterns[layers][:, heads],
        output,
        tokens=[chosen.vocab.tokens[i] for i in rows[0]] if len(rows) == 1 else None,
        first=0 if begins else 1,
        marks=marked,
        written=chosen.config.causal,
        layers=layers,
        heads=heads,
        title=title(model, chosen, len(rows)),
    )
    first = 0 if begins else 1
    seen = looks(patterns, marked, first, layers, heads) if chosen.config.causal else []
    if seen:
        strings = rows
        if task is not None and task.vocab == chosen.vocab:
            strings = right_strings(task, chosen, samples, seed)
        with Slowly("looks tested") as progress:
            seen = effects(chosen, seen, strings, marked, first, progress)
    if as_json:
        about = {"file": str(output), "strings": len(rows), "longest": longest + begins, "marks": marked}
        print_json(about | {"looks": [asdict(look) for look in seen]})
    else:
        print(output)
        for look in seen:
            if look.marked:
                print(look, file=sys.stderr)


def pick(what: str, number: int | None, count: int) -> list[int]:
    """The number asked for, or all of them."""
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


def named(task: "Learnable | None", rows: Sequence[list[int]]) -> list[int]:
    """The digits that a task's rule names in all of these strings, but for those that are malformed."""
    from handloom.tasks import Language

    if not isinstance(task, Language):
        return []
    lengths = {len(row) for row in rows if task.formed(task.vocab.decode(row))}
    return sorted(set.intersection(*(set(task.marks(length)) for length in lengths))) if lengths else []


def title(name: str, model: "Model", strings: int) -> str:
    steps = model.notes.get("steps")
    after = f" after {steps:,} steps" if isinstance(steps, int) else ""
    return f"{name}{after}" + (f", mean of {strings:,} strings" if strings > 1 else "")
