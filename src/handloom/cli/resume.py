"""handloom resume: continue a run of training."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.options import JsonOption


def resume(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    steps: Annotated[int | None, typer.Option(help="Train up to this step; default: the run's own number.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: cuda if available.")] = None,
    engine: Annotated[
        str | None, typer.Option(help="native, torch or auto; default: the one the run was started with.")
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard files.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Resume a run exactly where it stopped, or train it for more steps.

    \b
    handloom resume runs/strings-1
    handloom resume runs/strings-1 --steps 150000
    """
    from handloom.cli.live.training import reopener, run_and_report
    from handloom.cli.seed_runs import train_all
    from handloom.core.files import what_is
    from handloom.runs.listing import seed_folders

    reopen = reopener(steps, device, engine)
    if what_is(run / "run.json") != "file" and seed_folders(run):
        raise typer.Exit(train_all(run, reopen, tensorboard, as_json))
    with reopen(run) as training:
        code = run_and_report(training, tensorboard, as_json)
    raise typer.Exit(code)
