"""Commands that do not exist yet, answered with what to do instead."""

from typing import NoReturn

PLANNED = {
    "read": "heatmap draws where heads attend, write show MODEL explains a model on an example, and hl.trace records "
    "every value",
    "compile": "write the weights as text in a .taotp file (docs/taotp.md), or as arrays in Python (hl.Config, "
    "hl.params.zeros, hl.Model, hl.save)",
}


def refuse(name: str) -> NoReturn:
    from handloom.core import HandloomError

    raise HandloomError(f"{name} is not there yet; {PLANNED[name]}")
