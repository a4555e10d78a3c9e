"""The standard programs of the language, in one table that drives their tests, their sizes and their documentation.

    >>> standard("reverse:n=5")("abc>")
    'cba'

The catalogue has them as `compiled/reverse`. Their text is in `compiler/standard/`, and is loaded when it is used.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.finding import nearest
from handloom.core.registry import loaded
from handloom.tasks.naming import given

if TYPE_CHECKING:
    from handloom.write.compiler import TokenProgram


@dataclass(frozen=True)
class Standard:
    """A name, what it does, the function that makes it, and sizes at which all of its inputs are few."""

    name: str
    about: str
    function: str  # module:function, in compiler/standard
    small: dict[str, Any] = field(default_factory=dict)

    @property
    def make(self) -> "Callable[..., TokenProgram]":
        made: Callable[..., TokenProgram] = loaded(f"handloom.write.compiler.standard.{self.function}")
        return made


TABLE = (
    Standard("hello", "Hello World!, or any message", "moving:hello"),
    Standard("lookup", "the value of a key in a fixed table", "moving:lookup"),
    Standard("copy", "abc> → abc", "moving:copy", {"n": 4}),
    Standard("shift", "abc> → _ab", "moving:shift", {"n": 4}),
    Standard("reverse", "abc> → cba", "moving:reverse", {"n": 4}),
    Standard("caesar", "abc> → def", "moving:caesar", {"n": 2}),
    Standard(
        "induction", "what followed the last letter when it occurred before", "moving:induction", {"n": 5, "letters": 3}
    ),
    Standard("2-hop", "the same twice", "moving:two_hop", {"n": 5, "letters": 3}),
    Standard("3-hop", "the same three times", "moving:three_hop", {"n": 5, "letters": 3}),
    Standard("k-hop", "k hops, in log k layers", "moving:k_hop", {"n": 7, "letters": 3}),
    Standard("dedupe", "abab> → ab", "moving:dedupe", {"n": 4}),
    Standard("first-occurrence", "where the last letter occurred first: abcb → 2", "moving:first_occurrence", {"n": 5}),
    Standard("length", "how many letters there are", "comparing:length", {"n": 4}),
    Standard("histogram", "how often each letter occurs: aba> → 212", "comparing:histogram", {"n": 4}),
    Standard("double-histogram", "how many letters occur as often as the last", "comparing:double_histogram"),
    Standard("most-frequent", "the letter that occurs most often", "comparing:most_frequent", {"n": 5, "letters": 3}),
    Standard("count-less", "how many numbers are less than the last", "comparing:count_less", {"n": 4}),
    Standard("rank", "the rank of the last number among those that occur", "comparing:rank", {"n": 4}),
    Standard("min", "the least number", "comparing:minimum", {"n": 4, "digits": 4}),
    Standard("max", "the greatest number", "comparing:maximum", {"n": 4, "digits": 4}),
    Standard("sort", "312> → 123, with repeats", "comparing:sort", {"n": 4, "digits": 4}),
    Standard("sort-unique", "3131> → 13", "comparing:sort_unique", {"n": 4}),
    Standard("frac-prevs", "the share of x, in fifths, rounded", "comparing:frac_prevs", {"n": 4}),
    Standard("majority", "whether there are more of a or of b", "comparing:majority"),
    Standard("count-mod", "how often a occurs, modulo a number", "comparing:count_mod", {"n": 7}),
    Standard("is-sorted", "whether numbers never fall", "deciding:is_sorted", {"n": 4, "digits": 4}),
    Standard("contains-ab", "whether a is followed by b anywhere", "deciding:contains_ab", {"n": 5}),
    Standard("palindrome", "whether a word is the same backwards", "deciding:palindrome", {"n": 5}),
    Standard("dyck-1", "whether brackets are balanced", "deciding:dyck_1", {"n": 9}),
    Standard("dyck-2", "whether brackets of two kinds are", "deciding:dyck_2", {"n": 5}),
    Standard("shuffle-dyck-2", "whether brackets of each of two kinds are", "deciding:shuffle_dyck_2", {"n": 5}),
    Standard("parity", "the parity of all bits so far: 110> → 100", "stepping:parity", {"n": 8}),
    Standard("automaton", "the states of any finite automaton", "stepping:automaton", {"n": 8}),
    Standard("increment", "the next binary number: 1011> → 1100", "stepping:increment"),
    Standard("addition", "12+345= → 753, least digit first, any lengths", "stepping:addition", {"digits": 1}),
    Standard("scratch-addition", "12+345= → 753>357", "stepping:scratch_addition", {"digits": 1}),
    Standard("multiplication", "12*34= → a8b0a4a0>408, carries as letters", "machines:multiplication", {"digits": 1}),
    Standard("subleq", "a machine of one instruction: its next state", "machines:subleq", {"cells": 4}),
    Standard("fibonacci", "the last digits of x, y, x + y, …", "stepping:fibonacci"),
)
STANDARD = {entry.name: entry for entry in TABLE}


def standard(name: str, **parameters: Any) -> "TokenProgram":
    """A standard program. Parameters may stand in the name: `reverse:n=5,letters=4`."""
    known, _, text = name.partition(":")
    if known not in STANDARD:
        near = nearest(known, STANDARD)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(STANDARD)}"
        raise HandloomError(f"no standard program {shown(known)}; {hint}")
    make = STANDARD[known].make
    made = make(**given(known, make, text, parameters))
    made.name = known
    return made
