"""Search by score: simulated annealing of words, permutations and subsets, with the user's score compiled by Numba.

    >>> from handloom.discover import Problem, permutation
    >>> def inversions(p):
    ...     count = 0
    ...     for i in range(len(p)):
    ...         for j in range(i):
    ...             count += p[j] > p[i]
    ...     return count
    >>> found = Annealer(Problem(permutation(5), score=inversions)).run(seed=0, steps=2_000)
    >>> found.construction, found.score
    ((4, 3, 2, 1, 0), 10)

A step changes the construction a little and keeps the change with probability min(1, exp(change of the score / T))
(Metropolis). T falls geometrically in cycles, each twice as long as the one before and started by reheating, hot and
mild in turn. It is in units of the changes that were seen lately, so that no score is too large or too small for it.

    words           a letter changed, a block reversed, a block shifted by one
    permutations    two values exchanged, a block reversed, one value moved
    subsets         an element put in or taken out, one exchanged for another

If something is forbidden besides, those are taken out first that would complete a forbidden set: the state is always
legal. A score that Numba cannot compile is called as plain Python, with the same steps.
"""

import math
import time
import warnings
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from handloom.core import HandloomError
from handloom.discover.found import Found, completed, first_construction, known
from handloom.discover.problem import Number, Problem, arity, as_array, exact_score, told
from handloom.discover.rules import Test, compiled, coordinates
from handloom.discover.search import below, unit
from handloom.discover.spaces import Construction

Array = np.ndarray[Any, Any]
Conflict = Callable[[Any, int], int]

KERNEL = {"nogil": True, "no_cfunc_wrapper": True}  # the second saves a third of the time to compile
HOT, MILD, COLD = 1.0, 0.25, 0.01  # temperatures, in changes of the score that were seen lately
LATELY = 0.01  # the weight of the newest change in their mean
SHORTEST = 1_000  # steps of the first cycle, about
CHUNK = 0.05  # seconds between two looks at the clock
NOW, BEST, CHANGE = 0, 1, 2  # the numbers: the score now, the best score, the mean change lately


class Line(NamedTuple):
    """A word or a permutation on its way."""

    random: Array  # (1,) of xorshift64*
    flat: Array  # (length,) the construction
    given: Array  # a copy for the score, which may write into it
    row: Array  # the same memory as given
    best: Array  # the construction with the best score
    numbers: Array  # (3,)
    letters: int  # 0 for a permutation
    saved: Array  # (length,) what was there before the last change,
    span: Array  # (2,) from here to there


class Chosen(NamedTuple):
    """A subset on its way."""

    random: Array  # (1,)
    flat: Array  # 0s and 1s: of a graph its matrix, as one row
    given: Array  # in the shape that the score expects
    row: Array
    best: Array
    numbers: Array
    cells: Array  # (elements, 2) where an element stands in the row; an edge stands twice in the matrix
    order: Array  # (elements,) those that are chosen come first
    place: Array  # (elements,) where an element stands in this order
    counts: Array  # (2,) how many are chosen; how many were put in or taken out by the last change
    log: Array  # those that were
    others: Array  # those that an element may not be beside
    asked: Array  # (5,) the elements that a rule is asked about
    xy: Array  # the elements' coordinates
    sets: Array  # (sets, k) listed as forbidden, filled up with −1
    starts: Array  # (elements + 1,) where an element's rows begin
    rows: Array  # of the sets that an element is in


class Annealer:
    """The search for one problem. It may run in several threads at once."""

    def __init__(self, problem: Problem) -> None:
        if problem.score is None:
            raise HandloomError(f"{problem}: annealing needs a score; give the problem one")
        self.problem = problem
        subset = problem.space.is_subset
        self.tables = tables(problem) if subset else ()
        self.conflict = conflict_of(problem) if subset else nothing
        moves = (self.conflict, flip_some, undo_flips) if subset else (self.conflict, move, restore)
        self.walk: Any = walk  # or the same in plain Python
        self.kernels = (fast(problem.score), *moves)
        self.note: str | None = None
        nowhere: tuple[Any, ...] = (
            self.begin(0, ()),
            np.ones(1, np.int64),
            0,
            0,
            HOT,
        )  # a walk of no steps, to have it compiled
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Numba has to say about a user's code
                self.walk(*self.kernels, *nowhere)
        except Exception as error:  # of many kinds, for what Numba cannot compile
            says = [line for line in str(error).splitlines() if line.strip() and "nopython" not in line]
            self.note = f"the score runs as plain Python, for Numba says: {' '.join(says)[:160]}"
            self.walk, self.kernels = walk.py_func, (plain(problem.score), *moves)

    def run(
        self, seed: int, steps: int, start: Construction | None = None, stop: Callable[[], bool] = lambda: False
    ) -> Found:
        """The best of so many steps. `stop` is asked about twenty times a second whether to end before."""
        state = self.begin(seed, first_construction(self.problem.space, seed) if start is None else start)
        ends, heat = cycles(max(0, steps)), HOT if start is None else MILD
        done, chunk = self.go_on(state, ends, -1, 0, heat), 1
        while done < steps and not stop():
            began = time.perf_counter()
            done = self.go_on(state, ends, done, min(steps, done + chunk), heat)
            seconds = max(time.perf_counter() - began, 1e-6)
            chunk = max(1, min(10 * chunk, int(chunk * CHUNK / seconds)))
        return self.found(state, done)

    def begin(self, seed: int, start: Construction) -> Line | Chosen:
        """A state with as much of the start as is legal."""
        space = self.problem.space
        random = np.random.SeedSequence(seed % 2**64).generate_state(1, np.uint64) | np.uint64(1)
        given = as_array(space, () if space.is_subset else completed(space, start))
        common = (random, given.flatten(), given, given.reshape(-1), given.flatten(), np.zeros(3))
        if not space.is_subset:
            letters = len(space.elements) if space.kind == "word" else 0
            return Line(*common, letters, given.copy(), np.zeros(2, np.int64))
        size = len(space.elements)
        order = (np.arange(size), np.arange(size), np.zeros(2, np.int64), np.zeros(4 * size + 8, np.int64))
        cells, xy, *forbidden = self.tables
        room = (np.zeros(max(5, forbidden[0].shape[1]), np.int64), np.zeros(5, np.int64))
        state = Chosen(*common, cells, *order, *room, xy, *forbidden)
        try:
            put_in(self.conflict, state, np.array(known(start, size), np.int64))
        except Exception as error:
            raise self.explained(state, error) from error
        return state

    def go_on(self, state: Line | Chosen, ends: Array, first: int, last: int, heat: float) -> int:
        """Walk from one step to another; step −1 is to score the start."""
        try:
            with np.errstate(all="ignore"):
                reached = self.walk(*self.kernels, state, ends, first, last, heat)
        except Exception as error:
            self.worth(state.flat)  # raises what plain Python has to say, which is more
            raise self.explained(state, error) from error
        if reached < last:
            self.worth(state.flat)
            raise HandloomError(
                f"{self.problem}: its score, compiled, is not finite; see that no numbers are too large"
            )
        return last

    def explained(self, state: Line | Chosen, error: Exception) -> HandloomError:
        """What a rule raised, if one did: found by asking it once more, as plain Python."""
        if isinstance(state, Chosen):
            elements = [self.problem.space.elements[i] for i in state.asked]
            for rule in self.problem.rules:
                try:
                    rule(*elements[: arity(rule)])
                except Exception as plainly:
                    error = plainly
        return HandloomError(f"{self.problem}: {told(error)}")

    def found(self, state: Line | Chosen, steps: int) -> Found:
        score, note = self.worth(state.best), self.note
        if not math.isclose(score, state.numbers[BEST], rel_tol=1e-6, abs_tol=1e-9):
            note = f"the score is {score}, but {state.numbers[BEST]} when compiled; whole numbers there end at 2**63"
        return Found(self.read(state.best), score, steps, note)

    def read(self, flat: Array) -> Construction:
        """The construction that an array is."""
        if not self.problem.space.is_subset:
            return tuple(flat.tolist())
        return tuple(np.flatnonzero(flat[self.tables[0][:, 0]]).tolist())

    def worth(self, flat: Array) -> Number:
        """The exact score."""
        try:
            with np.errstate(all="ignore"):
                return exact_score(self.problem, self.read(flat))
        except HandloomError:
            raise
        except Exception as error:
            raise HandloomError(f"{self.problem}: {told(error)}") from error


def cycles(steps: int) -> Array:
    """The steps at which the cycles end, each about twice as long as the one before."""
    count = max(1, int(math.log2(steps / SHORTEST + 1)))
    return np.array([steps * (2 ** (i + 1) - 1) // (2**count - 1) for i in range(count)], np.int64)


@njit(**KERNEL)
def walk(
    score: Any, conflict: Any, propose: Any, undo: Any, s: Any, ends: Array, first: int, last: int, heat: float
) -> int:
    """The annealing itself. Returns the step it came to: the last, or that of a score that is not finite."""
    for step in range(first, last):
        if step >= 0 and not propose(conflict, s):
            continue
        copy(s.flat, s.row)
        value = float(score(s.given))
        if not math.isfinite(value):
            return step
        judge(undo, s, value, step, ends, heat)
    return last


@njit(**KERNEL)
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


@njit(cache=True, **KERNEL)
def copy(row: Array, to: Array) -> None:
    for i in range(len(row)):
        to[i] = row[i]


@njit(cache=True, **KERNEL)
def temperature(step: int, ends: Array, heat: float) -> float:
    """From hot or mild to cold in each cycle; the first cycle's heat is given, then they take turns."""
    begin = 0
    for end in ends:
        if step < end:
            return heat * (COLD / heat) ** ((step - begin) / (end - begin))
        begin, heat = end, MILD if heat == HOT else HOT
    return COLD


@njit(cache=True, **KERNEL)
def move(conflict: Any, s: Any) -> bool:
    """A word or a permutation changed: in one letter, by an exchange, or a block of it reversed or shifted."""
    size = len(s.flat)
    i = below(s, size)
    j = min(size - 1, i + 1 + below(s, 1 + below(s, size)))  # short blocks more often
    kind = below(s, 4)
    if s.letters and kind < 2:
        j = i
    s.span[0], s.span[1] = i, j + 1
    s.saved[i : j + 1] = s.flat[i : j + 1]
    if i == j and s.letters > 1:
        s.flat[i] = (s.flat[i] + 1 + below(s, s.letters - 1)) % s.letters
    elif kind == 0:
        s.flat[i], s.flat[j] = s.flat[j], s.flat[i]
    elif kind < 3:
        s.flat[i : j + 1] = s.saved[i : j + 1][::-1]
    elif below(s, 2):
        s.flat[i:j], s.flat[j] = s.saved[i + 1 : j + 1], s.saved[i]
    else:
        s.flat[i + 1 : j + 1], s.flat[i] = s.saved[i:j], s.saved[j]
    return True


@njit(cache=True, **KERNEL)
def restore(s: Any) -> None:
    s.flat[s.span[0] : s.span[1]] = s.saved[s.span[0] : s.span[1]]


@njit(**KERNEL)
def flip_some(conflict: Any, s: Any) -> bool:
    """A subset changed by one element, or by one for another; False if that element is forbidden by itself."""
    count, size = s.counts[0], len(s.order)
    s.counts[1] = 0
    if 0 < count < size and below(s, 2):
        out, element = s.order[below(s, count)], s.order[count + below(s, size - count)]
        flip(s, out)
    else:
        element = below(s, size)
    if s.place[element] < s.counts[0]:
        flip(s, element)
        return True
    number = conflict(s, element)
    while number > 0:
        flip(s, s.others[below(s, number)])
        number = conflict(s, element)
    if number < 0:
        undo_flips(s)
        return False
    flip(s, element)
    return True


@njit(cache=True, **KERNEL)
def flip(s: Any, element: int) -> None:
    """Put an element in, or take it out."""
    there = s.place[element] < s.counts[0]
    s.counts[0] -= there
    at, edge = s.place[element], s.counts[0]
    other = s.order[edge]
    s.order[at], s.order[edge] = other, element
    s.place[other], s.place[element] = at, edge
    s.counts[0] += not there
    s.flat[s.cells[element, 0]] = s.flat[s.cells[element, 1]] = not there
    s.log[s.counts[1]] = element
    s.counts[1] += 1


@njit(cache=True, **KERNEL)
def undo_flips(s: Any) -> None:
    for i in range(s.counts[1] - 1, -1, -1):
        flip(s, s.log[i])
    s.counts[1] = 0


@njit(**KERNEL)
def put_in(conflict: Any, s: Any, elements: Array) -> None:
    """Those of the elements that can be together, in the order given."""
    for element in elements:
        s.counts[1] = 0
        if conflict(s, element) == 0:
            flip(s, element)


@njit(cache=True, **KERNEL)
def nothing(s: Any, element: int) -> int:
    return 0


@njit(cache=True, **KERNEL)
def listed(s: Any, element: int) -> int:
    """With how many chosen ones, then in `others`, an element is a listed set: 0 if with none, −1 if it alone is."""
    for i in range(s.starts[element], s.starts[element + 1]):
        number = 0
        for other in s.sets[s.rows[i]]:
            if other >= 0 and other != element:
                if s.place[other] >= s.counts[0]:
                    break
                s.others[number] = other
                number += 1
        else:
            return number if number else -1
    return 0


@njit(**KERNEL, no_cpython_wrapper=True)
def broken(test: Any, size: int, s: Any, element: int) -> int:
    """The same for a rule, of so many elements."""
    count, number, at = s.counts[0], size - 1, s.others
    order, asked, xy = s.order, s.asked, s.xy
    for i in range(number):
        at[i] = i
    while number <= count:
        ask(asked, element, order, at, number)
        if test(xy, asked[0], asked[1], asked[2], asked[3], asked[4]):
            for i in range(number):
                at[i] = order[at[i]]
            return number if number else -1
        last = number - 1
        while last >= 0 and at[last] == count - number + last:
            last -= 1
        if last < 0:
            break
        at[last] += 1
        for i in range(last + 1, number):
            at[i] = at[i - 1] + 1
    return 0


@njit(cache=True, **KERNEL)
def ask(asked: Array, element: int, order: Array, at: Array, number: int) -> None:
    """The element and those that stand there in the order, ascending, for a rule may be about which comes first."""
    asked[0] = element
    for i in range(number):
        other, j = order[at[i]], i + 1
        while j > 0 and asked[j - 1] > other:
            asked[j] = asked[j - 1]
            j -= 1
        asked[j] = other


def conflict_of(problem: Problem) -> Conflict:
    """All that is forbidden in one function."""
    conflict: Conflict = listed if problem.sets else nothing
    for rule in problem.rules:
        conflict = either(conflict, compiled(problem, rule), arity(rule))
    return conflict


def either(one: Conflict, test: Test, size: int) -> Conflict:
    @njit(**KERNEL, no_cpython_wrapper=True)
    def conflict(s: Any, element: int) -> int:
        number = one(s, element)
        return number if number else broken(test, size, s, element)

    return conflict


def tables(problem: Problem) -> tuple[Array, ...]:
    """For a subset: the cells of the elements, their coordinates, the listed sets, and those that an element is in."""
    space, size = problem.space, len(problem.space.elements)
    if space.kind == "graph":
        cells = np.array([(u * space.sides[0] + v, v * space.sides[0] + u) for u, v in space.elements], np.int64)
    else:
        cells = np.stack([np.arange(size)] * 2, axis=1)
    xy = coordinates(space) if problem.rules else np.zeros((1, 1), np.int64)
    try:
        found = [sorted({space.index[element] for element in some}) for some in problem.sets]
    except (KeyError, TypeError) as error:
        raise HandloomError(f"{problem}: {error} is forbidden, and is not an element of the space") from error
    sets = np.full((len(found), max(map(len, found), default=1)), -1, np.int64)
    for row, some in zip(sets, found, strict=True):
        row[: len(some)] = some
    rows, columns = np.nonzero(sets >= 0)
    elements = sets[rows, columns]
    starts = np.concatenate([[0], np.cumsum(np.bincount(elements, minlength=size))])
    return cells, xy, sets, starts, rows[np.argsort(elements, kind="stable")]


def plain(score: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The score for plain Python: a number of NumPy's becomes one of Python's; what is no number is not finite."""

    def number(array: Array) -> float:
        value = score(array)
        value = value.item() if hasattr(value, "item") else value
        return value if isinstance(value, int | float) else math.nan

    return number


def fast(function: Any, known: dict[int, Any] | None = None) -> Any:
    """A function for Numba, with the functions of the user's that it calls. An index out of range is an error."""
    known = {} if known is None else known
    if not isinstance(function, FunctionType) or (function.__module__ or "").partition(".")[0] in ("numpy", "numba"):
        return function
    if id(function) not in known:
        names = dict(function.__globals__)
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        known[id(function)] = njit(nogil=True, boundscheck=True)(copy)
        names |= {name: fast(names[name], known) for name in names_in(function.__code__) if name in names}
        for cell, old in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = fast(old.cell_contents, known)
    return known[id(function)]


def names_in(code: CodeType) -> set[str]:
    """The names that a function looks up, and those within it."""
    inner = [names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)
