"""Temporal differences: the identities against sums written out, and the walk against its exact values."""

import numpy as np
import pytest

from handloom.lab.exact import td
from handloom.lab.running import conclude


def test_the_walks_exact_values_are_a_straight_line():
    """Sutton and Barto: from −0.9 to 0.9 in steps of 0.1."""
    np.testing.assert_allclose(td.walk_values(0.5), np.arange(-9, 10) / 10, atol=1e-12)
    np.testing.assert_allclose(td.walk_values(1.0), 1.0)


def test_the_trace_is_the_sum_of_the_slide():
    states = np.random.default_rng(0).normal(size=(6, 3))
    for tau, trace in enumerate(td.traces(states, 0.7)):
        np.testing.assert_allclose(trace, sum(0.7 ** (tau - t) * states[t] for t in range(tau + 1)))
    np.testing.assert_allclose(td.as_printed(states)[2], states[2:].sum(0))


def test_without_chance_td_of_one_learns_the_returns_in_one_episode():
    weights = np.zeros((1, 1, td.STATES))
    td.learn_episode(np.random.default_rng(0), weights, 1.0, np.array([1.0]), right=1.0)
    np.testing.assert_allclose(weights[0, 0], np.arange(td.STATES) >= td.STATES // 2)


def test_one_step_of_td_of_zero_is_the_rule_of_the_slide():
    """Only the last state before the end changes at first, by the rate times the reward."""
    weights = np.zeros((1, 1, td.STATES))
    td.learn_episode(np.random.default_rng(0), weights, 0.0, np.array([0.5]), right=1.0)
    np.testing.assert_allclose(weights[0, 0], 0.5 * (np.arange(td.STATES) == td.STATES - 1))


def test_the_claim_holds_and_hangs_on_the_sign_of_the_difference(monkeypatch):
    assert conclude(td, seeds=[0]).verdict == "holds"
    monkeypatch.setattr(td, "differences", lambda rewards, outputs: rewards + outputs - np.append(outputs[1:], 0.0))
    assert conclude(td, seeds=[0]).verdict == "holds in part"


def test_a_slide_without_its_error_would_leave_no_control(monkeypatch):
    monkeypatch.setattr(td, "as_printed", lambda states: td.traces(states, 1.0))
    assert conclude(td, seeds=[0]).verdict == "says nothing"


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_runaway_rates_count_as_the_error_of_the_start(lam):
    errors = td.walk_errors(np.random.default_rng(0), 5, lam, np.array([1.0, 5.0]), right=0.5)
    assert np.isfinite(errors).all()
    assert max(errors) <= np.sqrt((td.walk_values(0.5) ** 2).mean()) + 1e-12


def test_outputs_move_by_the_rate_only_for_states_of_length_one(monkeypatch):
    states = np.array([[3.0, 4.0]])
    assert td.output_gap(states, np.ones(1), np.zeros(2), rate=0.1) == pytest.approx(24 / 25)  # |s|² − 1, of |s|²
    assert td.output_gap(td.unit_vectors(states), np.ones(1), np.zeros(2), rate=0.1) < 1e-12
    monkeypatch.setattr(td, "unit_vectors", lambda states: states)
    assert conclude(td, seeds=[0]).verdict == "holds in part"
