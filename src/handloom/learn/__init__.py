"""Learning: a model from examples of a task. Public: `train` starts a run, `resume` continues it, `sample` samples from
a model; `steps`, with `Settings`, trains step by step on fresh data. They are loaded at first use, because the help of
a command needs only `settings.py`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handloom.learn.api import resume, train
    from handloom.learn.fresh import steps
    from handloom.learn.sampling import sample
    from handloom.learn.settings import Settings

__all__ = ["Settings", "resume", "sample", "steps", "train"]
MODULES = {"Settings": "settings", "resume": "api", "sample": "sampling", "steps": "fresh", "train": "api"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'handloom.learn' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"handloom.learn.{MODULES[name]}"), name)
