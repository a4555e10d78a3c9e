"""A run of training as a job: what it tells while it trains, new or resumed. It trains as `handloom learn` does, to the
same bits."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from handloom.core.params import size
from handloom.lab.talk import run_of
from handloom.learn.api import in_new_folder, opened, prepare
from handloom.learn.evaluation import Evaluation
from handloom.learn.learner import Learner
from handloom.learn.training import Report, Training
from handloom.runs.job import best_device
from handloom.studio.allowed import check_run, check_task
from handloom.studio.frames import Film
from handloom.studio.worker import Halt, Pace, Spec, Tell, choices_of, words
from handloom.tasks import Language
from handloom.tasks.task import Learnable

KEPT = re.compile(r"model-([0-9]+)\.safetensors")
SHOWN = 40  # samples of an evaluation that are told


def learn(spec: Spec, tell: Tell, halt: Halt) -> None:
    """A new run."""
    asked = words(spec, "task")
    name, choices, about = run_of(asked, choices_of(spec))
    check_task(name, spec["files"])
    training = prepare(name, **{"device": best_device()} | choices)
    out = Path(words(spec, "out")) if spec.get("out") else None
    with in_new_folder(training, out, name, called=asked, more=about):
        train(training, asked, about, tell, halt)
    tell_result(training, tell)


def resume(spec: Spec, tell: Tell, halt: Halt) -> None:
    """An existing run, from its last checkpoint."""
    path = Path(words(spec, "run"))
    about = check_run(path, spec["files"])
    title = about.get("experiment") or about.get("given") or about.get("task")
    with opened(path, spec.get("steps"), best_device(), None) as training:
        train(training, str(title), about, tell, halt)
    tell_result(training, tell)


def train(training: Training, title: str, about: dict[str, Any], tell: Tell, halt: Halt) -> None:
    """Train, and tell about it."""
    tell("begun", title=title, claim=about.get("claim"), **facts(training))
    watching = Watching(training, tell)
    watching.tell_history()
    training.watch, training.kept = watching, watching.tell_kept
    halt.calls(training.halt)
    training.run()
    watching.film.show(training.where.step)


def facts(training: Training) -> dict[str, Any]:
    """What is known of a run before its first step."""
    assert training.folder is not None
    learner = training.learner
    config = learner.config if isinstance(learner, Learner) else None
    return {
        "folder": training.folder.path,
        "step": training.where.step,
        "steps": training.settings.steps,
        "settings": training.settings.to_json(),
        "config": config.to_json() if config else None,
        "parameters": size(config) if config else None,
        "data": str(training.data),
        "engine": str(training.choice),
    }


def tell_result(training: Training, tell: Tell) -> None:
    """The last event. The folder is not locked any more: the run may be resumed at once."""
    result = training.to_json() | {"step": training.where.step, "steps": training.settings.steps}
    tell("done", halted=training.stop, text=training.sentence(), **result)


class Watching:
    """Is called after every step, and tells some of them."""

    def __init__(self, training: Training, tell: Tell) -> None:
        self.training, self.tell, self.pace = training, tell, Pace()
        self.film = Film(training, tell)
        self.losses, self.counted = 0.0, 0  # of the run, at the last step that was told
        self.kept: set[int] = set()  # steps of kept models that were told

    def tell_history(self) -> None:
        """What a resumed run has done before, so that its curves and its film are whole."""
        assert self.training.folder is not None
        for line in self.training.lines or ():
            self.tell("evaluation", **line)
        files = {file: KEPT.fullmatch(file.name) for file in self.training.folder.path.glob("model-*.safetensors")}
        for step, file in sorted((int(match[1]), file) for file, match in files.items() if match):
            self.tell_kept(step, file)

    def tell_kept(self, step: int, file: Path) -> None:
        """A model that is kept. One that is saved again, as a resumed run does, is told once."""
        if step not in self.kept:
            self.kept.add(step)
            self.tell("saved", step=step, file=file)

    def __call__(self, report: Report) -> None:
        if report.evaluation is not None:
            self.tell("evaluation", **self.evaluated(report.evaluation))
        elif self.pace.is_due():
            self.tell("step", step=report.step, steps=report.steps, loss=self.loss(), seconds=report.seconds)
        self.film(report.step)

    def loss(self) -> float:
        """The mean loss of the steps since the last one that was told, or since the last evaluation."""
        where = self.training.where
        if where.counted <= self.counted:  # an evaluation counts anew
            self.losses, self.counted = 0.0, 0
        mean = (where.losses - self.losses) / (where.counted - self.counted)
        self.losses, self.counted = where.losses, where.counted
        return mean

    def evaluated(self, evaluation: Evaluation) -> dict[str, Any]:
        """The line of the metrics, and some samples with what the task thinks of them."""
        lines, task = self.training.lines, self.training.task
        assert lines is not None
        some = zip(evaluation.samples[:SHOWN], evaluation.marks, strict=False)
        samples = [{"text": text, "mark": mark, "marked": ruled(task, text)} for text, mark in some]
        return {**lines[-1], "has_rule": evaluation.has_rule, "samples": samples}


def ruled(task: Learnable, text: str) -> list[int]:
    """The tokens of a string, from 0, that the rule of its language reads. A user's own function that cannot tell them
    does no harm."""
    if not isinstance(task, Language):
        return []
    with suppress(Exception):
        length = len(task.vocab.encode(text, begin=False))
        return sorted({place - 1 for place in task.marks(length) if 1 <= place <= length})
    return []
