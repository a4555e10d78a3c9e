"""handloom import: a model of another tool becomes a model file."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.options import JsonOption, print_json

SOURCE = "A folder with a config.json, as Hugging Face saves it; or a checkpoint: .pt or .safetensors."


def import_(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help=SOURCE, show_default=False)],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The model file; default: NAME.safetensors, here.")
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(help="Its characters in order, as text or JSON; its training text; or a tokenizer.json."),
    ] = None,
    heads: Annotated[
        int | None, typer.Option(help="Heads per layer, of a state dict that does not tell (makemore: 4).", min=1)
    ] = None,
    activation: Annotated[
        str | None, typer.Option(help="relu, gelu, gelu_tanh, silu or none, of a checkpoint; default: its tool's.")
    ] = None,
    eps: Annotated[float | None, typer.Option(help="Added to the variance in norms; default: 1e-5.")] = None,
    norm: Annotated[
        str | None, typer.Option(help="layer, rms or none, of a TransformerLens state dict without gains.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import a model: a folder of GPT-2's or LLaMA's layout, a checkpoint of nanoGPT, makemore or TransformerLens.

    \b
    handloom import gpt2/ -o gpt2.safetensors
    handloom import ckpt.pt --tokens input.txt -o shakespeare.safetensors
    handloom import model.pt --tokens names.txt --heads 4 -o names.safetensors
    """
    import sys

    from handloom.core import save
    from handloom.core.files import MODEL_FILE, check_place, check_suffix
    from handloom.share import import_model

    path = output or Path(source.resolve().name).with_suffix(MODEL_FILE)
    check_place(path)
    check_suffix(path, "a model file", MODEL_FILE)
    model = import_model(source, tokens, heads=heads, activation=activation, eps=eps, norm=norm)
    save(model, path)
    if as_json:
        print_json({"file": str(path), "total": sum(array.size for array in model.flat.values()), **dict(model.notes)})
        return
    print(f"{path}: {model}")
    for name, value in model.notes.get("assumed", {}).items():
        print(f"assumed: {name} {value} (if it is another, give --{name})", file=sys.stderr)
    if model.notes.get("tokens") == "numbers":
        print("tokens: numbers, for there is no tokenizer (--tokens gives one)", file=sys.stderr)
