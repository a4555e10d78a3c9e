"""What a transformer may be asked to do. A Task has inputs, and an oracle that knows the right answers; a Language has
strings, and a check of any string. `task` gives either by its name, `task_of` that of a model, and `certify` checks a
model against it.

Public: the names below. A new task is a function in a module of this room and a line in `catalogue.py`.
"""

from handloom.tasks.catalogue import task
from handloom.tasks.certificate import Certificate
from handloom.tasks.certify import certify
from handloom.tasks.language import Language
from handloom.tasks.of_model import task_of
from handloom.tasks.task import Learnable, Task

__all__ = ["Certificate", "Language", "Learnable", "Task", "certify", "task", "task_of"]
