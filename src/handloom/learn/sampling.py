"""Sampling: strings from a model, judged by its task.

sample("runs/strings-1", 1000).success
sample(program("addition"), 100).success

The training set of a run is known too, and so which samples are new.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handloom.core import HandloomError, Model, generate
from handloom.core.errors import shown
from handloom.core.files import what_is
from handloom.core.finding import LAST, is_program
from handloom.learn.api import about_of, task_of_run
from handloom.learn.data import Data, collect
from handloom.learn.evaluation import Evaluation, Examiner
from handloom.learn.kinds import check_vocab, find_either
from handloom.learn.masked import unmask
from handloom.learn.settings import Settings
from handloom.runs.folder import ABOUT, Folder
from handloom.tasks import Language, Learnable, Task, task_of
from handloom.tasks.catalogue import task as task_named

if TYPE_CHECKING:
    from handloom.learn.cell_models import CellModel

BEST = "best.safetensors"
OF_RUN = re.compile(r"(model(-\d+)?|best)\.safetensors")  # the models of a run's folder
EXAMPLES = 1000  # of a task, for the lengths of its questions, if the training set is not known


def sample(
    model: "Model | CellModel | str | os.PathLike[str]",
    count: int = 20,
    prompt: str = "",
    *,
    task: Learnable | str | None = None,
    **how: Any,
) -> Evaluation:
    """Sample strings from a model, judged by its task; `how` is as in `generate`. The model is a value, a run folder, a
    model file, or the name of a program. By default strings are sampled at temperature 1, and questions answered at 0,
    as in evaluations. A task without a name must be given again. Without a known task samples are not judged."""
    return Sampling.of(model, task=task).draw(count, prompt, **how)


@dataclass(frozen=True)
class Sampling:
    """A model, and an Examiner of its outputs if its task is known. `run`: it is one of a run."""

    model: "Model | CellModel"
    examiner: Examiner | None
    run: bool = False

    @classmethod
    def of(
        cls,
        model: "Model | CellModel | str | os.PathLike[str]",
        best: bool = False,
        task: Learnable | str | None = None,
    ) -> "Sampling":
        """A model and its task; of a run, also its training set."""
        asked = task_named(task) if isinstance(task, str) else task
        if run := run_of(model):
            return cls.of_run(*run, best, asked)
        if best:
            raise HandloomError(f"{shown(model)} has no best model (expected the folder of a run); name one")
        found, folder = find_either(model)
        asked = asked or known_task(found, folder)
        if asked is None:
            return cls(found, None)
        check_vocab(found, asked)
        return cls(found, Examiner(asked, collect(asked, EXAMPLES, 0), known=False))

    @classmethod
    def of_run(cls, folder: Folder, file: Path, best: bool, task: Learnable | None) -> "Sampling":
        """A model of a run, the run's task and its training set."""
        about = about_of(folder)
        settings, task = Settings.from_json(about["settings"]), task or task_of_run(folder, about)
        file = folder.path / BEST if best else file
        if best and what_is(file) != "file":
            raise HandloomError(f"{folder.path} has no best model: it has not been evaluated yet; use its last model")
        model = find_either(file)[0]
        check_vocab(model, task)
        data = Data.of(task, settings)
        return cls(model, Examiner(task, data.train, known=not data.fresh), run=True)

    def draw(
        self, count: int, prompt: str = "", *, seed: int = 0, temperature: float | None = None, **how: Any
    ) -> Evaluation:
        """`count` strings that begin with the prompt; `how` is as in `generate`."""
        if self.examiner is None:
            return self.unjudged(count, prompt, seed, 1.0 if temperature is None else temperature, how)
        return self.judged(self.examiner, count, prompt, seed, temperature, how)

    def judged(
        self, examiner: Examiner, count: int, prompt: str, seed: int, temperature: float | None, how: dict[str, Any]
    ) -> Evaluation:
        task, vocab = examiner.task, examiner.task.vocab
        drawn = how.get("top_k") is not None or how.get("top_p") is not None
        usual = 1.0 if drawn else examiner.temperature
        how["temperature"] = usual if temperature is None else temperature
        if isinstance(task, Language):
            first, *begun = vocab.encode(prompt)
            asked, right = [first], list[int]()
        elif prompt:
            assert isinstance(task, Task)
            task.check(prompt)
            asked, begun = vocab.encode(prompt), []
            right = task.oracle(asked) or []
        else:
            questions = examiner.questions(count, seed)
            return examiner.judge(questions, self.generate([asked for asked, _ in questions], seed, how))
        outputs = self.generate([[*asked, *begun]] * count, seed, how, len(begun))
        return examiner.judge([(asked, right)] * count, [[*begun, *new] for new in outputs])

    def unjudged(self, count: int, prompt: str, seed: int, temperature: float, how: dict[str, Any]) -> Evaluation:
        """Strings that no task judges."""
        begun, vocab = self.model.vocab.encode_prompt(prompt), self.model.vocab
        if not begun:
            raise HandloomError("the prompt is empty, and this model has no token to begin with; give a prompt")
        outputs = self.generate([begun] * count, seed, {**how, "temperature": temperature})
        return Evaluation(None, None, None, None, tuple(vocab.decode([*begun, *new]) for new in outputs))

    def generate(self, prompts: list[list[int]], seed: int, how: dict[str, Any], begun: int = 0) -> list[list[int]]:
        """The new tokens of every prompt, whose last `begun` tokens are already part of the answer."""
        given_steps = how.get("steps") is not None
        lengths = self.examiner.lengths if self.examiner else []
        how = {"steps": max(lengths) if self.run else None, "engine": "auto", **how}
        causal, engine = isinstance(self.model, Model) and self.model.config.causal, how["engine"]
        if not causal and engine not in ("auto", "torch"):
            raise HandloomError(f"engine={shown(engine)}: this model runs on torch only; use auto")
        if not isinstance(self.model, Model):
            from handloom.learn.cell_models import CellEngine

            return generate(self.model, prompts, seed=seed, **how | {"engine": CellEngine()})
        if self.model.config.causal:
            return generate(self.model, prompts, seed=seed, **how)
        if given_steps or any(how.get(name) is not None for name in ("top_k", "top_p", "format")):
            raise HandloomError("a model that sees both ways takes a temperature only; leave out the other options")
        left = [length - begun for length in lengths if length > begun]
        if not left:
            raise HandloomError(f"the prompt has {begun} tokens, and no string trained on is longer; shorten it")
        return unmask(self.model, prompts, left, how["temperature"], seed)


def run_of(model: Any) -> tuple[Folder, Path] | None:
    """The folder of a run of learn and a model file in it, if the name is that of the run or of one of its models."""
    if not isinstance(model, str | os.PathLike) or is_program(model):
        return None
    path = Path(model)
    whole = what_is(path) == "folder"
    folder = path if whole else path.parent
    if not whole and not OF_RUN.fullmatch(path.name):
        return None
    if what_is(folder / ABOUT) != "file" or Folder(folder).about()["kind"] != "learn":
        return None
    return Folder(folder), folder / LAST if whole else path


def known_task(model: "Model | CellModel", folder: Path | None) -> Learnable | None:
    """A model's task, if it can be found."""
    try:
        return task_of(model, folder)
    except HandloomError:
        return None
