"""Regression in context and blocks of other kinds: against oracles, and the verdicts when a step of each is broken."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from handloom.core import Model, params
from handloom.lab.experiment import Lab
from handloom.lab.learned import gradient_step, intention, linear_attention, mesa, simplified
from handloom.lab.regression import Prompts, mean_square
from handloom.lab.regression import gradient_step as step_of
from handloom.lab.running import conclude

train, prompts, written_step = gradient_step.train, gradient_step.prompts, gradient_step.written_step


@lru_cache
def trained(attention):
    """A layer of the quick form, and its losses: trained once for all tests here."""
    losses = []
    model = train(attention, 240, Lab(), watch=lambda step, loss: losses.append(loss))
    return model, losses


def from_memory(attention, steps, lab, layers=1, watch=lambda step, loss: None):
    model, losses = trained(attention)
    for step, loss in enumerate(losses):
        watch(step, loss)
    return model


def with_a_norm(rate):
    model = written_step(rate)
    config = replace(model.config, norm="rms")
    return Model(config, params.build(config, lambda name, shape: model.flat.get(name, np.ones(shape))), model.vocab)


def with_labels_of_others(*how, **more):
    drawn = prompts(*how, **more)
    return Prompts(drawn.rows, np.roll(drawn.asked, 1))


BREAKS = {
    "the wrong sign of the step": ("gradient_step", lambda rows, rate: -step_of(rows, rate)),
    "softmax where linear is claimed": ("train", lambda kind, *how, **more: from_memory("softmax", *how, **more)),
    "a norm left on": ("written_step", with_a_norm),
    "labels of other prompts": ("prompts", with_labels_of_others),
}


def test_a_layer_of_linear_attention_is_a_gradient_step(monkeypatch):
    monkeypatch.setattr(gradient_step, "train", from_memory)
    assert conclude(gradient_step, seeds=1).verdict == "holds"


@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_gradient_step_does_not_hold(what, monkeypatch):
    monkeypatch.setattr(gradient_step, "train", from_memory)
    monkeypatch.setattr(gradient_step, *BREAKS[what])
    assert conclude(gradient_step, seeds=1).verdict != "holds"


def test_without_noise_ridge_regression_knows_the_function_after_d_examples(monkeypatch):
    monkeypatch.setattr(intention, "NOISE", 1e-6)
    test = intention.questions(np.random.default_rng(0), 200, intention.D)
    assert mean_square(intention.ridge(test.rows) - test.asked) < 1e-3
    fewer = intention.questions(np.random.default_rng(0), 200, intention.D // 2)
    assert mean_square(intention.ridge(fewer.rows) - fewer.asked) > 0.1


@pytest.mark.parametrize(
    ("least", "linear", "verdict"), [(1.02, 9.0, "holds"), (1.5, 9.0, "holds in part"), (1.02, 1.01, "says nothing")]
)
def test_the_verdict_on_least_squares_attention_follows_from_the_errors(least, linear, verdict, monkeypatch):
    def error(kind, examples, steps, test, lab):
        floor = mean_square(intention.ridge(test.rows) - test.asked)
        return floor * {"least-squares": least, "linear": linear, "softmax": 20.0}[kind]

    monkeypatch.setattr(intention, "trained_error", error)
    assert conclude(intention, seeds=1, quick=False).verdict == verdict


def test_a_rotation_is_known_after_as_many_pairs_as_dimensions():
    test = mesa.sequences(np.random.default_rng(0), 200)
    errors = mesa.by_position(mesa.ridge(test) - test.asked)
    assert max(errors[mesa.D + 1 :]) < 1e-2 < 0.1 < min(errors[: mesa.D - 1])


def test_the_vector_before_is_read_where_it_is_and_not_from_the_prompt():
    rows = mesa.sequences(np.random.default_rng(0), 400).rows
    with_it = rows.copy()
    with_it[:, 1:, -mesa.D :] = rows[:, :-1, : mesa.D]
    assert mesa.bound(None, with_it) > 0.999
    assert mesa.bound(None, rows) < 0.2


FAST, NEAR, SLOW = [2.0, 0.1], [2.0, 0.15], [2.7, 2.0]  # losses at the begin and at the end


@pytest.mark.parametrize(
    ("linear", "one", "verdict"), [(NEAR, SLOW, "holds"), (SLOW, SLOW, "does not hold"), (NEAR, NEAR, "says nothing")]
)
def test_the_verdict_on_linear_attention_follows_from_the_losses(linear, one, verdict, monkeypatch):
    curves = {("softmax", 2): FAST, ("linear", 2): linear, ("linear", 1): one}
    monkeypatch.setattr(linear_attention, "curve", lambda attention, layers, *rest: curves[attention, layers])
    assert conclude(linear_attention, seeds=1).verdict == verdict


@pytest.mark.parametrize(
    ("usual", "others", "no_skips", "verdict"),
    [
        (FAST, NEAR, SLOW, "holds"),
        (FAST, SLOW, SLOW, "holds in part"),  # the weights are fewer all the same
        (FAST, NEAR, NEAR, "says nothing"),
        (SLOW, SLOW, SLOW, "open"),
    ],
)
def test_the_verdict_on_simplified_blocks_follows_from_the_losses(usual, others, no_skips, verdict, monkeypatch):
    def curve(config, fixed, most, lab):
        return no_skips if not config.skips else others if config.parallel else usual

    monkeypatch.setattr(simplified, "curve", curve)
    assert conclude(simplified, seeds=1).verdict == verdict
