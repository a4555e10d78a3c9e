"""Parity by layer norm: right on all short inputs, by a margin that no length changes, and only by layer norm."""

import numpy as np
import pytest

import handloom as hl
from handloom.core import reference
from handloom.tasks.sequences import parity
from handloom.write.ours.layer_norm_parity import layer_norm_parity

MARGIN = 6.0  # two dimensions, each √(18/2) behind the last norm


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_strings_of_up_to_ten_bits(dtype):
    certificate = hl.certify(layer_norm_parity("1-10"), parity("1-10"), dtype=dtype)
    assert (certificate.method, certificate.right, certificate.inputs) == ("exhaustive", True, 2**11 - 2)
    assert certificate.margin == pytest.approx(MARGIN, rel=1e-5)


@pytest.mark.parametrize("length", [20, 60, 150])
def test_the_margin_does_not_depend_on_the_length(length):
    certificate = hl.certify(layer_norm_parity(f"{length}"), parity(f"{length}"), samples=40, dtype="float32")
    assert certificate.right
    assert certificate.margin == pytest.approx(MARGIN, rel=1e-3)


def signal(length: int) -> float:
    """The smallest number that decides, in front of the last norm, as a part of the stream before it was cleared."""
    model, rng = layer_norm_parity(f"1-{length}"), np.random.default_rng(length)
    tokens = np.column_stack([rng.integers(2, size=(50, length)), np.full(50, 2)])
    _, trace = reference.forward(model, tokens, ["1.resid_mid", "1.mlp_out"])
    left = (trace["1.resid_mid"] + trace["1.mlp_out"])[:, -1]
    return float((abs(left).max(-1) / abs(trace["1.resid_mid"][:, -1]).max(-1)).min())


def test_what_the_last_norm_amplifies_fades_with_the_length():
    assert signal(10) > 4 * signal(40) > 16 * signal(160) > 0


def test_without_room_for_the_signal_the_margin_fades_too():
    """With a usual eps, layer norm no longer divides by the signal alone."""
    model = layer_norm_parity("1-40")
    usual = hl.Model(type(model.config)(**{**vars(model.config), "eps": 1e-2}), model.params, model.vocab, model.notes)
    assert hl.certify(usual, parity("40"), samples=40, dtype="float64").margin < MARGIN / 10


def test_the_answer_is_that_of_the_sign_of_one_number():
    model = layer_norm_parity("1-12")
    assert [model(f"{'1' * ones}{'0' * (12 - ones)}=") for ones in range(13)] == [str(n % 2) for n in range(13)]


def test_lengths_out_of_range_give_one_line():
    with pytest.raises(hl.HandloomError, match=r"layer-norm-parity: length='1-5000' must be from 1 to 1000"):
        layer_norm_parity("1-5000")
