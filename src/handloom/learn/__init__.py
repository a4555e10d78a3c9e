"""Learning: a model from examples of a task. Public: `train` starts a run, `resume` continues it, `sample` samples from
a model."""

from handloom.learn.api import resume, train
from handloom.learn.sampling import sample

__all__ = ["resume", "sample", "train"]
