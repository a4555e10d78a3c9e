"""Connect four against known counts and a slow solver; the network against differences; the search; the experiment."""

from functools import cache

import numpy as np
import pytest

from handloom.lab.experiment import Lab
from handloom.lab.games import self_play
from handloom.lab.games.connect_four import mirrored, solve
from handloom.lab.games.four_kernels import (
    CELLS,
    EMPTY,
    FULL,
    HEIGHT,
    INPUTS,
    LINES,
    UP,
    WIDTH,
    encoded,
    evaluate,
    random_opening,
    search,
    self_play_games,
)
from handloom.lab.games.line_network import loss_and_gradients, new_adam, new_network, train_step

STONES = np.array([[UP * column + row for row in range(HEIGHT)] for column in range(WIDTH)])


def columns_of(own, mask):
    """A position as the slow solver has it: the stones of each column from below, m of the player to move, t theirs."""
    return tuple(
        "".join("m" if own >> bit & 1 else "t" for bit in column if mask >> bit & 1) for column in STONES.tolist()
    )


def four(columns, player):
    """Whether a player has four in a row, found by looking at every cell in every direction."""

    def has(column, row):
        inside = 0 <= column < WIDTH and 0 <= row < len(columns[column])
        return inside and columns[column][row] == player

    directions = ((0, 1), (1, 0), (1, 1), (1, -1))
    cells = [(column, row) for column in range(WIDTH) for row in range(HEIGHT)]
    return any(all(has(c + i * a, r + i * b) for i in range(4)) for c, r in cells for a, b in directions)


@cache
def slow_value(columns):
    """Plain minimax on strings, to the player to move."""
    if four(columns, "t"):
        return -1
    moves = [i for i in range(WIDTH) if len(columns[i]) < HEIGHT]
    return max((-slow_value(after(columns, i)) for i in moves), default=0)


def after(columns, move):
    exchanged = [text.translate(str.maketrans("mt", "tm")) for text in columns]
    exchanged[move] += "t"
    return tuple(exchanged)


def late_positions(count, fewest):
    solved = solve()
    stones = np.bitwise_count(solved.mask)
    late = np.flatnonzero(stones >= fewest)
    chosen = np.random.default_rng(0).choice(late, count, replace=False)
    return zip(solved.own[chosen].tolist(), solved.mask[chosen].tolist(), strict=True)


def test_the_board_has_as_many_positions_as_tromp_counted_and_is_a_draw():
    solved = solve()
    assert len(solved.own) == 3_945_711
    assert solved.value(EMPTY, EMPTY) == 0
    assert np.bitwise_count(solved.mask).max() == CELLS
    assert len(LINES) == 17


def test_the_first_levels_have_as_many_positions_as_can_be_counted_by_hand():
    """One stone in 5 columns; then 5 answers each; then 5 · (1 · 5 + 4 · (3/2 + 2)) as two stones of one player
    commute when they are in different columns."""
    counts = np.bincount(np.bitwise_count(solve().mask))
    assert counts[:3].tolist() == [1, 5, 25]
    assert counts[3] == 5 * (1 * 5 + 4 * (3 / 2 + 2))


def test_a_mirrored_position_has_the_mirrored_value_and_moves():
    solved = solve()
    np.testing.assert_array_equal(
        solved.values[solved.own + solved.mask], solved.values[mirrored(solved.own) + mirrored(solved.mask)]
    )
    for own, mask in late_positions(50, 8):
        flat = [int(mirrored(np.array(one))) for one in (own, mask)]
        if not four(columns_of(own, mask), "t"):
            assert solved.best(own, mask) == solved.best(*flat)[::-1]


def test_late_positions_have_the_value_that_plain_minimax_finds():
    solved = solve()
    for own, mask in late_positions(120, 13):
        assert solved.value(own, mask) == slow_value(columns_of(own, mask))


def network():
    return new_network(np.random.default_rng(0), 24, 12)


def some_positions(count):
    rng = np.random.default_rng(3)
    own, mask = np.array([random_opening(14, rng) for _ in range(count)]).T
    return own, mask


def test_the_inputs_are_the_stones_and_the_lines_that_one_player_has_entered():
    own, mask = some_positions(40)
    for one, every, row in zip(own.tolist(), mask.tolist(), encoded(own, mask), strict=True):
        bits = STONES.ravel().tolist()
        stones = [one >> b & 1 for b in bits] + [(one ^ every) >> b & 1 for b in bits]
        counts = [((line & one).bit_count(), (line & (one ^ every)).bit_count()) for line in LINES.tolist()]
        mine = [count == (k, 0) for k in (1, 2, 3) for count in counts]
        theirs = [count == (0, k) for k in (1, 2, 3) for count in counts]
        assert row.tolist() == [*stones, *mine, *theirs]


def test_the_compiled_network_computes_what_the_trained_one_does():
    net = network()
    own, mask = some_positions(20)
    first = np.maximum(encoded(own, mask) @ net.W1 + net.b1, 0)
    out = np.maximum(first @ net.W2 + net.b2, 0) @ net.W3 + net.b3
    weights = np.exp(out[:, :WIDTH]) * self_play.allowed(mask)
    for i in range(len(own)):
        priors = np.zeros(WIDTH, np.float32)
        value = evaluate(net, own[i], mask[i], priors)
        np.testing.assert_allclose(priors, weights[i] / weights[i].sum(), rtol=1e-4)
        np.testing.assert_allclose(value, np.tanh(out[i, WIDTH]), rtol=1e-3, atol=1e-6)


def test_gradients_agree_with_differences():
    net = type(network())(*(array.astype(float) for array in network()))
    rng = np.random.default_rng(1)
    own, mask = some_positions(30)
    data = encoded(own, mask).astype(float), rng.dirichlet(np.ones(WIDTH), 30), rng.uniform(-1, 1, 30)
    _, gradients = loss_and_gradients(net, *data)
    for array, gradient in zip(net, gradients, strict=True):
        at = np.unravel_index(np.abs(gradient).argmax(), gradient.shape)
        found = []
        for sign in (1, -1):
            array[at] += sign * 1e-6
            found.append(loss_and_gradients(net, *data)[0])
            array[at] -= sign * 1e-6
        assert (found[0] - found[1]) / 2e-6 == pytest.approx(gradient[at], rel=1e-3)


def test_training_lowers_the_loss():
    net, (own, mask) = network(), some_positions(200)
    policy = np.eye(WIDTH, dtype=np.float32)[own % WIDTH]
    data = encoded(own, mask), policy, np.ones(200, np.float32)
    adam = new_adam(net)
    losses = [train_step(net, adam, *data, 3e-3, step) for step in range(1, 200)]
    assert losses[-1] < 0.5 * losses[0]
    assert net.W1.shape == (INPUTS, 24)
    assert net.W1.dtype == np.float32


@pytest.mark.parametrize("guided", [True, False])
def test_many_simulations_find_the_moves_of_the_exact_solution(guided):
    solved, rng = solve(), np.random.default_rng(0)
    for own, mask in late_positions(60, 13):
        if mask != FULL and not four(columns_of(own, mask), "t"):
            visits, value = search(network(), guided, own, mask, 2000, 0.0, rng)
            assert solved.best(own, mask)[int(np.argmax(visits))]
            assert value == pytest.approx(solved.value(own, mask), abs=0.35)


def test_self_play_records_legal_positions_and_the_results_of_their_games():
    own, mask, shares, values = self_play_games(network(), 40, 20, 12, np.random.default_rng(0))
    assert (solve().values[own + mask] != 2).all()
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)
    assert not shares[~self_play.allowed(mask)].any()
    assert np.abs(values).max() <= 1


def test_the_exam_is_kept_out_of_training_as_it_is_and_mirrored():
    exam = self_play.held_out(solve(), 30, np.random.default_rng(0))
    games = self_play.Games(self_play.keys_of(exam))
    own, mask = some_positions(20)
    own, mask = np.append(own, exam.own), np.append(mask, mirrored(exam.mask))
    own[20:] = mirrored(exam.own)
    games.add(own, mask, np.ones((50, WIDTH)), np.ones(50))
    trained, every = games.all()[:2]
    assert not set((trained + every).tolist()) & set((exam.own + exam.mask).tolist())
    assert len(trained) > 0


def test_a_little_self_play_teaches_a_little():
    size = self_play.Size(generations=3, games=60, steps=80, simulations=24, wide=48, narrow=16)
    lab = Lab(seed=0)
    exam = self_play.held_out(solve(), 200, lab.rng(1))
    rates = [exam.rate(self_play.raw_moves(net, exam.own, exam.mask)) for net in self_play.generations(lab, size, exam)]
    assert rates[-1] > rates[0] + 0.1
