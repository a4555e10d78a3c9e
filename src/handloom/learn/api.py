"""From what a user asks for to a Training: which task, which model, which settings.

    training = train("strings:rule=s[13]==s[22]", steps=2000, layers=2)
    training.model()("0110")

`train` starts a run and `resume` continues one. Both take the task as a name or as a value. Their halves are here too:
`prepare` makes a Training, `in_new_folder` gives it a folder, `opened` opens an existing run.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handloom.core import HandloomError, Model
from handloom.core.errors import one_line, shown
from handloom.core.files import what_is
from handloom.learn.data import Data, check_draws
from handloom.learn.kinds import find_either, fine_tuned, from_scratch, learner_from_json
from handloom.learn.processes import Processes
from handloom.learn.settings import SIZES, Settings, options, with_help, with_width
from handloom.learn.training import Training, Watch
from handloom.runs.folder import ABOUT, CHECKPOINT, STRINGS_COPY, TASK_COPY, Folder, damaged
from handloom.runs.job import check_device
from handloom.tasks import Language
from handloom.tasks.catalogue import from_file, full_name, users_file
from handloom.tasks.catalogue import task as task_named
from handloom.tasks.of_model import task_of_name
from handloom.tasks.task import Learnable
from handloom.tasks.user_file import files_beside

if TYPE_CHECKING:  # networks of cells need torch, and are loaded where they are asked for
    from handloom.learn.cell_models import CellModel

SETTINGS = {f.name for f in fields(Settings)}
NEEDED = ("task", "network", "settings", "data", "engine", "asked")  # of a run.json of learn


def train(
    task: str | Learnable,
    *,
    kind: str = "transformer",
    start: "Model | CellModel | str | os.PathLike[str] | None" = None,
    folder: str | os.PathLike[str] | None = None,
    device: str = "cpu",
    engine: str = "auto",
    watch: Watch = lambda report: None,
    **choices: Any,
) -> Training:
    """Train a model on a task: a name, a rule, a file, a Task or a Language. `kind` is transformer, bigram, bow, mlp,
    rnn, gru, lstm or encoder-decoder. `start` is a model to train further, or its name: all of it, or with lora=8 only
    matrices of rank 8. Without a folder nothing is saved. `engine` is native, torch, or auto: the fastest that can.
    `watch` is called with a report of every step. The other options, with their defaults:"""
    training = prepare(task, kind=kind, start=start, device=device, engine=engine, **choices)
    training.watch = watch
    if folder is None:
        return training.run()
    with in_new_folder(training, Path(folder), task if isinstance(task, str) else None):
        return training.run()


with_help(train, options())


def prepare(
    task: str | Learnable,
    *,
    kind: str = "transformer",
    start: "Model | CellModel | str | os.PathLike[str] | None" = None,
    device: str = "cpu",
    engine: str = "auto",
    **choices: Any,
) -> Training:
    """A Training that has begun, with no step made and no folder; the arguments are those of `train`."""
    choices = with_width(choices)
    check_given(task, kind, start, choices)
    check_device(device)
    settings = Settings(**{k: v for k, v in choices.items() if k in SETTINGS})
    known = task_named(task) if isinstance(task, str) else task
    data = Data.of(known, settings)
    check_data(known, data, settings)
    sizes = {key: value for key, value in choices.items() if key in SIZES}
    if start:
        learner = fine_tuned(find_either(start)[0], known, data.strings, settings, sizes)
    else:
        learner = from_scratch(kind, known, data.strings, sizes)
    if isinstance(task, str):
        learner.notes["task"] = full_name(task)
    return Training(known, data, learner, settings, device=device, engine=engine).begin()


def check_given(task: Any, kind: str, start: Any, choices: dict[str, Any]) -> None:
    """Raise an error for arguments of `train` that do not exist or do not go together."""
    if unknown := sorted(set(choices) - SETTINGS - SIZES):
        known = ", ".join(sorted(SETTINGS | SIZES | {"width"}))
        raise HandloomError(f"no option {shown(unknown[0])} (expected some of {known})")
    if not isinstance(task, str) and not hasattr(task, "pair"):
        raise HandloomError(f"{shown(task)} is not a task; give the name of one, a Task or a Language")
    if start is not None and not hasattr(start, "vocab") and not isinstance(start, str | os.PathLike):
        raise HandloomError(f"start={shown(start)} is not a model; load(path) gives one")
    if start and kind != "transformer":
        raise HandloomError(f"kind {kind} cannot be combined with start: the starting model fixes the architecture")
    if choices.get("lora") and not start:
        raise HandloomError("lora needs a base model; give one as start, or leave lora out", ("base model", ""))


def check_data(task: Learnable, data: Data, settings: Settings) -> None:
    """Raise an error if the strings are too few, are not right by the task's own rule, or have no rule to stop by."""
    if settings.count > len(data.strings):
        raise HandloomError(
            f"count={settings.count:,}, but there are only {len(data.strings):,} strings; ask for fewer"
        )
    check_draws(task, data.strings)
    if settings.until and isinstance(task, Language) and not task.has_rule:
        raise HandloomError(
            f"until={settings.until:g}: a text file has no rule to be right by; stop with patience instead"
        )


@contextmanager
def in_new_folder(
    training: Training, path: Path | None, task: str | None, called: str = "run", more: dict[str, Any] | None = None
) -> Iterator[None]:
    """Around the run of a new Training: keep it in a new folder, locked meanwhile, at that path or else under runs/ by
    the name it is `called`. `task` is its name, `more` goes into run.json. A run without a single step leaves nothing.
    The first process makes the folder; if it cannot, all processes raise the error."""
    folder = None
    try:
        with training.processes.all_or_none():
            if training.processes.first:
                folder = Folder.create(path, called)
                describe(training, folder, task, more or {})
        yield
    except BaseException:
        if folder and not training.where.step:
            folder.remove()
        raise
    finally:
        if folder:
            folder.release()


def describe(training: Training, folder: Folder, task: str | None, more: dict[str, Any]) -> None:
    """Write run.json, with a copy of the user's file if the task is one, and give the folder to the Training."""
    given = task
    if task is not None and (file := users_file(task)):
        task = training.learner.notes["task"] = copy_task(training.task, *file, folder)
    about = {
        "seed": training.settings.seed,
        "task": task,
        "given": given,
        "network": training.learner.to_json(),
        "settings": training.settings.to_json(),
        "data": training.data.to_json(),
        "engine": training.choice.name,
        "asked": training.engine,
    }
    folder.write_about("learn", about | more)
    training.folder = folder


def copy_task(task: Learnable, path: Path, parameters: str, folder: Folder) -> str:
    """Copy the user's own file into the folder; returns the name of the task there."""
    if path.suffix == ".py":
        copy = folder.copy_python(path, TASK_COPY)
        check_copy(path, folder.path / copy, parameters)
    else:
        assert isinstance(task, Language)
        lines = task.lines or ()  # as they were read: a pipe cannot be read twice
        copy = folder.copy("".join(f"{line}\n" for line in lines).encode(), STRINGS_COPY)
    return copy + (f":{parameters}" if parameters else "")


def check_copy(path: Path, copy: Path, parameters: str) -> None:
    """Raise an error if a file does not work in its run's folder: such a run could not be resumed."""
    if b"__file__" not in path.read_bytes() and not files_beside(path):
        return  # nothing in it depends on where it is
    try:
        from_file(copy, parameters)
    except HandloomError as error:
        raise HandloomError(
            f"{path}: its copy in the run's folder does not work ({error}); what it needs must be in Python files "
            "beside it that it imports, or be named by an absolute path"
        ) from error


def resume(
    folder: str | os.PathLike[str],
    *,
    steps: int | None = None,
    device: str = "cpu",
    engine: str | None = None,
    watch: Watch = lambda report: None,
    task: Learnable | None = None,
) -> Training:
    """Resume a run that was interrupted, or train a finished one to more `steps`. By default it uses the engine asked
    for when it was started. A task without a name must be given again."""
    with opened(Path(folder), steps, device, engine, task) as training:
        training.watch = watch
        return training.run()


@contextmanager
def opened(
    path: Path, steps: int | None, device: str, engine: str | None, task: Learnable | None = None
) -> Iterator[Training]:
    """An existing run, its folder locked meanwhile: a Training at its last checkpoint, or at its start if it was killed
    before the first."""
    check_device(device)
    folder, processes = Folder.open(path), Processes()
    try:
        with processes.all_or_none():
            if processes.first:
                folder.hold()
        about = about_of(folder)
        if what_is(folder.path / CHECKPOINT) != "file":
            check_never_trained(folder, about)
        known = task or task_of_run(folder, about)
        try:
            training = restored(folder, about, known, steps, device, engine)
        except HandloomError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise HandloomError(
                f"cannot resume {path}: {one_line(error)} (are its files damaged, or from several runs?)"
            ) from error
        yield training
    finally:
        folder.release()


def about_of(folder: Folder) -> dict[str, Any]:
    """The run.json of a run of learn."""
    about = folder.about("learn", NEEDED)
    task, network = about["task"], about["network"]
    if not isinstance(task, str | None) or not isinstance(network, dict) or "kind" not in network:
        raise damaged(folder.path / ABOUT, "its task must be text, and its network have a kind")
    return about


def check_never_trained(folder: Folder, about: dict[str, Any]) -> None:
    """A run without a checkpoint starts again, unless it has been trained or its starting model is gone."""
    problem = f"{folder.path} has no {CHECKPOINT} to resume from"
    if any(folder.path.glob("*.safetensors")):
        raise HandloomError(f"{problem}, but models: it was trained; start a new run in another folder")
    if "from" in about["network"].get("notes", {}):
        raise HandloomError(f"{problem}, and was to start with a model, which it has not saved; start a new run")


def restored(
    folder: Folder, about: dict[str, Any], task: Learnable, steps: int | None, device: str, engine: str | None
) -> Training:
    """The Training that run.json describes, at its last checkpoint. With `steps` given, conditions to stop early no
    longer hold. run.json is brought up to date."""
    settings, learner = Settings.from_json(about["settings"]), learner_from_json(about["network"])
    if steps is not None:
        settings = replace(settings, steps=steps, until=0.0, patience=0)
    if learner.vocab.tokens[: len(task.vocab)] != task.vocab.tokens:
        raise HandloomError(
            f"{folder.path} is a run of another task: its tokens are {learner.vocab.sample()}, "
            f"and those of the task {task.vocab.sample()}"
        )
    asked = engine or about["asked"]
    if asked == "native" and not engine:  # if it is not available here, torch resumes the run
        asked = "auto"
    data = Data.of(task, settings)
    training = Training(task, data, learner, settings, folder, device, asked).restore(before=about["engine"])
    if steps is not None and steps < training.where.step:
        raise HandloomError(f"{folder.path} is at step {training.where.step:,} already (expected more steps than that)")
    now = about | {"settings": training.settings.to_json(), "engine": training.choice.name}
    if now != about and training.processes.first:
        folder.write_about("learn", now)
    return training


def task_of_run(folder: Folder, about: dict[str, Any]) -> Learnable:
    """The task of a run: by its name, or from the copy of the user's file."""
    name = about["task"]
    if name is None:
        raise HandloomError(f"{folder.path} is a run of a task without a name; resume and sample take it as task=…")
    return task_of_name(name, folder.path)
