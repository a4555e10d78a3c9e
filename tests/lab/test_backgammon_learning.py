"""Backgammon's network and how it learns: gradients beside differences, traces beside the theory, players beside hand
calculations, GNU Backgammon where it is installed."""

import shutil

import numpy as np
import pytest

from gammon_boards import board_of
from handloom.core import HandloomError
from handloom.lab.games.gammon.gnubg import ELSEWHERE, gnubg_player
from handloom.lab.games.gammon.kernels import LONGEST, MOST_PLAYS, OFF, after_reply, play_itself
from handloom.lab.games.gammon.matches import (
    Turn,
    equities_of,
    look_ahead_player,
    network_player,
    play_match,
    random_player,
)
from handloom.lab.games.gammon.plays import plays, start
from handloom.lab.games.gammon.pubeval import in_contact, pubeval_inputs, pubeval_player
from handloom.lab.games.gammon.td_learning import Learning, learn
from handloom.lab.games.gammon.value_net import assessed, chances, first_weights, gradients

OTHER_SIDE = np.array([1.0, 0.0, 0.0]), np.array([[-1, 0, 0], [0, 0, 1], [0, 1, 0]])  # outputs of one from the other's


def other_side(outputs):
    shift, matrix = OTHER_SIDE
    return shift + matrix @ outputs


def weights64(seed=0, hidden=6):
    return first_weights(hidden, np.random.default_rng(seed)).astype(float) * 5


def game_of(weights, seed):
    """The boards of a game of the network against itself, and the points won."""
    boards, found = np.empty((LONGEST + 1, 2, 26), np.int8), np.empty((MOST_PLAYS, 2, 26), np.int8)
    turns, won = play_itself(weights, start(), np.random.default_rng(seed), boards, found, np.empty(MOST_PLAYS))
    return boards[:turns], won


def test_the_inputs_are_tesauros():
    values = assessed(weights64(), board_of({24: 2, 6: 5, 25: 3}, {1: 1, 3: 3}))[0]
    assert len(values) == 197
    of = {point: values[4 * (point - 1) : 4 * point].tolist() for point in (24, 6, 1)}
    assert of == {24: [1, 1, 0, 0], 6: [1, 1, 1, 1.0], 1: [0, 0, 0, 0]}
    assert values[96:100].tolist() == [1, 0, 0, 0]  # the other side's point 1
    assert values[104:108].tolist() == [1, 1, 1, 0]
    assert values[192:].tolist() == [1.5, 0, 5 / 15, 11 / 15, 1]


def test_gradients_are_those_of_finite_differences():
    weights, board = weights64(), plays(start(), 6, 4)[3]
    found, size = gradients(weights, board), 1e-5
    for j in np.random.default_rng(0).permutation(len(weights))[:200]:
        change = np.zeros_like(weights)
        change[j] = size
        slope = (chances(weights + change, board) - chances(weights - change, board)) / (2 * size)
        assert np.allclose(found[:, j], slope, atol=1e-8)
    assert np.abs(found).max() > 0.01


def test_plays_are_valued_as_the_boards_after_them():
    """Through the changes between boards, and from scratch."""
    weights, board = weights64(), board_of({25: 1, 8: 3, 6: 5, 2: 1}, {24: 2, 20: 1, 6: 5})
    turn = Turn(board, (4, 2), plays(board, 4, 2))
    for play, equity in zip(turn.plays, equities_of(weights, turn), strict=True):
        win, gammon, lost = other_side(chances(weights, play[::-1].copy()))
        assert equity == pytest.approx(2 * win - 1 + gammon - lost)


@pytest.mark.parametrize("decay", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("traces", [True, False])
def test_a_game_moves_the_weights_towards_its_returns(decay, traces):
    """Sutton's theorem: with small steps, Σ δ_t e_t = Σ (G_t − Y_t) ∇Y_t. With λ = 1 G_t is the result of the game."""
    weights, rate = weights64(), 1e-6
    boards, won = game_of(weights, seed=3)
    expected, target = np.zeros_like(weights), np.array([1.0, float(won > 1), 0.0])
    for board in boards[::-1]:
        outputs = chances(weights, board)
        expected += (target - outputs) @ gradients(weights, board)
        target = other_side((1 - decay) * outputs + decay * target)
    learned = weights.copy()
    learn(learned, Learning(1, rate, decay, traces), np.random.default_rng(3))
    assert np.allclose((learned - weights) / rate, expected, rtol=1e-3, atol=1e-3)
    assert np.abs(expected).max() > 0.1


def test_with_a_coin_the_result_of_a_game_is_turned_at_times():
    weights = weights64()
    moved = []
    for coin in (False, True):
        learned = weights.copy()
        learn(learned, Learning(40, 1e-6, 1.0, coin=coin), np.random.default_rng(0))
        moved.append(learned - weights)
    assert not np.allclose(*moved)


def test_learning_beats_random_play():
    weights = first_weights(10, np.random.default_rng(0))
    learn(weights, Learning(2500, rate=0.3), np.random.default_rng(1))
    assert play_match(network_player(weights), random_player(np.random.default_rng(2)), 60, seed=0).least > 0


def test_a_match_of_a_player_with_itself_is_even():
    player = network_player(first_weights(4, np.random.default_rng(0)))
    assert play_match(player, player, 10, seed=0).mean == 0.0


@pytest.mark.parametrize(("point", "chance"), [(1, 1.0), (6, 27 / 36)])
def test_the_look_ahead_knows_the_chances_of_the_last_roll(point, chance):
    """With all weights zero every position that is not the end is worth nothing."""
    play = board_of({1: 1}, {point: 1})
    assert after_reply(np.zeros(203), play, False) == pytest.approx(-chance)
    assert after_reply(np.zeros(203), board_of({}, {1: 15}), False) == 2


def test_the_look_ahead_sees_what_the_first_sight_does_not():
    """The other side bears off its last two men with any roll but a 1 with a 2 to 6, if they are on 1 and 2; a hit ends
    that. Without weights, only a look ahead sees it."""
    board = board_of({20: 1, 3: 1, 1: 13}, {6: 1})  # its man is on my 19
    turn = Turn(board, (2, 1), plays(board, 2, 1))
    chosen = turn.plays[look_ahead_player(np.zeros(203), 100)(turn)]
    assert chosen[1, 25] == 1
    assert network_player(np.zeros(203))(turn) == 0


def test_pubeval_reads_the_points_from_24_to_1():
    board = board_of({24: 1, 13: 5, 3: 3, 2: 2}, {4: 1, 5: 2, 25: 2})
    units = pubeval_inputs(board[None])[0]
    rows = units[:120].reshape(24, 5)
    assert rows[0].tolist() == [0, 1, 0, 0, 0]  # point 24
    assert rows[11].tolist() == [0, 0, 1, 0, 1.0]  # 13
    assert rows[21].tolist() == [0, 0, 1, 1, 0]  # 3
    assert rows[22].tolist() == [0, 0, 1, 0, 0]  # 2
    assert rows[3].tolist() == [1, 0, 0, 0, 0]  # the other's blot on my 21
    assert rows[4].tolist() == [0, 0, 0, 0, 0]  # its point on my 20
    assert units[120:].tolist() == [1.0, board[0, OFF] / 15]


def test_pubeval_chooses_by_race_or_by_contact(tmp_path):
    race, contact = np.zeros(122), np.zeros(122)
    race[121], contact[120] = 1.0, 1.0  # bear off; hit
    path = tmp_path / "pubeval.txt"
    path.write_text(" ".join(map(str, [*race, *contact])))
    player = pubeval_player(path)
    board = board_of({6: 1, 5: 1, 2: 1}, {1: 2})
    assert not in_contact(board)
    found = plays(board, 2, 1)
    assert found[player(Turn(board, (2, 1), found))][0, OFF] == 13
    board = board_of({8: 1, 6: 2}, {20: 1})
    assert in_contact(board)
    found = plays(board, 3, 1)
    assert found[player(Turn(board, (3, 1), found))][1, 25] == 1


@pytest.mark.parametrize("text", ["1 2 3", "1 " * 243 + "x", "1 " * 243 + "nan", ""])
def test_a_file_that_is_not_pubevals_is_refused(tmp_path, text):
    path = tmp_path / "weights.txt"
    path.write_text(text)
    with pytest.raises(HandloomError, match=r"^weights.txt: .* \(expected the 122 numbers"):
        pubeval_player(path)


def test_a_program_that_is_not_there_is_named():
    with (
        pytest.raises(HandloomError, match="'no-such-gnubg': no such program"),
        gnubg_player("no-such-gnubg"),
    ):
        pass


INSTALLED = shutil.which("gnubg") or shutil.which("gnubg", path=ELSEWHERE)


@pytest.mark.skipif(not INSTALLED, reason="GNU Backgammon is not installed")
def test_gnu_backgammon_plays_legal_moves_and_opens_as_it_should():
    with gnubg_player("gnubg") as judge:
        found = plays(start(), 3, 1)
        assert found[judge(Turn(start(), (3, 1), found))][0, [5, 6, 8]].tolist() == [2, 4, 2]  # 8/5 6/5
        play_match(judge, random_player(np.random.default_rng(0)), 4, seed=0)  # a move that is not legal is an error
