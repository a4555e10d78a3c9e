"""handloom read shares: from whom each part reads."""

from handloom.cli.options import JsonOption, ModelArgument
from handloom.cli.read.output import OnOption, PictureOption, check_picture, given_to, tell


def shares(
    model: ModelArgument, on: OnOption = None, output: PictureOption = None, as_json: JsonOption = False
) -> None:
    """From whom the queries, keys and values of each head, each MLP and the logits read, in one run.

    Shares add up to 1. A negative one works against the whole.

    \b
    handloom read shares search --on "1 2 3 4 1 2 3"
    handloom read shares runs/induction-1 -o shares.svg
    """
    from handloom.read import shares as find_shares
    from handloom.view.svg.contributions import shares_drawing

    check_picture(output)
    chosen, given = given_to(model, on)
    found = find_shares(chosen, given)
    tell(found, as_json, output, lambda: shares_drawing(found), f"{model} on {given}")
