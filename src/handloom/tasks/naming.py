"""Things that have a name with parameters: `strings:rule=s[13]==s[22],length=30-40`.

The parameters are those of the function that makes the thing; each has a default, and is an int, a float or text.

    >>> def grid(side: int = 8, distances: str = "4,5"): ...
    >>> usage("grid", grid)
    'grid:side=8,distances=4,5'
    >>> given("grid", grid, "distances=2,3,side=4")
    {'distances': '2,3', 'side': 4}
"""

import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.registry import loaded


@dataclass(frozen=True)
class Entry:
    """An entry of a catalogue: a short description, and the function that makes the thing, as module:function within
    the package. It is loaded at first use."""

    about: str
    function: str
    package: ClassVar[str] = "handloom.tasks"

    @property
    def make(self) -> Callable[..., Any]:
        made: Callable[..., Any] = loaded(f"{self.package}.{self.function}")
        return made


LARGEST = 10**18  # whole number that NumPy can hold
KINDS = {int: "a whole number", float: "a number", str: "text"}  # what parameters may be


class Parameter(NamedTuple):
    kind: type
    default: Any  # None: it follows from the others


def parameters(name: str, function: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters of a function, each with its type, by default that of its default value."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except Exception as error:  # a type written as text is evaluated, and may raise anything
        raise HandloomError(f"{name}: its parameters cannot be read; write them as in (size: int = 1)") from error
    found = {}
    for key, parameter in signature.parameters.items():
        written = parameter.annotation
        written = type(parameter.default) if written is parameter.empty else written
        kind = next((kind for kind in KINDS if written in (kind, kind | None)), None)
        if kind is None or parameter.default is parameter.empty:
            raise HandloomError(
                f"{name}: its parameter {key!r} must be int, float or str and have a default, such as {key}: int = 1"
            )
        found[key] = Parameter(kind, parameter.default)
    return found


def given(
    name: str, function: Callable[..., Any], text: str, beside: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The values of a function's parameters that a text, and a mapping beside it, give."""
    known = parameters(name, function)
    written = list(pieces(name, function, text))
    values = dict(written) | dict(beside or {})
    if len(dict(written)) < len(written):
        twice = next(key for key, _ in written if [other for other, _ in written].count(key) > 1)
        raise HandloomError(f"{name} has {twice}= twice; give it once")
    for key, value in values.items():
        if key not in known:
            raise HandloomError(f"{name} has no parameter {shown(key)}; write {usage(name, function)}")
        values[key] = checked(f"{name}: {key}", known[key].kind, value, usage(name, function))
    return values


def pieces(name: str, function: Callable[..., Any], text: str) -> Iterable[tuple[str, Any]]:
    """`digits=3,base=10` as values of the parameters' types."""
    known = parameters(name, function)
    boundary = rf",(?=(?:{'|'.join(known)})=)"  # a comma is one only in front of a parameter's name
    for piece in re.split(boundary, text) if text else []:
        key, equals, value = piece.partition("=")
        if not equals:
            raise HandloomError(
                f"{name}: {shown(piece)} is not a parameter and its value; write {usage(name, function)}"
            )
        kind = known[key].kind if key in known else str
        try:
            yield key, kind(value)
        except ValueError as error:
            plain = value if value.isprintable() and len(value) <= 60 else shown(value)
            raise HandloomError(f"{name}: {key}={plain} is not {KINDS[kind]}; write {usage(name, function)}") from error


def checked(what: str, kind: type, value: Any, write: str) -> Any:
    """The value, if it is of this kind. Whole numbers are numbers too."""
    if kind is float and isinstance(value, int) and abs(value) < 2**53:
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, float) and not math.isfinite(value)):
        raise HandloomError(f"{what}={shown(value)} is not {KINDS[kind]}; write {write}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise HandloomError(f"{what}={shown(value)} is too large (expected up to 10^18); write {write}")
    return value


def usage(name: str, function: Callable[..., Any]) -> str:
    """The name with all parameters at their defaults."""
    return written(name, {key: p.default for key, p in parameters(name, function).items()})


def written(name: str, values: Mapping[str, Any]) -> str:
    """The name with these parameters behind it.

    >>> written("grid", {"side": 4, "distances": "2,3"})
    'grid:side=4,distances=2,3'
    """
    text = ",".join(f"{key}={value}" for key, value in values.items() if value is not None)
    return f"{name}:{text}" if text else name


def python_file(name: str) -> tuple[Path, str] | None:
    """The file and the parameters of `my_task.py:n=12`, if the file exists."""
    python = re.fullmatch(r"(.+?\.py)(?::(.*))?", name, re.DOTALL)
    return (Path(python[1]), python[2] or "") if python and os.path.isfile(python[1]) else None
