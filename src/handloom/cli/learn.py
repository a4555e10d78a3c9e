"""handloom learn: train a model on a task."""

from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handloom.cli.options import JsonOption, option, option_parameters, takes

if TYPE_CHECKING:
    from handloom.learn.training import Training

TASK_HELP = (
    "A task with its parameters (strings:rule=s[13]==s[22],length=30-40), a rule (s[13]==s[22]), a text file with one "
    "string per line, a Python file that defines `task`, or an experiment (wagner/13-22). `handloom tasks` lists them."
)
TRAINING, MODEL, RUN = "Training", "Model", "Run"


def settings_and_sizes() -> list[Parameter]:
    from handloom.learn.settings import options

    return option_parameters(options(), causal="--masked")


@takes(settings_and_sizes)
def learn(
    task: Annotated[str, typer.Argument(metavar="TASK", help=TASK_HELP, show_default=False)],
    start: Annotated[
        str | None, option("Train this MODEL further, not one with random weights.", TRAINING, metavar="MODEL")
    ] = None,
    kind: Annotated[
        str | None,
        option("transformer, bigram, bow, mlp, rnn, gru, lstm, encoder-decoder [transformer].", MODEL, metavar="NAME"),
    ] = None,
    out: Annotated[Path | None, option("The run's folder [runs/TASK-1, -2, …].", RUN, metavar="FOLDER")] = None,
    seeds: Annotated[
        int | None,
        option("Train this many runs, with seeds from --seed on; show mean and spread.", RUN, metavar="N", min=1),
    ] = None,
    device: Annotated[str | None, option("cpu or cuda [cuda if available].", RUN, metavar="NAME")] = None,
    engine: Annotated[
        str, option("native, torch, or auto: the fastest that can [auto].", RUN, metavar="NAME")
    ] = "auto",
    tensorboard: Annotated[bool, option("Also write TensorBoard files.", RUN, "--tensorboard")] = False,
    as_json: JsonOption = False,
    **choices: Any,
) -> None:
    """Train a model on a task. Ctrl-C saves; `handloom resume` continues.

    \b
    handloom learn "s[13]==s[22]" --count 1000 --until 0.99
    handloom learn names.txt --steps 5000 --dropout 0.1
    handloom learn addition:digits=2 --layers 2 --width 128 --schedule cosine
    handloom learn parity --seeds 5
    """
    from handloom.cli.live.training import reopener, run_and_report
    from handloom.cli.seed_runs import begin_all, train_all
    from handloom.lab.talk import run_of
    from handloom.learn.api import in_new_folder, prepare
    from handloom.runs.job import best_device

    name, choices, about = run_of(task, choices)
    how = choices | {"kind": kind or "transformer", "start": start, "device": device or best_device(), "engine": engine}
    first = choices.get("seed", 0)

    def prepared(seed: int) -> "Training":
        return prepare(name, **how | {"seed": seed})

    if seeds is not None:
        parent = begin_all(list(range(first, first + seeds)), prepared, out, name, called=task, more=about)
        raise typer.Exit(train_all(parent, reopener(None, device, engine), tensorboard, as_json))
    training = prepared(first)
    with in_new_folder(training, out, name, called=task, more=about):
        code = run_and_report(training, tensorboard, as_json)
    raise typer.Exit(code)
