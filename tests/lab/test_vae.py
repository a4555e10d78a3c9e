"""The vae experiment: its strings, its measures on latents that are known, and what the claim hangs on."""

import numpy as np
import pytest
import torch

from handloom.lab.experiment import Lab
from handloom.lab.learned import vae


@pytest.fixture(scope="module")
def base():
    return vae.trained_base(30, Lab())


def test_strings_have_letters_of_one_set_and_the_density_they_say():
    drawn = vae.draw(np.random.default_rng(0), 2000)
    letters = drawn.ids[:, 1:] != vae.SPACE
    second = drawn.ids[:, 1:] > vae.LETTERS
    assert (second == (letters & (drawn.second == 1)[:, None])).all()
    for density in vae.DENSITIES:
        assert letters[drawn.density == density].mean() == pytest.approx(density, abs=0.03)


def test_a_line_reads_a_linear_factor_and_not_one_of_other_strings():
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(1000, 2))
    factor = latents @ [2.0, -1.0] + 3.0
    assert vae.read_by_line(latents, factor) == pytest.approx(1.0)
    assert vae.read_by_line(latents, rng.permutation(factor)) < 0.05


def test_the_divergence_is_that_of_two_normal_distributions():
    from torch.distributions import Normal, kl_divergence

    means, logs = torch.tensor([[0.0, 1.5]]), torch.tensor([[0.0, -0.7]])
    expected = kl_divergence(Normal(means, logs.exp()), Normal(0.0, 1.0))
    assert torch.allclose(vae.divergence(means, logs), expected, atol=1e-6)


def test_a_decoder_starts_as_the_base_and_under_15_percent_is_trained(base):
    weights, test = vae.new_weights(base, 0), vae.draw(np.random.default_rng(1), 50)
    own = vae.decode(weights, test.ids, torch.zeros(50, vae.LATENTS)).mean().item() / vae.T
    assert own == pytest.approx(vae.base_loss(base, test), abs=1e-4)
    trained = sum(one.numel() for one in weights.values() if one.requires_grad)
    assert 0 < trained < 0.15 * sum(one.numel() for one in weights.values())


def test_latents_change_the_loss_only_through_the_prefix(base):
    weights, test = vae.new_weights(base, 0), vae.draw(np.random.default_rng(1), 200)
    assert abs(vae.measure(weights, test, np.random.default_rng(2)).cost) > 1e-4
    weights["prefix"] = torch.zeros_like(weights["prefix"])
    assert vae.measure(weights, test, np.random.default_rng(2)).cost == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
def test_latents_are_used_at_beta_1_and_not_at_10():
    measured = vae.run(Lab()).series["measured"]
    assert measured[vae.MAIN]["cost"] > 0.02
    assert measured["β = 10"]["cost"] < 0.01
