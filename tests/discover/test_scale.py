"""The simulation of many workers: it keeps to what queues must obey."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import scale
from scale_simulation import Times, simulate

ROOT = Path(__file__).parents[2]
QUICK = Times(search=0.05, head=0.001, store=0.01, learning=0.0, stored=0.02)


@pytest.mark.parametrize("workers", [1, 7, 60, 500])
@pytest.mark.parametrize("learning", [0.0, 2.0])
def test_no_more_tasks_are_made_than_the_workers_and_the_head_can_make(workers, learning):
    times = replace(QUICK, learning=learning)
    found = simulate(times, workers, tasks=2_000, generations=3, seed=workers)
    most = min(workers / times.search, 1 / (times.head + times.stored * times.store))
    assert 0 < found.tasks < 1.05 * most  # the searches drawn may be a little shorter than their mean
    assert all(0 <= share <= 1 + 1e-9 for share in found[:4])
    assert found.head + found.store + found.learner <= 1 + 1e-9


def test_with_a_head_that_costs_nothing_all_workers_are_busy_until_the_last_searches():
    found = simulate(replace(QUICK, head=0.0, stored=0.0), workers=20, tasks=20_000, generations=2, seed=0)
    assert found.working > 0.98


def test_a_round_of_fewer_tasks_than_workers_leaves_the_others_idle():
    few = simulate(replace(QUICK, head=0.0, stored=0.0), workers=1_000, tasks=40, generations=50, seed=0)
    assert few.working < 40 / 1_000


def test_the_learner_takes_the_share_of_the_time_that_it_needs():
    alone = simulate(QUICK, 10, 400, 50, seed=1)
    seconds = 400 / alone.tasks
    found = simulate(replace(QUICK, learning=3 * seconds), 10, 400, 50, seed=1)
    assert found.learner == pytest.approx(0.75)
    assert found.tasks == pytest.approx(alone.tasks / 4)


def test_the_page_has_the_rates_that_were_measured():
    found = json.loads(scale.MEASURED.read_text())
    assert "\n".join(scale.measured(found)) in (ROOT / "docs/scale.md").read_text()


@pytest.mark.slow
def test_the_page_has_the_simulation_of_what_was_measured():
    found = json.loads(scale.MEASURED.read_text())
    assert "\n".join(scale.simulated(found)) in (ROOT / "docs/scale.md").read_text()


def test_of_two_measurements_the_faster_is_kept():
    assert scale.better({"search": 3.0, "empty": 10.0}, {"search": 2.0, "empty": 20.0}) == {"search": 3.0, "empty": 20}
    assert scale.better(0.5, 0.25) == 0.25
    assert scale.better(0.5, None) == 0.5
