"""The rows that heads are named on: random, with a repeat that no fixed offset explains; or inputs of the task."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draws import random_model, trained_like
from handloom.core import Config, HandloomError
from handloom.read.head_rows import given_rows, once_in_each, random_rows, repeated, task_rows
from handloom.tasks import task as task_named
from handloom.tasks import task_of
from handloom.write import program


@given(st.integers(2, 60), st.integers(0, 3), st.integers(0, 1000))
def test_a_part_of_a_row_is_repeated_right_behind_itself(length, first, seed):
    row = np.arange(length)
    again = repeated(row, np.random.default_rng(seed), min(first, length))
    different = np.flatnonzero(again != row)
    if length - min(first, length) < 2:
        assert not len(different)
    else:
        period = len(different)
        assert 1 <= period <= (length - first) // 2
        assert (np.diff(different) == 1).all()
        assert (again[different] == row[different - period]).all()
        assert different[0] - period >= first


def test_periods_and_starts_are_of_many_kinds():
    rng = np.random.default_rng(0)
    row = np.arange(48)
    changed = [np.flatnonzero(repeated(row, rng, 0) != row) for _ in range(500)]
    assert len({len(one) for one in changed}) == 24 - 6 + 1
    assert len({one[0] for one in changed}) > 30
    assert max(np.bincount([len(one) for one in changed])) < 60, "no period is frequent"


def test_random_rows_begin_with_bos_and_have_no_other_special_token():
    model = trained_like(block=30)
    rows = random_rows(model, 50, seed=1)
    assert {len(row) for row in rows.ids} == {30}
    assert all(row[0] == 2 and 2 not in row[1:] for row in rows.ids)
    assert (np.array(random_rows(model, 50, seed=1).ids) == np.array(rows.ids)).all()
    assert (np.array(random_rows(model, 50, seed=2).ids) != np.array(rows.ids)).any()


@pytest.mark.parametrize("block", [1, 2, 3])
def test_the_shortest_rows_are_drawn_too(block):
    model = random_model(Config(vocab=2, block=block, d_model=4, layers=1, heads=1, d_head=2))
    assert {len(row) for row in random_rows(model, 5, seed=0).ids} == {block}


@pytest.mark.parametrize(
    ("name", "delimiters"),
    [("addition", "+="), ("modular-sum", "+="), ("compiled/reverse", ">"), ("sort:n=20", "0"), ("search", "")],
)
def test_a_format_shows_in_its_delimiters(name, delimiters):
    model = program(name)
    assert "".join(task_rows(model, task_of(model), 64, seed=0).delimiters.values()) == delimiters


def test_the_tokens_of_a_language_are_no_format():
    task = task_named("strings:length=9-12")
    assert task_rows(trained_like(block=14), task, 64, seed=0).delimiters == {}
    assert once_in_each([[1, 2, 3], [3, 2, 2]]) == [3]


def test_positions_that_write_the_answer_count():
    model = program("addition:digits=3")
    rows = task_rows(model, task_of(model), 5, seed=0)
    assert set(rows.starts) == {7}
    assert all(model.vocab.tokens[row[7]] == "=" and len(row) == 11 for row in rows.ids)


def test_no_rows_are_told_in_one_line():
    with pytest.raises(HandloomError, match="there are no rows to look at; give at least one"):
        given_rows(program("search"), [])
