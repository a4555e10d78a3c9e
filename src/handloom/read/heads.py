"""Heads by name: what each head of a model looks at, with the evidence.

    >>> from handloom.core.registry import offered
    >>> print(heads(offered("program")("search")))
    head  name         score  also
    0.0   offset 1      1.00
    0.1   offset 2      0.93
    1.0   induction 3   1.00
    1.1   unused        1.00
    (on 64 rows of random tokens, each with a repeat)

A name is what scores highest (`head_scores.py`): from 0.5 on as it is, from 0.25 with "partly" in front; below that the
head is "mixed", with the two best. Three rules choose between names that fit at once. Of "induction n" with equal
scores the least n counts. A head that looks at a target where there is one, and elsewhere rests on a fixed position,
has the target's name. Where no target fits, even attention is "broad", and "skip-gram" is a head whose scores depend on
the pair of tokens and not on positions.

Names come from rows of random tokens; or, if the inputs of the model's task have a format, in which random tokens make
no sense, from inputs of the task, at the positions that write the answer. Both are in the evidence.

"unused" is a head that writes nothing; or less than a millionth of the stream, if the logits are the same without it.
(The size alone does not tell: heads of the program "multiplication" write 4·10⁻¹¹ of the stream, and are needed.)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, reference
from handloom.core.arrays import Array
from handloom.core.finding import find
from handloom.core.registry import offered
from handloom.read.attention import check_averages
from handloom.read.head_rows import HeadRows, given_rows, random_rows, task_rows
from handloom.read.head_scores import Measured, groups, measure, writes_on
from handloom.tasks import Learnable, task_of

NAMED, PARTLY, BROAD = 0.5, 0.25, 0.9
EQUAL = 0.01  # scores of "induction n" that differ by less are equal
UNUSED = 1e-6
ROWS = 64
FEW_ROWS = 16  # on which it is tried whether a head that writes little is used
Scores = Mapping[str, float]
Score = tuple[str, float]


@dataclass(frozen=True)
class NamedHead:
    """A head, its name and the score of that name; other names that fit it partly, or that come closest; the rows that
    it is named on; and the evidence: the share of the stream it writes, and all scores, by rows and name."""

    head: str
    name: str
    score: float
    also: tuple[Score, ...]
    rows: str
    writes: float
    scores: Mapping[str, Scores]

    def to_json(self) -> dict[str, Any]:
        scores = {rows: dict(found) for rows, found in self.scores.items()}
        also = [{"name": name, "score": score} for name, score in self.also]
        return {**vars(self), "also": also, "scores": scores}


@dataclass(frozen=True)
class HeadNames:
    """The heads of a model by name."""

    heads: tuple[NamedHead, ...]
    counts: Mapping[str, int]  # how many rows of each kind

    def __iter__(self) -> Iterator[NamedHead]:
        return iter(self.heads)

    def __len__(self) -> int:
        return len(self.heads)

    def __getitem__(self, head: str) -> NamedHead:
        found = {one.head: one for one in self.heads}
        if head not in found:
            raise HandloomError(f"no head {head!r} in this model; its heads are {', '.join(found)}")
        return found[head]

    def __str__(self) -> str:
        table = [("head", "name", "score", "also")]
        table += [(one.head, one.name, f"{one.score:.2f}", in_words(one.also)) for one in self.heads]
        wide = [max(len(row[i]) for row in table) for i in range(3)]
        lines = [f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:>{wide[2]}}  {d}".rstrip() for a, b, c, d in table]
        return "\n".join([*lines, f"({self.measured_on})"])

    @property
    def measured_on(self) -> str:
        kind = self.heads[0].rows
        count = f"{self.counts[kind]:,}"
        return {
            "random": f"on {count} rows of random tokens, each with a repeat",
            "task": f"on {count} inputs of the task, where the answer is written",
            "given": f"on the {count} rows given",
        }[kind]

    def to_json(self) -> list[dict[str, Any]]:
        return [one.to_json() for one in self.heads]

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def heads(
    model: Model | str,
    rows: Sequence[Sequence[int]] | None = None,
    *,
    task: Learnable | None = None,
    count: int = ROWS,
    seed: int = 0,
) -> HeadNames:
    """What the heads of a model look at. By default on rows of random tokens and, if its task is known, on inputs of
    the task, `count` of each; or on rows of token ids."""
    found = find(model)
    check_averages(found.model, "heads")
    if rows is not None:
        sources = [given_rows(found.model, rows)]
    else:
        known = task or task_if_known(found.model, found.folder)
        sources = [random_rows(found.model, count, seed)]
        sources += [task_rows(found.model, known, count, seed)] if known else []
    measured = [measure(found.model, source) for source in sources]
    idle = unused_heads(found.model, [(one.rows, one.writes) for one in measured])
    formatted = [one for one in measured if one.rows.delimiters]
    chosen = (formatted or measured)[0]
    named = tuple(named_head(head, head in idle, chosen, measured) for head in chosen.scores)
    return HeadNames(named, {one.rows.kind: len(one.rows.ids) for one in measured})


def task_if_known(model: Model, folder: Any) -> Learnable | None:
    """The model's task, if it is here and has the model's tokens."""
    try:
        task = task_of(model, folder)
    except HandloomError:
        return None
    return task if task and model.vocab.tokens[: len(task.vocab)] == task.vocab.tokens else None


def named_head(head: str, idle: bool, chosen: Measured, measured: Sequence[Measured]) -> NamedHead:
    scores = {one.rows.kind: one.scores[head] for one in measured}
    name, score, also = ("unused", 1.0, ()) if idle else name_of(chosen.scores[head])
    return NamedHead(head, name, score, also, chosen.rows.kind, max(one.writes[head] for one in measured), scores)


def name_of(scores: Scores) -> tuple[str, float, tuple[Score, ...]]:
    """The name that scores give a head, its score, and other names that fit partly; or for a mixed head the best."""
    targets = ranked(candidates(scores))
    resting = [one for one in targets if one[0].startswith("position")]
    first = next((one for one in [*(one for one in targets if one not in resting), *resting] if one[1] >= NAMED), None)
    pairs, broad = pair_score(scores), scores.get("broad", 0.0)
    if first is None and broad >= BROAD:
        first = ("broad", broad)
    if first is None and pairs >= NAMED:
        first = ("skip-gram", pairs)
    others = ranked(dict(targets) | ({"skip-gram": pairs} if pairs > 0 else {}))
    if first is None and others and others[0][1] >= PARTLY:
        first = (f"partly {others[0][0]}", others.pop(0)[1])
    if first is not None:
        return *first, tuple(one for one in others if one[1] >= PARTLY and one[0] != first[0])[:2]
    return "mixed", max(others[0][1] if others else 0.0, 0.0), tuple(ranked(dict(others) | {"broad": broad})[:2])


def candidates(scores: Scores) -> dict[str, float]:
    """The scores of targets; of induction only the least n whose score equals the best."""
    contexts = {name: score for name, score in scores.items() if name.startswith("induction")}
    best = max(contexts.values(), default=0.0)
    least = next((name for name in sorted(contexts) if contexts[name] >= best - EQUAL), None)
    others = ("broad", "skip-gram", "by position", *(name for name in contexts if name != least))
    return {name: score for name, score in scores.items() if name not in others}


def pair_score(scores: Scores) -> float:
    """The score of "skip-gram"; 0 if positions explain as much as tokens do."""
    pairs = scores.get("skip-gram", 0.0)
    return pairs if pairs > scores.get("by position", 0.0) else 0.0


def ranked(scores: Scores) -> list[Score]:
    return sorted(scores.items(), key=lambda one: -one[1])


def in_words(scores: Sequence[Score]) -> str:
    return ", ".join(f"{name} {score:.2f}" for name, score in scores)


def unused_on(model: Model, rows: Sequence[Sequence[int]]) -> set[str]:
    """The heads that are not used on rows of token ids, "layer.head" each."""
    given = given_rows(model, rows)
    return unused_heads(model, [(given, writes_on(model, given))])


def unused_heads(model: Model, found: Sequence[tuple[HeadRows, Mapping[str, float]]]) -> set[str]:
    """The heads that write nothing on any of the rows, or so little that the logits are the same without it; `found`
    has what each head writes on which rows."""
    largest = {head: max(writes[head] for _, writes in found) for head in found[0][1]}
    return {
        head
        for head, writes in largest.items()
        if writes == 0 or (writes < UNUSED and not any(matters(model, head, rows) for rows, _ in found))
    }


def matters(model: Model, head: str, rows: HeadRows) -> bool:
    """Whether the logits on some rows differ without what a head writes, by a millionth of their range."""
    layer, _, h = head.partition(".")

    def silence(z: Array) -> Array:  # (B, H, T, K)
        z[:, int(h)] = 0.0
        return z

    few = HeadRows(rows.kind, rows.ids[:FEW_ROWS], rows.starts)
    for group, counts in groups(few, 1):
        logits = reference.forward(model, group)[0]
        without = reference.forward(model, group, edits={f"{layer}.z": silence})[0]
        size = np.maximum(np.ptp(logits, axis=-1, keepdims=True), np.finfo(float).tiny)
        if (np.abs(without - logits) / size)[counts].max(initial=0.0) > UNUSED:
            return True
    return False
