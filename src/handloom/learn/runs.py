"""From what a user asks for to a Training: which task, which model, which settings.

    training = train("strings:rule=s[13]==s[22]", steps=2000, layers=2)
    training.model()("0110")

`train` begins a run and `resume` goes on with one. Both take the task as a name or as a value.
"""

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import handloom
from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core.errors import shown
from handloom.learn.folder import Folder
from handloom.learn.learner import Learner
from handloom.learn.network import Transformer, bag_of_words, bigram
from handloom.learn.settings import Settings
from handloom.learn.strings import MASK, Strings, collect
from handloom.learn.training import Report, Training
from handloom.tasks import learnable
from handloom.tasks.task import Learnable

KINDS = ("transformer", "bigram", "bow")
SETTINGS = {f.name for f in fields(Settings)}
CONFIG = {f.name for f in fields(Config)} - {"vocab", "block"}


def train(
    task: str | Learnable,
    *,
    kind: str = "transformer",
    start: Model | None = None,
    folder: str | os.PathLike[str] | None = None,
    device: str = "cpu",
    watch: Callable[[Report], None] = lambda report: None,
    **choices: Any,
) -> Training:
    """Train a model on a task. `choices` are fields of Settings (steps, rate, …) and of Config (layers, d_model, …);
    `start` is a model to go on from: all of it, or with lora=8 only matrices of rank 8. Without a folder nothing is
    kept."""
    training = prepare(task, kind=kind, start=start, device=device, **choices)
    training.watch = watch
    if folder is not None:
        keep(training, Folder.new(Path(folder), "run"), task if isinstance(task, str) else None)
    return training.run()


def prepare(
    task: str | Learnable, *, kind: str = "transformer", start: Model | None = None, device: str = "cpu", **choices: Any
) -> Training:
    """The same, not yet run."""
    if unknown := sorted(set(choices) - SETTINGS - CONFIG):
        raise HandloomError(f"no setting {shown(unknown[0])}; there are {', '.join(sorted(SETTINGS | CONFIG))}")
    settings = Settings(**{"lanes": cores(device)} | {k: v for k, v in choices.items() if k in SETTINGS})
    known = learnable(task) if isinstance(task, str) else task
    strings = collect(known, settings.count, settings.seed)
    sizes = {key: value for key, value in choices.items() if key in CONFIG}
    learner = fine_tuned(start, known, settings, sizes) if start else from_scratch(kind, known, strings, sizes)
    return Training(known, strings, learner, settings, device=device)


def from_scratch(kind: str, task: Learnable, strings: Strings, sizes: dict[str, Any]) -> Learner:
    """A network of that kind, as large as the strings ask for."""
    longest = int(strings.lengths.max())
    if kind == "bigram":
        return Learner(bigram(len(task.vocab), longest - 1), task.vocab)
    if kind == "bow":
        return Learner(bag_of_words(len(task.vocab), longest - 1, sizes.get("d_model", 64)), task.vocab)
    if kind != "transformer":
        raise HandloomError(f"no kind of model {shown(kind)}; there are {', '.join(KINDS)}")
    masked = not sizes.get("causal", True)
    vocab = with_mask(task.vocab) if masked else task.vocab
    return Learner(Transformer(config_for(len(vocab), longest - (not masked), sizes)), vocab)


def config_for(vocab: int, block: int, sizes: dict[str, Any]) -> Config:
    """makemore's sizes, unless told: 4 layers, 4 heads, 64 wide, and the usual proportions."""
    width, heads = sizes.get("d_model", 64), sizes.get("heads", 4)
    usual = {"layers": 4, "heads": heads, "d_model": width, "d_ff": 4 * width, "tied": False}
    return Config(vocab=vocab, block=block, **{"d_head": max(1, width // max(1, heads))} | usual | sizes)


def with_mask(vocab: Vocab) -> Vocab:
    """The same with a token that hides others, at the end."""
    if MASK in vocab.tokens:
        return vocab
    return Vocab((*vocab.tokens, MASK), vocab.separator, vocab.bos, vocab.eos, vocab.pad)


def fine_tuned(start: Model, task: Learnable, settings: Settings, sizes: dict[str, Any]) -> Learner:
    """A model that there is, to be trained on; it must know the tokens of the task."""
    if sizes:
        raise HandloomError(f"{min(sizes)} is given, but a model that is trained on keeps its sizes: leave it out")
    needed = task.vocab.tokens
    if start.vocab.tokens[: len(needed)] != needed or (not start.config.causal and MASK not in start.vocab.tokens):
        missing = [token for token in needed if token not in start.vocab.ids]
        what = f"it has no {shown(missing[0])}" if missing else "they are in another order"
        raise HandloomError(f"the model's tokens are not the task's ({what}); the task's are {task.vocab.sample()}")
    return Learner(Transformer(start.config), start.vocab, start, settings.lora, dict(start.notes))


def keep(training: Training, folder: Folder, name: str | None, more: dict[str, Any] | None = None) -> None:
    """Have a run kept in a folder from the beginning."""
    if name is not None and Path(name).is_file():
        name = folder.copy(Path(name))
    if training.processes.first:
        folder.write_about(
            {
                "handloom": handloom.__version__,
                "task": name,
                "network": training.learner.to_json(),
                "settings": training.settings.to_json(),
                **(more or {}),
            }
        )
    training.folder = folder


def cores(device: str) -> int:
    """How many lanes: one a core, up to eight; one on a GPU."""
    import torch

    return 1 if device != "cpu" else max(1, min(8, torch.get_num_threads()))
