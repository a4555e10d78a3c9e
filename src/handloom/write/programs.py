"""Programs asked for by name, with their parameters.

>>> program("hello")()
'Hello World!'
>>> program("hello:message=Good morning")()
'Good morning'
"""

from collections.abc import Mapping
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.core.finding import nearest
from handloom.tasks import naming
from handloom.tasks.catalogue import TASKS, resolve
from handloom.tasks.certificate import Prove
from handloom.tasks.of_model import noted
from handloom.write.catalogue import PROGRAMS, Program


def program(name: str, **parameters: Any) -> Model:
    """The model of a program. Parameters may stand in the name: `addition:digits=3,base=10`."""
    chosen, given = find(name, parameters)
    task, values = task_of_program(chosen.name, given)
    TASKS[task].make(**values)  # refuses sizes that no memory would hold, before anything is made
    model = chosen.build(**given)
    notes = {"made": "written", "program": chosen.name, "parameters": given, **note_of(task, values)}
    return model.with_(notes={**notes, **model.notes})


def note_of(task: str, values: Mapping[str, Any]) -> dict[str, str]:
    """The note of a program's task; none if it would be read otherwise, as of a message with ",message=" in it."""
    text = naming.written(task, values)
    try:
        _, read = resolve(text, {}) or ("", {})
    except HandloomError:
        read = {}
    return {"task": text} if read == {key: value for key, value in values.items() if value is not None} else {}


def task_of_program(name: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of a program's task, and those of the program's parameters that the task has too."""
    chosen, given = find(name, parameters)
    values = {key: p.default for key, p in naming.parameters(chosen.name, chosen.build).items()} | given
    known = naming.parameters(chosen.task, TASKS[chosen.task].make)
    defaults = {key: p.default for key, p in known.items()}
    return chosen.task, defaults | {key: value for key, value in values.items() if key in known}


def prover_of(model: Model) -> Prove | None:
    """What can prove a model right, if its notes name a program that has such a thing."""
    name, task = model.notes.get("program"), noted(model)
    if not isinstance(name, str) or name not in PROGRAMS or task is None:
        return None
    return PROGRAMS[name].prove if task[0].partition(":")[0] == PROGRAMS[name].task else None


def find(name: str, parameters: Mapping[str, Any]) -> tuple[Program, dict[str, Any]]:
    """A program and the parameters given for it, in its name and beside it."""
    name, _, text = str(name).partition(":")
    if name not in PROGRAMS:
        hint = f"did you mean {near}?" if (near := nearest(name, PROGRAMS)) else f"there are {', '.join(PROGRAMS)}"
        raise HandloomError(f"no program {shown(name)}; {hint}")
    chosen = PROGRAMS[name]
    return chosen, naming.given(name, chosen.build, text, parameters)
