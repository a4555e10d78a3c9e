"""handloom info: the architecture, sizes and notes of a model."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handloom.cli.options import JsonOption, ModelArgument, find_model, print_json

if TYPE_CHECKING:
    from handloom.core import Model


def info(
    model: ModelArgument,
    sites: Annotated[bool, typer.Option("--sites", help="List the sites that can be traced and edited.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a model's architecture, its sizes counted four ways, its vocabulary and where it came from.

    \b
    handloom info hello
    handloom info my.safetensors --sites
    """
    from rich.console import Console

    from handloom.core import count
    from handloom.core import sites as all_sites
    from handloom.view.architecture import architecture_text

    chosen = find_model(model)
    counts = asdict(count(chosen))
    if as_json:
        print_json(
            {"config": chosen.config.to_json(), **counts, "dtype": str(chosen.dtype)}
            | {"task": chosen.notes.get("task"), "vocab": chosen.vocab.to_json(), "notes": dict(chosen.notes)}
            | ({"sites": all_sites(chosen.config)} if sites else {})
        )
        return
    console = Console(highlight=False)
    console.print(architecture_text(chosen.config), markup=False, soft_wrap=True)
    console.print()
    for name, value in facts(chosen, counts):
        console.print(f"[dim]{name:>10}[/]  ", end="")
        console.print(value, markup=False)
    if sites:
        console.print(
            "\n[dim]sites, with T S positions, D model, H G heads, K head, F hidden, E experts, V vocabulary[/]"
        )
        listed = all_sites(chosen.config)
        wide = max(16, *(len(name) + 1 for name in listed))
        for name, letters in listed.items():
            console.print(f"  {name:<{wide}}{' '.join(letters)}", markup=False)


def facts(model: "Model", counts: dict[str, Any]) -> list[tuple[str, str]]:
    others = {key: value for key, value in model.notes.items() if key != "task"}
    if isinstance(others.get("readings"), dict):
        others["readings"] = list(others["readings"])  # --json has their vectors
    if isinstance(compiled := others.get("compiled"), dict):
        others["compiled"] = compiled.get("asks")  # --json has the whole program
        others.pop("cost", None)
    others.pop("truth", None)  # --json has it
    notes = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in others.items())
    return [
        (
            "parameters",
            f"{counts['total']:,} total, {counts['nonzero']:,} non-zero, {counts['unique']:,} unique",
        ),
        *([("active", f"{counts['active']:,} used per position, of the total")] if model.config.experts else []),
        ("trainable", f"{counts['trainable']:,} values, norms included"),
        ("biases", ", ".join(model.config.biases) or "none"),
        ("dtype", str(model.dtype)),
        ("tokens", model.vocab.sample()),
        ("task", str(model.notes.get("task", "not noted"))),
        ("notes", notes or "none"),
    ]
