"""The experiment on boards: its labels, its forms of positions, and what its verdict hangs on."""

import numpy as np
import pytest

from handloom.lab.experiment import Lab
from handloom.lab.learned import board_2d
from handloom.lab.learned.board_2d import FREE, OTHER_WIDTH, RIGHT_FORM, SHUFFLED, TABLE, TAKEN, Board
from handloom.lab.running import conclude

BOARD = Board(6, "2")


def test_a_cell_is_free_if_the_board_with_a_1_there_is_still_right():
    cells, labels = BOARD.draw(np.random.default_rng(0), 5, np.arange(36))
    for row, label in zip(cells, labels, strict=True):
        for cell in range(36):
            tried = row.copy()
            tried[cell] = 1
            right = BOARD.task.right("".join(map(str, tried)))
            assert label[cell] == (-1 if row[cell] else FREE if right else TAKEN)


def test_shuffled_boards_are_the_same_boards_in_another_order():
    order = np.random.default_rng(1).permutation(36)
    plain, shuffled = (BOARD.draw(np.random.default_rng(0), 5, cells) for cells in (np.arange(36), order))
    assert all((one[:, order] == other).all() for one, other in zip(plain, shuffled, strict=True))


def test_only_the_table_has_no_rows_and_columns():
    columns = {kind: form and form.columns for kind in board_2d.KINDS for form in [BOARD.form(kind)]}
    assert columns == {TABLE: None, RIGHT_FORM: 6, OTHER_WIDTH: 9, SHUFFLED: 6}


LATE, EARLY = [0.5, 0.6, 0.7, 0.96], [0.96, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("early", "verdict"),
    [
        ({RIGHT_FORM}, "holds"),
        ({TABLE}, "does not hold"),
        ({RIGHT_FORM, SHUFFLED}, "says nothing"),
        ({RIGHT_FORM, OTHER_WIDTH}, "says nothing"),
        (set(), "does not hold"),
    ],
)
def test_the_verdict_hangs_on_which_positions_are_learned_first(monkeypatch, early, verdict):
    def curve(kind, lab):
        return {"steps": [10, 20, 30, 40], "right": EARLY if kind in early else LATE}

    monkeypatch.setattr(board_2d, "watched", curve)
    assert conclude(board_2d, seeds=[0]).verdict == verdict


def test_if_nothing_is_learned_in_time_the_claim_is_open(monkeypatch):
    monkeypatch.setattr(board_2d, "watched", lambda kind, lab: {"steps": [10], "right": [0.5]})
    assert conclude(board_2d, seeds=[0]).verdict == "open"


@pytest.mark.slow
def test_the_right_rows_and_columns_are_learned_before_those_of_shuffled_cells():
    right, shuffled = (np.mean(board_2d.watched(kind, Lab())["right"]) for kind in (RIGHT_FORM, SHUFFLED))
    assert right > shuffled + 0.02
