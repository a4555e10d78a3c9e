"""Learning: a model from examples of a task. `train` begins a run, `resume` goes on with it, `sample` draws from it."""

from handloom.core import HandloomError

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise HandloomError("training needs torch, which is not installed: pip install 'handloom[learn]'") from error

from handloom.learn.runs import resume, train
from handloom.learn.sampling import sample

__all__ = ["resume", "sample", "train"]
