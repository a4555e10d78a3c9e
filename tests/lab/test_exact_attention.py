"""Experiments on attention without softmax: they hold, and with one step of each broken the verdict changes."""

import numpy as np
import pytest

from handloom.lab.exact import intention_limit, linear
from handloom.lab.running import conclude

MODULES = [intention_limit, linear]
model_of, head = linear.model_of, intention_limit.head


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.CLAIM.name)
def test_a_claim_holds_and_its_picture_can_be_drawn(module):
    found = conclude(module, seeds=1)
    assert found.verdict == "holds", str(found)
    assert module.picture(found.series)


BREAKS = {
    "linear: softmax where linear is claimed": (
        linear,
        "model_of",
        lambda kind, layers, causal, lab: model_of("softmax", layers, causal, lab),
    ),
    "linear: both orders the same": (linear, "right_first", linear.left_first),
    "linear: polynomials of one degree less": (
        linear,
        "fit",
        lambda s, outputs, degree: fit(s, outputs, max(0, degree - 1)),
    ),
    "intention-limit: softmax for least squares": (
        intention_limit,
        "head",
        lambda kind, *rest, **how: head("softmax" if kind == "least-squares" else kind, *rest, **how),
    ),
    "intention-limit: the slide's formula": (intention_limit, "solved", intention_limit.printed),
}
fit = linear.fit


@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_experiment_does_not_hold(what, monkeypatch):
    module, name, broken = BREAKS[what]
    monkeypatch.setattr(module, name, broken)
    assert conclude(module, seeds=1).verdict != "holds"


def test_multiplications_are_counted_as_the_formula_has_them():
    assert linear.multiplications(linear.left_first, 100) == 2 * 100**2 * linear.K
    assert linear.multiplications(linear.right_first, 100) == 2 * 100 * linear.K**2


def test_a_polynomial_is_fitted_by_its_degree_and_not_by_one_less():
    s = np.linspace(-1, 1, 20)
    cubic = (s**3 - s)[:, None]
    assert np.allclose(linear.fit(s, cubic, 3), cubic)
    assert not np.allclose(linear.fit(s, cubic, 2), cubic, atol=1e-2)


def test_the_slides_formula_fits_only_as_many_positions_as_d_head():
    q, k, v = np.random.default_rng(0).normal(size=(3, 5, 4))
    with pytest.raises(ValueError, match="matmul"):
        intention_limit.printed(q, k, v)
    assert intention_limit.solved(q, k, v).shape == (5, 4)
