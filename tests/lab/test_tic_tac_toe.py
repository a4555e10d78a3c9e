"""Tic-tac-toe: its positions against known counts, the exam against perfect and random play, both rules."""

import numpy as np

from handloom.lab.games import tabular, tic_tac_toe
from handloom.lab.games import tictactoe_positions as noughts
from handloom.lab.running import conclude

BOARD = noughts.positions()


def every_move(s):
    return np.flatnonzero(BOARD.after[s] >= 0).tolist()


def exact_table():
    return np.where(BOARD.after >= 0, -noughts.exact_values(BOARD)[BOARD.after], -9.0)


def test_the_positions_and_endings_are_as_many_as_is_known():
    """5,478 positions; 958 endings, of which X wins 626, O wins 316 and 16 are drawn."""
    stones = np.count_nonzero(BOARD.cells, axis=1)
    won = BOARD.over == noughts.WON
    counts = [len(stones), (won & (stones % 2 == 1)).sum(), (won & (stones % 2 == 0)).sum(), (BOARD.over == 2).sum()]
    assert counts == [5478, 626, 316, 16]


def test_values_agree_with_a_recursion_on_the_cells():
    from functools import cache

    @cache
    def value(cells):
        if state := noughts.state(cells):
            return -1 if state == noughts.WON else 0
        return max(-value(noughts.played(cells, move)) for move in range(9) if not cells[move])

    assert [value(tuple(cells)) for cells in BOARD.cells.tolist()] == noughts.exact_values(BOARD).tolist()


def test_perfect_play_loses_nowhere_and_any_play_loses_everywhere():
    perfect = noughts.moves_of_table(exact_table(), BOARD)
    assert [noughts.lost_endings(BOARD, perfect, first) for first in (True, False)] == [0, 0]
    assert [noughts.lost_endings(BOARD, every_move, first) for first in (True, False)] == [316, 626]


def test_ties_count_against_the_table():
    empty = np.zeros(BOARD.after.shape)
    assert noughts.lost_endings(BOARD, noughts.moves_of_table(empty, BOARD), first=True) == 316


def test_perfect_play_makes_no_errors_and_every_other_move_is_one():
    errors, values = noughts.errors_of(BOARD), noughts.exact_values(BOARD)
    for s in range(0, len(values), 37):
        for move in every_move(s):
            assert errors[s, move] == (-values[BOARD.after[s, move]] < values[s])


def test_without_exploring_sarsa_is_q_learning():
    """The move played next is the best one. Ties are broken by the same random numbers."""
    q, sarsa = (tabular.learned(rule, np.zeros(2000), np.random.default_rng(1), [2000]) for rule in ("q", "sarsa"))
    np.testing.assert_array_equal(q.table, sarsa.table)
    q, sarsa = (tabular.learned(rule, np.ones(2000), np.random.default_rng(1), [2000]) for rule in ("q", "sarsa"))
    assert not np.array_equal(q.table, sarsa.table)


def test_q_learning_at_the_rate_one_with_random_play_finds_the_exact_values():
    course = tabular.learned("q", np.ones(150_000), np.random.default_rng(0), [150_000], rate=1.0)
    allowed = BOARD.after >= 0
    np.testing.assert_allclose(course.table[allowed], exact_table()[allowed])


def test_the_claim_holds_and_needs_the_other_sign(monkeypatch):
    assert conclude(tic_tac_toe, seeds=[0]).verdict == "holds"
    mine = tabular.rewards_of
    monkeypatch.setattr(tabular, "rewards_of", lambda board: -mine(board))
    assert conclude(tic_tac_toe, seeds=[0]).verdict == "holds in part"


def test_without_the_ties_against_it_the_exam_would_say_less():
    course = tabular.learned("q", np.full(20_000, 0.1), np.random.default_rng(0), [20_000])
    moves = noughts.moves_of_table(course.table, BOARD)
    lenient = noughts.lost_endings(BOARD, lambda s: moves(s)[:1], first=False)
    assert lenient < course.as_o[-1]
