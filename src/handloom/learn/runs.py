"""From what a user asks for to a Training: which task, which model, which settings.

    training = train("strings:rule=s[13]==s[22]", steps=2000, layers=2)
    training.model()("0110")

`train` begins a run and `resume` goes on with one. Both take the task as a name or as a value.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.core.files import one_line, what_is
from handloom.learn.beginnings import fine_tuned, from_scratch, learner_from_json
from handloom.learn.data import Data, check_draws
from handloom.learn.kinds import SIZES, find_either
from handloom.learn.options import listed, with_width
from handloom.learn.processes import Processes
from handloom.learn.settings import Settings
from handloom.learn.trainers import choose
from handloom.learn.training import Training, Watch
from handloom.runs.folder import CHECKPOINT, STRINGS_COPY, TASK_COPY, Folder, damaged
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


@listed
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
    matrices of rank 8. Without a folder nothing is kept. `engine` is native, torch, or auto: the fastest that can.
    `watch` is called with a report of every step. The other options, with their defaults:"""
    training = prepare(task, kind=kind, start=start, device=device, engine=engine, **choices)
    training.watch = watch
    if folder is None:
        return training.run()
    with kept(training, Path(folder), task if isinstance(task, str) else None):
        return training.run()


def prepare(
    task: str | Learnable,
    *,
    kind: str = "transformer",
    start: "Model | CellModel | str | os.PathLike[str] | None" = None,
    device: str = "cpu",
    engine: str = "auto",
    **choices: Any,
) -> Training:
    """The same, not yet run."""
    choices = with_width(choices)
    if unknown := sorted(set(choices) - SETTINGS - SIZES):
        raise HandloomError(
            f"no option {shown(unknown[0])}; there are {', '.join(sorted(SETTINGS | SIZES | {'width'}))}"
        )
    check_device(device)
    if not isinstance(task, str) and not hasattr(task, "pair"):
        raise HandloomError(f"{shown(task)} is not a task; give the name of one, a Task or a Language")
    if start is not None and not hasattr(start, "vocab") and not isinstance(start, str | os.PathLike):
        raise HandloomError(f"start={shown(start)} is not a model; load(path) gives one")
    if start and kind != "transformer":
        raise HandloomError(f"a kind is given ({kind}), but a model that is trained on stays what it is: leave it out")
    if choices.get("lora") and not start:
        raise HandloomError("lora learns changes of a model that there is; name it with start, or leave lora out")
    settings = Settings(**{k: v for k, v in choices.items() if k in SETTINGS})
    known = task_named(task) if isinstance(task, str) else task
    data = Data.of(known, settings.count, settings.seed)
    strings = data.strings
    if settings.count > len(strings):
        raise HandloomError(f"count={settings.count:,}, but there are only {len(strings):,} strings; ask for fewer")
    check_draws(known, strings)
    if settings.until and isinstance(known, Language) and not known.has_rule:
        raise HandloomError(
            f"until={settings.until:g}: a text file has no rule to be right by; stop with patience instead"
        )
    sizes = {key: value for key, value in choices.items() if key in SIZES}
    if start:
        learner = fine_tuned(find_either(start)[0], known, strings, settings, sizes)
    else:
        learner = from_scratch(kind, known, strings, sizes)
    if isinstance(task, str):
        learner.notes["task"] = full_name(task)
    return Training(known, data, learner, settings, device=device, engine=engine)


@contextmanager
def kept(
    training: Training, path: Path | None, name: str | None, called: str = "run", more: dict[str, Any] | None = None
) -> Iterator[None]:
    """Around a run: have it kept in a new folder (at that path, or else under runs/ by what it is called), which is
    locked meanwhile. Of a run without a single step nothing is left. The first process does it, and if it cannot all
    are told."""
    folder = None
    try:
        with training.processes.all_or_none():
            if training.processes.first:
                folder = Folder.create(path, called)
                keep(training, folder, name, more)
        yield
    except BaseException:
        if folder and not training.where.step:
            folder.remove()
        raise
    finally:
        if folder:
            folder.release()


def keep(training: Training, folder: Folder, name: str | None, more: dict[str, Any] | None = None) -> None:
    """Have a run kept in a folder from the beginning."""
    given = name
    if name is not None and (file := users_file(name)):
        name = training.learner.notes["task"] = copied(training.task, *file, folder)
    folder.write_about(
        "learn",
        {
            "seed": training.settings.seed,
            "task": name,
            "given": given,
            "network": training.learner.to_json(),
            "settings": training.settings.to_json(),
            "data": training.data.to_json(),
            "engine": training.choice.name,
            "asked": training.engine,
            **(more or {}),
        },
    )
    training.folder = folder


def copied(task: Learnable, path: Path, parameters: str, folder: Folder) -> str:
    """The user's own file, kept with the run; what stands for it there."""
    if path.suffix == ".py":
        copy = folder.copy_python(path, TASK_COPY)
        check_copy(path, folder.path / copy, parameters)
    else:
        assert isinstance(task, Language)
        lines = task.lines or ()  # as they were read: a pipe is not there a second time
        copy = folder.copy("".join(f"{line}\n" for line in lines).encode(), STRINGS_COPY)
    return copy + (f":{parameters}" if parameters else "")


def check_copy(path: Path, copy: Path, parameters: str) -> None:
    """Refuse a file that does not work where its run keeps it, for no such run could be resumed."""
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
    """Go on with a run that was interrupted, or with more steps with one that is done: on the engine that was asked for
    when it was begun, unless told. A task that has no name must be given again."""
    with reopened(Path(folder), steps, device, engine, task) as training:
        training.watch = watch
        return training.run()


@contextmanager
def reopened(
    path: Path, steps: int | None, device: str, engine: str | None, task: Learnable | None = None
) -> Iterator[Training]:
    """A run as its folder says, at its last checkpoint, or at its beginning if it was killed before the first. The
    folder is locked meanwhile."""
    check_device(device)
    folder, processes = Folder.open(path), Processes()
    try:
        with processes.all_or_none():
            if processes.first:
                folder.hold()
        yield reopen(folder, steps, device, engine, task)
    finally:
        folder.release()


def reopen(folder: Folder, steps: int | None, device: str, engine: str | None, task: Learnable | None) -> Training:
    """The same, not locked."""
    about = about_of(folder)
    if what_is(folder.path / CHECKPOINT) != "file":
        check_never_trained(folder, about)
    known = task or task_of_run(folder, about)
    try:
        return go_on(folder, about, known, steps, device, engine)
    except HandloomError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise HandloomError(
            f"{folder.path} cannot be gone on with: {one_line(error)}; are its files damaged, or of several runs?"
        ) from error


def about_of(folder: Folder) -> dict[str, Any]:
    """What run.json says of a run of learn."""
    about = folder.about("learn", needed=("task", "network", "settings", "data", "engine", "asked"))
    task, network = about["task"], about["network"]
    if not isinstance(task, str | None) or not isinstance(network, dict) or "kind" not in network:
        raise damaged(folder.path / "run.json", "its task must be text, and its network have a kind")
    return about


def check_never_trained(folder: Folder, about: dict[str, Any]) -> None:
    """A run without a checkpoint is begun from the start, if that costs nothing and can be done."""
    problem = f"{folder.path} has no {CHECKPOINT} to resume from"
    if any(folder.path.glob("*.safetensors")):
        raise HandloomError(f"{problem}, but models: it was trained; begin a new run in another folder")
    if "from" in about["network"].get("notes", {}):
        raise HandloomError(f"{problem}, and it was to begin with a model, which it has not kept; begin a new run")


def go_on(
    folder: Folder,
    about: dict[str, Any],
    known: Learnable,
    steps: int | None,
    device: str,
    engine: str | None,
) -> Training:
    """The same, of what the folder says. Asked for more steps, a run that has stopped early does not do so again."""
    settings, begun = Settings.from_json(about["settings"]), about["engine"]
    learner = learner_from_json(about["network"])
    asked = engine or about["asked"]
    if asked == "native" and not engine:  # where it is not there, torch goes on
        asked = "auto"
    if choose(asked, learner, settings, device, Processes()).name != begun:
        settings = replace(settings, lanes=0)
    if steps is not None:
        settings = replace(settings, steps=steps, until=0.0, patience=0)
    if learner.vocab.tokens[: len(known.vocab)] != known.vocab.tokens:
        raise HandloomError(
            f"{folder.path} is a run of another task: its tokens are {learner.vocab.sample()}, "
            f"and those of the task {known.vocab.sample()}"
        )
    data = Data.of(known, settings.count, settings.seed)
    training = Training(known, data, learner, settings, folder, device, asked)
    if steps is not None and steps < training.where.step:
        raise HandloomError(f"{folder.path} is at step {training.where.step:,} already; give --steps more than that")
    now = about | {"settings": training.settings.to_json(), "engine": training.choice.name}
    if now != about and training.processes.first:
        folder.write_about("learn", now)
    return training


def task_of_run(folder: Folder, about: dict[str, Any]) -> Learnable:
    """The task that a run learns: by its name, or from the copy of the user's file."""
    name = about["task"]
    if name is None:
        raise HandloomError(f"{folder.path} is a run of a task without a name; resume and sample take it as task=…")
    return task_of_name(name, folder.path)
