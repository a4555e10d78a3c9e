"""Chapter 2's exercises: every way to say hello is held against the task, and has the numbers it was asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloom.core import HandloomError, count, generate
from handloom.core.reference import forward
from handloom.tasks import Task, certify
from handloom.tasks.message import message
from handloom.write.exercises.hellos import (
    chain_hello,
    counting_hello,
    flat_circle,
    integer_hello,
    positive_hello,
    repeat,
    rms_hello,
    signed_axes,
    simpleformer,
    sparse_hello,
    train_hello,
)

HELLOS = [simpleformer, sparse_hello, counting_hello, rms_hello, integer_hello, positive_hello]
PANGRAM = "the quick brown fox jumps over the lazy dog"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("said", ["Hello World!", PANGRAM, "a", "aa", ""])
@pytest.mark.parametrize("build", HELLOS, ids=lambda build: build.__name__)
def test_every_hello_says_its_message_from_wherever_it_was_left(build, said, dtype):
    certificate = certify(build(said), message(said), dtype=dtype)
    assert certificate.right
    assert certificate.method == "exhaustive"
    assert certificate.margin > (0.05 if len(said) < 20 else 0.01)


@pytest.mark.parametrize(
    ("build", "said", "dimensions", "total", "nonzero", "margin"),
    [
        (simpleformer, "Hello World!", 2, 70, 47, 0.32),
        (sparse_hello, "Hello World!", 6, 144, 24, 1.8),
        (chain_hello, "Hel Word!", 3, 63, 32, 0.49),
        (counting_hello, "Hello World!", 3, 235, 153, 0.47),
        (rms_hello, "Hello World!", 2, 48, 47, 0.32),
        (integer_hello, "Hello World!", 3, 72, 59, 0.06),
        (positive_hello, "Hello World!", 3, 72, 72, 0.48),
    ],
)
def test_the_table_of_sizes_and_margins(build, said, dimensions, total, nonzero, margin):
    model = build()
    assert (model.config.d_model, count(model).total, count(model).nonzero) == (dimensions, total, nonzero)
    for dtype in ("float64", "float32"):
        assert float(f"{certify(model, message(said), dtype=dtype).margin:.2g}") == margin


def test_section_2_1_the_simpleformer_looks_at_positions_alone():
    model = simpleformer()
    assert not model.params["W_E"].any()
    assert model.config.norm == "none"
    assert model.config.layers == 0
    anything = np.random.default_rng(0).integers(0, 11, 13)
    x = model.params["W_pos"] @ model.params["W_U"]  # the whole of figure 2.1
    assert generate(model, [anything[:5].tolist()], steps=1) == [[int(x[4].argmax())]]
    assert np.array_equal(forward(model, anything)[0], x)


def repeating(tokens, times=7):
    """The last token, again and again."""
    vocab = repeat(tokens).vocab
    return Task(
        takes="tokens",
        vocab=vocab,
        oracle=lambda ids: ids[-1:] * times,
        draw=lambda rng: rng.integers(0, tokens, 3).tolist(),
        count=tokens,
        every=lambda: ([token] for token in range(tokens)),
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("tokens", [1, 2, 3, 7, 10, 100])
def test_exercises_1_and_2_the_last_token_is_repeated(tokens, sparse, dtype):
    model = repeat(tokens, block=10, sparse=sparse)
    certificate = certify(model, repeating(tokens), dtype=dtype)
    assert certificate.right or tokens == 1  # a single token has nothing to be better than
    assert count(model).total == tokens * (max(3, (tokens + 1) // 2) if sparse else 3)
    assert count(model).nonzero <= (tokens if sparse else 3 * tokens)


def test_exercise_1_for_ever_in_a_block_of_one():
    for sparse in (False, True):
        prompts = [[last] for last in range(10)]
        assert generate(repeat(10, sparse=sparse), prompts, steps=500) == [[last] * 500 for last in range(10)]


def test_exercise_2_fewer_dimensions_cannot_do_with_one_number_a_row():
    """Layer norm makes of a row with one number one of 2 · D vectors: so many rows can be told apart, and no more."""
    for D in range(2, 8):
        numbers = np.random.default_rng(D).normal(size=50)
        rows = np.vstack([n * np.eye(D) for n in numbers])
        centred = rows - rows.mean(-1, keepdims=True)
        normed = centred / centred.std(-1, keepdims=True)
        assert len(np.unique(normed.round(9), axis=0)) == (2 if D == 2 else 2 * D)
    assert signed_axes(11).shape == (11, 6)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2).filter(lambda x: abs(x[0] - x[1]) > 1e-3))
def test_layer_norm_leaves_two_points_of_two_dimensions(x):
    """So that no model without layers in two dimensions has more than two answers, trained or written."""
    x = np.array(x)
    assert np.allclose(np.abs((x - x.mean()) / x.std()), 1)


def test_rms_norm_keeps_the_flat_circle():
    points = flat_circle(13)
    assert np.allclose(points / np.sqrt((points**2).mean(-1, keepdims=True)), points, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("said", ["Hel Word!", "", "a", "abc", "abcdefghijklmnopqrstuvwxyz0123456789"])
def test_exercise_4_a_message_without_repeats_needs_no_positions(said, dtype):
    model = chain_hello(said)
    assert not model.params["W_pos"].any()
    assert model.config.tied
    certificate = certify(model, message(said), dtype=dtype)
    assert certificate.right
    assert certificate.margin > 0.01


def test_exercise_4_a_letter_that_comes_twice_is_refused():
    with pytest.raises(HandloomError, match="'Hello' has a letter twice"):
        chain_hello("Hello")


def test_exercise_5_has_no_positions():
    model = counting_hello()
    assert not model.params["W_pos"].any()
    assert model() == "Hello World!"


def test_exercise_7_every_entry_is_a_whole_number_and_small():
    entries = np.concatenate([array.ravel() for array in integer_hello().flat.values()])
    assert np.array_equal(entries, entries.round())
    assert np.abs(entries).max() == 100


def test_exercise_8_every_entry_is_positive():
    assert all((array > 0).all() for array in positive_hello().flat.values())


def test_exercises_7_and_8_at_once():
    model = integer_hello()
    flat = {name: array + 101 if name != "ln_final.w" else array for name, array in model.flat.items()}
    both = model.with_(params=flat)
    assert all((array > 0).all() and np.array_equal(array, array.round()) for array in both.flat.values())
    assert certify(both, message(), dtype="float32").right


@pytest.mark.slow
@pytest.mark.parametrize(("norm", "d_model"), [("layer", 3), ("rms", 2)])
def test_exercise_3_training_always_finds_models_of_the_written_ones_size(norm, d_model):
    trained = [train_hello(d_model=d_model, norm=norm, seed=seed) for seed in range(10)]
    assert {count(model).total for model in trained} == {24 * d_model}
    assert [model() for model in trained] == ["Hello World!"] * 10
