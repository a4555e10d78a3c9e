"""Learning: a model from examples of a task. Public: `train` starts a run, `resume` continues it, `sample` samples from
a model. They are loaded at first use, because the help of a command needs only `settings.py`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handloom.learn.api import resume, train
    from handloom.learn.sampling import sample

__all__ = ["resume", "sample", "train"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'handloom.learn' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"handloom.learn.{'sampling' if name == 'sample' else 'api'}"), name)
