"""Sampling from a run: strings from its model, judged by its task.

Sampling.of("runs/strings-1").draw(1000).success
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handloom.core import HandloomError, Model, generate, load
from handloom.core.errors import shown
from handloom.core.files import what_is
from handloom.learn.data import Data, split_of
from handloom.learn.evaluation import Evaluation, Examiner
from handloom.learn.folder import Folder
from handloom.learn.kinds import CELLS, needing_torch
from handloom.learn.masked import unmask
from handloom.learn.runs import settings_of, task_of_run
from handloom.tasks import Language, Learnable, Task

if TYPE_CHECKING:
    from handloom.learn.cell_models import CellModel


def sample(
    run: str | os.PathLike[str], count: int = 20, prompt: str = "", *, task: Learnable | None = None, **how: Any
) -> Evaluation:
    """Strings from the model of a run, and what its task thinks of them; `how` is as in `generate`. Strings are drawn
    at temperature 1 unless told, and questions answered at 0, as in evaluations. A task that has no name must be given
    again."""
    return Sampling.of(run, task=task).draw(count, prompt, **how)


@dataclass(frozen=True)
class Sampling:
    """A model and who judges what it says."""

    model: "Model | CellModel"
    examiner: Examiner

    @classmethod
    def of(cls, run: str | os.PathLike[str], best: bool = False, task: Learnable | None = None) -> "Sampling":
        """The model of a run, and its task, which knows what was learnt from."""
        folder = Folder.old(Path(run))
        about = folder.about()
        settings, task = settings_of(about), task or task_of_run(folder, about)
        learnt = Data.of(task, settings.count, settings.seed, split_of(about)).train
        path = folder.path / f"{'best' if best else 'model'}.safetensors"
        if best and what_is(path) != "file":
            raise HandloomError(f"{run} has not been evaluated yet, so that no model is the best; leave out --best")
        if about["network"]["kind"] in CELLS:
            with needing_torch():
                from handloom.learn import cell_models
            return cls(cell_models.load(path), Examiner(task, learnt))
        return cls(load(path), Examiner(task, learnt))

    def draw(
        self, count: int, prompt: str = "", *, seed: int = 0, temperature: float | None = None, **how: Any
    ) -> Evaluation:
        """So many strings that begin with the prompt; `how` is as in `generate`."""
        task, vocab = self.examiner.task, self.examiner.task.vocab
        drawn = how.get("top_k") is not None or how.get("top_p") is not None
        usual = 1.0 if drawn else self.examiner.temperature
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
            questions = self.examiner.questions(count, seed)
            return self.examiner.judge(questions, self.say([asked for asked, _ in questions], seed, how))
        said = self.say([[*asked, *begun]] * count, seed, how, len(begun))
        return self.examiner.judge([(asked, right)] * count, [[*begun, *new] for new in said])

    def say(self, prompts: list[list[int]], seed: int, how: dict[str, Any], begun: int = 0) -> list[list[int]]:
        """How the model goes on from prompts; so many tokens of an answer are there already."""
        lengths, given_steps = self.examiner.lengths, how.get("steps") is not None
        how = {"steps": max(lengths), "engine": "auto", **how}
        causal, engine = isinstance(self.model, Model) and self.model.config.causal, how["engine"]
        if not causal and engine not in ("auto", "torch"):
            raise HandloomError(f"this model runs on torch alone, not on the engine {shown(engine)}; use auto")
        if not isinstance(self.model, Model):
            from handloom.learn.cell_models import CellEngine

            return generate(self.model, prompts, seed=seed, **how | {"engine": CellEngine()})
        if self.model.config.causal:
            return generate(self.model, prompts, seed=seed, **how)
        if given_steps or any(how.get(name) is not None for name in ("top_k", "top_p", "format")):
            raise HandloomError("a model that sees both ways is sampled with a temperature alone")
        left = [length - begun for length in lengths if length > begun]
        if not left:
            raise HandloomError(f"the prompt has {begun} tokens, and no string that was learnt is longer; shorten it")
        return unmask(self.model, prompts, left, how["temperature"], seed)
