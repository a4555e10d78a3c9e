"""Heads matched by what they do: a model matches itself, in any order and any basis, and matching needs one task."""

import numpy as np
import pytest

import handloom as hl
from handloom.read import match_heads


def test_heads_are_found_again_in_another_order_and_basis():
    model = hl.program("lookup")
    order = [2, 0, 4, 1, 3]
    found = match_heads(model, hl.transforms.permute_heads(model, 0, order), count=32)
    assert [found.similarity[order[new], new] for new in range(5)] == pytest.approx([1.0] * 5)
    assert min(one.similarity for one in found.matches) > 0.999


def test_a_head_with_other_keys_is_less_similar():
    model = hl.program("compiled/induction:n=9,letters=4")
    flat = {name: np.array(array) for name, array in model.flat.items()}
    flat["layers.1.W_K"] *= -1
    changed = model.with_(params=hl.params.unflatten(model.config, flat))
    found = match_heads(model, changed, count=32)
    assert found.matches[0].similarity > 0.999
    assert found.similarity[1, 1] < 0.5


def test_models_with_other_tokens_are_refused():
    with pytest.raises(hl.HandloomError, match="choose models of one task"):
        match_heads("search", "addition:digits=2")


def test_matches_print_and_are_json():
    found = match_heads("search", "search", count=8)
    assert "0.0 offset 1" in str(found)
    assert found.to_json()[0]["other"] == "0.0"
