"""Periodic structure: models and logits whose frequencies are known, and a model that really grokked."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import handloom as hl
from draws import random_model
from handloom.core import Config, HandloomError, Model, params
from handloom.learn.api import train
from handloom.read.periodic import (
    Periodic,
    key_frequencies,
    logit_shares,
    losses_of,
    neuron_waves,
    parted,
    periodic,
    since,
    sums_of,
    wave_shares,
)
from handloom.tasks import task as task_named
from handloom.tasks.splits import split_inputs

DATA = Path(__file__).parents[2] / "docs" / "read"
P = 11


def adder(p, amplitudes, size=1.0):
    """A model whose logits are exactly the sum of amplitude · cos(2πk(a + b − c)/p). Two heads copy the circles of a
    and b behind the =; gated neurons multiply their coordinates."""
    n = len(amplitudes)
    D = 2 * n  # of each of: what a token is, a behind =, b behind =; then three positions
    config = Config(
        vocab=p + 1, block=3, d_model=3 * D + 3, layers=1, heads=2, d_head=D, d_ff=4 * n, norm="none",
        activation="none", gated=True, tied=False, biases=(),
    )  # fmt: skip
    w = params.zeros(config)
    every = np.arange(p)
    for i, (k, amplitude) in enumerate(amplitudes.items()):
        cos, sin = np.cos(2 * np.pi * k * every / p), np.sin(2 * np.pi * k * every / p)
        w["W_E"][:p, 2 * i], w["W_E"][:p, 2 * i + 1] = cos, sin
        layer, a, b = w["layers"][0], D + 2 * i, 2 * D + 2 * i
        for j, (one, other) in enumerate([(0, 0), (1, 1), (1, 0), (0, 1)]):  # cos cos, sin sin, sin cos, cos sin
            layer["W_gate"][a + one, 4 * i + j] = layer["W_in"][b + other, 4 * i + j] = 1.0
            layer["W_out"][4 * i + j, 2 * i + (j > 1)] = size * amplitude * (-1 if j == 1 else 1)
        w["W_U"][2 * i, :p], w["W_U"][2 * i + 1, :p] = cos, sin
    w["W_pos"][:, 3 * D :] = np.eye(3)
    for h in range(2):
        layer["W_Q"][h, 3 * D + 2, 0] = 60.0 * math.sqrt(D)
        layer["W_K"][h, 3 * D + h, 0] = 1.0  # head h looks at position h
        layer["W_V"][h, :D] = np.eye(D)
        layer["W_O"][h, :, (h + 1) * D : (h + 2) * D] = np.eye(D)
    return Model(
        config, w, task_named(f"modular-addition:modulus={p}").vocab, {"task": f"modular-addition:modulus={p}"}
    )


def test_a_model_made_of_two_frequencies_has_exactly_these():
    found = periodic(adder(P, {2: 2.0, 5: 1.0}))
    assert found.frequencies == (2, 5)
    assert found.logits == pytest.approx([0, 0.8, 0, 0, 0.2], abs=1e-9)  # as the squares of the amplitudes
    assert found.embedding == pytest.approx([0, 0.5, 0, 0, 0.5], abs=1e-9)
    assert found.neurons["0.mlp"] == [(2, pytest.approx(1.0))] * 4 + [(5, pytest.approx(1.0))] * 4
    assert found.fewest(0.79) == (2,)
    assert found.fewest(0.95) == (2, 5)
    assert found.losses.right == 1.0


def test_without_its_frequencies_that_model_guesses_and_with_them_alone_it_loses_nothing():
    losses = periodic(adder(P, {2: 2.0, 5: 1.0}, size=3.0)).losses
    assert losses.restricted == pytest.approx(losses.loss, abs=1e-9)
    assert losses.excluded == pytest.approx(math.log(P + 1), abs=1e-9)  # all logits are 0 then, that of = too
    assert losses.loss < 0.5
    assert (losses.train, losses.test) == (None, None)


@pytest.mark.parametrize("p", [5, 13, 23])
def test_random_models_have_no_key_frequencies(p):
    config = Config(
        vocab=p + 1, block=3, d_model=16, layers=1, heads=2, d_head=8, d_ff=32, norm="none", activation="relu"
    )
    for seed in range(5):
        found = periodic(random_model(config, seed), task_named(f"modular-addition:modulus={p}"))
        assert found.frequencies == ()
        assert found.fewest() is None


@pytest.mark.parametrize("p", [7, 10])
def test_the_share_of_a_frequency_is_what_least_squares_explain(p):
    rng = np.random.default_rng(0)
    logits = (
        rng.normal(size=(p, p, p)) + 3 * np.cos(2 * np.pi * np.add.outer(np.arange(p), np.arange(p)) / p)[..., None]
    )
    centred = logits - logits.mean(-1, keepdims=True)
    centred = (centred - centred.mean((0, 1))).reshape(p * p, p)
    angle = 2 * np.pi * np.add.outer(np.arange(p), np.arange(p)).reshape(-1, 1) / p
    for k, share in enumerate(logit_shares(logits), 1):
        waves = np.hstack([np.cos(k * angle), np.sin(k * angle)])
        fit = waves @ np.linalg.lstsq(waves, centred, rcond=None)[0]
        assert share == pytest.approx((fit**2).sum() / (centred**2).sum())


def test_the_highest_frequency_of_an_even_group_counts_once():
    signs = (-1.0) ** np.add.outer(np.arange(6), np.arange(6))
    logits = signs[..., None] * np.array([1.0, -1, 1, -1, 1, -1])
    assert logit_shares(logits) == pytest.approx([0, 0, 1])
    assert wave_shares(np.array([[1.0], [-1], [1], [-1], [1], [-1]])) == pytest.approx([0, 0, 1])
    assert wave_shares(np.cos(np.arange(6)[:, None] * np.pi / 3)) == pytest.approx([1, 0, 0])


@pytest.mark.parametrize(("p", "keys"), [(7, (1, 3)), (10, (2, 5)), (9, ())])
def test_the_restricted_and_the_excluded_part_add_up_to_the_logits_and_the_constant(p, keys):
    logits = np.random.default_rng(1).normal(size=(p, p, p + 1))
    restricted, excluded = parted(logits, keys)
    assert restricted + excluded == pytest.approx(logits + logits.mean((0, 1)))
    spectrum = np.abs(np.fft.fft2(restricted, axes=(0, 1))).max(-1)
    kept = {(0, 0), *((s * k % p, s * k % p) for k in keys for s in (1, -1))}
    assert {tuple(map(int, at)) for at in np.argwhere(spectrum > 1e-9)} == kept
    again, nothing = parted(restricted, keys)
    assert again == pytest.approx(restricted)
    assert nothing == pytest.approx(np.broadcast_to(logits.mean((0, 1)), logits.shape))


def test_key_frequencies_need_more_than_a_hundredth_and_more_than_an_even_spread():
    assert key_frequencies(np.array([0.009, 0.011, 0.9]), 113) == (2, 3)
    assert key_frequencies(np.array([0.2, 0.4]), 5) == (2,)  # an even spread gives each 8 %


def test_a_neuron_that_does_not_vary_has_no_frequency():
    values = np.zeros((7, 7, 2))
    values[..., 1] = np.cos(2 * np.pi * 3 * np.arange(7) / 7)[:, None]
    assert neuron_waves(values) == [(0, 0.0), (3, pytest.approx(1.0))]


def test_the_losses_of_checkpoints_are_those_that_the_run_measured(tmp_path):
    sizes = {"layers": 1, "heads": 2, "width": 16, "rate": 1e-2, "decay": 1.0}
    train(f"modular-addition:modulus={P}", folder=tmp_path / "a", steps=40, every=10, keep=10, fraction=0.6, **sizes)
    found = periodic(tmp_path / "a")
    lines = [json.loads(line) for line in (tmp_path / "a/metrics.jsonl").read_text().splitlines()]
    assert [one.step for one in found.checkpoints] == [10, 20, 30, 40]
    assert [one.test for one in found.checkpoints] == pytest.approx([line["held_out"] for line in lines], rel=1e-4)
    assert found.losses.step == 40
    share = int(0.6 * P * P) / P**2
    assert found.losses.loss == pytest.approx(share * found.losses.train + (1 - share) * found.losses.test)
    assert periodic(tmp_path / "a/model-10.safetensors").checkpoints == ()


def test_excluded_loss_is_that_of_what_was_trained_on():
    sums = sums_of(task_named("modular-addition:modulus=7"))
    logits = np.random.default_rng(0).normal(size=(7, 7, 8))
    known = np.zeros((7, 7), bool)
    known[2, 3] = True
    found = losses_of(logits, type(sums)(sums.rows, sums.elements, known), (), 0)
    likely = np.exp(logits[2, 3]) / np.exp(logits[2, 3]).sum()
    assert found.excluded == pytest.approx(found.train) == pytest.approx(-math.log(likely[5]))


@pytest.fixture(scope="module")
def grokked():
    return periodic(DATA / "grokked.safetensors")


def test_at_most_eight_frequencies_carry_95_percent_of_the_logits_of_a_model_that_grokked(grokked):
    assert len(grokked.fewest(0.95)) <= 8
    assert grokked.losses.right == 1.0  # on all pairs, of which it was trained on 40 %
    assert grokked.losses.restricted < 0.01
    assert grokked.losses.excluded > math.log(59)
    one = [share for k, share in grokked.neurons["0.mlp"] if k in grokked.frequencies and share >= 0.85]
    assert len(one) > 256  # of 512 neurons


def test_in_the_run_that_made_it_the_excluded_loss_rises_before_the_test_loss_falls(grokked):
    run = Periodic.from_json(json.loads((DATA / "grokking.json").read_text()))
    assert run.frequencies == grokked.frequencies
    assert run.logits == pytest.approx(grokked.logits, abs=1e-3)
    assert run.excluded_rises < run.test_falls
    memorised = next(one for one in run.checkpoints if one.train < 1e-3)
    assert memorised.test > math.log(59)
    assert memorised.excluded < 0.1  # what it has learned by heart does not need these frequencies


def test_a_written_sum_has_a_frequency_too():
    found = periodic("sum")
    assert found.modulus == 10
    assert found.losses.right == 1.0
    assert found.fewest() == (1,)


def test_since_is_the_first_step_from_which_on_something_holds():
    assert since([(1, True), (2, False), (3, True), (4, True)]) == 3
    assert since([(1, True), (2, False)]) is None


@pytest.mark.parametrize("name", ["addition", "min", "modular-addition:modulus=300"])
def test_a_task_that_is_no_small_sum_in_a_cyclic_group_is_an_error(name):
    with pytest.raises(HandloomError, match="not a sum in a cyclic group"):
        sums_of(task_named(name))
    with pytest.raises(HandloomError, match="not a sum"):
        sums_of(None)


def test_a_model_that_cannot_read_the_inputs_is_an_error():
    with pytest.raises(HandloomError, match="cannot read the task's inputs"):
        periodic("sum", task_named("modular-addition:modulus=11"))
    config = Config(vocab=12, block=4, d_model=4, causal=False)
    with pytest.raises(HandloomError, match="both ways"):
        periodic(random_model(config), task_named("modular-addition:modulus=11"))


def test_it_prints_becomes_json_and_draws_itself(grokked):
    run = Periodic.from_json(json.loads((DATA / "grokking.json").read_text()))
    assert Periodic.from_json(json.loads(json.dumps(run.to_json()))) == run
    assert "3 key frequencies carry" in str(run)
    assert str(run).count("\n") == len(run.checkpoints) + 4
    page = run._repr_html_()
    assert page.count("<svg") == 3
    assert all(name in page for name in ("train", "test", "restricted", "excluded"))
    assert grokked._repr_html_().count("<svg") == 2  # no checkpoints, no curves


def test_the_split_of_a_task_is_the_same_for_everyone_who_asks():
    known, new = split_inputs(task_named("modular-addition:modulus=5"), 0.4, 7)
    assert (len(known), len(new)) == (10, 15)
    assert sorted(known + new) == [[a, b, 5] for a in range(5) for b in range(5)]
    assert split_inputs(task_named("modular-addition:modulus=5"), 0.4, 7) == (known, new)
    assert split_inputs(task_named("modular-addition:modulus=5"), 0.4, 8) != (known, new)
    assert hl.read.periodic is periodic
