"""What a room asks of a room below it, which it may not import: by name, loaded when it is asked for.

    >>> offered("program")("hello")()
    'Hello World!'

A Model that is given a text asks `tasks` whether its task takes it; whoever takes the name of a model or of a task asks
`write` for the programs; `certify` asks it for a proof. A value that draws itself in a notebook (`_repr_html_`) asks
`view` for its picture. That is all: `tests/test_structure.py` knows this list.
"""

from importlib import import_module
from typing import Any

OFFERS = {
    "check_inputs": "handloom.tasks.of_model:check_inputs",  # (model, texts) → nothing, or an error
    "programs": "handloom.write.catalogue:PROGRAMS",  # name → Program
    "program": "handloom.write.programs:program",  # name → Model
    "task_of_program": "handloom.write.programs:task_of_program",  # (name, parameters) → a task's name and parameters
    "prover_of": "handloom.write.programs:prover_of",  # model → a function that proves it right, or None
    "load_taotp": "handloom.write.taotp:load_taotp",  # path → Model
    "html": "handloom.view.cards:html",  # Model, Trace, Certificate, Training or Record → a picture for a notebook
}


def offered(name: str) -> Any:
    """What is offered under that name."""
    return loaded(OFFERS[name])


def loaded(path: str) -> Any:
    """What `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
