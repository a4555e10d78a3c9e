"""The gcd experiment: how numbers are written, and its measures, on answers that are known."""

import math

import numpy as np
import pytest

from handloom.lab.learned import gcd
from handloom.lab.running import conclude

BASE_TEN = [1, 2, 4, 5, 10, 20]


def answers_with(rule):
    return {k: np.full(gcd.PAIRS, rule(k)) for k in gcd.ASKED}


@pytest.mark.parametrize("base", [10, 6])
def test_a_batch_spells_its_numbers_and_asks_for_their_gcd(base):
    inputs, targets = gcd.batch_of(np.random.default_rng(0), base, 50)
    places = gcd.PLACES[base]
    for row, label in zip(inputs.tolist(), targets[:, -1].tolist(), strict=True):
        a, b = (int("".join(map(str, part)), base) for part in (row[:places], row[places + 1 : -1]))
        assert row[places] == row[-1] == base
        assert label - base == min(math.gcd(a, b), gcd.LARGEST + 1)
    assert (targets[:, :-1] == -1).all()


def test_the_measures_follow_the_rule_and_see_what_does_not():
    largest = answers_with(lambda k: max(d for d in BASE_TEN if k % d == 0))
    assert gcd.known(largest) == BASE_TEN
    assert gcd.by_rule(largest, BASE_TEN) == 1
    assert gcd.made_of(BASE_TEN, 10) == 1
    assert gcd.made_of([1, 2, 3, 6], 10) == 0.5
    perfect = answers_with(lambda k: k)
    assert gcd.share(perfect, 3, 3) == 1
    assert gcd.by_rule(perfect, BASE_TEN) == pytest.approx(6 / len(gcd.ASKED))


def test_a_gcd_shown_by_two_digits_is_too_early_before_one_that_is_shown_by_one():
    assert [gcd.digits(k, 10) for k in (1, 2, 5, 10, 4, 20, 25, 8)] == [0, 1, 1, 1, 2, 2, 2, 3]
    course = {"steps": [50, 100, 150], "1": [1, 1, 1], "2": [0, 1, 1], "5": [0.5, 0.96, 1], "4": [0, 0, 0.97]}
    assert gcd.too_early(course, 10) == 0
    assert gcd.too_early(course | {"4": [0.97, 1, 1]}, 10) == 1
    assert gcd.too_early(course | {"5": [0, 0.5, 0.9]}, 10) == 1  # 4 was learned, and 5 never


@pytest.mark.slow
def test_the_claim_holds_and_hangs_on_the_labels(monkeypatch):
    assert conclude(gcd, seeds=[0]).verdict == "holds"
    batch = gcd.batch_of

    def shuffled(rng, base, count):
        inputs, targets = batch(rng, base, count)
        return rng.permutation(inputs), targets

    monkeypatch.setattr(gcd, "batch_of", shuffled)
    assert conclude(gcd, seeds=[0]).verdict != "holds"
