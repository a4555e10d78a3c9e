"""What a transformer may be asked to do: each Task has its inputs, and an oracle that knows the right answers."""

from handloom.tasks.task import Task

__all__ = ["Task"]
