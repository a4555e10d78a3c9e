"""The proof that a compiled model is right: its weights, as they are in the file, against its program, in float32.

Part by part, layer by layer, as in translation validation. What a part reads has finitely many cases, and these are
gone through: for a head all pairs of what is here and what is there (selections.py), for neurons all arguments of the
function. What comes out is a table of the same variables that the interpreter has, and an error. At the end the logits
of all cases must have the right token first, by more than the error. Nothing is run, and it covers every input up to
the block.

The compiler is asked only which part computes which variable. If it were wrong about that, or the weights were not what
it says, the tables would not fit, and there would be no proof. What is trusted: this proof, and, as far as running some
inputs does not show it, the ranges, the rewriting of the program (rewrite.py, fuse.py) and that no answer is longer
than the block.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from handloom.core import Config, HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.errors import shown
from handloom.tasks.certificate import Certificate
from handloom.write.compiler.cases import Domain, Domains, unproven
from handloom.write.compiler.clearing import cleared
from handloom.write.compiler.compile import CompilePlan, plans
from handloom.write.compiler.fetching import Fetching, Move
from handloom.write.compiler.interpreter import ProgramRun, mapped
from handloom.write.compiler.layering import LayerParts
from handloom.write.compiler.neuron_cases import Activations, NeuronWeights
from handloom.write.compiler.place import most_neurons
from handloom.write.compiler.ranges import Ranges, one_token
from handloom.write.compiler.selections import HeadWeights
from handloom.write.compiler.signals import Cases, Signal
from handloom.write.compiler.source import TokenProgram
from handloom.write.compiler.stored import stored_program
from handloom.write.compiler.streams import FEW_CASES, TINY, Streams, U, distinct
from handloom.write.compiler.values import END, Constant, Map, Position, Select, Token, Value, token_of

HOW = "all cases of every part, with rounding"
RUNS = 40  # inputs on which the rewritten program is compared with the original one


def prove_compiled(model: Model, progress: Progress | None = None) -> Certificate:
    """The certificate of a compiled model; a HandloomError if there is no proof."""
    program = stored_program(model)
    if program is None:
        raise unproven("the model's notes have no program")
    check_promises(program)
    if model.dtype != np.float32 or program.ranges.tokens != model.vocab.tokens:
        raise unproven("the proof is for float32, and for the tokens of the program")
    failure = unproven("the model has not the shape of its program")
    for plan in plans(program):
        if not fits(plan, model):
            continue
        try:
            check_rewriting(program, plan)
            margin = Proof(plan, model, program).margin()
        except HandloomError as error:
            failure = error
            continue
        return Certificate("proof", program.asked.count, True, margin, "float32", HOW)
    raise failure


def check_promises(program: TokenProgram) -> None:
    """Raise an error if a function has no value in a case that the ranges have."""
    for value in program.order:
        if isinstance(value, Map):
            for given in program.ranges.arguments(value):
                if mapped(value, given) is None:
                    raise unproven(f"{value.line}: the function gives None for {given}, and that it cannot occur "
                                   "is a promise")  # fmt: skip


def check_rewriting(program: TokenProgram, plan: CompilePlan) -> None:
    """Raise an error if the rewritten program has another answer anywhere, or a value out of its range, on some inputs:
    the shortest, the longest and random ones."""
    every = list(program.samples())
    run, new = ProgramRun(program.answer, program.order), ProgramRun(plan.answer)
    for word in every[:: max(1, len(every) // RUNS)]:
        tokens = (END, *word, *program.answers(word)[:-1])
        for one in (run, new):
            one.back_to(0)
            for token in tokens:
                one.append(token)
        if list(map(token_of, run.answers)) != list(map(token_of, new.answers)):
            raise unproven(f"rewritten, the program has another answer to {shown(word)}")
        if any(out_of_range(value, column, plan.ranges) for value, column in new.columns.items()):
            raise unproven(f"a value is out of its range on {shown(word)}")


def out_of_range(value: Value, column: list[Any], ranges: Ranges) -> bool:
    """Whether some of a value's numbers are not in its range; of some means that has only the ends."""
    found = ranges.values.get(value, column)
    if value in ranges.signs:
        return min(column) < min(found) or max(column) > max(found)
    return not set(found).issuperset(column)


def fits(plan: CompilePlan, model: Model) -> bool:
    """Whether a model has the shape of a plan, and is of the kind that the proof is about."""
    c, layers = model.config, plan.layers
    sizes = {name: getattr(c, name) for name in ("vocab", "block", "d_model", "layers", "heads", "d_head", "d_ff")}
    return (
        replace(Config(**sizes, activation="relu", biases=()), eps=c.eps) == c
        and c.layers == len(layers)
        and c.block == plan.ranges.block
        and c.d_ff == most_neurons(layers)
        and c.heads == max((len(layer.heads) for layer in layers), default=0)
    )


class Proof:
    """One model, one plan."""

    def __init__(self, plan: CompilePlan, model: Model, program: TokenProgram) -> None:
        self.plan, self.model, self.program = plan, model, program
        self.flat = {name: np.asarray(array, np.float64) for name, array in model.flat.items()}
        self.eps = float(model.config.eps)
        self.domains = Domains(plan.ranges, plan.totals)
        self.fetching = Fetching(plan, self.domains, self.eps)
        self.activations = Activations(plan, self.domains, self.eps)
        self.streams = Streams(self.domains, model.config.d_model)

    def margin(self) -> float:
        """The least lead of a right token, proven for all inputs."""
        self.embed()
        for i, layer in enumerate(self.plan.layers):
            self.attend(i, layer)
            self.compute(i, layer)
        return self.answer()

    def embed(self) -> None:
        D = self.model.config.d_model
        tokens, positions = self.flat["W_E"], self.flat["W_pos"]
        ids, token, position = self.model.vocab.ids, self.domains.atom(Token), self.domains.atom(Position)
        own: Cases = {(text,): ids[str(text)] for text in self.domains.of[token]}
        where: Cases = {(t,): t for t in range(1, len(positions))}
        for key, cases, table, first in ((token, own, tokens, ids[END]), (position, where, positions, 0)):
            exact = np.zeros_like(table)
            self.streams.signals.append(Signal((key,), cases, table, np.eye(D), table[first], exact, exact[0]))
        both = tokens.any(0) & positions.any(0)  # adding 0 rounds nothing
        self.streams.error = np.where(both, U * self.streams.sizes(), 0.0)

    def attend(self, i: int, layer: LayerParts) -> None:
        if not self.model.config.heads:
            return
        gains = self.flat[f"layers.{i}.ln1.w"][:, None]
        W = {name: self.flat[f"layers.{i}.W_{name}"] for name in "QKVO"}
        terms, signals = np.count_nonzero(W["O"], axis=(0, 1)), list[Signal]()
        for h in range(len(W["Q"])):
            head = HeadWeights(gains * W["Q"][h], gains * W["K"][h], self.eps)
            part = layer.heads[h] if h < len(layer.heads) else None
            for column in np.flatnonzero(W["V"][h].any(0) & W["O"][h].any(1)):
                move = Move(gains * W["V"][h][:, [column]], W["O"][h][[column]], terms)
                signals.append(self.fetching.fetched(self.streams, head, part, move))
        self.streams.add(signals)

    def compute(self, i: int, layer: LayerParts) -> None:
        if not self.model.config.d_ff:
            return
        writes = self.flat[f"layers.{i}.W_out"]
        reads = self.flat[f"layers.{i}.ln2.w"][:, None] * self.flat[f"layers.{i}.W_in"]
        every = NeuronWeights(reads, writes, np.count_nonzero(writes, axis=0))
        signals, start = list[Signal](), 0
        promised = self.promised() if i == len(self.plan.layers) - 1 else {}  # what they write is the answer
        left: dict[int, float] = {}
        for part in layer.neurons:
            own = every[np.arange(start, start + len(part.rows))]
            start += len(part.rows)
            if part.value is None and (gone := cleared(self.streams, own, self.eps)) is not None:
                left |= gone
                continue
            for keys, group in self.activations.groups(self.streams, part, own):
                signals.append(self.activations.written(self.streams, group, keys, part.value, promised))
        if (reads[:, start:].any(0) & writes[start:].any(1)).any():
            raise unproven("neurons write that the program does not have")
        self.streams.clear(left)
        self.streams.add(signals)

    def answer(self) -> float:
        """The least lead of the right token's logit, less the error, over all cases where an answer is given."""
        logits = self.flat["ln_final.w"][:, None] * self.flat["W_E"].T  # (D, V)
        scaled, *_ = self.streams.normed(logits, self.eps)
        answer, ids = self.plan.answer, self.model.vocab.ids
        whole = self.streams.summed(scaled, [answer], self.promised(), FEW_CASES)
        place, tokens = whole.grid.tabled([answer], lambda one: ids.get(token_of(one), -1))
        right = np.array([*tokens, -1])[place]
        cases = distinct([right, *(row for _, row in whole.seen)], whole.occurs() & (right >= 0))
        lead = np.inf
        for token in np.unique(right[cases]):
            ahead, error, factor = self.ahead_of_others(logits, int(token))
            total, wrong = whole.of(ahead, cases[right[cases] == token])
            lead = min(lead, float((total - wrong - error).min()) / (1 + factor))  # a loud answer is divided by more
        if self.program.asked.has(""):
            ahead, error, factor = self.ahead_of_others(logits, ids[token_of(self.plan.ranges.at_first[answer])])
            total, wrong = self.streams.at_first(ahead)
            lead = min(lead, float((total - wrong - error).min()) / (1 + factor))
        if not (lead > 0 and np.isfinite(lead)):
            raise unproven(f"with all errors against it, the right token leads by {lead:.3g}")
        return lead

    def ahead_of_others(self, logits: Array, token: int) -> tuple[Array, Array, float]:
        """What a token's logit is ahead of all others, as weights that read the stream; with the error of both."""
        own, others = logits[:, [token]], np.delete(logits, token, axis=1)
        scaled, norm = self.streams.normed(own - others, self.eps)
        error = self.streams.wrong_by_norm(own - others, norm, self.streams.products(own - others, norm))
        for weights in (own, others):
            error = error + self.streams.products(weights, norm).rounding(np.count_nonzero(weights, axis=0))
        return scaled, error[0] / norm.sigma + TINY, norm.factor

    def promised(self) -> Domain:
        """What the values of heads can be where an answer is given: a token that every input has was found."""
        found: Domain = {}
        for value in self.plan.ranges.values:
            if (
                not isinstance(value, Select)
                or value.where.pairs
                or value.where.circles
                or value.where.query is not None
            ):
                continue
            if one_token(value.where.key, self.plan.ranges.tokens) in self.plan.always:
                if isinstance(value.value, Constant):
                    found[value] = (value.value.value,)
                elif isinstance(value.value, Position):
                    found[value] = tuple(range(1, self.plan.ranges.block))
        return {value: one for value, one in found.items() if set(one) <= set(self.domains.of[value])}
