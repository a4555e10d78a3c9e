"""The fair trial: `--compare`, its differences and their probability by chance, and what it concludes."""

import json
import os
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discoveries import CYCLES, OPTIONS, run_discover
from handloom.discover.loop.compare import Comparison, Trial, chance


@example([1, -1, 1e-12])
@given(st.lists(st.integers(-3, 3) | st.sampled_from([0.5, -0.25, 1e-12, -2e-12]), min_size=1, max_size=8))
def test_chance_is_the_share_of_all_exchanges_that_give_as_much(differences):
    exact = [Fraction(one) for one in differences]
    rounding = sum(map(abs, exact)) / 10**9  # sums that differ by less are ties
    sums = [sum(s * d for s, d in zip(way, exact, strict=True)) for way in every_way(len(exact))]
    wanted = sum(one >= sum(exact) - rounding for one in sums) / len(sums)
    assert chance(differences) == pytest.approx(wanted)


def every_way(count):
    return product((1, -1), repeat=count)


def test_chance_of_many_seeds_is_found_without_trying_all_ways():
    assert chance([1] * 30) <= 1 / 2**14
    assert chance([1, -1] * 15) > 0.5
    assert chance([-1] * 30) == 1


def compared(model, minimise=False, **arms):
    """A comparison with these bests of each arm."""
    trials = [
        Trial(seed, arm, best, 1.0, False, 3, 2.0)
        for arm, bests in {"model": model, **arms}.items()
        for seed, best in enumerate(bests)
    ]
    return Comparison("p", 2.0, tuple(trials), minimise)


def test_a_comparison_has_its_differences_and_their_standard_errors():
    result = compared([10, 11, 9, 12], none=[8, 11, 8, 10]).to_json()
    assert result["arms"] == {"model": [10, 11, 9, 12], "none": [8, 11, 8, 10]}
    against = result["against"]["none"]
    assert against["mean"] == 1.25
    assert against["error"] == pytest.approx((2.75 / 3) ** 0.5 / 2)  # differences 2, 0, 1, 2
    assert against["chance"] == 2 / 16  # all of one sign, whatever the sign of 0


def test_the_model_helps_only_if_it_is_better_than_every_other_arm():
    better, same = [5, 5, 5, 5, 5], [9, 9, 9, 9, 9]
    assert compared(same, none=better, random=better).helps is True
    both = compared(same, none=better, random=same)
    assert both.helps is False
    assert str(both).endswith("the model does not help: it is not shown to be better than random starts")
    assert compared(same, minimise=True, none=better, random=better).helps is False
    assert compared(better, minimise=True, none=same, random=same).helps is True
    few = compared(same[:4], none=better[:4])
    assert few.helps is None
    assert str(few).endswith("4 seeds are too few to show whether the model helps; it takes 5")


def test_differences_that_are_all_the_same_have_no_uncertainty():
    for even in (compared([9, 9], none=[9, 9]), compared([11, 11], none=[9, 9])):
        assert even.to_json()["against"]["none"]["error"] is None
        assert "±" not in str(even)
    assert "model +1.00 ± 1.00, as much by chance: 50%" in str(compared([9, 11], none=[9, 9]))


def test_compare_runs_every_arm_at_equal_cpu_time(here):
    code, out, _ = run_discover(CYCLES, "--compare", "--seconds", 0.5, "--seeds", 2, "--json", *OPTIONS)
    assert code == 0
    result = json.loads(out)
    assert set(result["arms"]) == {"model", "none", "random", "marginals", "redrawn"}
    assert all(0 < best <= 21 for bests in result["arms"].values() for best in bests)
    assert [(one["seed"], one["arm"]) for one in result["trials"]] == [
        (s, arm) for s in (0, 1) for arm in result["arms"]
    ]
    assert result["helps"] is None
    cpu = [one["cpu"] for one in result["trials"]]
    assert all(os.cpu_count() * 0.5 <= one < os.cpu_count() * 2.5 for one in cpu), cpu
    assert not Path("runs").exists()
    assert not Path("records.sqlite").exists()
