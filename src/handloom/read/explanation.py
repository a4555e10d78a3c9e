"""A model explained: an example with its answer position by position, the residual stream, and the certificate.

explain("addition", program("addition"), "995+007=")
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, Trace, count, generate, trace
from handloom.core.errors import shown
from handloom.core.registry import offered
from handloom.read.answer import Step, answer_steps
from handloom.read.part_names import check_notes, direction_names, head_words, mlp_words
from handloom.tasks import Certificate, Language, Task, certify, task_of
from handloom.tasks.certificate import Prove
from handloom.tasks.certify import ALL, proven
from handloom.tasks.task import Ids

CERTIFIED = 2_000  # inputs tried for an explanation; `certify` tries all
PROVEN = 14  # positions up to which a proof takes a few seconds


@dataclass(frozen=True)
class Explanation:
    """What is known of a model. One without a known task has no certificate."""

    name: str
    about: str
    model: Model
    task: Task | None
    certificate: Certificate | None
    provable: bool  # by what its program has for its own task
    given: str  # the example
    output: str  # the model's, after it
    ids: Ids  # the example, all of its answer included
    at: int  # the last position of the example as given
    trace: Trace  # of the example with its answer
    answer: list[Step]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "about": self.about,
            "takes": self.task.takes if self.task else None,
            **asdict(count(self.model)),
            "directions": direction_names(self.model),
            "heads": head_words(self.model),
            "mlps": mlp_words(self.model),
            "example": {"input": self.given, "output": self.output, "stream": dict(self.stream())},
            "answer": [step.to_json() for step in self.answer],
            "certificate": self.certificate.to_json() if self.certificate else None,
        }

    @property
    def tokens(self) -> list[str]:
        return [self.model.vocab.tokens[i] for i in self.ids]

    @property
    def certified(self) -> str:
        if self.certificate is None:
            return "Not certified, as no task with questions is known for it: name one, such as min:n=5."
        return f"{self.certificate}{self.stronger}"

    @property
    def stronger(self) -> str:
        """What `handloom certify`, which takes longer, would look for."""
        if self.certificate is None or self.certificate.method != "sampled":
            return ""
        if self.provable:
            return f"; handloom certify {self.name} looks for a proof"
        inputs = self.task.count if self.task else None
        return f"; handloom certify {self.name} tries all {inputs:,}" if inputs and inputs <= ALL else ""

    def attention(self) -> dict[str, str]:
        """Every head, and where it looks from the last position of the example as given."""
        found = {}
        for head in head_words(self.model):
            layer, _, h = head.partition(".")
            row = self.trace[f"{layer}.pattern"][int(h), self.at]
            at = int(np.abs(row).argmax())
            even = np.flatnonzero(np.abs(row) > 0.5 * abs(row[at]))
            if not self.model.config.averages:
                found[head] = f"takes {row[at]:+.3g} of position {at}, {self.tokens[at]!r}, more than of any other"
            elif len(even) > 1:
                found[head] = f"looks at {len(even)} positions, at most {row[at]:.0%} at one"
            else:
                found[head] = f"looks at position {at}, {self.tokens[at]!r}, {row[at]:.0%}"
        return found

    def stream(self) -> Iterator[tuple[str, list[float]]]:
        """The stream at the last position of the example as given, from the embedding to what the unembedding reads."""
        wanted = ["embed", "pos_embed"]
        for i in range(self.model.config.layers):
            wanted += [f"{i}.resid_pre", f"{i}.attn_out", f"{i}.resid_mid", f"{i}.mlp_out"]
        for site in [*wanted, "resid_final", "ln_final"]:
            if site in self.trace and (self.model.config.d_ff or not site.endswith("mlp_out")):
                yield site, self.trace[site][self.at].tolist()


def explain(
    name: str,
    model: Model,
    example: str | None = None,
    task: Task | Language | None = None,
    folder: Path | None = None,
) -> Explanation:
    """Run a model on an example, by default one of its task's, and gather what is known of it. The task is by default
    that of the model's notes; a user's own is looked for in the folder. An example may end with the beginning of its
    answer: 995+007=10."""
    prove = offered("prover_of")(model) if task is None else None
    task = questions_of(model, folder) if task is None else task if isinstance(task, Task) else None
    check_notes(name, model)
    if task is not None and task.vocab.tokens != model.vocab.tokens:
        raise HandloomError(
            f"{name}: its tokens are not the task's: {model.vocab.sample()} against {task.vocab.sample()}"
        )
    given = example_for(model, task) if example is None else example
    asked = model.vocab.encode(given) if task is None else question(task, given)
    ids, answer = model.vocab.encode(given), generate(model, [asked])[0]
    output = generate(model, [ids], steps=max(0, len(asked) + len(answer) - len(ids)))[0]
    whole = [*ids, *output][: model.config.block + 1] if model.config.causal else [*ids, *output[:1]]
    run = trace(model, whole[: max(len(whole) - 1, len(ids))])
    return Explanation(
        name=name,
        about=about(model),
        model=model,
        task=task,
        certificate=None if task is None or task.near is not None else strongest(model, task, prove),
        provable=prove is not None,
        given=given,
        output=model.vocab.decode(output),
        ids=whole,
        at=len(ids) - 1,
        trace=run,
        answer=answer_steps(model, run, whole, len(asked) - 1, direction_names(model)) if output else [],
    )


def about(model: Model) -> str:
    """What kind of model this is: the words of its program, if it has one."""
    programs, program = offered("programs"), model.notes.get("program")
    return str(programs[program].about) if isinstance(program, str) and program in programs else "a model of your own"


def questions_of(model: Model, folder: Path | None) -> Task | None:
    """The task that a model's notes name, if it is here and asks questions."""
    try:
        found = task_of(model, folder)
    except HandloomError:
        return None
    return found if isinstance(found, Task) else None


def example_for(model: Model, task: Task | None) -> str:
    """One of the task's; without a task the first tokens of the vocabulary."""
    if task is not None:
        return task.example()
    plain = [token for token in model.vocab.tokens if token not in model.vocab.specials]
    return model.vocab.separator.join((plain or list(model.vocab.tokens))[: min(3, model.config.block)])


def question(task: Task, text: str) -> Ids:
    """The input of a task that a text begins with, if the rest is the beginning of its answer."""
    try:
        ids = task.vocab.encode(text)
    except HandloomError:
        ids = []
    for end in range(len(ids), 0, -1):
        answer = task.oracle(ids[:end])
        if answer is not None and answer[: len(ids) - end] == ids[end:]:
            return ids[:end]
    raise HandloomError(f"this takes {task.takes}, or that and the beginning of its answer; it was given {shown(text)}")


def strongest(model: Model, task: Task, prove: Prove | None) -> Certificate:
    """The strongest certificate that takes a few seconds: a proof, all inputs, or some."""
    if prove and model.config.block <= PROVEN and (proof := proven(prove, model, task.count, None)):
        return proof
    few = task.count is not None and task.count <= 10 * CERTIFIED
    return certify(model, task, samples=None if few else CERTIFIED)
