"""handloom sample: strings from a model, and what its task thinks of them."""

from typing import Annotated

import typer

from handloom.cli.arguments import FormatOption, JsonOption, ModelArgument, SeedOption, TopK, TopP, print_json
from handloom.cli.live.progress import Slowly


def sample(
    model: ModelArgument,
    count: Annotated[int, typer.Option("-n", "--count", help="How many.", min=1)] = 20,
    prompt: Annotated[str, typer.Option(help="How each begins (for a task: the question).")] = "",
    temperature: Annotated[
        float | None,
        typer.Option(help="0 takes the likeliest token; above 1 is wilder; default: 1, for questions 0."),
    ] = None,
    top_k: TopK = None,
    top_p: TopP = None,
    format: FormatOption = None,
    best: Annotated[bool, typer.Option("--best", help="The model at its best held-out loss, not the last.")] = False,
    task: Annotated[
        str | None, typer.Option(help="Who judges; default: the task of the model's run, or as its notes say.")
    ] = None,
    seed: SeedOption = 0,
    engine: Annotated[str, typer.Option(help="native, torch, reference, or auto: the fastest.")] = "auto",
    as_json: JsonOption = False,
) -> None:
    """Sample strings from a model: one per line, and how many of them are right and malformed; for a run also how many
    are new, and known from the training set.

    \b
    handloom sample runs/strings-1 -n 1000
    handloom sample addition --prompt 045+078=
    handloom sample runs/strings-1/model-5000.safetensors
    handloom sample runs/names-1 --prompt ka --temperature 0.8 --format "\\[a-z]{3,8}"
    """
    import sys

    from handloom.core.engines import fastest, reason_against_native
    from handloom.learn.sampling import Sampling

    sampling = Sampling.of(model, best, task)
    if engine == "auto" and (reason := reason_against_native(sampling.model)):
        print(f"engine: {fastest(sampling.model)}; the native one is not used: {reason}", file=sys.stderr)
    with Slowly("sampling") as progress:
        evaluation = sampling.draw(
            count,
            prompt,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            format=format,
            seed=seed,
            engine=engine,
            progress=progress,
        )
    if as_json:
        print_json({"samples": list(evaluation.samples), **evaluation.to_json()})
        return
    print("\n".join(evaluation.samples))
    print(evaluation, file=sys.stderr)
