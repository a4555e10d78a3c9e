"""handloom write precision and handloom write ngrams: how much a lookup table of some width holds."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.arguments import JsonOption, print_json
from handloom.cli.live.progress import Slowly


def precision(
    output: Annotated[Path, typer.Option("-o", "--output", help="The figure: .png, .svg or .pdf.")] = Path(
        "precision.png"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="A few small tables instead of all.")] = False,
    seed: Annotated[int, typer.Option(help="Which random tables.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Draw how many entries of a lookup table come out right, against the width of the model (the book's figure 3.8).

    10, 100 and 1,000 entries over 10, 100 and 1,000 tokens, ten runs each, on all cores: minutes.

    \b
    handloom write precision -o precision.svg
    handloom write precision --quick
    """
    from dataclasses import asdict

    from handloom.core.files import check_place
    from handloom.lab.lookup_figure import draw
    from handloom.lab.lookup_precision import QUICK, evaluate
    from handloom.view.figures.figure import check_format

    check_place(output)
    check_format(output)
    with Slowly("tables tried") as progress:
        results = evaluate(**(QUICK if quick else {}), seed=seed, progress=progress)
    draw(results, output)
    if as_json:
        print_json([asdict(result) for result in results])
        return
    for result in results:
        mean = sum(result.runs) / len(result.runs)
        print(f"{result.entries:>5,} entries, {result.vocab:>5,} tokens, {result.dims + 3:>2} wide: {mean:.1%}")
    print(output)


def ngrams(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any text.", show_default=False)],
    n: Annotated[int, typer.Option("--n", help="Words: n − 1 for the key, one for the value.", min=2)] = 6,
    most: Annotated[int, typer.Option(help="At most so many n-grams, from the beginning of the text.", min=1)] = 1000,
    dims: Annotated[int, typer.Option(help="Dimensions of a word; the model is 3 wider.", min=2)] = 10,
    words: Annotated[int, typer.Option(help="How many words to go on for.", min=0)] = 40,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Keep the model here (.safetensors).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Put the n-grams of a text into a transformer by hand, and let it write on from the text's beginning.

    \b
    handloom write ngrams book.txt
    handloom write ngrams book.txt --n 4 --dims 20 -o book.safetensors
    """
    from handloom.core import HandloomError, count, generate, save
    from handloom.core.files import MODEL_FILE, check_ordinary, check_place, check_suffix
    from handloom.tasks.lookup import ngrams as table_of
    from handloom.tasks.lookup import table_task
    from handloom.write.book.lookup import tied_table

    if output:
        check_place(output)
        check_suffix(output, "a model file", MODEL_FILE)
    check_ordinary(file)
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise HandloomError(f"cannot read {file}: {error.strerror}; give a text file") from error
    table = table_of(text, n, most)
    model = tied_table(table, block=2 * n, dims=dims)
    keys = table.keys.tolist()
    task = table_task(table, 2 * n)
    right = sum(said == task.oracle(key) for said, key in zip(generate(model, keys, steps=1), keys, strict=True))
    begun = model.vocab.decode(keys[0])
    gone_on = model.vocab.decode(generate(model, keys[:1], steps=words)[0]) if words else ""
    if output:
        save(model, output)
    if as_json:
        print_json(
            {"entries": len(keys), "right": right, "tokens": len(model.vocab), "total": count(model).total}
            | {"prompt": begun, "output": gone_on, "file": str(output) if output else None}
        )
        return
    print(
        f"{right:,} of {len(keys):,} {n}-grams over {len(model.vocab):,} words right, {count(model).total:,} parameters"
    )
    print(f"{begun} → {gone_on}")
