"""What a transformer may be asked to do: each Task has its inputs, and an oracle that knows the right answers; each
Language its strings, and a check of any string. `task` gives either by its name, `task_of` that of a model, and
`certify` holds a model against it."""

from handloom.tasks.catalogue import task
from handloom.tasks.certificate import Certificate
from handloom.tasks.certify import certify
from handloom.tasks.language import Language
from handloom.tasks.of_model import task_of
from handloom.tasks.task import Learnable, Task

__all__ = ["Certificate", "Language", "Learnable", "Task", "certify", "task", "task_of"]
