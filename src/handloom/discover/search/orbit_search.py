"""Search among the legal sets of orbits, compiled by Numba: add a free orbit, swap one that is blocked, or ruin.

The state knows for every orbit how many forbidden sets it would complete (`blocked`). Orbits that are chosen, free
(blocked by nothing), blocked once or blocked twice are kept in lists, so that a step looks at nothing else:

    free            add one of them, at random
    blocked once    put it in for one of those that block it; what was taken out may not come back for a while (tabu)
    blocked twice   the same, for two that block it: a loss, which a search makes the more often the bolder it is
    none, or no better score for long: take out some at random (ruin), and let them be replaced (recreate)

A bold search is annealing at one temperature T, with boldness exp(−1/T): of n orbits blocked once and m blocked twice
each of the first is put in with probability 1 / (n + boldness · m), and nothing is ruined. Which boldness is best
depends on the problem, so each search draws its own; every fourth has none, moves among equal scores, and ruins.

Whole numbers are all of one type here, and arrays are copied by loops: Numba then compiles in a third of the time.

Adding and removing take time in proportion to the number of orbits chosen (conflicts.py). The state is always legal.
All randomness is in the state, so that a search in many short runs is the same as in one long one.
"""

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import int64_constant, kernel
from handloom.discover.search.conflicts import Conflicts
from handloom.discover.search.result import SearchResult, Stop, never_stop
from handloom.discover.search.symmetry import Orbits
from handloom.discover.spaces import Construction

CHOSEN, FREE, ONCE, TWICE = map(int64_constant, range(4))  # the lists
MORE, LESS = int64_constant(1), int64_constant(-1)  # what is added to the count of sets that block an orbit
TWO = int64_constant(2)
LISTED = 3  # how often an orbit may be blocked to be in one
STEP, SCORE, BEST, RUINED = 0, 1, 2, 3  # the numbers: of steps, the score, the best score, the step of the last ruin

CHUNK = 0.05  # seconds between two calls of `stop`: soon enough for a user, and rare beside a million steps per second
FIRST_CHUNK, LEAST_CHUNK, GROWTH = 100, 10, 10.0  # steps of the first chunk and of any; each grows at most tenfold
NEVER = 1 << 20  # `blocked` of an orbit that is forbidden by itself: more than sets that can ever block another
TRIED = 8  # draws from a list for an orbit that is not tabu
TENURE = 1  # steps for which an orbit that was taken out is tabu, at least
PATIENCE = 500  # steps without a better score, after which some are taken out
BOLDNESS = (0.003, 0.1)  # of bold searches, the least and the most
HEAT = 0.5  # how readily a heavy orbit is swapped for a lighter one, in weights of the heaviest


class State(NamedTuple):
    """The position of a search."""

    lists: Array  # (4, M)
    place: Array  # (M,) where an orbit stands in its list
    counts: Array  # (4,)
    chosen: Array  # (M,)
    blocked: Array  # (M,)
    tabu: Array  # (M,) the step until which an orbit may not be added
    filled: Array  # (H,) how many orbits of a forbidden set are chosen
    numbers: Array  # (4,)
    random: Array  # (1,) of xorshift64*
    best: Array  # (M,) what was chosen at the best score


class OrbitSearch:
    """Search among the legal unions of orbits. It may run in several threads at once."""

    def __init__(self, orbits: Orbits, tables: Conflicts) -> None:
        self.orbits, self.tables = orbits, tables

    def run(self, seed: int, steps: int, start: Construction | None = None, stop: Stop = never_stop) -> SearchResult:
        state = state_of_start(self.tables, seed, self.orbits_in(start or ()))
        boldness = boldness_of(seed)
        patience = steps if boldness else PATIENCE
        done, chunk = 0, FIRST_CHUNK
        while done < steps and not stop():
            chunk = min(chunk, steps - done)
            began = time.perf_counter()
            make_steps(self.tables, state, chunk, patience, TENURE, boldness)
            done += chunk
            seconds = max(time.perf_counter() - began, 1e-6)
            chunk = max(LEAST_CHUNK, int(chunk * min(GROWTH, CHUNK / seconds)))
        return SearchResult(self.union(state.best), int(state.numbers[BEST]), done)

    def orbits_in(self, start: Construction) -> list[int]:
        """The orbits of which the start contains something, those first of which it contains most."""
        inside = np.bincount(self.orbits.of[list(start)], minlength=len(self.orbits.members)) / self.orbits.weights
        order = np.argsort(-inside, kind="stable")
        return [int(orbit) for orbit in order[: np.count_nonzero(inside)]]

    def union(self, chosen: Any) -> Construction:
        parts = [self.orbits.members[orbit] for orbit in np.nonzero(chosen)[0]]
        return tuple(sorted(np.concatenate(parts).tolist())) if parts else ()

    def whole_share(self, construction: Construction) -> float:
        """The share of a construction that is whole orbits."""
        if not construction:
            return 0.0
        inside = np.bincount(self.orbits.of[list(construction)], minlength=len(self.orbits.members))
        return float(inside[inside == self.orbits.weights].sum() / len(construction))


def boldness_of(seed: int) -> float:
    """Drawn for a search: 0 in one of four, otherwise spread evenly on a scale of factors."""
    rng = np.random.default_rng(seed)
    least, most = BOLDNESS
    return float(least * (most / least) ** rng.random()) if rng.integers(4) else 0.0


def state_of_start(conflicts: Conflicts, seed: int, start: Iterable[int] = ()) -> State:
    """A state with the start's orbits, in the order given, as far as they can be chosen together."""
    size = len(conflicts.weights)
    state = State(
        lists=np.zeros((4, size), np.int64),
        place=np.zeros(size, np.int64),
        counts=np.zeros(4, np.int64),
        chosen=np.zeros(size, np.bool_),
        blocked=np.where(conflicts.never, NEVER, 0).astype(np.int64),
        tabu=np.zeros(size, np.int64),
        filled=np.zeros(len(conflicts.sets), np.int64),
        numbers=np.zeros(4, np.int64),
        random=np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1),
        best=np.zeros(size, np.bool_),
    )
    prepare(conflicts, state, np.fromiter(start, np.int64))
    return state


@kernel(cache=True)
def prepare(c: Conflicts, s: State, start: Array) -> None:
    for orbit in range(len(c.weights)):
        if s.blocked[orbit] == 0:
            enter(s, FREE, orbit)
    for orbit in start:
        if s.blocked[orbit] == 0 and not s.chosen[orbit]:
            add(c, s, orbit)


@kernel(cache=True)
def make_steps(
    c: Conflicts, s: State, steps: int, patience: int = PATIENCE, tenure: int = TENURE, boldness: float = 0.0
) -> None:
    """That many more steps."""
    heat = HEAT * heaviest(c)
    for _ in range(steps):
        s.numbers[STEP] += 1
        orbit = pick(s, FREE)
        if orbit >= 0:
            add(c, s, orbit)
        elif s.numbers[STEP] - s.numbers[RUINED] > patience:
            ruin(c, s, tenure)
        else:
            swap(c, s, heat, tenure, boldness)


@kernel(cache=True, no_cpython_wrapper=True)
def heaviest(c: Conflicts) -> int:
    most = 0
    for weight in c.weights:
        most = max(most, weight)
    return most


@kernel(cache=True, no_cpython_wrapper=True)
def pick(s: State, which: int) -> int:
    """A random orbit of a list that is not tabu; −1 if a few draws give none."""
    for _ in range(TRIED):
        if s.counts[which] == 0:
            return -1
        orbit = s.lists[which, below(s, s.counts[which])]
        if s.tabu[orbit] <= s.numbers[STEP]:
            return orbit
    return -1


@kernel(cache=True, no_cpython_wrapper=True)
def swap(c: Conflicts, s: State, heat: float, tenure: int, boldness: float) -> None:
    """Put in an orbit that is blocked once, or twice, for those that block it; if there is none, take one out."""
    bold = boldness * s.counts[TWICE]
    twice = bold > 0 and unit(s) * (s.counts[ONCE] + bold) < bold
    orbit = pick(s, TWICE if twice else ONCE)
    if orbit < 0:
        if s.counts[CHOSEN]:
            take_out(c, s, s.lists[CHOSEN, below(s, s.counts[CHOSEN])], tenure)
        return
    out = blocker(c, s, orbit)
    loss = c.weights[out] - c.weights[orbit]
    if loss > 0 and unit(s) >= np.exp(-loss / heat):
        return
    take_out(c, s, out, tenure)
    while s.blocked[orbit]:
        take_out(c, s, blocker(c, s, orbit), tenure)
    add(c, s, orbit)


@kernel(cache=True, no_cpython_wrapper=True)
def take_out(c: Conflicts, s: State, orbit: int, tenure: int) -> None:
    remove(c, s, orbit)
    s.tabu[orbit] = s.numbers[STEP] + tenure + below(s, tenure + 1)


@kernel(cache=True, no_cpython_wrapper=True)
def ruin(c: Conflicts, s: State, tenure: int) -> None:
    """Take out a few orbits, sometimes many: all sizes of ruin are about as likely in proportion."""
    s.numbers[RUINED] = s.numbers[STEP]
    if s.counts[CHOSEN]:
        for _ in range(round(s.counts[CHOSEN] ** unit(s))):
            out = s.lists[CHOSEN, below(s, s.counts[CHOSEN])]
            remove(c, s, out)
            s.tabu[out] = s.numbers[STEP] + tenure


@kernel(cache=True, no_cpython_wrapper=True)
def blocker(c: Conflicts, s: State, orbit: int) -> Any:
    """One of the chosen orbits that, together, block an orbit."""
    for i in range(c.pair_starts[orbit], c.pair_starts[orbit + 1]):
        if s.chosen[c.pairs[i]]:
            return c.pairs[i]
    if len(c.triples):
        for k in range(s.counts[CHOSEN]):
            other = s.lists[CHOSEN, k]
            at = orbit * len(s.chosen) + other
            for i in range(c.triple_starts[at], c.triple_starts[at + 1]):
                if s.chosen[c.triples[i]]:
                    return other if below(s, TWO) else np.int64(c.triples[i])
    for i in range(c.row_starts[orbit], c.row_starts[orbit + 1]):
        row = c.sets[c.rows[i]]
        if s.filled[c.rows[i]] == size_of(row) - 1:
            return another(s, row, orbit)
    return -1


@kernel(cache=True, no_cpython_wrapper=True)
def another(s: State, row: Array, orbit: int) -> int:
    """Any other orbit of a set."""
    while True:
        other = row[below(s, size_of(row))]
        if other != orbit:
            return other


@kernel(cache=True, no_cpython_wrapper=True)
def size_of(row: Array) -> int:
    size = len(row)
    while row[size - 1] < 0:
        size -= 1
    return size


@kernel(cache=True, no_cpython_wrapper=True)
def add(c: Conflicts, s: State, orbit: int) -> None:
    """Choose a free orbit."""
    leave(s, FREE, orbit)
    shift_all(c, s, orbit, MORE)
    for i in range(c.row_starts[orbit], c.row_starts[orbit + 1]):
        row = c.sets[c.rows[i]]
        s.filled[c.rows[i]] += 1
        if s.filled[c.rows[i]] == size_of(row) - 1:
            shift(s, missing(s, row, orbit), MORE)
    s.chosen[orbit] = True
    enter(s, CHOSEN, orbit)
    s.numbers[SCORE] += c.weights[orbit]
    if s.numbers[SCORE] > s.numbers[BEST]:
        s.numbers[BEST], s.numbers[RUINED] = s.numbers[SCORE], s.numbers[STEP]
        for i in range(len(s.best)):
            s.best[i] = s.chosen[i]


@kernel(cache=True, no_cpython_wrapper=True)
def remove(c: Conflicts, s: State, orbit: int) -> None:
    """Take out an orbit, which is then free: of a legal set nothing blocks what is in it."""
    leave(s, CHOSEN, orbit)
    s.chosen[orbit] = False
    shift_all(c, s, orbit, LESS)
    for i in range(c.row_starts[orbit], c.row_starts[orbit + 1]):
        row = c.sets[c.rows[i]]
        if s.filled[c.rows[i]] == size_of(row) - 1:
            shift(s, missing(s, row, orbit), LESS)
        s.filled[c.rows[i]] -= 1
    enter(s, FREE, orbit)
    s.numbers[SCORE] -= c.weights[orbit]


@kernel(cache=True, no_cpython_wrapper=True)
def shift_all(c: Conflicts, s: State, orbit: int, by: int) -> None:
    """Count what pairs and triples with this orbit block once more, or once less."""
    for i in range(c.pair_starts[orbit], c.pair_starts[orbit + 1]):
        shift(s, c.pairs[i], by)
    if len(c.triples):
        for k in range(s.counts[CHOSEN]):
            at = orbit * len(s.chosen) + s.lists[CHOSEN, k]
            for i in range(c.triple_starts[at], c.triple_starts[at + 1]):
                shift(s, np.int64(c.triples[i]), by)


@kernel(cache=True, no_cpython_wrapper=True)
def missing(s: State, row: Array, orbit: int) -> int:
    """The one orbit of a set that is neither chosen nor this one."""
    for other in row:
        if other != orbit and not s.chosen[other]:
            return other
    return -1


@kernel(cache=True, no_cpython_wrapper=True)
def shift(s: State, orbit: Any, by: int) -> None:
    """Count one set more that blocks an orbit, or one less."""
    if s.blocked[orbit] < LISTED:
        leave(s, FREE + s.blocked[orbit], orbit)
    s.blocked[orbit] += by
    if s.blocked[orbit] < LISTED:
        enter(s, FREE + s.blocked[orbit], orbit)


@kernel(cache=True, no_cpython_wrapper=True)
def enter(s: State, which: int, orbit: int) -> None:
    s.place[orbit] = s.counts[which]
    s.lists[which, s.counts[which]] = orbit
    s.counts[which] += 1


@kernel(cache=True, no_cpython_wrapper=True)
def leave(s: State, which: int, orbit: int) -> None:
    s.counts[which] -= 1
    last = s.lists[which, s.counts[which]]
    s.lists[which, s.place[orbit]] = last
    s.place[last] = s.place[orbit]


@kernel(cache=True, no_cpython_wrapper=True)
def draw(s: State) -> Any:
    """64 random bits: xorshift64*."""
    x = s.random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    s.random[0] = x
    return x * np.uint64(0x2545F4914F6CDD1D)


@kernel(cache=True, no_cpython_wrapper=True)
def below(s: State, most: int) -> Any:
    return np.int64((draw(s) >> np.uint64(11)) % np.uint64(most))


@kernel(cache=True, no_cpython_wrapper=True)
def unit(s: State) -> float:
    return (draw(s) >> np.uint64(11)) * 2.0**-53
