"""What the forms of the studio ask: tasks, problems and experiments with their parameters, and the settings of a run,
each with its default, its limits and its help. All of it comes from where the rest of handloom has it, as JSON values.

    >>> next(field for field in learn_form()["settings"] if field["name"] == "batch")["about"]
    'strings per step'
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from handloom.core.config import Activation, Attention, Norm, Place, Positions
from handloom.discover.catalogue import PROBLEMS
from handloom.discover.loop.plan import AUTO, Plan
from handloom.lab.talk import EXPERIMENTS
from handloom.learn.settings import KINDS, Option, Schedule, options, options_of
from handloom.tasks.catalogue import TASKS
from handloom.tasks.naming import Entry, parameters, usage

Form = dict[str, Any]

ASKED = (  # of learn's options, those worth asking, in this order
    *("steps", "every", "batch", "rate", "schedule", "warmup", "decay", "dropout", "count", "fraction", "patience"),
    *("until", "samples", "keep", "seed", "layers", "heads", "width", "d_ff", "positions", "norm", "place"),
    *("activation", "attention", "tied", "gated"),
)
FIRST = ("steps", "every", "batch", "rate", "count", "layers", "heads", "width", "seed")  # asked at once, others later
SOUGHT = ("model", "learn", "samples", "layers", "width", "batch", "rate", "symmetry", "attempts", "steps", "seed")
SOUGHT_FIRST = ("model", "symmetry", "seed")
CHOICES: Mapping[str, Any] = {
    "schedule": get_args(Schedule),
    "norm": get_args(Norm),
    "place": get_args(Place),
    "activation": get_args(Activation),
    "positions": get_args(Positions),
    "attention": get_args(Attention),
}


def learn_form() -> Form:
    """Everything to draw the form of a run of training."""
    return {
        "tasks": [thing(name, entry) for name, entry in TASKS.items()],
        "experiments": [
            {"name": name, "about": one.claim, "task": one.task, "choices": one.choices}
            for name, one in EXPERIMENTS.items()
        ],
        "kinds": list(KINDS),
        "settings": fields_of(options(), ASKED, FIRST),
    }


def discover_form() -> Form:
    """Everything to draw the form of a search."""
    return {
        "problems": [thing(name, entry) for name, entry in PROBLEMS.items()],
        "settings": fields_of(options_of(Plan), SOUGHT, SOUGHT_FIRST),
    }


def thing(name: str, entry: Entry) -> Form:
    """A task or a problem: what it is, how it is written, and its parameters."""
    make: Callable[..., Any] = entry.make
    asked = [
        {"name": key, "kind": one.kind.__name__, "default": one.default} for key, one in parameters(name, make).items()
    ]
    return {"name": name, "about": entry.about, "written": usage(name, make), "parameters": asked}


def fields_of(found: Iterable[Option], names: Iterable[str], first: Iterable[str]) -> list[Form]:
    """The fields of a form."""
    known = {one.name: one for one in found}
    return [asked(known[name]) | {"first": name in first} for name in names]


def asked(option: Option) -> Form:
    """One field: what to type or choose, and between which limits. A default that follows from others is written."""
    kind = int if option.default is None else type(option.default)
    return {
        "name": option.name,
        "kind": "choice" if option.name in CHOICES else kind.__name__,
        "default": option.default,
        "written": "" if option.default == AUTO else option.written or "",
        "about": option.about,
        "group": option.group,
        "least": option.least,
        "most": option.most,
        "choices": list(CHOICES.get(option.name, ())),
    }
