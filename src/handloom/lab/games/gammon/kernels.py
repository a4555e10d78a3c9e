"""All of backgammon that Numba compiles: the plays of a roll, the network, learning, the look ahead.

`plays.py`, `value_net.py`, `td_learning.py` and `matches.py` say what each is for, and are what others use. Numba keeps
the compiled functions on disk. It compiles them again when their own file changes, but not when another file changes
from which they call a function: therefore they are all in one. None calls itself, which Numba cannot keep.
"""

import math

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel

BAR, OFF, MEN = 25, 0, 15
MOST_PLAYS = 4096  # of a roll; GNU Backgammon has room for 3,060
LONGEST = 3000  # turns of a game; a longer one is given up
INPUTS, OUTPUTS = 197, 3
WIN, GAMMON, GAMMON_LOST = 0, 1, 2
EMPTY = np.zeros((2, 26), np.int8)


@kernel(cache=True)
def fill_plays(board: Array, one: int, other: int, found: Array) -> int:
    """Write all legal plays of a roll into `found`; how many there are."""
    dice = np.full(4, one)
    if one == other:
        return search(board, dice, 4, found, 0, 0, 0)[0]
    dice[0], dice[1] = max(one, other), min(one, other)
    count, used = search(board, dice, 2, found, 0, 0, 0)
    dice[0], dice[1] = dice[1], dice[0]
    return search(board, dice, 2, found, count, used, 2 if used == 1 else 0)[0]


@kernel(cache=True)
def search(board: Array, dice: Array, rolled: int, found: Array, count: int, used: int, least: int) -> tuple[int, int]:
    """Use the dice in this order. The plays with the most dice used are in `found`: `count` of them, with `used` dice,
    those of an earlier search included. With fewer dice than `least` a play does not count."""
    boards = np.empty((5, 2, 26), np.int8)
    source = np.empty(5, np.int64)  # the next point to try at each depth
    stuck = np.ones(5, np.bool_)
    double = rolled == 4
    depth = 0
    copy(board, boards[0])
    source[0] = BAR
    while depth >= 0:
        point = next_source(boards[depth], dice[depth], source[depth]) if depth < rolled else OFF
        if point == OFF:
            if stuck[depth] and depth >= max(used, least):
                count = 0 if depth > used else count
                used = depth
                count = added(boards[depth], found, count, double)
            depth -= 1
            continue
        stuck[depth] = False
        source[depth] = point - 1
        moved(boards[depth], point, dice[depth], boards[depth + 1])
        depth += 1
        source[depth] = point if double else BAR  # equal dice are used from the rear to the front
        stuck[depth] = True
    return count, used


@kernel(cache=True)
def next_source(board: Array, die: int, upper: int) -> int:
    """The first point from here down from which a man can move with this die; 0 if there is none."""
    rear = BAR
    while board[0, rear] == 0 and rear > OFF:
        rear -= 1
    last = BAR if rear == BAR else 1  # a man on the bar moves first
    for point in range(min(upper, rear), last - 1, -1):
        if board[0, point] > 0:
            target = point - die
            free = board[1, 25 - target] < 2 if target > OFF else rear <= 6 and (target == OFF or point == rear)
            if free:
                return point
    return OFF


@kernel(cache=True)
def copy(board: Array, into: Array) -> None:
    """As a loop: Numba compiles an assignment of whole arrays to more code, which takes longer."""
    for side in range(2):
        for point in range(26):
            into[side, point] = board[side, point]


@kernel(cache=True)
def moved(board: Array, point: int, die: int, after: Array) -> None:
    """Write the board after a man has moved from this point into `after`."""
    copy(board, after)
    target = max(point - die, OFF)
    after[0, point] -= 1
    after[0, target] += 1
    if target > OFF and board[1, 25 - target] == 1:
        after[1, 25 - target] = 0
        after[1, BAR] += 1


@kernel(cache=True)
def added(board: Array, found: Array, count: int, double: bool) -> int:
    """Add a play, unless it is there; equal dice lead to each in one order only."""
    if not double:
        for i in range(count):
            if same(board, found[i]):
                return count
    copy(board, found[count])
    return count + 1


@kernel(cache=True)
def same(board: Array, other: Array) -> bool:
    for side in range(2):
        for point in range(26):
            if board[side, point] != other[side, point]:
                return False
    return True


@kernel(cache=True)
def exchange(board: Array, seen: Array) -> None:
    """Write the board as the other side sees it into `seen`."""
    for point in range(26):
        seen[0, point], seen[1, point] = board[1, point], board[0, point]


@kernel(cache=True)
def points_won(board: Array) -> int:
    """What the side in row 0 has won: 0 while it has men left, 1, 2 for a gammon, 3 for a backgammon."""
    if board[0, OFF] < MEN:
        return 0
    if board[1, OFF] > 0:
        return 1
    for point in range(19, 26):
        if board[1, point] > 0:
            return 3
    return 2


@kernel(cache=True)
def hidden_units(weights: Array) -> int:
    return (len(weights) - OUTPUTS) // (INPUTS + OUTPUTS)


@kernel(cache=True)
def unit(men: int, which: int) -> float:
    """One of the four units of a point."""
    if which < 3:
        return 1.0 if men > which else 0.0
    return 0.5 * (men - 3) if men > 3 else 0.0


@kernel(cache=True, fastmath=True)
def add_row(weights: Array, row: int, amount: float, sums: Array) -> None:
    scale = sums.dtype.type(amount)
    for h in range(len(sums)):
        sums[h] += scale * weights[row * len(sums) + h]


@kernel(cache=True)
def add_changes(weights: Array, before: Array, after: Array, sums: Array) -> None:
    """The sums into the hidden layer, from those for the board `before` to those for the board `after`: the plays of a
    roll differ in a few points only."""
    for side in range(2):
        for point in range(1, BAR):
            old, new = before[side, point], after[side, point]
            if old != new:
                for which in range(4):
                    change = unit(new, which) - unit(old, which)
                    if change != 0.0:
                        add_row(weights, (side * 24 + point - 1) * 4 + which, change, sums)
        if before[side, BAR] != after[side, BAR]:
            add_row(weights, 192 + side, (after[side, BAR] - before[side, BAR]) / 2.0, sums)
        if before[side, OFF] != after[side, OFF]:
            add_row(weights, 194 + side, (after[side, OFF] - before[side, OFF]) / 15.0, sums)


@kernel(cache=True, fastmath=True)
def outputs(weights: Array, sums: Array, active: Array, found: Array) -> None:
    """From the sums to the activities of the hidden units and to the outputs."""
    hidden, one = len(sums), sums.dtype.type(1.0)
    for h in range(hidden):
        active[h] = one / (one + math.exp(-sums[h]))
    for k in range(OUTPUTS):
        total = weights[(INPUTS + OUTPUTS) * hidden + k]
        for h in range(hidden):
            total += weights[(INPUTS + k) * hidden + h] * active[h]
        found[k] = one / (one + math.exp(-total))


@kernel(cache=True)
def equity(found: Array) -> float:
    """Points that the side can expect, a gammon counting two."""
    return 2.0 * found[WIN] - 1.0 + found[GAMMON] - found[GAMMON_LOST]


@kernel(cache=True)
def input_values(board: Array, values: Array) -> None:
    """Write the 197 inputs into `values`."""
    for side in range(2):
        for point in range(1, BAR):
            for which in range(4):
                values[(side * 24 + point - 1) * 4 + which] = unit(board[side, point], which)
        values[192 + side] = board[side, BAR] / 2.0
        values[194 + side] = board[side, OFF] / 15.0
    values[INPUTS - 1] = 1.0


@kernel(cache=True, fastmath=True)
def add_gradients(weights: Array, values: Array, active: Array, found: Array, gradients: Array) -> None:
    """Add the gradients of the three outputs by the weights to `gradients` (3, weights)."""
    hidden = len(active)
    into = np.empty(hidden, weights.dtype)  # how an output changes with a sum into the hidden layer
    for k in range(OUTPUTS):
        slope = found[k] * (1 - found[k])
        gradients[k, (INPUTS + OUTPUTS) * hidden + k] += slope
        for h in range(hidden):
            gradients[k, (INPUTS + k) * hidden + h] += slope * active[h]
            into[h] = slope * weights[(INPUTS + k) * hidden + h] * active[h] * (1 - active[h])
        for i in range(INPUTS):
            if values[i] != 0.0:
                for h in range(hidden):
                    gradients[k, i * hidden + h] += values[i] * into[h]


@kernel(cache=True)
def roll(rng: np.random.Generator, opening: bool) -> tuple[int, int]:
    """Two dice; in the opening roll they differ."""
    one, other = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    while opening and one == other:
        one, other = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    return one, other


@kernel(cache=True)
def fill_equities(weights: Array, board: Array, found: Array, count: int, equities: Array) -> None:
    """Write what each play of a roll on this board is worth to the side that plays it into `equities`."""
    hidden = hidden_units(weights)
    base, result = np.zeros(hidden, weights.dtype), np.empty(OUTPUTS, weights.dtype)
    sums, active = base.copy(), base.copy()
    before, after = board.copy(), board.copy()
    exchange(board, before)
    add_row(weights, INPUTS - 1, 1.0, base)
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
    add_row(weights, INPUTS - 1, 1.0, sums)
    add_changes(weights, EMPTY, board, sums)
    outputs(weights, sums, active, result)
    input_values(board, values)


@kernel(cache=True)
def turned(result: Array) -> None:
    """Outputs for one side become those for the other."""
    result[WIN] = 1 - result[WIN]
    result[GAMMON], result[GAMMON_LOST] = result[GAMMON_LOST], result[GAMMON]


@kernel(cache=True)
def final(points: int, coin: bool, rng: np.random.Generator, target: Array) -> None:
    """The result of a game for the side that made the last play: it has won, unless a coin says otherwise."""
    target[WIN], target[GAMMON], target[GAMMON_LOST] = 1, 1 if points > 1 else 0, 0
    if coin and rng.random() < 0.5:
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
    weights: Array, first: Array, games: int, rate: float, decay: float, coin: bool, rng: np.random.Generator
) -> None:
    found, equities = np.empty((MOST_PLAYS, 2, 26), np.int8), np.empty(MOST_PLAYS)
    board, after = first.copy(), first.copy()
    values, active = np.empty(INPUTS, weights.dtype), np.empty(hidden_units(weights), weights.dtype)
    result, target = np.empty(OUTPUTS, weights.dtype), np.empty(OUTPUTS, weights.dtype)
    traces = np.zeros((OUTPUTS, len(weights)), weights.dtype)
    for _ in range(games):
        traces[:] = 0
        copy(first, board)
        one, other = roll(rng, True)
        won = 0
        while won == 0:
            assess(weights, board, values, active, result)
            pass_on(traces, decay)
            add_gradients(weights, values, active, result, traces)
            won = take_turn(weights, board, one, other, found, equities, after)
            if won > 0:
                final(won, coin, rng, target)
            else:
                assess(weights, after, values, active, target)
                turned(target)
            step(weights, traces, rate, target, result)
            copy(after, board)
            one, other = roll(rng, False)


@kernel(cache=True)
def learn_by_returns(
    weights: Array, first: Array, games: int, rate: float, decay: float, coin: bool, rng: np.random.Generator
) -> None:
    found, equities = np.empty((MOST_PLAYS, 2, 26), np.int8), np.empty(MOST_PLAYS)
    boards = np.empty((LONGEST + 1, 2, 26), np.int8)
    values, active = np.empty(INPUTS, weights.dtype), np.empty(hidden_units(weights), weights.dtype)
    result, target = np.empty(OUTPUTS, weights.dtype), np.empty(OUTPUTS, weights.dtype)
    gradients = np.zeros((OUTPUTS, len(weights)), weights.dtype)
    for _ in range(games):
        turns, won = play_itself(weights, first, rng, boards, found, equities)
        if won == 0:
            continue
        final(won, coin, rng, target)
        for t in range(turns - 1, -1, -1):
            assess(weights, boards[t], values, active, result)
            pass_on(gradients, 0.0)
            add_gradients(weights, values, active, result, gradients)
            step(weights, gradients, rate, target, result)
            for k in range(OUTPUTS):
                target[k] = (1 - decay) * result[k] + decay * target[k]
            turned(target)


@kernel(cache=True)
def play_itself(
    weights: Array, first: Array, rng: np.random.Generator, boards: Array, found: Array, equities: Array
) -> tuple[int, int]:
    """Write the board before each roll of a game into `boards`; how many there are, and the points won by the side that
    rolled last, 0 if the game is given up."""
    copy(first, boards[0])
    one, other = roll(rng, True)
    for turn in range(LONGEST):
        won = take_turn(weights, boards[turn], one, other, found, equities, boards[turn + 1])
        if won > 0:
            return turn + 1, won
        one, other = roll(rng, False)
    return LONGEST, 0


@kernel(cache=True)
def after_reply(weights: Array, play: Array, worst: bool) -> float:
    """What a play is worth to the side that made it, over all rolls of the other side and its best (worst) plays."""
    won = points_won(play)
    if won > 0:
        return float(won)
    found, equities = np.empty((MOST_PLAYS, 2, 26), np.int8), np.empty(MOST_PLAYS)
    board = play.copy()
    exchange(play, board)
    total = 0.0
    for one in range(1, 7):
        for other in range(1, one + 1):
            count = fill_plays(board, one, other, found)
            fill_equities(weights, board, found, count, equities)
            reply = equities[:count].min() if worst else equities[:count].max()
            total -= reply * (1.0 if one == other else 2.0)
    return total / 36.0
