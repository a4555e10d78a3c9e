"""The proof that a compiled model is right: its weights, as they are in the file, against its program, in float32.

Part by part, layer by layer, as in translation validation. What a part reads has finitely many cases, and these are
gone through: for a head all pairs of what is here and what is there (selections.py), for neurons all arguments of the
function. What comes out is a table of the same variables that the interpreter has, and an error. At the end the logits
of all cases must have the right token first, by more than the error. Nothing is run, and it covers every input up to
the block.

The compiler is asked only which part computes which variable. If it were wrong about that, or the weights were not what
it says, the tables would not fit, and there would be no proof. What is trusted: this proof, the ranges, and the
rewriting of the program (rewrite.py, fuse.py).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from handloom.core import Config, HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.tasks.certificate import Certificate
from handloom.write.compiler.cases import Domain, Domains, unproven
from handloom.write.compiler.compile import CompilePlan, plans
from handloom.write.compiler.interpreter import mapped
from handloom.write.compiler.layering import LayerParts
from handloom.write.compiler.lowered import HeadPart, NeuronPart
from handloom.write.compiler.place import most_neurons
from handloom.write.compiler.ranges import one_token
from handloom.write.compiler.selections import HeadWeights, Selections
from handloom.write.compiler.source import TokenProgram
from handloom.write.compiler.stored import stored_program
from handloom.write.compiler.streams import Cases, Reads, Signal, Streams, U
from handloom.write.compiler.values import (
    END,
    At,
    Constant,
    Count,
    Map,
    Plain,
    Position,
    Select,
    Token,
    Value,
    token_of,
)

HOW = "all cases of every part, with rounding"
ALIKE = 1e-3  # of what a part writes: what differs by less is one value, and the difference an error


def prove(model: Model, progress: Progress | None = None) -> Certificate:
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
        self.selections = Selections(self.domains, plan.once)
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
        signals = [
            Signal((token,), own, tokens, np.eye(D), tokens[ids[END]]),
            Signal((position,), where, positions, np.eye(D), positions[0]),
        ]
        self.streams.add([], np.zeros(D))
        self.streams.signals += signals
        self.streams.error += U * self.streams.sizes()

    # heads

    def attend(self, i: int, layer: LayerParts) -> None:
        if not self.model.config.heads:
            return
        gains = self.flat[f"layers.{i}.ln1.w"][:, None]
        W = {name: self.flat[f"layers.{i}.W_{name}"] for name in "QKVO"}
        signals, error = list[Signal](), np.zeros(self.model.config.d_model)
        for h in range(len(W["Q"])):
            head = HeadWeights(gains * W["Q"][h], gains * W["K"][h], self.eps)
            part = layer.heads[h] if h < len(layer.heads) else None
            for column in np.flatnonzero(W["V"][h].any(0) & W["O"][h].any(1)):
                read = gains * W["V"][h][:, [column]]
                signal, wrong = self.fetched(head, part, read, W["O"][h][[column]])
                signals.append(signal)
                error += wrong * np.abs(W["O"][h][column])
        self.streams.add(signals, error)

    def fetched(self, head: HeadWeights, part: HeadPart | None, read: Array, write: Array) -> tuple[Signal, float]:
        """One number that a head fetches, as a function of the value that it is in the program; and its error."""
        if part is None or not part.values:
            raise unproven("a head writes that the program does not have")
        best: tuple[Signal, float] | None = None
        for value in part.values:
            if not isinstance(value, At | Select | Count):
                raise unproven("a head computes what heads do not")
            unequal = self.selections.check(self.streams, head, value)
            signal, error = self.taken(value, read, write, unequal)
            if best is None or error < best[1]:
                best = signal, error
        assert best is not None
        return best

    def taken(self, value: At | Select | Count, read: Array, write: Array, unequal: float) -> tuple[Signal, float]:
        inner: Value = Constant(1) if isinstance(value, Count) else value.value
        found = self.streams.read(read, self.eps, [] if isinstance(inner, Constant) else [inner])
        size = max(np.abs(found.values).max(initial=0.0), float(np.abs(found.first[0]))) + float(found.error[0])
        terms = self.plan.ranges.block if several(value) else 0  # what is added to one number rounds to nothing
        error = float(found.error[0]) + (found.factor + (terms + 8) * U) * size
        every = np.append(found.values[:, 0], found.first)
        equals = every if isinstance(value, Count) or value in self.plan.totals else found.values
        error += np.exp(-self.selections.lead) * self.plan.ranges.block * np.ptp(every)
        error += np.expm1(unequal) / 4 * np.ptp(equals)
        table, wrong = self.table(value, inner, found)
        self.domains.of[value] = tuple(table)
        cases: Cases = {(one,): row for row, one in enumerate(table)}
        amounts = np.array(list(table.values()))[:, None]
        return Signal((value,), cases, amounts, write, found.first), error + wrong

    def table(self, value: At | Select | Count, inner: Value, found: Reads) -> tuple[dict[Plain, float], float]:
        """What a head writes for each value that it can fetch, and how far from that it can be."""
        first, ranges = float(found.first[0]), self.plan.ranges
        if isinstance(value, Count):
            constant = float(found.values[0, 0])
            return {n: constant + (first - constant) / (1 + float(n)) for n in ranges.values[value]}, 0.0
        one = (inner.value,) if isinstance(inner, Constant) else None
        known = {(one or case)[0]: float(number) for case, (number,) in zip(found.cases, found.values, strict=True)}
        if value in self.plan.totals:
            return totals_table(known, first, ranges.block)
        rest = ranges.at_first[value.value] if isinstance(value, At) or value.otherwise is None else value.otherwise
        wrong = 0.0
        if isinstance(value, Select) and value.order == "all" and len(known) > 1:
            slope, start, wrong = line_through(known)
            known = {mean: start + slope * float(mean) for mean in ranges.values[value]}
        if rest in known:
            wrong += abs(known[rest] - first) / 2
            first = (known[rest] + first) / 2
        return {**known, rest: first}, wrong

    # neurons

    def compute(self, i: int, layer: LayerParts) -> None:
        if not self.model.config.d_ff:
            return
        reads = self.flat[f"layers.{i}.ln2.w"][:, None] * self.flat[f"layers.{i}.W_in"]
        writes = self.flat[f"layers.{i}.W_out"]
        signals, error, start = list[Signal](), np.zeros(self.model.config.d_model), 0
        promised = self.promised() if i == len(self.plan.layers) - 1 else {}  # what they write is the answer
        for part in layer.neurons:
            own = np.arange(start, start + len(part.rows))
            start += len(part.rows)
            for keys, group in self.groups(part, reads, own):
                signal, wrong = self.activated(reads[:, group], writes[group], keys, part.value, promised)
                signals.append(signal)
                error += wrong
        if (reads[:, start:].any(0) & writes[start:].any(1)).any():
            raise unproven("neurons write that the program does not have")
        self.streams.add(signals, error)

    def groups(self, part: NeuronPart, reads: Array, own: Array) -> Iterator[tuple[list[Value], Array]]:
        """Neurons that are functions of the same variables: those of a value's arguments, or, where they clear, of what
        they read."""
        if part.value is not None:
            yield list(part.value.arguments) if isinstance(part.value, Map) else [part.value], own
            return
        for neuron in own:
            scaled, *_ = self.streams.normed(reads[:, [neuron]], self.eps)
            yield list(dict.fromkeys(self.streams.seen_by(scaled))), np.array([neuron])

    def activated(
        self, reads: Array, writes: Array, keys: list[Value], value: Value | None, promised: Domain
    ) -> tuple[Signal, Array]:
        """What neurons write, as a function of what they compute, or of what they read; and its error."""
        found = self.streams.read(reads, self.eps, keys, promised)
        if len(keys) == 1 and keys[0] in self.plan.totals:
            found = with_turns(found)
        active, first = np.maximum(found.values, 0), np.maximum(found.first, 0)
        written = active @ writes
        error = np.minimum(found.error @ np.abs(writes), self.along_one_read(reads, writes, found))
        error = error + (len(writes) + 2) * U * ((active.max(0, initial=0.0) + found.error) @ np.abs(writes))
        error = error + found.factor * np.abs(np.vstack([written, first @ writes])).max(0)
        cases = {case: row for row, case in enumerate(found.cases)}
        if value is not None and value in self.domains.of and isinstance(value, Map):
            results = self.results(value, found.cases)
            table, wrong = merged_by(results, written)
            if (wrong <= ALIKE * np.ptp(written, axis=0) + 1e-12).all():
                self.domains.of[value] = tuple(table)
                rows: Cases = {(one,): row for row, one in enumerate(table)}
                every = np.vstack([*table.values(), first @ writes])
                return Signal((value,), rows, every[:-1], np.eye(len(error)), every[-1]), error + wrong
        return Signal(tuple(keys), cases, active, writes, first), error

    def along_one_read(self, reads: Array, writes: Array, found: Reads) -> Array:
        """The error of what neurons write that all read one number s, as c · s + b: an error of s is one for all of
        them, so it counts as often as the slope of what they write. (D,)"""
        norm, spread = self.streams.norm(self.eps), found.spread
        pair = np.argsort(norm.sizes)[-2:]
        rest = np.delete(reads, pair, axis=0)
        base = rest[:, np.abs(rest).sum(0).argmax()] if rest.size else np.zeros(0)
        if not base.any():
            return np.full(writes.shape[1], np.inf)
        c = base @ rest / (base @ base)  # (F,)
        apart = np.delete(norm.sizes, pair) @ np.abs(rest - base[:, None] * c) * 2 + norm.sizes[pair] @ (
            4 * U * np.abs(reads[pair])
        )
        own = (apart + (np.count_nonzero(reads, axis=0) + 2) * U * (norm.sizes @ np.abs(reads))) / norm.sigma
        own += (norm.error[pair] @ np.abs(reads[pair]) + norm.mean * np.abs(reads.sum(0))) / norm.sigma
        common = float(np.delete(norm.error, pair) @ np.abs(base)) / norm.sigma
        common += float((spread / np.maximum(np.abs(c), 1e-300))[np.abs(c) > 0].max(initial=0.0))
        return slopes(found, c, writes) * common + own @ np.abs(writes)

    def results(self, value: Map, cases: list[tuple[Plain, ...]]) -> list[Plain]:
        """What a function gives in these cases."""
        grid = self.domains.grid(value.arguments, [value])
        function = grid.function(value)
        found = [function(*case) for case in cases]
        if None in found:
            raise unproven(f"{value.line}: the function gives None")
        return found

    # the answer

    def answer(self) -> float:
        """The least lead of the right token's logit, less the error, over all cases where an answer is given."""
        logits = self.flat["ln_final.w"][:, None] * self.flat["W_E"].T  # (D, V)
        scaled, error, factor = self.streams.normed(logits, self.eps)
        answer, ids = self.plan.answer, self.model.vocab.ids
        grid, total, slack = self.streams.summed(scaled, [answer], self.promised())
        place, tokens = grid.tabled([answer], lambda one: ids.get(token_of(one), -1))
        right = np.array([*tokens, -1])[place]
        there = (right >= 0) & ~np.isnan(total).any(1)
        lead = leads(total[there], right[there]).min(initial=np.inf)
        if self.program.asked.has(""):
            own = ids[token_of(self.plan.ranges.at_first[answer])]
            lead = min(lead, leads((self.streams.at_first() @ scaled)[None], np.array([own])).min())
        margin = float(lead - 2 * (error + slack).max()) / (1 + factor)  # norm divides a loud answer by more
        if not (margin > 0 and np.isfinite(margin)):
            raise unproven(f"the right token leads by {lead:.3g}, and the error may be {2 * (error + slack).max():.3g}")
        return margin

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


def several(value: At | Select | Count) -> bool:
    """Whether a head may take several positions, each with a share."""
    return isinstance(value, Count) or (isinstance(value, Select) and (value.order == "all" or value.by is value.value))


def totals_table(known: dict[Plain, float], first: float, block: int) -> tuple[dict[Plain, float], float]:
    """What a mean over all positions is at its ends: between them, on each side of 0, it is linear."""
    slope, start, wrong = line_through(known)
    numbers = [float(one) for one in known]
    ends = [min(numbers), -1 / block, 0.0, 1 / block, max(numbers)]
    kept = sorted({end for end in ends if min(*numbers, 0.0) <= end <= max(*numbers, 0.0)})
    return {end: start + slope * end for end in kept}, wrong + abs(first - start)


def line_through(known: dict[Plain, float]) -> tuple[float, float, float]:
    """The slope and start of a line through points, and how far from it one is at most."""
    x, y = np.array([float(one) for one in known]), np.array(list(known.values()))
    slope = (y[x.argmax()] - y[x.argmin()]) / max(np.ptp(x), 1e-300) if np.ptp(x) else 0.0
    start = y[0] - slope * x[0]
    return float(slope), float(start), float(np.abs(start + slope * x - y).max())


def with_turns(found: Reads) -> Reads:
    """Reads of a total with the points where a neuron turns on: between these, what neurons write is linear."""
    order = np.argsort([float(case[0]) for case in found.cases])
    cases, values = [found.cases[i] for i in order], found.values[order]
    for a, b in zip(range(len(order) - 1), range(1, len(order)), strict=True):
        low, high = float(cases[a][0]), float(cases[b][0])
        if low * high <= 0:
            continue
        for y, z in zip(values[a], values[b], strict=True):
            if y * z < 0:
                share = y / (y - z)
                cases.append((float(low + share * (high - low)),))
                values = np.vstack([values, values[a] + share * (values[b] - values[a])])
    return Reads(found.keys, cases, values, found.first, found.error, found.factor, found.spread)


def slopes(found: Reads, c: Array, writes: Array) -> Array:
    """The steepest slope of what neurons write that read c · s + b, over all s, in each dimension."""
    live = np.abs(c) > 0
    s, offsets = 0.0, np.zeros(len(c))
    if live.any() and len(found.values):
        lead = int(np.abs(c).argmax())
        s = found.values[0, lead] / c[lead]
        offsets = found.values[0] - c * s  # b
    turns = np.sort(-offsets[live] / c[live])
    middles = np.concatenate([[turns[0] - 1], (turns[1:] + turns[:-1]) / 2, [turns[-1] + 1]]) if live.any() else [0.0]
    steepest: Array = np.max([np.abs((c * (c * at + offsets > 0)) @ writes) for at in middles], axis=0)
    return steepest


def merged_by(results: list[Plain], written: Array) -> tuple[dict[Plain, Array], Array]:
    """What is written for each result, in the middle of all cases that have it, and how far others are from it."""
    number = {one: i for i, one in enumerate(dict.fromkeys(results))}
    place = np.array([number[one] for one in results], int)
    low, high = (np.full((len(number), written.shape[1]), bound) for bound in (np.inf, -np.inf))
    np.minimum.at(low, place, written)
    np.maximum.at(high, place, written)
    return dict(zip(number, (low + high) / 2, strict=True)), (high - low).max(0) / 2


def leads(logits: Array, right: Array) -> Array:
    """By how much the right token's logit exceeds the next best."""
    rows = np.arange(len(right))
    own = logits[rows, right]
    others = logits.copy()
    others[rows, right] = -np.inf
    lead: Array = own - others.max(1)
    return lead
