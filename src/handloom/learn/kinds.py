"""How a run's Learner is made: of one of the kinds of models, with random weights, or from an existing model."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handloom.core import HandloomError, Model, Vocab
from handloom.core.errors import in_users_code, shown
from handloom.core.files import entry_of, what_is
from handloom.core.finding import find, find_file, is_program
from handloom.learn.batches import MASK
from handloom.learn.data import Strings
from handloom.learn.learner import Learner, Transformer, bag_of_words, bigram, config_for, with_rank
from handloom.learn.settings import CELLS, KINDS, Settings
from handloom.tasks import Language, Task
from handloom.tasks.task import Learnable

if TYPE_CHECKING:  # networks of cells need torch, and are loaded where they are asked for
    from handloom.learn.cell_learner import CellLearner
    from handloom.learn.cell_models import CellModel

CELLS_ENTRY = "handloom-cells"  # of the metadata of a model file that holds a network of cells
HARD = 10_000  # hard questions whose lengths are looked at
ORIGIN = ("made", "program", "parameters", "task", "steps", "seed")  # notes of a model that is trained further


def from_scratch(kind: str, task: Learnable, strings: Strings, sizes: dict[str, Any]) -> "Learner | CellLearner":
    """A network of that kind, with random weights, large enough for the strings."""
    if kind not in KINDS:
        raise HandloomError(f"no kind of model {shown(kind)} (expected one of {', '.join(KINDS)})")
    if unfit := sorted(set(sizes) - KINDS[kind]):
        has = ", ".join(sorted(KINDS[kind])) or "no sizes to choose"
        raise HandloomError(f"{as_given(unfit[0])}: the kind {kind} has no such size (it has {has}); leave it out")
    longest = max([int(strings.lengths.max()), *lengths_of_hard(task)])
    if kind == "bigram":
        return Learner(bigram(len(task.vocab), longest - 1), task.vocab)
    if kind == "bow":
        return Learner(bag_of_words(len(task.vocab), longest - 1, sizes.get("d_model", 64)), task.vocab)
    if kind in CELLS:
        if kind == "encoder-decoder" and isinstance(task, Language):
            raise HandloomError("an encoder-decoder answers questions, and this task has only strings; choose another")
        with needing_torch():
            from handloom.learn.cell_learner import CellLearner
            from handloom.learn.cells import Cells

        network = Cells.of(kind, len(task.vocab), sizes)
        return CellLearner(network, task.vocab, notes=longest_answer(strings))
    masked = not sizes.get("causal", True)
    vocab = with_mask(task.vocab) if masked else task.vocab
    return Learner(Transformer(config_for(len(vocab), longest - (not masked), sizes)), vocab)


def lengths_of_hard(task: Learnable) -> Iterator[int]:
    """The lengths of a Task's hard questions with their answers: the longest may not have been drawn."""
    if not isinstance(task, Task):
        return
    with in_users_code("the task could not make its hard inputs"):
        for asked in islice(task.hard(), HARD):
            yield len(asked) + len(task.oracle(asked) or ())


def with_mask(vocab: Vocab) -> Vocab:
    """The vocabulary with a token that hides others, at the end."""
    if MASK in vocab.tokens:
        return vocab
    return Vocab((*vocab.tokens, MASK), vocab.separator, vocab.bos, vocab.eos, vocab.pad)


def fine_tuned(
    start: "Model | CellModel", task: Learnable, strings: Strings, settings: Settings, sizes: dict[str, Any]
) -> "Learner | CellLearner":
    """An existing model, to be trained further; it must have the task's tokens. Its notes say what it comes from."""
    if sizes:
        raise HandloomError(
            f"{as_given(min(sizes))} cannot be combined with start: the starting model fixes the architecture"
        )
    check_vocab(start, task)
    notes = {"from": {name: start.notes[name] for name in ORIGIN if name in start.notes}}
    if not isinstance(start, Model):
        from handloom.learn.cell_learner import CellLearner

        return CellLearner(start.network, start.vocab, start, notes | longest_answer(strings))
    return Learner(with_rank(Transformer(start.config), settings.lora), start.vocab, start, notes)


def check_vocab(model: "Model | CellModel", task: Learnable) -> None:
    """Raise an error if a model's tokens are not the task's."""
    needed = task.vocab if model.config.causal else with_mask(task.vocab)
    if difference := different(model.vocab, needed):
        raise HandloomError(f"the model's tokens are not the task's: {difference}; the task's are {needed.sample()}")


def different(vocab: Vocab, needed: Vocab) -> str | None:
    """How a vocabulary differs from the one needed."""
    if missing := [token for token in needed.tokens if token not in vocab.ids]:
        return f"it has no {shown(missing[0])}"
    if besides := [token for token in vocab.tokens if token not in needed.ids]:
        return f"it has {shown(besides[0])} besides"
    if vocab.tokens != needed.tokens:
        return "they are in another order"
    for name in ("bos", "eos", "separator"):
        has, needs = getattr(vocab, name), getattr(needed, name)
        if has != needs:
            return f"its {name} is {shown(has)} and not {shown(needs)}"
    return None


def longest_answer(strings: Strings) -> dict[str, Any]:
    """A note for networks of cells, which have no block to limit the length of an answer."""
    return {"decode_steps": int((strings.lengths - strings.asked).max())}


def learner_from_json(values: dict[str, Any]) -> "Learner | CellLearner":
    """The learner of a run, from the `network` of its run.json."""
    if values["kind"] not in CELLS:
        return Learner.from_json(values)
    with needing_torch():
        from handloom.learn.cell_learner import CellLearner
    return CellLearner.from_json(values)


@contextmanager
def needing_torch() -> Iterator[None]:
    """Around imports of modules that are made with torch."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise HandloomError(
            f"networks of cells need {error.name}, which is not installed: pip install 'handloom[learn]'"
        ) from error


def find_either(model: "Model | CellModel | str | os.PathLike[str]") -> "tuple[Model | CellModel, Path | None]":
    """The model of that name, as `find` finds it, or the network of cells; and the folder it is in, if any."""
    if not isinstance(model, str | os.PathLike):
        return model, None
    file = None if is_program(model) else find_file(model)
    if file is None or file.suffix == ".taotp" or what_is(file) == "folder" or entry_of(file) != CELLS_ENTRY:
        return find(model)
    with needing_torch():
        from handloom.learn.cell_models import load_cells
    return load_cells(file), file.parent


def as_given(size: str) -> str:
    """The name of a size as a user gives it."""
    return {"causal": "masked (causal=False)", "d_model": "width"}.get(size, size)
