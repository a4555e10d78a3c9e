"""What a run begins with: a network of some kind, as large as its strings ask for, or a model that there is."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core.errors import shown, told
from handloom.learn.batches import MASK, Strings
from handloom.learn.kinds import CELLS, KINDS, MAKEMORE, needing_torch
from handloom.learn.learner import Learner
from handloom.learn.network import Transformer, bag_of_words, bigram
from handloom.learn.settings import Settings
from handloom.tasks import Language, Task
from handloom.tasks.task import Learnable

if TYPE_CHECKING:  # networks of cells need torch, and are loaded where they are asked for
    from handloom.learn.cell_learner import CellLearner
    from handloom.learn.cell_models import CellModel

HARD = 10_000  # hard questions that are looked at
ORIGIN = ("made", "program", "parameters", "task", "steps", "seed")  # of the notes of a model that is trained on


def from_scratch(kind: str, task: Learnable, strings: Strings, sizes: dict[str, Any]) -> "Learner | CellLearner":
    """A network of that kind, as large as the strings ask for."""
    if kind not in KINDS:
        raise HandloomError(f"no kind of model {shown(kind)}; there are {', '.join(KINDS)}")
    if unfit := sorted(set(sizes) - KINDS[kind]):
        has = ", ".join(sorted(KINDS[kind])) or "no sizes to choose"
        raise HandloomError(
            f"{told_as(unfit[0])} is given, which a model of the kind {kind} does not have; it has {has}"
        )
    longest = max([int(strings.lengths.max()), *lengths_of_hard(task)])
    if kind == "bigram":
        return Learner(bigram(len(task.vocab), longest - 1), task.vocab)
    if kind == "bow":
        return Learner(bag_of_words(len(task.vocab), longest - 1, sizes.get("d_model", 64)), task.vocab)
    if kind in CELLS:
        if kind == "encoder-decoder" and isinstance(task, Language):
            raise HandloomError("an encoder-decoder answers questions, and here are only strings; choose another kind")
        with needing_torch():
            from handloom.learn.cell_learner import CellLearner
            from handloom.learn.cells import Cells

        network = Cells.of(kind, len(task.vocab), sizes)
        return CellLearner(network, task.vocab, notes=longest_answer(strings))
    masked = not sizes.get("causal", True)
    vocab = with_mask(task.vocab) if masked else task.vocab
    return Learner(Transformer(config_for(len(vocab), longest - (not masked), sizes)), vocab)


def lengths_of_hard(task: Learnable) -> Iterator[int]:
    """How long the hard questions of a Task are with their answers: the longest there are may not have been drawn."""
    if not isinstance(task, Task):
        return
    try:
        for asked in islice(task.hard(), HARD):
            yield len(asked) + len(task.oracle(asked) or ())
    except Exception as error:
        raise HandloomError(f"the task could not make its hard inputs: {told(error)}") from error


def config_for(vocab: int, block: int, sizes: dict[str, Any]) -> Config:
    """makemore's sizes by default, and the usual proportions."""
    chosen = MAKEMORE | sizes
    width, heads = chosen["d_model"], chosen["heads"]
    usual = {"d_head": max(1, width // max(1, heads)), "d_ff": 4 * width}
    return Config(vocab=vocab, block=block, **usual | chosen)


def with_mask(vocab: Vocab) -> Vocab:
    """The same with a token that hides others, at the end."""
    if MASK in vocab.tokens:
        return vocab
    return Vocab((*vocab.tokens, MASK), vocab.separator, vocab.bos, vocab.eos, vocab.pad)


def fine_tuned(
    start: "Model | CellModel", task: Learnable, strings: Strings, settings: Settings, sizes: dict[str, Any]
) -> "Learner | CellLearner":
    """A model that there is, to be trained on; its tokens must be the task's. Its notes say where it comes from, but
    no more what it was."""
    if sizes:
        raise HandloomError(
            f"{told_as(min(sizes))} is given, but a model that is trained on stays as it is: leave it out"
        )
    check_vocab(start, task)
    notes = {"from": {name: start.notes[name] for name in ORIGIN if name in start.notes}}
    if not isinstance(start, Model):
        from handloom.learn.cell_learner import CellLearner

        return CellLearner(start.network, start.vocab, start, notes | longest_answer(strings))
    return Learner(Transformer(start.config), start.vocab, start, settings.lora, notes)


def check_vocab(model: "Model | CellModel", task: Learnable) -> None:
    """Refuse a model whose tokens are not the task's."""
    needed = task.vocab if model.config.causal else with_mask(task.vocab)
    if difference := different(model.vocab, needed):
        raise HandloomError(f"the model's tokens are not the task's: {difference}; the task's are {needed.sample()}")


def different(vocab: Vocab, needed: Vocab) -> str | None:
    """How a vocabulary differs from the one that is needed."""
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
    """A note for networks of cells, which have no block that would say when to stop."""
    return {"decode_steps": int((strings.lengths - strings.asked).max())}


def learner_from_json(values: dict[str, Any]) -> "Learner | CellLearner":
    """The learner of a run, from what its folder says of it."""
    if values["kind"] not in CELLS:
        return Learner.from_json(values)
    with needing_torch():
        from handloom.learn.cell_learner import CellLearner
    return CellLearner.from_json(values)


def told_as(size: str) -> str:
    """The name of a size as a user gives it."""
    return {"causal": "masked (causal=False)", "d_model": "width"}.get(size, size)
