"""All of connect four that Numba compiles: the board, its solution, the network, the search, games of self-play.

`connect_four.py`, `line_network.py` and `self_play.py` are what others use. Numba keeps compiled functions on disk and
compiles them again when their own file changes, but not when a function changes that they call from another file:
therefore they are all in this one.

The board: see `connect_four.py`. The search is PUCT (Silver et al. 2017). A simulation descends from the root, each
time to the move with the largest Q + c P √N / (1 + n), where Q is the mean value found behind the move, P the network's
probability of it, n the visits of the move and N those of all moves. A new position ends the descent: the network
values it, and the value is counted, with alternating signs, for every move on the way. Without guidance P is uniform,
and a new position is valued by one random game (UCT).
"""

from typing import Any, NamedTuple

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel

WIDTH, HEIGHT = 5, 4
CELLS = WIDTH * HEIGHT
UP = HEIGHT + 1  # bits of a column
COLUMN = 2**HEIGHT - 1
FULL = sum(COLUMN << UP * column for column in range(WIDTH))
UNKNOWN = 2
EMPTY = 0
STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))  # columns and rows from one cell of a line to the next
EXPLORE = 1.5  # c of PUCT
NOISE = 0.25  # of the root's probabilities in self-play, spread at random over the moves


def lines_of_four() -> list[int]:
    """The lines as bits."""
    found = []
    for column in range(WIDTH):
        for row in range(HEIGHT):
            for across, up in STEPS:
                cells = [(column + i * across, row + i * up) for i in range(4)]
                if all(0 <= a < WIDTH and 0 <= b < HEIGHT for a, b in cells):
                    found.append(sum(1 << UP * a + b for a, b in cells))
    return found


LINES = np.array(lines_of_four())
INPUTS = 2 * CELLS + 6 * len(LINES)


class FourNet(NamedTuple):
    """Weights; a row of them for each input."""

    W1: Array  # (INPUTS, A)
    b1: Array
    W2: Array  # (A, B)
    b2: Array
    W3: Array  # (B, 6): five logits, and the value before tanh
    b3: Array


@kernel(cache=True)
def won(stones: int) -> bool:
    """Whether these stones have four in a row: up, across, or along a diagonal."""
    for step in (1, HEIGHT, UP, UP + 1):
        pairs = stones & (stones >> step)
        if pairs & (pairs >> 2 * step):
            return True
    return False


@kernel(cache=True)
def stone(mask: int, column: int) -> int:
    """The bit of the lowest free cell of a column; 0 if it is full."""
    return (mask + (1 << UP * column)) & (COLUMN << UP * column)


@kernel(cache=True)
def find_positions(values: Array, own: Array, mask: Array) -> int:
    """Every position that can be reached, those with fewer stones first; returns how many."""
    count, at = 1, 0
    values[0] = 0
    while at < count:
        mine, every = own[at], mask[at]
        at += 1
        if won(every ^ mine):
            continue
        for column in range(WIDTH):
            new = stone(every, column)
            theirs, all_stones = every ^ mine, every | new
            if new and values[theirs + all_stones] == UNKNOWN:
                values[theirs + all_stones] = 0
                own[count], mask[count] = theirs, all_stones
                count += 1
    return count


@kernel(cache=True)
def find_values(values: Array, own: Array, mask: Array, count: int) -> None:
    """Minimax, from the positions with most stones to the empty board."""
    for at in range(count - 1, -1, -1):
        mine, every = own[at], mask[at]
        if won(every ^ mine):
            values[mine + every] = -1
        elif every != FULL:
            best = -1
            for column in range(WIDTH):
                new = stone(every, column)
                if new:
                    best = max(best, -values[(every ^ mine) + (every | new)])
            values[mine + every] = best


@kernel(cache=True)
def best_moves(values: Array, own: int, mask: int) -> Array:
    """For each column whether a stone there keeps the value of the position."""
    best = np.zeros(WIDTH, np.bool_)
    for column in range(WIDTH):
        new = stone(mask, column)
        if new:
            best[column] = -values[(mask ^ own) + (mask | new)] == values[own + mask]
    return best


@kernel(cache=True)
def active_inputs(own: int, mask: int, active: Array) -> int:
    """Writes which inputs are 1; returns how many."""
    count, theirs = 0, own ^ mask
    for cell in range(CELLS):
        bit = 1 << (UP * (cell // HEIGHT) + cell % HEIGHT)
        if mask & bit:
            active[count] = cell if own & bit else CELLS + cell
            count += 1
    for line in range(len(LINES)):
        mine, other = LINES[line] & own, LINES[line] & theirs
        if (mine == 0) != (other == 0):
            left, stones = mine | other, 0
            while left:
                left &= left - 1
                stones += 1
            if stones < 4:
                side = 0 if mine else 3
                active[count] = 2 * CELLS + (side + stones - 1) * len(LINES) + line
                count += 1
    return count


@kernel(cache=True)
def encoded(own: Array, mask: Array) -> Array:
    """The inputs of many positions, (B, INPUTS)."""
    rows = np.zeros((len(own), INPUTS), np.float32)
    active = np.zeros(INPUTS, np.int64)
    for i in range(len(own)):
        for k in range(active_inputs(own[i], mask[i], active)):
            rows[i, active[k]] = 1
    return rows


@kernel(cache=True)
def evaluate(net: FourNet, own: int, mask: int, priors: Array) -> float:
    """The value of a position to the player to move; writes the probabilities of the columns, 0 for full ones."""
    active = np.empty(INPUTS, np.int64)
    first, second = net.b1.copy(), net.b2.copy()
    for k in range(active_inputs(own, mask, active)):
        add_row(net.W1[active[k]], np.float32(1.0), first)
    for i in range(len(first)):
        if first[i] > 0:
            add_row(net.W2[i], first[i], second)
    out = net.b3.copy()
    for i in range(len(second)):
        if second[i] > 0:
            add_row(net.W3[i], second[i], out)
    total = 0.0
    for column in range(WIDTH):
        priors[column] = np.exp(min(out[column], 60.0)) if stone(mask, column) else 0.0
        total += priors[column]
    for column in range(WIDTH):
        priors[column] /= total
    return np.tanh(out[WIDTH])


@kernel(cache=True)
def add_row(row: Array, factor: np.floating[Any], onto: Array) -> None:
    """onto += factor · row, in a loop, so that no array is made."""
    for j in range(len(onto)):
        onto[j] += factor * row[j]


@kernel(cache=True)
def assess(net: FourNet, guided: bool, own: int, mask: int, priors: Array, rng: np.random.Generator) -> float:
    """The value of a new position, and the probabilities of its moves: the network's, or those of a random game."""
    if guided:
        return evaluate(net, own, mask, priors)
    for column in range(WIDTH):
        priors[column] = 1.0 / WIDTH if stone(mask, column) else 0.0
    return random_game(own, mask, rng)


@kernel(cache=True)
def random_game(own: int, mask: int, rng: np.random.Generator) -> float:
    """The result, to the player to move, of a game that goes on at random."""
    sign = 1.0
    while mask != FULL:
        own, mask = mask ^ own, mask | stone(mask, random_column(mask, rng))
        if won(mask ^ own):
            return sign
        sign = -sign
    return 0.0


@kernel(cache=True)
def random_column(mask: int, rng: np.random.Generator) -> int:
    """A column that is not full; all are equally likely."""
    while True:
        column = int(rng.random() * WIDTH)
        if stone(mask, column):
            return column


@kernel(cache=True)
def selected(priors: Array, visits: Array, totals: Array, mask: int) -> int:
    """The column that a simulation takes."""
    root = np.sqrt(visits.sum() + 1.0)
    best, move = -np.inf, -1
    for column in range(WIDTH):
        if stone(mask, column):
            n = visits[column]
            score = EXPLORE * priors[column] * root / (1 + n) + (totals[column] / n if n else 0.0)
            if score > best:
                best, move = score, column
    return move


@kernel(cache=True)
def search(
    net: FourNet, guided: bool, own: int, mask: int, simulations: int, noise: float, rng: np.random.Generator
) -> tuple[Array, float]:
    """How often each column was taken at the root, and the mean value found there."""
    child = np.full((simulations + 1, WIDTH), -1, np.int32)
    visits, totals = np.zeros(child.shape), np.zeros(child.shape)
    priors = np.zeros(child.shape, np.float32)
    nodes, moves = np.zeros(CELLS, np.int32), np.zeros(CELLS, np.int32)
    assess(net, guided, own, mask, priors[0], rng)
    spread(priors[0], noise, rng)
    count = 1
    for _ in range(simulations):
        node, mine, every, depth = 0, own, mask, 0
        while True:
            move = selected(priors[node], visits[node], totals[node], every)
            nodes[depth], moves[depth] = node, move
            depth += 1
            mine, every = every ^ mine, every | stone(every, move)
            if won(every ^ mine):
                value = -1.0
                break
            if every == FULL:
                value = 0.0
                break
            if child[node, move] < 0:
                child[node, move] = count
                value = assess(net, guided, mine, every, priors[count], rng)
                count += 1
                break
            node = child[node, move]
        for k in range(depth - 1, -1, -1):
            value = -value
            visits[nodes[k], moves[k]] += 1
            totals[nodes[k], moves[k]] += value
    return visits[0], totals[0].sum() / simulations


@kernel(cache=True)
def spread(priors: Array, noise: float, rng: np.random.Generator) -> None:
    """Mix probabilities with a point drawn uniformly from all distributions over the same moves."""
    draws = np.zeros(WIDTH)
    for column in range(WIDTH):
        if priors[column] > 0:
            draws[column] = -np.log(1.0 - rng.random())
    for column in range(WIDTH):
        priors[column] = (1 - noise) * priors[column] + noise * draws[column] / draws.sum()


@kernel(cache=True)
def random_opening(longest: int, rng: np.random.Generator) -> tuple[int, int]:
    """A position after up to `longest` random moves that is not over."""
    while True:
        own, mask = EMPTY, EMPTY
        for _ in range(int(rng.random() * (longest + 1))):
            own, mask = mask ^ own, mask | stone(mask, random_column(mask, rng))
            if won(mask ^ own) or mask == FULL:
                break
        if not won(mask ^ own) and mask != FULL:
            return own, mask


@kernel(cache=True)
def self_play_games(
    net: FourNet, games: int, simulations: int, longest: int, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Games of the network against itself from random openings: the positions (own, mask) in which a move was searched
    for, the visits' shares, and a value: half the game's result, half what the search found."""
    own, mask = np.zeros(games * CELLS, np.int64), np.zeros(games * CELLS, np.int64)
    shares, values = np.zeros((games * CELLS, WIDTH), np.float32), np.zeros(games * CELLS, np.float32)
    end = 0
    for _ in range(games):
        begin = end
        mine, every = random_opening(longest, rng)
        while not won(every ^ mine) and every != FULL:
            visits, found = search(net, True, mine, every, simulations, NOISE, rng)
            own[end], mask[end], values[end] = mine, every, found
            shares[end] = visits / visits.sum()
            move = drawn(shares[end], rng)
            end += 1
            mine, every = every ^ mine, every | stone(every, move)
        result = -1.0 if won(every ^ mine) else 0.0  # to the player who would be next
        for k in range(end - 1, begin - 1, -1):
            result = -result
            values[k] = (values[k] + result) / 2
    return own[:end], mask[:end], shares[:end], values[:end]


@kernel(cache=True)
def drawn(shares: Array, rng: np.random.Generator) -> int:
    """A column, as likely as its share."""
    left = rng.random() * shares.sum()
    column = 0
    for k in range(WIDTH):
        if shares[k] > 0:
            column = k
            left -= shares[k]
            if left <= 0:
                break
    return column


@kernel(cache=True)
def searched_moves(
    net: FourNet, guided: bool, own: Array, mask: Array, simulations: int, rng: np.random.Generator
) -> Array:
    """The column that a search visits most, for each position."""
    moves = np.zeros(len(own), np.int64)
    for i in range(len(own)):
        moves[i] = np.argmax(search(net, guided, own[i], mask[i], simulations, 0.0, rng)[0])
    return moves


@kernel(cache=True)
def raw_moves(net: FourNet, own: Array, mask: Array) -> Array:
    """The network's most likely column, for each position, without any search."""
    moves, priors = np.zeros(len(own), np.int64), np.zeros(WIDTH, np.float32)
    for i in range(len(own)):
        evaluate(net, own[i], mask[i], priors)
        moves[i] = np.argmax(priors)
    return moves
