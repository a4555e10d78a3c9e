"""The answer of a model as a table: a column per position, two rows per head and one per MLP."""

from collections.abc import Sequence

from handloom.read.answer import Step
from handloom.read.explanation import Explanation
from handloom.read.part_names import NOT_USED, head_words

MOST = 6  # positions that are shown beside each other
NAMED = 2  # positions that a head looks at, up to which they are named


def title_of_answer(e: Explanation) -> str:
    part = f" (the first {MOST} of {len(e.answer)})" if len(e.answer) > MOST else ""
    return f"The answer, token by token{part}"


def answer_table(e: Explanation) -> list[list[str]]:
    """Of the first positions; heads that are not used are left out."""
    silent = [head for head, words in head_words(e.model).items() if words == NOT_USED]
    return table_of(e.answer[:MOST], e.tokens, silent)


def table_of(answer: Sequence[Step], tokens: Sequence[str], silent: Sequence[str] = ()) -> list[list[str]]:
    table = [["at position", *(f"{step.position} {step.token!r}" for step in answer)]]
    layers = len({head.split(".")[0] for head in answer[0].looks}) or len(answer[0].writes)
    for i in range(layers):
        for head in (head for head in answer[0].looks if head.split(".")[0] == str(i) and head not in silent):
            table.append([f"head {head} looks at", *(spell_looks(step, head, tokens) for step in answer)])
            table.append([f"head {head} writes", *(spell_writes(step, f"head {head}") for step in answer)])
        if any(f"MLP {i}" in step.writes for step in answer):
            table.append([f"MLP {i} writes", *(spell_writes(step, f"MLP {i}") for step in answer)])
    table.append(["predicts", *(repr(step.gives) for step in answer)])
    return table


def spell_looks(step: Step, head: str, tokens: Sequence[str]) -> str:
    seen = step.looks[head]
    if len(seen) > NAMED:
        return f"{len(seen)} positions"
    return ", ".join(f"{at} {tokens[at]!r}" for at, _ in seen)


def spell_writes(step: Step, part: str) -> str:
    direction, amount = step.writes.get(part, ("", 0.0))
    return f"{direction} {amount:+.3g}" if direction else "nothing"
