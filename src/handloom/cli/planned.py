"""Commands that do not exist yet, answered with what to do instead."""

from typing import NoReturn

PLANNED = {
    "read": "heatmap draws where heads attend, write show MODEL explains a model on an example, and hl.trace records "
    "every value",
}


def refuse_planned(name: str) -> NoReturn:
    from handloom.core import HandloomError

    raise HandloomError(f"{name} is not there yet; {PLANNED[name]}")
