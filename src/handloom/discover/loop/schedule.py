"""Which search comes next: under which symmetry, from what, for how long."""

import numpy as np

from handloom.discover.loop.setup import Setup
from handloom.discover.loop.state import State
from handloom.discover.problem import Number
from handloom.discover.search.attempts import ANY, Attempt
from handloom.discover.search.symmetry import NONE

EARLY = 80  # attempts after which searches start from the pool even in the first generation
PREFERENCE = 3  # for the best of the pool: its first tenth is half of the starts
TRIES = 4  # attempts after which a symmetry can be dropped,
NEAR = 0.9  # if it has not led to this share of the best score


def next_attempt(setup: Setup, state: State, from_pool: bool) -> Attempt:
    """The symmetries in turn, but every other time one that did best, or a start from the pool, once that has something
    to offer, or in the first generation one of the starts that are given; the lengths for each follow Luby's
    sequence."""
    seed = next_seed(setup, state)
    if setup.starts and not state.generation and state.number % 2:
        chosen = setup.starts[state.number // 2 % len(setup.starts)].construction
        return Attempt(ANY if state.number % 4 == 1 else NONE, seed, length(setup, state, "start"), chosen)
    if (from_pool or state.number > EARLY) and state.number % 2 and state.ledger.pool.members:
        members = state.ledger.pool.best()
        member = members[int(len(members) * np.random.default_rng(seed).random() ** PREFERENCE)]
        symmetry = ANY if state.number % 4 == 1 else NONE  # keep its symmetry, or break it
        return Attempt(symmetry, seed, length(setup, state, "pool"), member.construction)
    some = promising(setup, state, 1.0 if state.number % 4 < 2 else NEAR) or setup.symmetries
    symmetry = some[state.number // 4 % len(some)]
    return Attempt(symmetry, seed, length(setup, state, symmetry))


def promising(setup: Setup, state: State, share: float) -> list[str]:
    """The symmetries that reached this share of the best score (or, of a small one, came as near); if it is below 1,
    also those tried fewer than TRIES times."""
    reached, merit = state.ledger.best_under, setup.problem.merit
    best = max((reached[name] for name in setup.symmetries if name in reached), key=merit, default=0)
    new = [name for name in setup.symmetries if share < 1.0 and state.turns[name] < TRIES]

    def near(score: Number) -> bool:
        low, high = sorted((score, best))
        return low >= share * high > 0

    return [name for name in setup.symmetries if near(reached.get(name, 0)) or name in new]


def length(setup: Setup, state: State, what: str) -> int:
    """The steps of the next attempt of a kind."""
    state.turns[what] += 1
    return setup.plan.steps * luby(state.turns[what])


def next_seed(setup: Setup, state: State) -> int:
    state.number += 1
    return (setup.plan.seed << 40) + state.number


def luby(i: int) -> int:
    """1, 1, 2, 1, 1, 2, 4, 1, …: how long to search if nobody knows how long is best (Luby, Sinclair, Zuckerman).

    >>> [luby(i) for i in range(1, 16)]
    [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    """
    k = i.bit_length()
    return 1 << (k - 1) if i == (1 << k) - 1 else luby(i - (1 << (k - 1)) + 1)
