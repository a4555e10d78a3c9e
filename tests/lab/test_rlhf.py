"""RLHF in small: what the judge prefers, what the reward model learns of it, and how the verdict follows."""

import numpy as np
import pytest

from handloom.lab.experiment import Lab
from handloom.lab.learned import rlhf
from handloom.lab.running import conclude


def of_ones(*counts):
    rows = np.arange(rlhf.LENGTH) < np.array(counts)[:, None]
    return np.concatenate([np.full((len(counts), 1), 2), rows], 1).astype(np.int64)


def test_the_gold_reward_is_highest_at_eight_ones_and_half_of_the_loose_strings_obey():
    assert rlhf.gold(of_ones(0, 4, 8, 12, 16)).tolist() == [-8, -4, 0, -4, -8]
    malformed = of_ones(8)
    malformed[0, 5] = 2
    assert rlhf.gold(malformed).tolist() == [-8]
    assert (rlhf.gold(rlhf.loose(np.random.default_rng(0), 20_000)) >= -rlhf.NEAR).mean() == pytest.approx(
        0.48, abs=0.02
    )


def test_the_reward_model_learns_what_it_is_shown_and_nothing_from_a_coin():
    lab = Lab(seed=0)
    seen = rlhf.loose(np.random.default_rng(1), 2000)
    learned = rlhf.reward_model(rlhf.comparisons(lab, shuffled=False), lab)
    nothing = rlhf.reward_model(rlhf.comparisons(lab, shuffled=True), lab)
    assert np.corrcoef(learned(seen), rlhf.gold(seen))[0, 1] > 0.9
    assert abs(np.corrcoef(nothing(seen), rlhf.gold(seen))[0, 1]) < 0.7
    assert nothing(seen).std() < 0.3 * learned(seen).std()


def series(gold, reward=(0.0, 1.0), obedient=0.99, first=0.5):
    return {
        "distance": [0.0] * len(gold),
        "reward": list(np.linspace(*reward, len(gold))),
        "gold": gold,
        "obedient": [first, *[obedient] * (len(gold) - 1)],
        "formed": [1.0] * len(gold),
    }


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "holds"),
        ({"bound": series([-4.0] * 20, obedient=0.8)}, "holds in part"),
        ({"free": series([-4.0, *[-1.0] * 19])}, "holds in part"),
        ({"shuffled": series([-4.0] * 20)}, "says nothing"),
        ({"true": series([-4.0, -1.0, *[-6.0] * 18])}, "says nothing"),
    ],
    ids=["as claimed", "it does not obey", "the gold reward stays", "a coin teaches as well", "the gold reward falls"],
)
def test_the_verdict_follows_from_the_four_runs(changed, verdict, monkeypatch):
    """PPO is replaced by curves; the rest is the experiment's own."""
    runs = {
        "bound": series([-4.0] * 20),
        "free": series([-4.0, -1.0, *[-6.0] * 18]),
        "shuffled": series([-4.0] * 20, obedient=0.5),
        "true": series([-4.0, *[-1.0] * 19]),
    } | changed
    curves = iter(runs.values())
    monkeypatch.setattr(rlhf, "demonstrated", lambda lab: None)
    monkeypatch.setattr(rlhf, "reward_model", lambda pairs, lab: None)
    monkeypatch.setattr(rlhf, "optimised", lambda *how: next(curves))
    found = conclude(rlhf, seeds=1, quick=False)
    assert found.verdict == verdict
    panels = rlhf.picture(found.series)
    assert [type(panel).__name__ for panel in panels] == ["Lines", "Dots"]


@pytest.mark.slow
def test_the_experiment_holds_and_a_judge_who_prefers_the_worse_string_undoes_it(monkeypatch):
    assert conclude(rlhf, seeds=1, quick=False).verdict == "holds"
    right = rlhf.comparisons
    monkeypatch.setattr(rlhf, "comparisons", lambda lab, shuffled: right(lab, shuffled)[::-1])
    assert conclude(rlhf, seeds=1, quick=False).verdict == "holds in part"
