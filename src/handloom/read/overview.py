"""What a person wants to know first of a model: its heads by name, its circuit, and the largest paths to an answer.

    print(overview("search"))
    overview(model, on="1 2 3 4 1 2 3")

Each part is an analysis of its own (heads.py, circuit.py, paths.py). What a model does not have, such as heads, or a
task with questions, is left out, with the reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from handloom.core import HandloomError, Model, count
from handloom.core.callbacks import Progress
from handloom.core.checks import check_tokens
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.read.attention import strings_for
from handloom.read.circuit import Circuit, circuit
from handloom.read.explanation import example_for
from handloom.read.heads import HeadNames, heads, task_if_known
from handloom.read.paths import Paths, paths
from handloom.tasks import Learnable, Task
from handloom.tasks import task as task_named

PATHS = 8
Result = TypeVar("Result")


@dataclass(frozen=True)
class Overview:
    """The parts of an overview; `left_out` has the reasons for those that are None."""

    name: str
    model: Model
    given: str
    heads: HeadNames | None
    circuit: Circuit | None
    paths: Paths | None
    left_out: tuple[str, ...]

    @property
    def about(self) -> str:
        c, sizes = self.model.config, count(self.model)
        neurons = f"{c.experts} experts of {c.d_ff} neurons" if c.experts else f"{c.d_ff} neurons"
        shape = f"{c.layers} × {c.heads} heads" + (f" and {neurons} per layer" if c.d_ff else ", no MLP")
        task = self.model.notes.get("task")
        return f"{self.name}: {shape}, {c.d_model} wide; {sizes.total:,} parameters" + (
            f"; task {task}" if task else ""
        )

    def __str__(self) -> str:
        parts = [self.about]
        parts += [f"Heads\n{self.heads}"] if self.heads else []
        parts += [f"Circuit\n{self.circuit}"] if self.circuit else []
        parts += [f"Paths on {self.given!r}\n{self.paths.top(PATHS)}"] if self.paths else []
        return "\n\n".join([*parts, *self.left_out])

    def to_json(self) -> dict[str, Any]:
        parts = {"heads": self.heads, "circuit": self.circuit, "paths": self.paths}
        found = {name: part.to_json() if part else None for name, part in parts.items()}
        return {"model": self.name, "on": self.given, **found, "left_out": list(self.left_out)}

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def overview(
    model: Model | str,
    on: str | None = None,
    task: Learnable | str | None = None,
    pairs: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Overview:
    """The overview of a model, or of the model of a name; `on` is the input for the paths."""
    found, folder = find(model)
    if on is not None:
        check_tokens(found.config, found.vocab.encode(on))
    left_out = list[str]()

    def part(what: str, analysis: Callable[[], Result]) -> Result | None:
        try:
            return analysis()
        except HandloomError as error:
            left_out.append(f"No {what}: {error}")
            return None

    known = task_named(task) if isinstance(task, str) else task or task_if_known(found, folder)
    given = example_input(found, folder) if on is None else on
    return Overview(
        model if isinstance(model, str) else str(found.notes.get("task", "model")),
        found,
        given,
        part("heads", lambda: heads(model, task=known, seed=seed)),
        part("circuit", lambda: circuit(found, known, pairs, seed, progress)),
        part("paths", lambda: paths(found, given)),
        tuple(left_out),
    )


def example_input(model: Model, folder: Path | None = None) -> str:
    """An input to follow: an example of the model's task, or one of its own strings."""
    task = task_if_known(model, folder)
    if isinstance(task, Task):
        return task.example()
    if task is None and model.vocab.bos is None:
        return example_for(model, None)
    return model.vocab.decode(strings_for(model, task, 1, seed=0)[0])
