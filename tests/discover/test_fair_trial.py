"""The pages say of the fair trials what their runs found."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import fair_trial

ROOT = Path(__file__).parents[2]
STORED = {name: json.loads(fair_trial.file_of(name).read_text()) for name in ["short"]}
SHORT = fair_trial.TRIALS["short"]


def page(name):
    return " ".join((ROOT / "docs" / name).read_text().split())


@pytest.mark.parametrize("name", ["discover.md", "discover/fair-trial.md"])
def test_the_table_of_a_page_is_that_of_the_trials(name):
    assert fair_trial.table(SHORT, STORED["short"]) in (ROOT / "docs" / name).read_text()


@pytest.mark.parametrize("trial", list(STORED))
def test_all_runs_of_the_plan_were_made_at_equal_time(trial):
    plan = fair_trial.TRIALS[trial]
    assert list(STORED[trial]) == list(plan)
    for name, planned in plan.items():
        runs = STORED[trial][name]["trials"]
        wanted = {(seed, arm) for seed in range(fair_trial.SEEDS) for arm in planned.arms}
        assert {(one["seed"], one["arm"]) for one in runs} == wanted
        assert len(runs) == len(wanted)
        assert all(2 * planned.seconds <= one["cpu"] <= 2 * planned.seconds + 5 for one in runs)


def test_the_sentence_of_the_page_follows_from_the_trials():
    helping = [arm for name, one in STORED["short"].items() for arm in fair_trial.helped(SHORT[name], one)]
    assert ("**So far the transformer has not helped.**" in page("discover.md")) == (helping == [])
