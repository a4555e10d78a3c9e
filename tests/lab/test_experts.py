"""The experiment `experts`: its strings, its measures, and a verdict that changes when the gates or the models do."""

import numpy as np
import pytest

from handloom.core import Config, Model, Vocab, count, params
from handloom.lab.experiment import Lab
from handloom.lab.learned import experts
from handloom.lab.running import conclude
from handloom.learn.data import NOTHING


def test_every_target_is_the_entry_of_the_rule_for_the_last_two_letters():
    table = experts.random_tables(8, Lab())
    ids, targets = experts.draw(table, np.random.default_rng(0), rows=20)
    for row, wanted in zip(ids, targets, strict=True):
        rule, *text = row
        assert list(wanted[:2]) == [NOTHING] * 2
        for t in range(2, len(row)):
            assert wanted[t] == table[rule - 8, text[t - 2], text[t - 1]]
    assert set(ids[:, 0]) <= set(range(8, 16))


def test_shared_bits_are_all_none_and_those_of_a_half():
    a = np.repeat(np.arange(8), 100)
    assert experts.shared_bits(a, (a + 3) % 8) == pytest.approx(3.0)
    assert experts.shared_bits(a, a // 2) == pytest.approx(2.0)
    assert experts.shared_bits(a, np.tile(np.arange(100), 8)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("quick", [True, False])
def test_the_dense_model_has_the_active_parameters_and_less_than_one_neuron_more(quick):
    mixture = experts.config_for(Lab(quick=quick), 16)
    active, dense = (count(weightless(config)).active for config in (mixture, experts.dense_like(mixture)))
    assert 0 <= dense - active <= 2 * mixture.d_model + 1


def weightless(config):
    return Model(config, params.zeros(config), Vocab.numbers(config.vocab))


def by_rule(model, ids):
    """As `places` has it of a model whose every rule has an expert."""
    rule = np.repeat(ids[:, 0] - ids[:, 0].min(), 10)
    return rule, ids[:, 2:].ravel(), rule


@pytest.fixture
def no_training(monkeypatch):
    """As if the mixture's loss were lower and its experts the rules; of other models nothing is changed."""
    real = experts.places
    monkeypatch.setattr(experts, "trained", lambda config, table, lab: weightless(config))
    monkeypatch.setattr(
        experts, "losses", lambda model, ids, targets: np.full(3, 0.1 if model.config.experts > 2 else 1)
    )
    monkeypatch.setattr(experts, "places", lambda *a: (real if a[0].params["W_E"].any() else by_rule)(*a))


def test_experts_that_follow_the_rules_and_a_lower_loss_make_the_claim_hold(no_training):
    found = conclude(experts, seeds=1)
    assert found.verdict == "holds", str(found)
    assert len(experts.picture(found.series)) == 3


def test_gates_of_untrained_models_do_not_make_it_hold(no_training, monkeypatch):
    monkeypatch.setattr(experts, "trained", lambda config, table, lab: experts.untrained(config, lab))
    assert conclude(experts, seeds=1).verdict == "holds in part"


def test_a_gain_without_a_choice_says_nothing(no_training, monkeypatch):
    monkeypatch.setattr(experts, "losses", lambda model, ids, targets: np.full(3, 0.1 if model.config.experts else 1))
    assert conclude(experts, seeds=1).verdict == "says nothing"


def test_untrained_gates_that_tell_the_rule_say_nothing(no_training, monkeypatch):
    monkeypatch.setattr(experts, "untrained", lambda config, lab: weightless(config))
    assert conclude(experts, seeds=1).verdict == "says nothing"


def test_training_lowers_the_loss_below_that_of_a_guess(monkeypatch):
    monkeypatch.setattr(experts, "STEPS", (60, 60))
    lab, table = Lab(), experts.random_tables(4, Lab())
    config = Config(vocab=12, block=12, d_model=16, layers=1, heads=2, d_head=8, tied=False, d_ff=4, experts=8)
    ids, targets = experts.draw(table, lab.rng(1), 64)
    before, after = (
        np.nanmean(experts.losses(model, ids, targets))
        for model in (experts.untrained(config, lab), experts.trained(config, table, lab))
    )
    assert after < 0.97 * np.log(4) < before
