"""The rules of backgammon: known positions, and the plays of a roll beside a slow search that shares no code."""

from itertools import permutations

import numpy as np
import pytest

from gammon_boards import board_of
from handloom.lab.games.gammon.kernels import BAR, OFF, points_won
from handloom.lab.games.gammon.plays import plays, start


def as_set(boards):
    return {tuple(map(tuple, board.tolist())) for board in boards}


def slow_steps(own, other, die):
    """All boards after one man has moved, as (own, other) tuples: own by point, other by its own points."""
    on_board = [point for point in range(1, 26) if own[point]]
    for point in on_board:
        if own[25] and point != 25:
            continue
        to = point - die
        if to <= 0 and (max(on_board) > 6 or (to < 0 and point != max(on_board))):
            continue
        if to > 0 and other[25 - to] >= 2:
            continue
        mine, theirs = list(own), list(other)
        mine[point] -= 1
        mine[max(to, 0)] += 1
        if to > 0 and theirs[25 - to] == 1:
            theirs[25 - to] = 0
            theirs[25] += 1
        yield tuple(mine), tuple(theirs)


def slow_plays(board, one, other):
    """Every order of the dice, every man, every sequence; then the rule of as many dice as possible, and the larger."""
    ends = []  # (dice used, boards)

    def go_on(state, left, used):
        after = [step for die in left[:1] for step in slow_steps(*state, die)]
        for step in after:
            go_on(step, left[1:], (*used, left[0]))
        if not after:
            ends.append((used, state))

    dice = (one,) * 4 if one == other else (one, other)
    for order in set(permutations(dice)):
        go_on(tuple(map(tuple, board.tolist())), order, ())
    most = max(len(used) for used, _ in ends)
    ends = [(used, state) for used, state in ends if len(used) == most]
    if most == 1:
        larger = max(used[0] for used, _ in ends)
        ends = [(used, state) for used, state in ends if used[0] == larger]
    return {state for _, state in ends}


def random_board(rng):
    """Any legal placing of men: each side on a few points that the other does not hold."""
    points = rng.permutation(np.arange(1, 25))
    split = rng.integers(2, 10)
    own, other = np.zeros(26, np.int8), np.zeros(26, np.int8)
    far = rng.choice([7, 13, 25])  # near the end of a game, too
    for side, free in ((own, points[:split]), (other, 25 - points[split : split + rng.integers(2, 10)])):
        allowed = [p for p in free if p < far]
        for _ in range(15):
            where = rng.random()
            side[BAR if where < 0.05 else rng.choice(allowed) if allowed and where < 0.9 else OFF] += 1
    return np.stack([own, other])


@pytest.mark.parametrize("part", range(4))
def test_plays_are_those_of_a_slow_search_on_random_boards(part):
    rng = np.random.default_rng(part)
    for _ in range(100):
        board, (one, other) = random_board(rng), rng.integers(1, 7, 2)
        found = plays(board, one, other)
        assert as_set(found) == slow_plays(board, int(one), int(other))
        assert len(as_set(found)) == len(found), "each play is there once"


def test_plays_are_those_of_a_slow_search_along_random_games():
    rng = np.random.default_rng(7)
    board = start()
    for _ in range(120):
        one, other = rng.integers(1, 7, 2)
        found = plays(board, one, other)
        assert as_set(found) == slow_plays(board, int(one), int(other))
        board = found[rng.integers(len(found))][::-1].copy()
        if board[1, OFF] == 15:
            board = start()


def test_men_keep_their_number_and_do_not_share_points():
    rng = np.random.default_rng(1)
    board = start()
    for _ in range(200):
        found = plays(board, *rng.integers(1, 7, 2))
        assert (found.sum(2) == 15).all()
        assert (found >= 0).all()
        assert not (found[:, 0, 1:25] * found[:, 1, 24:0:-1]).any()
        board = found[rng.integers(len(found))][::-1].copy()
        if board[1, OFF] == 15:
            board = start()


def test_a_man_on_the_bar_enters_first():
    board = board_of({BAR: 1, 8: 3}, {2: 2, 4: 2, 5: 2, 6: 2})  # the other holds my 23, 21, 20, 19
    found = plays(board, 3, 2)
    assert as_set(found) == slow_plays(board, 3, 2)
    assert all(play[0, BAR] == 0 for play in found)
    assert not any(play[0, 22] for play in found if play[0, 8] == 3 and play[0, 20])  # 22 to 20 is held


def test_against_a_closed_board_nothing_moves():
    board = board_of({BAR: 1, 6: 5}, dict.fromkeys(range(1, 7), 2))
    assert np.array_equal(plays(board, 6, 1), board[None])


def test_the_larger_die_is_used_if_only_one_can_be():
    board = board_of({13: 1}, {19: 2})  # my 6 is held: 13/7 and 13/12 are possible, 13/6 with both is not
    found = plays(board, 6, 1)
    assert as_set(found) == {tuple(map(tuple, board_of({7: 1}, {19: 2}).tolist()))}


def test_the_smaller_die_is_used_if_the_larger_cannot_be():
    board = board_of({13: 1}, {18: 2, 19: 2})  # my 7 and 6 are held
    assert as_set(plays(board, 6, 1)) == as_set([board_of({12: 1}, {18: 2, 19: 2})])


def test_both_dice_are_used_where_one_order_allows_it():
    board = board_of({20: 1}, {10: 2})  # my 15 is held: not the 5 first, but 20/16 and then 16/11
    assert as_set(plays(board, 5, 4)) == as_set([board_of({11: 1}, {10: 2})])


def test_a_higher_die_bears_off_from_the_rearmost_point():
    board = board_of({4: 1, 2: 2}, {1: 2})
    assert as_set(plays(board, 6, 5)) == as_set([board_of({2: 1}, {1: 2})])


def test_a_lower_man_is_not_borne_off_with_a_higher_die_while_one_is_behind():
    board = board_of({6: 1, 2: 1}, {19 + 1: 2})  # my 5 is held: the 1 cannot move the man on 6
    found = plays(board, 3, 1)
    assert as_set(found) == slow_plays(board, 3, 1)
    assert all(play[0, OFF] == 13 for play in found)


def test_doubles_are_four_moves():
    board = board_of({8: 4}, {1: 2})
    pips = {int((play[0, 1:] * np.arange(1, 26)).sum()) for play in plays(board, 2, 2)}
    assert pips == {8 * 4 - 8}


def test_a_blot_that_is_hit_goes_to_the_bar():
    board = board_of({10: 1}, {18: 1})  # on my 7
    hit = [play for play in plays(board, 3, 1) if play[1, BAR]]
    assert len(hit) == 1
    assert hit[0][0, 6] == 1
    assert hit[0][1, 18] == 0


def test_a_finished_game_counts_one_two_or_three():
    assert points_won(board_of({1: 1}, {1: 1})) == 0
    assert points_won(board_of({}, {1: 14})) == 1
    assert points_won(board_of({}, {1: 15})) == 2
    assert points_won(board_of({}, {1: 14, 19: 1})) == 3
    assert points_won(board_of({}, {1: 14, BAR: 1})) == 3
    assert points_won(board_of({}, {1: 13, 19: 1})) == 1
