"""handloom read patch: where a run holds what makes the difference between two inputs."""

from typing import Annotated

import typer

from handloom.cli.options import JsonOption, ModelArgument
from handloom.cli.read.output import AnswerOption, PictureOption, check_picture, tell


def patch(
    model: ModelArgument,
    on: Annotated[str, typer.Option("--on", metavar="INPUT", help="The clean input.", show_default=False)],
    other: Annotated[
        str, typer.Option(metavar="INPUT", help="Another input, with as many tokens.", show_default=False)
    ],
    sites: Annotated[
        str, typer.Option(metavar="SITES", help="Sites to patch, such as *.resid_pre, *.z or 1.mlp_out.")
    ] = "*.resid_pre",
    answer: AnswerOption = None,
    against: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="Compare with this token; default: the largest other.")
    ] = None,
    output: PictureOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put the value of a run on the clean input into a run on the other one, at every layer and position in turn.

    1 restores the clean answer, 0 does nothing. The metric is the logit of the clean answer less the largest other.

    \b
    handloom read patch search --on "1 2 3 4 1 2 3" --other "1 2 3 7 1 2 3"
    handloom read patch runs/induction-1 --on abca --other abda --sites "*.z"
    """
    from handloom.core.finding import find
    from handloom.read import patch as patch_everywhere
    from handloom.view.effect_drawings import patching_drawing

    check_picture(output)
    found = patch_everywhere(find(model).model, on, other, sites, answer, against)
    tell(found, as_json, output, lambda: patching_drawing(found), f"{model}: {on} into {other}")
