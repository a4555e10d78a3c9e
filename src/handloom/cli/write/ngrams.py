"""handloom write ngrams: the n-grams of a text as a transformer."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.options import JsonOption, print_json


def ngrams(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any text.", show_default=False)],
    n: Annotated[int, typer.Option("--n", help="Words per n-gram: n − 1 for the key, one for the value.", min=2)] = 6,
    most: Annotated[int, typer.Option(help="Up to this many n-grams, from the start of the text.", min=1)] = 1000,
    dims: Annotated[int, typer.Option(help="Dimensions per word; the model is 3 wider.", min=2)] = 10,
    words: Annotated[int, typer.Option(help="Number of words to generate.", min=0)] = 40,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Save the model to this file (.safetensors).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Store the n-grams of a text in a transformer by hand, and generate from the start of the text.

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
        table = table_of(file.read_text(encoding="utf-8", errors="replace"), n, most)
    except OSError as error:
        raise HandloomError(f"cannot read {file}: {error.strerror}; give a text file") from error
    model = tied_table(table, block=2 * n, dims=dims)
    keys = table.keys.tolist()
    task = table_task(table, 2 * n)
    right = sum(value == task.oracle(key) for value, key in zip(generate(model, keys, steps=1), keys, strict=True))
    prompt = model.vocab.decode(keys[0])
    text = model.vocab.decode(generate(model, keys[:1], steps=words)[0]) if words else ""
    if output:
        save(model, output)
    if as_json:
        print_json(
            {"entries": len(keys), "right": right, "tokens": len(model.vocab), "total": count(model).total}
            | {"prompt": prompt, "output": text, "file": str(output) if output else None}
        )
        return
    print(
        f"{right:,} of {len(keys):,} {n}-grams over {len(model.vocab):,} words right, {count(model).total:,} parameters"
    )
    print(f"{prompt} → {text}")
