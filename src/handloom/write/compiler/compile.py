"""The compiler: one list of passes, from a program to a Model.

trace       the function is run once, for the graph of its values           source.py
ranges      which values each variable can have                             ranges.py
rewrite     functions of what a head fetches move in front of it            rewrite.py
lower       values become numbers of the stream, heads and neurons          lower.py, levels.py, hinges.py, saying.py
schedule    every part gets a layer                                         layering.py
merge       what is always read together becomes one number                 merge.py
place       every number gets a dimension, which may have served before     place.py, inplace.py
arrange     these three in several ways, and the smallest is taken          arrange.py
emit        the parts get their weights                                     emit.py
store       the program goes into the notes, with the cost of its lines       stored.py, costs.py, truth.py
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from handloom.core import HandloomError, Model, count
from handloom.core.errors import shown
from handloom.write.compiler.arrange import arranged
from handloom.write.compiler.codes import Codes, on_a_circle, on_a_parabola
from handloom.write.compiler.costs import costs_of
from handloom.write.compiler.emit import emitted
from handloom.write.compiler.fuse import fused, uses_of
from handloom.write.compiler.interpreter import in_order
from handloom.write.compiler.layering import LayerParts
from handloom.write.compiler.levels import looks_of
from handloom.write.compiler.lower import Lowering
from handloom.write.compiler.lowered import Lowered
from handloom.write.compiler.ranges import Ranges, one_token, ranges_of
from handloom.write.compiler.rewrite import rewritten
from handloom.write.compiler.saying import say_answer
from handloom.write.compiler.source import TokenProgram
from handloom.write.compiler.stored import KEY, as_notes
from handloom.write.compiler.totals import totals_of
from handloom.write.compiler.truth import truth_of
from handloom.write.compiler.user_programs import find_program
from handloom.write.compiler.values import END, At, Count, Select, Value, token_of

LEAST_MARGIN = 0.005  # of the right token's logit over the next best, as a part of the largest logit


def compile(program: TokenProgram | str | os.PathLike[str]) -> Model:
    """The transformer of a program, or of one in a file: "FILE.py:NAME", or "FILE.py" if it has only one. It is the
    smallest of those that each code of tokens gives, among those whose answers stand out enough, in float32. Its notes
    hold the program."""
    if isinstance(program, str | os.PathLike):
        program = find_program(os.fspath(program))
    if not isinstance(program, TokenProgram):
        raise HandloomError(f"compile takes a program of the language, or FILE.py:NAME, not {shown(program)}")
    stored = as_notes(program)
    candidates = [(plan, emitted_plan(program, plan)) for plan in plans(program)]
    _, best = min(candidates, key=lambda candidate: preference(*candidate))
    return best.with_(notes={**best.notes, KEY: stored}).astype(np.float32)


def preference(plan: "CompilePlan", model: Model) -> tuple[float, int]:
    """Less is better: a margin below the bar counts first, then the size."""
    return -min(plan.codes.relative_margin(), LEAST_MARGIN), count(model).total


def plans(program: TokenProgram) -> "Iterator[CompilePlan]":
    """A plan for each code of tokens that there may be."""
    answer = rewritten(program.answer, program.ranges)
    ranges = ranges_of(answer, program.ranges.tokens, program.ranges.block, program.ranges.most, program.ranges)
    for codes in possible_codes(program, answer, ranges):
        yield planned(program, codes, answer, ranges)


def possible_codes(program: TokenProgram, answer: Value, ranges: Ranges) -> Iterator[Codes]:
    """The codes in which a program can compare its tokens, and give its rewritten answer."""
    beside = looked_for(program.answer, program.ranges)
    yield on_a_circle(program.ranges.tokens, beside)
    parabola = on_a_parabola(program.ranges.tokens, beside)
    if parabola is None or compares_tokens(program.answer):
        return
    if not isinstance(answer, At | Select) or parabola.straight.issuperset(map(token_of, ranges.values[answer])):
        yield parabola


@dataclass(frozen=True)
class CompilePlan:
    """What the passes before emission make of a program: its rewritten answer, and every part in its layer."""

    answer: Value
    ranges: Ranges
    codes: Codes
    totals: frozenset[Value]
    once: frozenset[str]  # tokens that occur once at most
    always: frozenset[str]  # tokens that every input has
    lowered: Lowered
    layers: Sequence[LayerParts]
    places: Mapping[str, int]


def planned(program: TokenProgram, codes: Codes, answer: Value, ranges: Ranges) -> CompilePlan:
    """The passes that depend on the code of tokens, up to placing, from the rewritten answer and its ranges."""
    answer = fused(answer, ranges, codes)
    ranges = ranges_of(answer, ranges.tokens, ranges.block, ranges.most, ranges)
    said = set(map(token_of, ranges.values[answer]))
    once = frozenset(t for t in ranges.tokens if t != END and t not in said and program.asked.most(t) <= 1)
    beside = looked_for(program.answer, program.ranges)
    totals = totals_of(answer, ranges)
    ranges = replace(ranges, signs=ranges.signs | totals)
    always = frozenset(t for t in program.asked.alphabet if program.asked.always(t))
    lowering = Lowering(ranges, codes, program.names, looks_of, once, beside, uses_of(answer), totals, always)
    say_answer(lowering, answer)
    lowered, layers, places = arranged(lowering.lowered, codes, ranges.block)
    return CompilePlan(answer, ranges, codes, totals, once, always, lowered, layers, places)


def emitted_plan(program: TokenProgram, plan: CompilePlan) -> Model:
    """The Model of a program's plan."""
    notes: dict[str, object] = {"made": "compiled", "task": f"compiled/{program.name}"}
    notes["cost"] = costs_of(plan.lowered, plan.places, plan.layers)
    notes["truth"] = truth_of(plan.lowered, plan.places, plan.layers, plan.codes, plan.ranges.block)
    if program.steps is not None:
        notes["decode_steps"] = program.steps
    return emitted(plan.lowered, plan.places, plan.layers, program.vocab, plan.ranges.block, plan.codes, notes)


def looked_for(answer: Value, ranges: Ranges) -> tuple[str, ...]:
    """Up to two tokens that heads look for alone."""
    selects = (value for value in in_order(answer) if isinstance(value, Select))
    tokens = dict.fromkeys(one_token(value.where.key, ranges.tokens) for value in selects)
    return tuple(token for token in tokens if token is not None and token != END)[:2]


def compares_tokens(answer: Value) -> bool:
    """Whether a head compares tokens there with tokens here, which takes a circle."""
    return any(isinstance(value, Select | Count) and value.where.pairs for value in in_order(answer))
