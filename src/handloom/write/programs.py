"""Programs asked for by name, with their parameters.

>>> program("hello")()
'Hello World!'
>>> program("hello:message=Good morning")()
'Good morning'
"""

import inspect
from collections.abc import Callable
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.tasks import Task, naming
from handloom.write.catalogue import PROGRAMS, Program
from handloom.write.certificate import Certificate, Progress


def program(name: str, **parameters: Any) -> Model:
    """The model of a program. Parameters may stand in the name: `addition:digits=3,base=10`."""
    chosen, given = find(name, parameters)
    task_for(chosen, given)  # refuses sizes that no memory would hold, before anything is made
    model = chosen.build(**given)
    return model.with_(notes={"made": "written", "program": chosen.name, "parameters": given, **model.notes})


def task(name: str, **parameters: Any) -> Task:
    """The task of a program, named in the same way."""
    return task_for(*find(name, parameters))


def task_for(chosen: Program, given: dict[str, Any]) -> Task:
    values = {key: p.default for key, p in naming.parameters(chosen.name, chosen.build).items()} | given
    known = inspect.signature(chosen.task).parameters
    return chosen.task(**{key: value for key, value in values.items() if key in known})


def task_of(model: Model) -> Task | None:
    """The task that a written model is for, as its notes say; nothing if they do not, or not sensibly."""
    name, given = model.notes.get("program"), model.notes.get("parameters")
    if not isinstance(name, str) or name not in PROGRAMS or not isinstance(given, dict):
        return None
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
    return chosen, naming.given(name, chosen.build, text, parameters)


def nearest(name: str) -> str | None:
    """The program one may have meant."""
    return naming.nearest(name, PROGRAMS)
