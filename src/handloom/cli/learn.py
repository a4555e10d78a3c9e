"""handloom learn, resume: train a model on a task, and go on with it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handloom.cli.arguments import JsonOption, option, print_json

if TYPE_CHECKING:
    from handloom.cli.seeds import Reopen
    from handloom.learn.training import Report, Training, Watch

TASK_HELP = (
    "A task with its parameters (strings:rule=s[13]==s[22],length=30-40), a rule (s[13]==s[22]), a text file with a "
    "string a line, a Python file that defines `task`, or an experiment (wagner/13-22). `handloom tasks` lists them."
)
TRAINING, MODEL, RUN = "Training", "Model", "Run"


def learn(
    task: Annotated[str, typer.Argument(metavar="TASK", help=TASK_HELP, show_default=False)],
    steps: Annotated[int | None, option("Steps of training [15000].", TRAINING)] = None,
    batch: Annotated[int | None, option("Strings a step [32].", TRAINING)] = None,
    rate: Annotated[float | None, option("Learning rate [0.0005].", TRAINING)] = None,
    schedule: Annotated[str | None, option("constant, or cosine or linear to 0 [constant].", TRAINING)] = None,
    warmup: Annotated[int | None, option("Steps in which the rate rises [0].", TRAINING)] = None,
    decay: Annotated[float | None, option("Weight decay [0.01].", TRAINING)] = None,
    clip: Annotated[float | None, option("Largest norm of a gradient, 0 for any [1].", TRAINING)] = None,
    dropout: Annotated[float | None, option("Share of values left out [0].", TRAINING)] = None,
    count: Annotated[int | None, option("Strings to learn from [10000; of a file all lines].", TRAINING)] = None,
    patience: Annotated[
        int | None, option("Stop after so many evaluations that are no better [never].", TRAINING)
    ] = None,
    until: Annotated[float | None, option("Stop at this success rate, such as 0.99 [never].", TRAINING)] = None,
    start: Annotated[
        str | None, option("Go on from this MODEL instead of from chance.", TRAINING, metavar="MODEL")
    ] = None,
    lora: Annotated[int | None, option("With --start: learn only changes of this rank.", TRAINING)] = None,
    kind: Annotated[
        str | None, option("transformer, bigram, bow, mlp, rnn, gru, lstm, encoder-decoder [transformer].", MODEL)
    ] = None,
    layers: Annotated[int | None, option("[4; rnn, gru, lstm 1; encoder-decoder 2]", MODEL)] = None,
    heads: Annotated[int | None, option("[4]", MODEL)] = None,
    width: Annotated[int | None, option("d_model [64].", MODEL)] = None,
    d_head: Annotated[int | None, option("[width / heads]", MODEL)] = None,
    d_ff: Annotated[
        int | None, option("Neurons of a layer, 0 for none [4 · width; mlp, rnn, gru, lstm 64].", MODEL)
    ] = None,
    context: Annotated[int | None, option("Tokens that an mlp sees [16].", MODEL)] = None,
    norm: Annotated[str | None, option("layer, rms or none [layer].", MODEL)] = None,
    place: Annotated[str | None, option("pre or post [pre].", MODEL)] = None,
    activation: Annotated[str | None, option("relu, gelu, gelu_tanh, silu or none [gelu_tanh].", MODEL)] = None,
    positions: Annotated[str | None, option("table, sinusoid, rotary or none [table].", MODEL)] = None,
    tied: Annotated[
        bool | None, typer.Option("--tied", help="Unembed with the embedding \\[no].", rich_help_panel=MODEL)
    ] = None,
    masked: Annotated[
        bool, typer.Option("--masked", help="See both ways, and learn to predict hidden tokens.", rich_help_panel=MODEL)
    ] = False,
    out: Annotated[Path | None, option("The run's folder [runs/TASK-1, -2, …].", RUN, metavar="FOLDER")] = None,
    every: Annotated[int | None, option("Steps between evaluations [500].", RUN)] = None,
    samples: Annotated[int | None, option("Strings sampled at an evaluation [200].", RUN)] = None,
    keep: Annotated[int | None, option("Keep the model every so many steps [never].", RUN)] = None,
    seed: Annotated[int | None, option("One seed gives one run [0].", RUN)] = None,
    seeds: Annotated[
        int | None, option("Train this many runs, with seeds from --seed on, and tell mean and spread.", RUN, min=1)
    ] = None,
    lanes: Annotated[
        int | None, option("Parts of a batch [native: 8, fewer for large models; torch: one a core].", RUN)
    ] = None,
    device: Annotated[str | None, option("cpu or cuda [cuda where there is one].", RUN)] = None,
    engine: Annotated[str, option("native, torch, or auto: the fastest that can [auto].", RUN)] = "auto",
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write TensorBoard files too.", rich_help_panel=RUN)
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model on a task. Ctrl-C saves; `handloom resume` goes on.

    \b
    handloom learn "s[13]==s[22]" --count 1000 --until 0.99
    handloom learn names.txt --steps 5000 --dropout 0.1
    handloom learn addition:digits=2 --layers 2 --width 128 --schedule cosine
    handloom learn parity --seeds 5
    """
    from handloom.cli.seeds import begin, train_all
    from handloom.lab.talk import look_up
    from handloom.learn.options import with_width
    from handloom.learn.runs import kept, prepare

    given = {name: value for name, value in locals().items() if name in CHOICES and value is not None}
    given |= {"causal": False} if masked else {}
    experiment = look_up(task)
    name, about = task, {}
    if experiment:
        name, given = experiment.task, experiment.choices | with_width(given)
        about = {"experiment": task, "claim": experiment.claim}

    def prepared(seed: int) -> "Training":
        how = given | {"seed": seed}
        return prepare(
            name, kind=kind or "transformer", start=start, device=device or best_device(), engine=engine, **how
        )

    if seeds is not None:
        numbers = list(range(seed or 0, (seed or 0) + seeds))
        parent = begin(numbers, prepared, out, name, called=task, more=about)
        raise typer.Exit(train_all(parent, reopener(None, device, engine), tensorboard, as_json))
    training = prepared(seed or 0)
    with kept(training, out, name, called=task, more=about):
        code = show(training, tensorboard, as_json)
    raise typer.Exit(code)


NAMES = """steps batch rate schedule warmup decay clip dropout count patience until lora layers heads d_head d_ff
width context norm place activation positions tied every samples keep lanes"""
CHOICES = NAMES.split()


def resume(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    steps: Annotated[int | None, typer.Option(help="Train to this step; default: as the run was begun.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: cuda where there is one.")] = None,
    engine: Annotated[
        str | None,
        typer.Option(help="native, torch or auto; default: as was asked for when it was begun.", show_default=False),
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard files too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Go on with a run: as if it had never stopped, or for more steps than it was begun with.

    \b
    handloom resume runs/strings-1
    handloom resume runs/strings-1 --steps 150000
    """
    from handloom.cli.seeds import train_all
    from handloom.core.files import what_is
    from handloom.runs.listing import seed_folders

    reopen = reopener(steps, device, engine)
    if what_is(run / "run.json") != "file" and seed_folders(run):
        raise typer.Exit(train_all(run, reopen, tensorboard, as_json))
    with reopen(run) as training:
        code = show(training, tensorboard, as_json)
    raise typer.Exit(code)


def reopener(steps: int | None, device: str | None, engine: str | None) -> "Reopen":
    """What opens a run again, to train it further."""
    from handloom.learn.runs import reopened

    return lambda path: reopened(path, steps, device or best_device(), engine)


GPUS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # what a driver puts there: NVIDIA's, Windows', AMD's


def best_device() -> str:
    """torch, which takes a second to load, is asked for a GPU only where there may be one."""
    if not any(Path(path).exists() for path in GPUS):
        return "cpu"
    try:
        import torch
    except ModuleNotFoundError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def board_of(path: Path) -> "Watch":
    from handloom.learn.tensorboard import board

    return board(path)


def both(one: "Watch", other: "Watch") -> "Watch":
    def watch(report: "Report") -> None:
        one(report)
        other(report)

    return watch


def show(training: "Training", tensorboard: bool, as_json: bool) -> int:
    """Run it, and in the first process let the user see it and what came of it; the command's exit code."""
    import sys

    if not training.processes.first:
        training.run()
        return 0
    run_and_show(training, tensorboard)
    folder = training.folder
    assert folder is not None
    if as_json:
        print_json(result_of(training))
    else:
        print(sentence_of(training))
    if training.stop:
        print(f"stopped at step {training.where.step:,}; handloom resume {folder.path} goes on", file=sys.stderr)
        return 130
    if training.where.step < training.settings.steps or training.began == training.where.step:
        why = "as --until or --patience says" if training.is_over() else "it was done"
        print(f"ended at step {training.where.step:,}, {why}; handloom resume --steps N goes on", file=sys.stderr)
    return 0


def run_and_show(training: "Training", tensorboard: bool) -> None:
    """Run it, and let the user see how far it is."""
    from handloom.cli.live.training import TrainingView

    folder, data = training.folder, training.data
    assert folder is not None
    with TrainingView(str(folder.path), str(training.choice), str(data), data.loss_of) as view:
        training.watch = both(view, board_of(folder.path)) if tensorboard else view
        training.run()


def result_of(training: "Training") -> dict[str, Any]:
    """What a run has come to, for --json."""
    assert training.folder is not None
    assert training.evaluation is not None
    return {
        "run": str(training.folder.path),
        "steps": training.where.step,
        "measured": training.measured,
        "loss": training.held_out_loss,
        **training.evaluation.to_json(),
        "data": training.data.to_json(),
        "seconds": round(training.where.seconds, 1),
        "engine": training.choice.name,
    }


def sentence_of(training: "Training") -> str:
    """The same for people."""
    assert training.folder is not None
    before = f"; at step {training.measured:,}:" if training.measured < training.where.step else ","
    loss = f"{training.data.loss_of.replace(' ', '-')} loss {training.held_out_loss:.4f}"
    return f"{training.folder.path}: {training.where.step:,} steps{before} {loss}, {training.evaluation}"
