"""Search by score: simulated annealing of words, permutations and subsets, with the user's score compiled by Numba.

    >>> from handloom.discover import Problem, permutation
    >>> def inversions(p):
    ...     count = 0
    ...     for i in range(len(p)):
    ...         for j in range(i):
    ...             count += p[j] > p[i]
    ...     return count
    >>> result = Annealer(Problem(permutation(5), score=inversions)).run(seed=0, steps=2_000)
    >>> result.construction, result.score
    ((4, 3, 2, 1, 0), 10)

A step changes the construction a little and keeps the change with probability min(1, exp(change of the score / T))
(Metropolis). T falls geometrically in cycles, each twice as long as the one before; each starts by reheating, hot and
mild in turn. T is in units of the recent changes of the score, so that the scale of a score does not matter.

A problem may have a guide, a finer measure than its score: the search then climbs the guide and returns the best by it.
Where the score is to be small, the search climbs minus the score, or minus the guide.

The changes are in moves.py. A score that Numba cannot compile is called as plain Python, with the same steps.
"""

import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.checks import is_number
from handloom.core.errors import in_users_code, shown, told
from handloom.discover.problem import Number, Problem, arity, exact_score, score_argument
from handloom.discover.search.compiling import fast, kernel, numba_error
from handloom.discover.search.kept import kept_code
from handloom.discover.search.moves import (
    Chosen,
    Walker,
    conflict_of,
    flip_some,
    move,
    nothing,
    put_in,
    restore,
    tables,
    undo_flips,
)
from handloom.discover.search.orbit_search import unit
from handloom.discover.search.result import SearchResult, Stop, never_stop
from handloom.discover.spaces import Construction, Space

HOT, MILD, COLD = 1.0, 0.25, 0.01  # temperatures, in recent changes of the score
LATELY = 0.01  # the weight of the newest change in their mean
SHORTEST = 1_000  # steps of the first cycle, about
CHUNK = 0.05  # seconds between two calls of `stop`, as in orbit_search.py
GROWTH = 10  # how many times as long a chunk of steps may be as the one before
SAME = {"rel_tol": 1e-6, "abs_tol": 1e-9}  # a score compiled and the same in plain Python: sums may be in another order
NOW, BEST, CHANGE = 0, 1, 2  # the numbers: the score now, the best score, the mean change lately


class Annealer:
    """The search for one problem. It may run in several threads at once."""

    def __init__(self, problem: Problem, chunk: float = CHUNK) -> None:
        if problem.score is None:
            raise HandloomError(f"{problem}: annealing needs a score; give the problem one")
        self.problem, self.chunk = problem, chunk
        subset = problem.space.is_subset
        self.tables = tables(problem) if subset else ()
        self.conflict = conflict_of(problem) if subset else nothing
        moves = (self.conflict, flip_some, undo_flips) if subset else (self.conflict, move, restore)
        self.sign = -1 if problem.minimise else 1  # what is climbed is the score or minus the score
        climbed = problem.guide or problem.score
        if problem.minimise:
            climbed = negated(climbed)
        self.kernels = (fast(climbed), *moves)
        self.note: str | None = None
        nowhere: tuple[Any, ...] = (self.begin(0, ()), np.ones(1, np.int64), 0, 0, HOT)  # no steps: only compile
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Numba's about a user's code
                self.walk = kept_code(walk, *self.kernels)
                self.walk(*nowhere)
        except Exception as error:  # Numba raises many kinds
            self.note = f"the score runs as plain Python; Numba cannot compile it: {numba_error(error)}"
            compiled_walk: Any = walk
            self.walk = partial(compiled_walk.py_func, plain(climbed), *moves)

    def run(self, seed: int, steps: int, start: Construction | None = None, stop: Stop = never_stop) -> SearchResult:
        """The best of that many steps. `stop` is called about twenty times per second."""
        state = self.begin(seed, random_start(self.problem.space, seed) if start is None else start)
        ends, heat = cycles(max(0, steps)), HOT if start is None else MILD
        done, chunk = self.walk_to(state, ends, -1, 0, heat), 1
        while done < steps and not stop():
            began = time.perf_counter()
            done = self.walk_to(state, ends, done, min(steps, done + chunk), heat)
            seconds = max(time.perf_counter() - began, 1e-6)
            chunk = max(1, min(GROWTH * chunk, int(chunk * self.chunk / seconds)))
        return self.result(state, done)

    def begin(self, seed: int, start: Construction) -> Walker | Chosen:
        """A state with the legal part of the start."""
        space = self.problem.space
        random = np.random.SeedSequence(seed % 2**64).generate_state(1, np.uint64) | np.uint64(1)
        given = score_argument(space, () if space.is_subset else completed(space, start))
        common = (random, given.flatten(), given, given.reshape(-1), given.flatten(), np.zeros(3))
        if not space.is_subset:
            letters = 0 if space.kind == "permutation" else len(space.elements)
            return Walker(*common, letters, given.flatten(), np.zeros(2, np.int64))
        size = len(space.elements)
        order = (np.arange(size), np.arange(size), np.zeros(2, np.int64), np.zeros(4 * size + 8, np.int64))
        cells, xy, *rest = self.tables
        room = (np.zeros(max(5, rest[0].shape[1]), np.int64), np.zeros(5, np.int64))
        state = Chosen(*common, cells, *order, *room, xy, *rest)
        try:
            put_in(self.conflict, state, np.array(known(start, size), np.int64))
        except Exception as error:
            raise self.explained(state, error) from error
        return state

    def walk_to(self, state: Walker | Chosen, ends: Array, first: int, last: int, heat: float) -> int:
        """Walk from one step to another; step −1 scores the start."""
        try:
            with np.errstate(all="ignore"):
                reached = self.walk(state, ends, first, last, heat)
        except Exception as error:
            self.call_plainly(state.flat)
            raise self.explained(state, error) from error
        if reached < last:
            self.call_plainly(state.flat)
            what = "guide" if self.problem.guide else "score"
            raise HandloomError(f"{self.problem}: its {what}, compiled, is not finite; keep its numbers below 2**63")
        return last

    def call_plainly(self, flat: Array) -> None:
        """Raise what the score or the guide raises in plain Python, which says more than compiled code."""
        self.worth(flat)
        if self.problem.guide is None:
            return
        with in_users_code(f"{self.problem}: its guide"), np.errstate(all="ignore"):
            value = self.problem.guide(score_argument(self.problem.space, self.read(flat)))
        value = value.item() if hasattr(value, "item") else value
        if not is_number(value) or not math.isfinite(value):
            raise HandloomError(f"{self.problem}: its guide is {shown(value)}; it must be a finite number")

    def explained(self, state: Walker | Chosen, error: Exception) -> HandloomError:
        """The error that a rule raised, if one did: found by calling it once more, as plain Python."""
        if isinstance(state, Chosen):
            elements = [self.problem.space.arguments[i] for i in state.asked]
            for rule in self.problem.rules:
                try:
                    rule(*elements[: arity(rule)])
                except Exception as plainly:
                    error = plainly
        return HandloomError(f"{self.problem}: {told(error)}")

    def result(self, state: Walker | Chosen, steps: int) -> SearchResult:
        score, note = self.worth(state.best), self.note
        compiled = self.sign * state.numbers[BEST]
        if self.problem.guide is None and not math.isclose(score, compiled, **SAME):
            note = f"the score is {score}, but {compiled} when compiled; whole numbers there end at 2**63"
        return SearchResult(self.read(state.best), score, steps, note)

    def read(self, flat: Array) -> Construction:
        """The construction of an array."""
        if not self.problem.space.is_subset:
            return tuple(flat.tolist())
        return tuple(np.flatnonzero(flat[self.tables[0][:, 0]]).tolist())

    def worth(self, flat: Array) -> Number:
        """The exact score."""
        with in_users_code(str(self.problem)), np.errstate(all="ignore"):
            return exact_score(self.problem, self.read(flat))


def cycles(steps: int) -> Array:
    """The steps at which the cycles end, each about twice as long as the one before."""
    count = max(1, int(math.log2(steps / SHORTEST + 1)))
    return np.array([steps * (2 ** (i + 1) - 1) // (2**count - 1) for i in range(count)], np.int64)


@kernel()
def walk(
    score: Any, conflict: Any, propose: Any, undo: Any, s: Any, ends: Array, first: int, last: int, heat: float
) -> int:
    """The annealing itself. Returns the step it reached: the last, or that of a score that is not finite."""
    for step in range(first, last):
        if step >= 0 and not propose(conflict, s):
            continue
        copy(s.flat, s.row)
        value = float(score(s.given))
        if not math.isfinite(value):
            return step
        judge(undo, s, value, step, ends, heat)
    return last


@kernel()
def judge(undo: Any, s: Any, value: float, step: int, ends: Array, heat: float) -> None:
    """Keep the change, or undo it."""
    change = value - s.numbers[NOW]
    if step < 0:
        s.numbers[BEST] = -np.inf
    elif change != 0:
        lately = s.numbers[CHANGE]
        s.numbers[CHANGE] = lately + LATELY * (abs(change) - lately) if lately else abs(change)
    if step < 0 or change >= 0 or unit(s) < math.exp(change / (s.numbers[CHANGE] * temperature(step, ends, heat))):
        s.numbers[NOW] = value
        if value > s.numbers[BEST]:
            s.numbers[BEST] = value
            copy(s.flat, s.best)
    else:
        undo(s)


@kernel(cache=True)
def copy(row: Array, to: Array) -> None:
    for i in range(len(row)):
        to[i] = row[i]


@kernel(cache=True)
def temperature(step: int, ends: Array, heat: float) -> float:
    """From hot or mild to cold in each cycle; the first cycle starts at `heat`, then they take turns."""
    begin = 0
    for end in ends:
        if step < end:
            return heat * (COLD / heat) ** ((step - begin) / (end - begin))
        begin, heat = end, MILD if heat == HOT else HOT
    return COLD


def negated(score: Callable[[Any], Any]) -> Callable[[Any], float]:
    """Minus a score: what is climbed where the score is to be small."""

    def value(given: Any) -> float:
        return -float(score(given))

    return value


def plain(score: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The score for plain Python: NumPy's numbers become Python's; anything else becomes nan."""

    def number(array: Array) -> float:
        value = score(array)
        value = value.item() if hasattr(value, "item") else value
        return value if isinstance(value, int | float) else math.nan

    return number


def completed(space: Space, start: Construction) -> Construction:
    """A word or a permutation that begins like the start, as far as the start is valid.

    >>> from handloom.discover.spaces import permutation
    >>> completed(permutation(5), (3, 3, 9, 1))
    (3, 1, 0, 2, 4)
    """
    if space.kind == "permutation":
        return tuple(dict.fromkeys([*known(start, space.length), *range(space.length)]))
    letters = [i if known((i,), len(space.elements)) else 0 for i in start[: space.length]]
    return (*letters, *[0] * (space.length - len(letters)))


def known(start: Construction, size: int) -> list[int]:
    """The numbers below a size that a start contains, each once."""
    return [i for i in dict.fromkeys(start) if isinstance(i, int) and 0 <= i < size]


def random_start(space: Space, seed: int) -> Construction:
    """A random word, matrix or permutation; of a subset about half of the elements, in random order."""
    rng = np.random.default_rng(seed % 2**64)
    if space.kind in ("word", "matrix"):
        return tuple(rng.integers(len(space.elements), size=space.length).tolist())
    order = rng.permutation(len(space.elements))
    return tuple(order[: len(order) // 2 if space.is_subset else None].tolist())
