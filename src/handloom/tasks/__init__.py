"""What a transformer may be asked to do: each Task has its inputs, and an oracle that knows the right answers; each
Language its strings, and a check of any string. `learnable` gives either by its name."""

from handloom.tasks.catalogue import learnable
from handloom.tasks.language import Language
from handloom.tasks.task import Learnable, Task

__all__ = ["Language", "Learnable", "Task", "learnable"]
