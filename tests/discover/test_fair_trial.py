"""The pages say of the fair trial what its trials found."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import fair_trial
from handloom.discover.loop.compare import ARMS

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "docs" / "discover" / "fair-trial.json").read_text())


@pytest.mark.parametrize("page", ["discover.md", "discover/fair-trial.md"])
def test_the_table_of_a_page_is_that_of_the_trials(page):
    assert fair_trial.table(STORED) in (ROOT / "docs" / page).read_text()


def test_all_trials_of_the_plan_were_run_at_equal_time():
    assert list(STORED) == list(fair_trial.PLAN)
    for name, planned in fair_trial.PLAN.items():
        trials = STORED[name]["trials"]
        wanted = {(seed, arm) for seed in range(fair_trial.SEEDS) for arm in ARMS}
        assert {(one["seed"], one["arm"]) for one in trials} == wanted
        assert len(trials) == len(wanted)
        assert all(2 * planned.seconds <= one["cpu"] <= 2 * planned.seconds + 5 for one in trials)


def test_the_sentence_of_the_page_follows_from_the_trials():
    text = " ".join((ROOT / "docs" / "discover.md").read_text().split())
    helped = [name for name, one in STORED.items() if fair_trial.comparison(one).helps]
    assert ("**So far the transformer has not helped.**" in text) == (helped == [])
