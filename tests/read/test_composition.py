"""Composition: 1 is what random rotations give, exactly; factors give what whole matrices give; rotary is refused."""

import json

import numpy as np
import pytest

from draws import random_model
from handloom.core import Config, HandloomError
from handloom.core.transforms import random_rotation, rotate
from handloom.read import composition, head_circuits
from handloom.read.composition import squared_corners
from handloom.write import program

SIZES = {"vocab": 5, "block": 4, "d_model": 12, "layers": 2, "heads": 2, "d_head": 3}


def haar(rng, D):
    q, r = np.linalg.qr(rng.normal(size=(D, D)))
    return q * np.sign(np.diag(r))


def test_the_mean_square_over_rotations_is_1_whatever_the_spectra():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(6, 6)) ** 3, np.diag([5.0, 1, 0, 0, 0, 0])
    squares = [np.linalg.norm(A @ haar(rng, 6) @ B) ** 2 for _ in range(20_000)]
    expected = np.linalg.norm(A) ** 2 * np.linalg.norm(B) ** 2 / 6
    assert np.mean(squares) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("width", "d_head"), [(12, 3), (5, 9), (4, 4)])
def test_corners_of_rotations_have_the_law_of_whole_rotations(width, d_head):
    """The mean of a squared entry is 1 / D, and the spread of ‖S C S'‖² that of whole rotations."""
    corners = squared_corners(width, d_head, 4000, seed=0)
    rank = min(width, d_head)
    assert corners.shape == (4000, rank, rank)
    assert corners.mean() == pytest.approx(1 / width, rel=0.03)
    rng = np.random.default_rng(1)
    a, b = rng.random(rank), rng.random(rank)
    small = np.einsum("i,rij,j->r", a, corners, b)
    whole = [np.einsum("i,ij,j->", a, haar(rng, width)[:rank, :rank] ** 2, b) for _ in range(4000)]
    assert small.std() == pytest.approx(np.std(whole), rel=0.1, abs=1e-12)


@pytest.mark.parametrize("norm", ["none", "rms", "layer"])
def test_values_are_those_of_whole_matrices(norm):
    model = random_model(Config(**SIZES, norm=norm, kv_heads=1))
    found, heads = composition(model, rotations=3), head_circuits(model)

    def whole(head, first, second):
        one = heads[head]
        centred = one.weights.centred
        return centred(one.of(first).T).T @ (one.of(second) if second == "W_O" else one.of(second).T)

    for one in found.pairs:
        A = heads[one.source].weights.centred(whole(one.source, "W_V", "W_O"))
        names = {"q": ("W_Q", "W_K"), "k": ("W_K", "W_Q"), "v": ("W_V", "W_O")}[one.kind]
        B = heads[one.target].weights.centred(whole(one.target, *names))
        value = np.linalg.norm(A @ B) * np.sqrt(12) / np.linalg.norm(A) / np.linalg.norm(B)
        assert one.value == pytest.approx(value, rel=1e-9)


def test_random_models_compose_like_random_rotations():
    """Over many models the mean square is 1, and p is even from 0 to 1."""
    pairs = [
        one
        for seed in range(30)
        for one in composition(random_model(Config(**SIZES, norm="none"), seed), rotations=99).pairs
    ]
    assert np.mean([one.value**2 for one in pairs]) == pytest.approx(1.0, abs=0.05)
    below = np.mean([one.p < 0.25 for one in pairs])
    assert 0.15 < below < 0.35


def test_a_rotation_of_the_stream_changes_nothing():
    model = random_model(Config(**SIZES, norm="rms"))
    turned = rotate(model, random_rotation(12, seed=3))
    for one, other in zip(composition(model).pairs, composition(turned).pairs, strict=True):
        assert other.value == pytest.approx(one.value, abs=1e-9)
        assert other.p == pytest.approx(one.p, abs=0.01)


def test_weights_alone_mislead_on_the_searches():
    """On book/search the largest belongs to a head that the answer does not need; on search-lean all true pairs are
    random."""
    most = composition(program("book/search")).top(3)
    assert {(one.source, one.target) for one in most} == {("0.3", "1.2")}
    lean = composition(program("exercise/search-lean"))
    true = [("0.0", "q"), ("0.1", "q"), ("0.0", "k"), ("0.1", "k"), ("0.2", "k")]
    values = [lean.value(source, "1.0", kind) for source, kind in true]
    assert max(values) < 1.1
    assert min(values) > 0.85


def test_with_rotary_positions_only_values_compose():
    model = random_model(Config(**SIZES | {"d_head": 4}, positions="rotary"))
    assert {one.kind for one in composition(model).pairs} == {"v"}
    with pytest.raises(HandloomError, match="with rotary positions that of queries and keys depends on the offset"):
        composition(model, kinds=["k"])
    with pytest.raises(HandloomError, match=r"no kind 'z' \(expected some of q, k, v\)"):
        composition(model, kinds=["z"])


def test_the_result_prints_and_becomes_json():
    found = composition("search")
    assert str(found).startswith("0.1 → 1.0.k 1.98 (p = 0.0025)\n")
    assert json.loads(json.dumps(found.to_json()))[0]["source"] == "0.1"
    assert composition(random_model(Config(**SIZES | {"layers": 1}))).pairs == ()
    with pytest.raises(HandloomError, match="a head composes with an earlier one"):
        found.value("1.0", "0.0", "k")
