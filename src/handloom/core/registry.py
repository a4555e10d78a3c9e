"""What a room needs from a room that it may not import: by name, loaded at first use.

    >>> offered("program")("hello")()
    'Hello World!'

A Model that is given a text has `tasks` check it; code that takes the name of a model or of a task gets the programs
from `write`, and the folder of another tool from `share`; `certify` gets a proof from `write`; a value shown in a
notebook (`_repr_html_`) gets its picture from `view`. This is the whole list, and `tests/test_structure.py` checks it.
"""

from importlib import import_module
from typing import Any

OFFERS = {
    "check_inputs": "handloom.tasks.of_model:check_inputs",  # (model, texts) → nothing, or an error
    "programs": "handloom.write.catalogue:NAMED",  # name → Program
    "program": "handloom.write.catalogue:program",  # name → Model
    "task_of_program": "handloom.write.catalogue:task_of_program",  # (name, parameters) → a task's name and parameters
    "compiled_task_maker": "handloom.write.catalogue:compiled_task_maker",  # name → the function that makes its Task
    "prover_of": "handloom.write.catalogue:prover_of",  # model → a function that proves it right, or None
    "stored_task": "handloom.write.compiler.stored:stored_task",  # model → the Task in its notes, or None
    "load_taotp": "handloom.write.taotp:load_taotp",  # path → Model
    "save_taotp": "handloom.write.taotp:save_taotp",  # (model, path) → nothing
    "load_folder": "handloom.share.folders:load_folder",  # path → Model
    "html": "handloom.view.cards:html",  # Model, Trace, Certificate, Training, Record, Records, … → a picture
}


def offered(name: str) -> Any:
    """What another room offers under that name."""
    return loaded(OFFERS[name])


def loaded(path: str) -> Any:
    """What `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
