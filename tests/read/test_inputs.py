"""Pairs of inputs: of one length, asked where answers are, all of them where they are few."""

import numpy as np
import pytest

import handloom as hl
from handloom.read.inputs import PairBatch, every_pair, pairs_of


def test_answers_are_the_oracles_and_where_the_model_predicts_them():
    model = hl.program("addition:digits=2")
    (batch,) = pairs_of(model, count=10)
    for tokens, answers in zip(batch.clean, batch.answers, strict=True):
        text = model.vocab.decode(tokens)
        question = text[: text.index("=") + 1]
        assert (answers[: len(question) - 1] == -1).all()
        assert model.vocab.decode(answers[len(question) - 1 :]) == hl.task_of(model).answer(question)


def test_a_small_task_gives_all_pairs_of_different_inputs():
    model = hl.program("sum")
    pairs = every_pair(model, hl.task_of(model))
    assert pairs.exhaustive
    assert len(pairs) == 100 * 99
    (batch,) = pairs
    assert len({(*one, *other) for one, other in zip(batch.clean.tolist(), batch.other.tolist(), strict=True)}) == 9900


def test_a_seed_gives_the_same_pairs_and_another_seed_others():
    model = hl.program("min")
    first, again, other = (pairs_of(model, count=30, seed=seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a.clean, b.clean) for a, b in zip(first, again, strict=True))
    assert {tuple(row) for b in first for row in b.clean} != {tuple(row) for b in other for row in b.clean}


def test_another_row_may_be_the_beginning_of_a_longer_one():
    model = hl.program("compiled/reverse:n=5,letters=4")
    end = model.vocab.ids[">"]
    places = {
        (int(np.argmax(one == end)), int(np.argmax(other == end)) if end in other else None)
        for batch in pairs_of(model, count=100)
        for one, other in zip(batch.clean, batch.other, strict=True)
    }
    assert any(here != there for here, there in places)


def test_some_pairs_are_of_all_lengths():
    pairs = pairs_of(hl.program("min"), count=60)
    assert len(pairs.first(20)) == 20
    assert len(pairs.first(1000)) == len(pairs)
    assert len(pairs.first(20).batches) > 10


def test_rows_of_different_lengths_are_refused_with_the_remedy():
    with pytest.raises(hl.HandloomError, match="equal numbers of tokens"):
        PairBatch(np.zeros((1, 3), int), np.zeros((1, 4), int), np.zeros((1, 3), int))


def test_a_model_with_other_tokens_than_the_task_is_refused():
    with pytest.raises(hl.HandloomError, match="give its own task"):
        pairs_of(hl.program("addition:digits=2"), hl.task("compiled/reverse"))
