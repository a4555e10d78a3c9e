"""Programs asked for by name, with their parameters.

>>> program("hello")()
'Hello World!'
>>> program("hello:message=Good morning")()
'Good morning'
"""

import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.tasks import Task
from handloom.write.catalogue import PROGRAMS, Program
from handloom.write.certificate import Certificate, Progress

LARGEST = 1_000_000  # a parameter that notes may have
KINDS = {int: "a whole number", str: "text"}  # what a program's parameters may be


def program(name: str, **parameters: Any) -> Model:
    """The model of a program. Parameters may stand in the name: `addition:digits=3,base=10`."""
    chosen, given = find(name, parameters)
    model = chosen.build(**given)
    return model.with_(notes={"made": "written", "program": chosen.name, "parameters": given, **model.notes})


def task(name: str, **parameters: Any) -> Task:
    """The task of a program, named in the same way."""
    chosen, given = find(name, parameters)
    values = {key: p.default for key, p in inspect.signature(chosen.build).parameters.items()} | given
    known = inspect.signature(chosen.task).parameters
    return chosen.task(**{key: value for key, value in values.items() if key in known})


def task_of(model: Model) -> Task | None:
    """The task that a written model is for, as its notes say; nothing if they do not, or not sensibly."""
    name, given = model.notes.get("program"), model.notes.get("parameters")
    if not isinstance(name, str) or name not in PROGRAMS or not isinstance(given, dict):
        return None
    if any(isinstance(value, int) and value > LARGEST for value in given.values()):
        return None  # a file may say anything, and a task of a billion tokens would fill the memory
    try:
        return task(name, **given)
    except HandloomError:
        return None


def prover_of(model: Model) -> Callable[[Model, Progress | None], Certificate] | None:
    """What can prove a model right, if its notes name a program that has such a thing."""
    return PROGRAMS[model.notes["program"]].prove if task_of(model) else None


def find(name: str, parameters: dict[str, Any]) -> tuple[Program, dict[str, Any]]:
    """A program and the parameters given for it, in its name and beside it."""
    name, _, text = str(name).partition(":")
    if name not in PROGRAMS:
        hint = f"did you mean {near}?" if (near := nearest(name)) else f"there are {', '.join(PROGRAMS)}"
        raise HandloomError(f"no program {shown(name)}; {hint}")
    chosen = PROGRAMS[name]
    given = parse(chosen, text) | parameters
    check(chosen, given)
    return chosen, given


def nearest(name: str) -> str | None:
    """The program one may have meant."""
    return next(iter(difflib.get_close_matches(name, PROGRAMS, n=1)), None)


def parse(chosen: Program, text: str) -> dict[str, Any]:
    """`digits=3,base=10` as values of the types that the program's parameters have."""
    known = inspect.signature(chosen.build).parameters
    given: dict[str, Any] = {}
    boundary = rf",(?=(?:{'|'.join(known)})=)"  # a comma is one only in front of a parameter's name
    for piece in re.split(boundary, text) if text else []:
        key, equals, value = piece.partition("=")
        if not equals:
            raise HandloomError(f"{chosen.name}: {piece!r} is not a parameter and its value; write {usage(chosen)}")
        kind = known[key].annotation if key in known else str
        try:
            given[key] = kind(value)
        except ValueError as error:
            raise HandloomError(f"{chosen.name}: {key}={value} is not {KINDS[kind]}; write {usage(chosen)}") from error
    return given


def check(chosen: Program, given: dict[str, Any]) -> None:
    known = inspect.signature(chosen.build).parameters
    for key, value in given.items():
        if key not in known:
            raise HandloomError(f"{chosen.name} has no parameter {key!r}; write {usage(chosen)}")
        if not isinstance(value, known[key].annotation):
            kind = KINDS[known[key].annotation]
            raise HandloomError(f"{chosen.name}: {key}={shown(value)} is not {kind}; write {usage(chosen)}")


def usage(chosen: Program) -> str:
    """The program's name with all its parameters at their defaults."""
    known = inspect.signature(chosen.build).parameters.values()
    return f"{chosen.name}:{','.join(f'{p.name}={p.default}' for p in known)}"
