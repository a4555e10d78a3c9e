"""Virtual heads: A ⊗ W is the Kronecker product, its products are products, and their sum is what the run computed."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import SKIPS, assert_close, configs, random_model
from handloom.core import Config, HandloomError, reference
from handloom.read import Term, virtual_heads
from handloom.read.head_circuits import fold
from handloom.read.virtual_heads import scale, term

sizes = st.integers(1, 5)


def random_term(rng, T, D):
    return Term(rng.normal(size=(T, T)), rng.normal(size=(D, D)))


@given(sizes, sizes, st.integers(0, 1000))
def test_a_term_is_the_kronecker_product_of_its_matrices(T, D, seed):
    rng = np.random.default_rng(seed)
    one, x = random_term(rng, T, D), rng.normal(size=(T, D))
    assert_close(one(x).ravel(), np.kron(one.A, one.W) @ x.ravel(), 1e-12)


@given(sizes, sizes, st.integers(0, 1000))
def test_one_term_after_another_is_the_term_of_the_products(T, D, seed):
    """(A ⊗ W) (A' ⊗ W') = A A' ⊗ W W'."""
    rng = np.random.default_rng(seed)
    one, other, x = random_term(rng, T, D), random_term(rng, T, D), rng.normal(size=(T, D))
    assert_close((one @ other)(x), one(other(x)), 1e-11)
    both = one @ other
    assert_close(np.kron(both.A, both.W), np.kron(one.A, one.W) @ np.kron(other.A, other.W), 1e-11)


@given(configs(**SKIPS, layers=2, heads=2, d_ff=0, place="pre", biases=()), st.data())
@settings(max_examples=40)
def test_what_a_head_writes_is_the_sum_over_what_it_reads(config, data):
    """Without biases and MLPs: the embedding through the head, and every head before it as a virtual head."""
    model = random_model(config)
    ids = data.draw(st.lists(st.integers(0, config.vocab - 1), min_size=1, max_size=config.block))
    weights = fold(model)
    trace = reference.forward(weights.model, ids, "*")[1]
    start = trace["0.resid_pre"]
    for h in range(2):
        later = term(f"1.{h}", weights, trace)
        total = later(start / scale("1.0", trace))
        for g in range(2):
            passed = term(f"0.{g}", weights, trace)(start / scale("0.0", trace))
            total = total + later(passed / scale("1.0", trace))
        assert_close(total, trace["1.result"][h], 1e-10)


def test_the_pattern_is_the_product_of_the_two():
    model = random_model(Config(vocab=4, block=5, d_model=6, layers=2, heads=2, d_head=3))
    trace = reference.forward(model, [0, 1, 3, 2], "*.pattern")[1]
    found = virtual_heads(model, [0, 1, 3, 2])
    assert_close(found["0.1", "1.0"].pattern, trace["1.pattern"][0] @ trace["0.pattern"][1], 1e-12)
    assert_close(found["0.1", "1.0"].pattern.sum(-1), np.ones(4), 1e-12)
    assert [one.share for one in found.pairs] == sorted((one.share for one in found.pairs), reverse=True)


def test_on_the_book_search_the_clearing_heads_undo_what_the_first_ones_gathered():
    found = virtual_heads("book/search", "4 0 8 0 1 3 0 8 0")
    assert found["0.3", "1.2"].share == pytest.approx(1.0, abs=0.01)
    assert found["0.1", "1.0"].share < 1e-6, "the search reads these by its keys, and never as values"
    assert "0.3 → 1.2  share 1.00" in str(found)
    assert len(json.loads(json.dumps(found.to_json()))[0]["pattern"]) == 9
    with pytest.raises(HandloomError, match="a head is followed by one of a later layer"):
        found["1.0", "0.0"]


def test_one_layer_has_none():
    model = random_model(Config(vocab=4, block=5, d_model=6, layers=1, heads=2, d_head=3))
    assert str(virtual_heads(model, [0, 1])) == "one layer has no virtual heads"
