"""Several seeds until a score: `handloom discover isosceles:n=16 --until 28 --seeds 10`, and its `--resume`.

The folder has the times in targets.json, and their curve as a picture in curve.svg.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from handloom.cli.options import print_json

if TYPE_CHECKING:
    from handloom.discover.loop.targets import Targets

CURVE = "curve.svg"


def run_targets(
    asked: str | None,
    folder: Path | None,
    until: float | None,
    seeds: int,
    out: Path | None,
    how: dict[str, Any],
    as_json: bool,
) -> None:
    """Begin the seeds of a problem, or resume those in the folder, and show their times."""
    from handloom.discover.loop.targets import begin_targets, reopen_targets

    if asked is not None and until is not None:
        show_targets(begin_targets(asked, until, seeds, how, out), as_json)
    elif folder is not None:
        show_targets(reopen_targets(folder), as_json)


def show_targets(targets: "Targets", as_json: bool) -> None:
    from handloom.cli.live.discovery import DiscoveryView
    from handloom.view.figures.painting import write_drawing
    from handloom.view.svg.target_curve import target_curve

    folder = targets.folder.path
    with targets, DiscoveryView() as view:
        for trial in targets.run(view):
            said = f"in {trial.cpu:.3g} CPU seconds" if trial.reached else f"not reached, best {trial.best}"
            view.say(f"seed {trial.seed}, {len(targets.trials)} of {targets.seeds}: {said}")
    times = targets.result
    if times.trials:
        write_drawing(target_curve(times), folder / CURVE, f"{times.problem}: {times.target}")
    if as_json:
        print_json({"run": str(folder)} | times.to_json())
    else:
        print(times)
        print(f"the times are in {folder / 'targets.json'}, their curve is {folder / CURVE}", file=sys.stderr)
    if targets.halted:
        print(f"stopped; handloom discover --resume {folder} continues", file=sys.stderr)
        raise typer.Exit(130)
