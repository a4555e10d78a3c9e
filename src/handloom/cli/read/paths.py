"""handloom read paths: through which heads an answer comes about."""

from typing import Annotated

import typer

from handloom.cli.options import JsonOption, ModelArgument
from handloom.cli.read.output import AgainstOption, AnswerOption, OnOption, PictureOption, check_picture, given_to, tell


def paths(
    model: ModelArgument,
    on: OnOption = None,
    answer: AnswerOption = None,
    against: AgainstOption = None,
    most: Annotated[int, typer.Option(help="Paths to show.", min=1)] = 20,
    through_gates: Annotated[
        bool, typer.Option("--gates", help="Follow paths through MLPs, with their gates as they are in this run.")
    ] = False,
    output: PictureOption = None,
    as_json: JsonOption = False,
) -> None:
    """The paths to the logit of an answer, the largest first; together they are the logit, exactly.

    A path begins at an embedding, a bias or an MLP and goes through heads, with attention and norms as they are in
    this run.

    \b
    handloom read paths search --on "1 2 3 4 1 2 3"
    handloom read paths runs/induction-1 --answer a --against b -o paths.svg
    """
    from handloom.read import paths as find_paths
    from handloom.view.svg.contributions import paths_drawing

    check_picture(output)
    chosen, given = given_to(model, on)
    found = find_paths(chosen, given, answer, against, through_gates=through_gates).top(most)
    tell(found, as_json, output, lambda: paths_drawing(found), f"{model} on {given}")
