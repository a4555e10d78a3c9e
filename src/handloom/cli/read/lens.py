"""handloom read lens: what the stream would predict, layer by layer."""

from handloom.cli.options import JsonOption, ModelArgument
from handloom.cli.read.output import AnswerOption, OnOption, PictureOption, check_picture, given_to, tell


def lens(
    model: ModelArgument,
    on: OnOption = None,
    answer: AnswerOption = None,
    output: PictureOption = None,
    as_json: JsonOption = False,
) -> None:
    """The logit lens: the token that the stream would predict at each layer and position, and how likely it is.

    With --answer, how likely that token is there.

    \b
    handloom read lens addition --on 045+978=
    handloom read lens runs/addition-1 --answer 1 -o lens.svg
    """
    from handloom.read import lens as look_through
    from handloom.view.svg.contributions import lens_drawing

    check_picture(output)
    chosen, given = given_to(model, on)
    found = look_through(chosen, given, answer)
    tell(found, as_json, output, lambda: lens_drawing(found), f"{model} on {given}")
