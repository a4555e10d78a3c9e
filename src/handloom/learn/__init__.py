"""Learning: a model from examples of a task. `train` begins a run, `resume` goes on with it, `sample` draws from it."""

from handloom.learn.runs import resume, train
from handloom.learn.sampling import sample

__all__ = ["resume", "sample", "train"]
