"""The compiler: one list of passes, from a program to a Model.

    trace       the function is run once, for the graph of its values           source.py
    ranges      which values each variable can have                             ranges.py
    rewrite     functions of what a head fetches move in front of it            rewrite.py
    lower       values become numbers of the stream, heads and neurons          lower.py, levels.py, hinges.py
    schedule    every part gets a layer                                         schedule.py
    emit        the stream gets its dimensions, and the parts their weights     emit.py
"""

import numpy as np

from handloom.core import Model
from handloom.core.arrays import Array
from handloom.write.compiler.emit import emitted
from handloom.write.compiler.interpreter import in_order
from handloom.write.compiler.levels import looks_of, one_token
from handloom.write.compiler.lower import Lowering
from handloom.write.compiler.ranges import Ranges, ranges_of
from handloom.write.compiler.rewrite import rewritten
from handloom.write.compiler.schedule import scheduled
from handloom.write.compiler.source import TokenProgram, token_of
from handloom.write.compiler.values import END, Select, Value

LOUD = 16.0  # how much louder an answer is written than the token here, times the distance of tokens


def compile_program(program: TokenProgram) -> Model:
    """The transformer of a program."""
    ranges = program.ranges
    circle = around(program.answer, ranges)
    angles = {token: 2 * np.pi * i / len(circle) for i, token in enumerate(circle)}
    codes = {token: np.sqrt(3.0) * np.array([np.cos(a), np.sin(a)]) for token, a in angles.items()}
    answer = rewritten(program.answer, ranges, circle)
    ranges = ranges_of(answer, ranges.tokens, ranges.block)
    lowering = Lowering(ranges, codes, program.names, looks_of)
    lowering.beside_end = (circle[1], circle[-1])
    said = set(map(token_of, ranges.values[answer]))
    lowering.once = {t for t in ranges.tokens if t != END and t not in said and program.asked.most(t) <= 1}
    loud = LOUD / (1 - np.cos(2 * np.pi / len(circle)))
    lowering.say(answer, loud)
    layers = scheduled(lowering.lowered)
    notes: dict[str, object] = {"made": "compiled", "program": program.name, "asks": program.asked.expression}
    if program.steps is not None:
        notes["decode_steps"] = program.steps
    return emitted(lowering.lowered, layers, program.vocab, ranges.block, codes, loud, notes)


def around(answer: Value, ranges: Ranges) -> tuple[str, ...]:
    """The tokens in their order on the circle: the first token, and beside it those that heads look for alone."""
    looked: dict[str, None] = {}
    for value in in_order(answer):
        if isinstance(value, Select) and (token := one_token(value.where.key, ranges.tokens)):
            looked[token] = None
    beside = [token for token in looked if token != END][:2]
    rest = [token for token in ranges.tokens if token != END and token not in beside]
    return (END, *beside[:1], *rest, *beside[1:])


Codes = dict[str, Array]
