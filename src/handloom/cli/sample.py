"""handloom sample: strings from a model, judged by its task."""

import sys
from typing import Annotated, Any

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, ModelArgument, decoding, print_json, takes


@takes(decoding)
def sample(
    model: ModelArgument,
    count: Annotated[int, typer.Option("-n", "--count", help="Number of strings.", min=1)] = 20,
    prompt: Annotated[str, typer.Option(help="The beginning of each string; for a task, the question.")] = "",
    temperature: Annotated[
        float | None,
        typer.Option(help="0 takes the likeliest token; above 1 is wilder; default: 1, for questions 0."),
    ] = None,
    best: Annotated[bool, typer.Option("--best", help="The model at its best held-out loss, not the last.")] = False,
    task: Annotated[
        str | None, typer.Option(help="The task that judges; default: that of the model's run, or of its notes.")
    ] = None,
    engine: Annotated[str, typer.Option(help="native, torch, reference, or auto: the fastest.")] = "auto",
    as_json: JsonOption = False,
    **choices: Any,
) -> None:
    """Sample strings from a model, one per line, and count the right and the malformed ones; for a run, also those that
    are new and those from the training set.

    \b
    handloom sample runs/strings-1 -n 1000
    handloom sample addition --prompt 045+078=
    handloom sample runs/strings-1/model-5000.safetensors
    handloom sample runs/names-1 --prompt ka --format "\\[a-z]{3,8}"
    """
    from handloom.core.engines import fastest, reason_against_native
    from handloom.learn.sampling import Sampling

    sampling = Sampling.of(model, best, task)
    if engine == "auto" and (reason := reason_against_native(sampling.model)):
        print(f"engine: {fastest(sampling.model)} (native is not used: {reason})", file=sys.stderr)
    with SlowProgress("sampling") as progress:
        evaluation = sampling.draw(count, prompt, temperature=temperature, engine=engine, progress=progress, **choices)
    if as_json:
        print_json({"samples": list(evaluation.samples), **evaluation.to_json()})
        return
    print("\n".join(evaluation.samples))
    print(evaluation, file=sys.stderr)
