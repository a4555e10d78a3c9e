"""Paths are exact: they sum to the logits for every Config, and a search finds the largest ones."""

import json
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handloom as hl
from draws import SKIPS, assert_close, models_and_tokens, random_model
from handloom.core import Config, HandloomError, trace
from handloom.core.reference import forward
from handloom.read.frozen import run_frozen
from handloom.read.paths import count_paths, expansion, first_chain, search, sums_by_heads

MODELS = 500
REPEATED = "4 0 8 0 1 3 0 8 0"
DEEP = Config(vocab=7, block=8, d_model=12, layers=4, heads=3, d_head=4, d_ff=6)


def chain_to_every_logit(frozen):
    """A chain whose covectors are those of all logits at all positions: T · V of them."""
    T, V = frozen.logits.shape
    return first_chain(frozen, np.eye(T * V).reshape(T * V, T, V))


@settings(max_examples=MODELS)
@given(models_and_tokens(**SKIPS), st.booleans())
def test_the_paths_of_every_model_sum_to_its_logits(drawn, through_gates):
    model, tokens = drawn
    frozen, run = run_frozen(model, tokens, through_gates)
    start = chain_to_every_logit(frozen)
    every = dict(expansion(frozen, start))
    assert len(every) == count_paths(frozen)
    logits = run["logits"].ravel()
    assert_close(np.sum(list(every.values()), axis=0), logits, 1e-12)
    heads = np.array([sum(step[-1].isdigit() for step in steps) for steps in every])
    for n, value in enumerate(sums_by_heads(frozen, start)):
        assert_close(np.array(list(every.values()))[heads == n].sum(0), value, 1e-12)


def test_a_path_is_the_product_of_its_matrices():
    """Two layers without norms and biases: A₁ A₀ x W_V W_O W_V W_O W_U, written out."""
    config = Config(vocab=5, block=4, d_model=6, layers=2, heads=2, d_head=3, norm="none", biases=(), tied=False)
    model, ids = random_model(config, 1), [3, 1, 4, 2]
    found = {path.steps: path.contribution for path in hl.read.paths(model, ids, answer=2, against=0, position=2).paths}
    run, p = trace(model, ids), model.params
    (first, second), u = p["layers"], p["W_U"][:, 2] - p["W_U"][:, 0]
    moved = run["1.pattern"][1] @ run["0.pattern"][0]
    maps = first["W_V"][0] @ first["W_O"][0] @ second["W_V"][1] @ second["W_O"][1]
    assert found["embed", "0.0", "1.1"] == pytest.approx((moved @ run["embed"] @ maps @ u)[2], rel=1e-12)
    assert found["pos", "1.0"] == pytest.approx(
        (run["1.pattern"][0] @ run["pos_embed"] @ second["W_V"][0] @ second["W_O"][0] @ u)[2], rel=1e-12
    )
    assert sum(found.values()) == pytest.approx(run["logits"][2, 2] - run["logits"][2, 0], rel=1e-12)


@pytest.mark.parametrize("place", ["pre", "post"])
@pytest.mark.parametrize("through_gates", [False, True])
def test_the_search_finds_the_largest_of_all_paths(place, through_gates):
    for seed in range(4):
        model = random_model(Config(**DEEP.__dict__ | {"place": place}), seed, 0.3)
        frozen, run = run_frozen(model, [1, 0, 3, 3, 6, 2], through_gates)
        weights = np.zeros(run["logits"].shape)
        weights[-1, seed] = 1.0
        start = first_chain(frozen, weights)
        best, proven = search(frozen, start, 20)
        every = sorted((abs(float(value)) for _, value in expansion(frozen, start)), reverse=True)
        assert proven
        assert_close(sorted((abs(path.contribution) for path in best), reverse=True), every[:20], 1e-9)


def test_many_paths_are_searched_and_summed_and_not_listed(monkeypatch):
    model, ids = random_model(Config(**DEEP.__dict__ | {"layers": 6, "d_ff": 0}), 0, 0.2), [1, 0, 3, 3]
    found = hl.read.paths(model, ids, keep=7)
    assert (found.count, len(found.paths), found.proven) == (3 * 4**6, 7, True)
    assert sum(found.by_heads) == pytest.approx(found.target.total, rel=1e-12)
    with pytest.raises(HandloomError, match="8 are asked for and 7 of 12,288 are known; search for more with keep=8"):
        found.top(8)
    monkeypatch.setattr(import_module("handloom.read.paths"), "MOST_STEPS", 20)
    short = hl.read.paths(model, ids)
    assert not short.proven
    assert "(larger paths may be missing)" in str(short)


def test_search_copies_a_token_by_one_path():
    found = hl.read.paths(hl.program("search"), REPEATED, answer="1")
    assert found.paths[0].steps == ("embed", "1.0")
    assert found.paths[0].contribution > 0.99 * found.target.total > 0
    assert str(found.top(1)).splitlines()[1].endswith("embed → 1.0")


@given(models_and_tokens(**SKIPS), st.data())
def test_what_is_explained_is_a_difference_of_logits(drawn, data):
    model, tokens = drawn
    logits, _ = forward(model, tokens)
    answer, against = (data.draw(st.integers(0, model.config.vocab - 1)) for _ in range(2))
    at = data.draw(st.integers(0, len(tokens) - 1))
    mean = hl.read.paths(model, tokens, answer=str(answer), position=at)
    pair = hl.read.paths(model, tokens, answer=answer, against=against, position=at)
    own = hl.read.paths(model, tokens, position=at)
    scale = np.abs(logits).max()
    assert mean.target.total == pytest.approx(logits[at, answer] - logits[at].mean(), abs=1e-12 * scale)
    assert pair.target.total == pytest.approx(logits[at, answer] - logits[at, against], abs=1e-12 * scale)
    assert own.target.total == pytest.approx(logits[at].max() - logits[at].mean(), abs=1e-12 * scale)
    json.dumps([mean.to_json(), str(pair)], allow_nan=False)


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"answer": "x"}, "token 'x' is not in the vocabulary"),
        ({"answer": 10}, "token 10: not in the vocabulary \\(expected 0 to 9\\)"),
        ({"position": 9}, "position 9: the text has 9 tokens \\(expected -9 to 8\\)"),
    ],
)
def test_what_cannot_be_explained_raises_an_error(given_, told):
    with pytest.raises(HandloomError, match=told):
        hl.read.paths(hl.program("search"), REPEATED, **given_)
    with pytest.raises(HandloomError, match="several texts"):
        hl.read.paths(hl.program("search"), [REPEATED, REPEATED])
