"""Search of a game tree by simulations, guided by a network (PUCT), and games that a network plays against itself.

A simulation descends from the root, each time to the move with the largest Q + c P √N / (1 + n), where Q is the mean
value found behind the move, P the network's probability of it, n the visits of the move and N those of all moves. A new
position ends the descent: the network values it, and the value is counted, with alternating signs, for every move on
the way (Silver et al. 2017). Without guidance P is uniform, and a new position is valued by one random game (UCT).
"""

import numpy as np

from handloom.core.arrays import Array
from handloom.discover.search.compiling import kernel
from handloom.lab.games.connect_four import CELLS, EMPTY, FULL, WIDTH, stone, won
from handloom.lab.games.line_network import Network, evaluate

EXPLORE = 1.5  # c of PUCT
NOISE = 0.25  # of the root's probabilities in self-play, spread at random over the moves


@kernel(cache=True)
def assess(net: Network, guided: bool, own: int, mask: int, priors: Array, rng: np.random.Generator) -> float:
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
    net: Network, guided: bool, own: int, mask: int, simulations: int, noise: float, rng: np.random.Generator
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
    net: Network, games: int, simulations: int, longest: int, rng: np.random.Generator
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
    net: Network, guided: bool, own: Array, mask: Array, simulations: int, rng: np.random.Generator
) -> Array:
    """The column that a search visits most, for each position."""
    moves = np.zeros(len(own), np.int64)
    for i in range(len(own)):
        moves[i] = np.argmax(search(net, guided, own[i], mask[i], simulations, 0.0, rng)[0])
    return moves


@kernel(cache=True)
def raw_moves(net: Network, own: Array, mask: Array) -> Array:
    """The network's most likely column, for each position, without any search."""
    moves, priors = np.zeros(len(own), np.int64), np.zeros(WIDTH, np.float32)
    for i in range(len(own)):
        evaluate(net, own[i], mask[i], priors)
        moves[i] = np.argmax(priors)
    return moves
