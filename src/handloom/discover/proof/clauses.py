"""The first encoding: a variable per element, a clause per forbidden set. Of its elements one is not chosen."""

from collections.abc import Sequence
from typing import Any

from handloom.discover.proof.family import Family


def add_clauses(model: Any, x: Sequence[Any], family: Family) -> None:
    for some in family.sets:
        model.add_bool_or([~x[i] for i in some])
