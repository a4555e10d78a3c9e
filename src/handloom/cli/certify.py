"""handloom certify: is a model right on every input of its task?"""

from typing import TYPE_CHECKING, Annotated

import typer

from handloom.cli.arguments import JsonOption, ModelArgument, find_model, print_json, task_for
from handloom.cli.progress import Slowly

if TYPE_CHECKING:
    from handloom.core import Model
    from handloom.tasks import Task


def certify(
    model: ModelArgument,
    task: Annotated[
        str | None,
        typer.Option(
            help="A program, or a task that asks questions, such as gcd; default: that of the model's program or run."
        ),
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="float32 or float64; default: the model's own.")] = None,
    samples: Annotated[
        int | None, typer.Option(help="Try so many inputs; default: all, or 10,000 where that would take too long.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Try all inputs, however long it takes.")] = False,
    seed: Annotated[int, typer.Option(help="Which random inputs.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Hold a model against the oracle of its task: on all inputs, by proof, or on samples. Exit code 1 if it is wrong.

    \b
    handloom certify min:n=5
    handloom certify addition:digits=10
    handloom certify my.safetensors --task min:n=5 --dtype float32
    handloom certify runs/addition-1 --samples 1000
    """
    from handloom.write import certify as check

    chosen = find_model(model)
    with Slowly("inputs tried") as progress:
        certificate = check(chosen, asked(task, model, chosen), dtype, samples, everything, seed, progress)
    if as_json:
        print_json(certificate.to_json())
    else:
        print(certificate)
    raise typer.Exit(0 if certificate.right else 1)


def asked(name: str | None, model: str, chosen: "Model") -> "Task | None":
    """The task to hold a model against: that of the name, or of the model's run; None for its program's own."""
    from handloom.core import HandloomError
    from handloom.tasks import Task, learnable
    from handloom.write import PROGRAMS, task_of
    from handloom.write import task as task_named

    if name is None and task_of(chosen):
        return None
    if name is not None and name.partition(":")[0] in PROGRAMS:
        return task_named(name)
    task = task_for(model, chosen) if name is None else learnable(name)
    if task is None or isinstance(task, Task):
        return task
    raise HandloomError("a task of strings has no questions with right answers to certify; handloom sample judges them")
