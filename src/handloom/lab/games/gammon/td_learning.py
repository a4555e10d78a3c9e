"""Temporal-difference learning, TD(λ), of the network's chances from games against itself.

    weights = first_weights(40, rng)
    learn(weights, Learning(games=1000), seed=0)       # changes the weights

Every turn the network plays the move after which it expects most; the dice are all the exploration there is. Let Y_t be
its outputs before roll t, for the side that rolls, and Y'_{t+1} the next outputs turned to the same side (a win is
the other's loss), or the result if the game is over.

- `traces`, Tesauro's rule: after each turn w ← w + α (Y'_{t+1} − Y_t) e_t with e_t = λ e'_{t−1} + ∇Y_t, for each
  output. The traces change sides each turn, as the outputs do.
- `returns`: after the game, from its last turn back, w ← w + α (G_t − Y_t) ∇Y_t with G_t = (1 − λ) Y'_{t+1} + λ G'_{t+1}.

With weights that stay the same during a game the two are one (Sutton 1988).
"""

from dataclasses import dataclass

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel
from handloom.lab.games.gammon.plays import MOST_PLAYS, copy, exchange, fill_plays, points_won, start
from handloom.lab.games.gammon.value_net import (
    EMPTY,
    GAMMON,
    GAMMON_LOST,
    INPUTS,
    OUTPUTS,
    WIN,
    add_bias,
    add_changes,
    add_gradients,
    equity,
    hidden_units,
    input_values,
    outputs,
)

LONGEST = 3000  # turns of a game; a longer one is given up


@dataclass(frozen=True)
class Learning:
    """How to learn: so many games, the rate α, the decay λ, by traces or by returns. In a control the winner of each
    game is drawn by a coin."""

    games: int
    rate: float = 0.1
    decay: float = 0.0
    traces: bool = False
    coin: bool = False


def learn(weights: Array, how: Learning, seed: int) -> None:
    """Change the weights by learning from games that depend on the seed."""
    rule = learn_by_traces if how.traces else learn_by_returns
    rule(weights, start(), how.games, how.rate, how.decay, how.coin, seed)


@kernel(cache=True)
def rolled() -> int:
    return np.random.randint(1, 7)


@kernel(cache=True)
def opening_roll() -> tuple[int, int]:
    """Each side rolls one die, until they differ."""
    one, other = rolled(), rolled()
    while one == other:
        one, other = rolled(), rolled()
    return one, other


@kernel(cache=True)
def fill_equities(weights: Array, board: Array, found: Array, count: int, equities: Array) -> None:
    """Write what each play of a roll on this board is worth to the side that plays it into `equities`."""
    hidden = hidden_units(weights)
    base, sums, active = np.zeros(hidden, weights.dtype), np.empty(hidden, weights.dtype), np.empty(hidden, weights.dtype)
    result = np.empty(OUTPUTS, weights.dtype)
    before, after = np.empty((2, 26), np.int8), np.empty((2, 26), np.int8)
    exchange(board, before)
    add_bias(weights, base)
    add_changes(weights, EMPTY, before, base)
    for i in range(count):
        equities[i] = points_won(found[i])
        if equities[i] == 0:
            for h in range(hidden):
                sums[h] = base[h]
            exchange(found[i], after)
            add_changes(weights, before, after, sums)
            outputs(weights, sums, active, result)
            equities[i] = -equity(result)


@kernel(cache=True)
def take_turn(weights: Array, board: Array, one: int, other: int, found: Array, equities: Array, after: Array) -> int:
    """Write the board after the best play, seen by the side that rolls next, into `after`; the points won, or 0."""
    count = fill_plays(board, one, other, found)
    fill_equities(weights, board, found, count, equities)
    best = 0
    for i in range(1, count):
        if equities[i] > equities[best]:
            best = i
    exchange(found[best], after)
    return points_won(found[best])


@kernel(cache=True)
def assess(weights: Array, board: Array, values: Array, active: Array, result: Array) -> None:
    """The inputs, the activities of the hidden units and the outputs of the network for a board."""
    sums = np.zeros(len(active), weights.dtype)
    add_bias(weights, sums)
    add_changes(weights, EMPTY, board, sums)
    outputs(weights, sums, active, result)
    input_values(board, values)


@kernel(cache=True)
def turned(result: Array) -> None:
    """Outputs for one side become those for the other."""
    result[WIN] = 1 - result[WIN]
    result[GAMMON], result[GAMMON_LOST] = result[GAMMON_LOST], result[GAMMON]


@kernel(cache=True)
def final(points: int, coin: bool, target: Array) -> None:
    """The result of a game for the side that made the last play: it has won, unless a coin says otherwise."""
    target[WIN], target[GAMMON], target[GAMMON_LOST] = 1, 1 if points > 1 else 0, 0
    if coin and np.random.random() < 0.5:
        turned(target)


@kernel(cache=True, fastmath=True)
def pass_on(traces: Array, decay: float) -> None:
    """λ times the traces, for the other side: those of a win change sign, those of gammons change places."""
    factor = traces.dtype.type(decay)
    for j in range(traces.shape[1]):
        gammon = traces[GAMMON, j]
        traces[WIN, j] = -factor * traces[WIN, j]
        traces[GAMMON, j] = factor * traces[GAMMON_LOST, j]
        traces[GAMMON_LOST, j] = factor * gammon


@kernel(cache=True, fastmath=True)
def step(weights: Array, traces: Array, rate: float, target: Array, result: Array) -> None:
    """w ← w + α Σ (target − result) e over the outputs."""
    size = weights.dtype.type(rate)
    win, gammon = size * (target[WIN] - result[WIN]), size * (target[GAMMON] - result[GAMMON])
    lost = size * (target[GAMMON_LOST] - result[GAMMON_LOST])
    for j in range(len(weights)):
        weights[j] += win * traces[WIN, j] + gammon * traces[GAMMON, j] + lost * traces[GAMMON_LOST, j]


@kernel(cache=True)
def learn_by_traces(
    weights: Array, first: Array, games: int, rate: float, decay: float, coin: bool, seed: int
) -> None:
    np.random.seed(seed)
    found, equities = np.empty((MOST_PLAYS, 2, 26), np.int8), np.empty(MOST_PLAYS)
    board, after = first.copy(), first.copy()
    values, active = np.empty(INPUTS, weights.dtype), np.empty(hidden_units(weights), weights.dtype)
    result, target = np.empty(OUTPUTS, weights.dtype), np.empty(OUTPUTS, weights.dtype)
    unused_values, unused_active = values.copy(), active.copy()
    traces = np.zeros((OUTPUTS, len(weights)), weights.dtype)
    for _ in range(games):
        traces[:] = 0
        copy(first, board)
        one, other = opening_roll()
        won = 0
        while won == 0:
            assess(weights, board, values, active, result)
            pass_on(traces, decay)
            add_gradients(weights, values, active, result, traces)
            won = take_turn(weights, board, one, other, found, equities, after)
            if won > 0:
                final(won, coin, target)
            else:
                assess(weights, after, unused_values, unused_active, target)
                turned(target)
            step(weights, traces, rate, target, result)
            copy(after, board)
            one, other = rolled(), rolled()


@kernel(cache=True)
def learn_by_returns(
    weights: Array, first: Array, games: int, rate: float, decay: float, coin: bool, seed: int
) -> None:
    np.random.seed(seed)
    found, equities = np.empty((MOST_PLAYS, 2, 26), np.int8), np.empty(MOST_PLAYS)
    boards = np.empty((LONGEST + 1, 2, 26), np.int8)
    values, active = np.empty(INPUTS, weights.dtype), np.empty(hidden_units(weights), weights.dtype)
    result, target = np.empty(OUTPUTS, weights.dtype), np.empty(OUTPUTS, weights.dtype)
    for _ in range(games):
        turns, won = play_itself(weights, first, boards, found, equities)
        if won == 0:
            continue
        final(won, coin, target)
        for t in range(turns - 1, -1, -1):
            assess(weights, boards[t], values, active, result)
            step_once(weights, values, active, result, target, rate)
            for k in range(OUTPUTS):
                target[k] = (1 - decay) * result[k] + decay * target[k]
            turned(target)


@kernel(cache=True)
def play_itself(weights: Array, first: Array, boards: Array, found: Array, equities: Array) -> tuple[int, int]:
    """Write the board before each roll of a game into `boards`; how many there are, and the points won by the side that
    rolled last, 0 if the game is given up."""
    copy(first, boards[0])
    one, other = opening_roll()
    for turn in range(LONGEST):
        won = take_turn(weights, boards[turn], one, other, found, equities, boards[turn + 1])
        if won > 0:
            return turn + 1, won
        one, other = rolled(), rolled()
    return LONGEST, 0


@kernel(cache=True, fastmath=True)
def step_once(weights: Array, values: Array, active: Array, result: Array, target: Array, rate: float) -> None:
    """w ← w + α Σ (target − result) ∇result over the outputs, through the inputs that are not zero."""
    hidden = len(active)
    into = np.zeros(hidden, weights.dtype)  # how the sums into the hidden layer should change
    for k in range(OUTPUTS):
        change = weights.dtype.type(rate) * (target[k] - result[k]) * result[k] * (1 - result[k])
        for h in range(hidden):
            into[h] += change * weights[(INPUTS + k) * hidden + h] * active[h] * (1 - active[h])
            weights[(INPUTS + k) * hidden + h] += change * active[h]
        weights[(INPUTS + OUTPUTS) * hidden + k] += change
    for i in range(INPUTS):
        if values[i] != 0.0:
            for h in range(hidden):
                weights[i * hidden + h] += values[i] * into[h]
