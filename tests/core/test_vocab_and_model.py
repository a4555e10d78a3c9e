"""Vocabularies and models: reading, joining, refusing, staying as they are."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import assert_close, models, random_model
from handloom.core import Config, HandloomError, Model, Vocab, count, params, reference


@given(st.lists(st.integers(0, 12)))
def test_words_come_back(ids):
    vocab = Vocab.numbers(13)
    assert vocab.encode(vocab.decode(ids)) == ids


@given(st.text("abc ", max_size=20))
def test_characters_come_back_behind_the_bos(text):
    vocab = Vocab.of("abc ", bos="<bos>", eos="<eos>")
    ids = vocab.encode(text)
    assert ids[0] == vocab.id("<bos>")
    assert vocab.decode(ids) == text
    assert vocab.encode(vocab.decode(ids, specials=True)) == ids


def test_the_longest_token_that_fits_is_read():
    vocab = Vocab(("a", "ab", "b", "<eos>", "<"), separator="", eos="<eos>")
    assert vocab.encode("abab<eos><b") == [1, 1, 3, 4, 2]


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_in_one_line(text):
    vocab = Vocab.of("abc", eos="<eos>")
    try:
        ids = vocab.encode(text)
    except HandloomError as error:
        assert "is not in the vocabulary; it has a b c <eos>" in str(error)
        assert "\n" not in str(error)
    else:
        assert vocab.decode(ids, specials=True) == text


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Vocab(()), "tokens must be a tuple of at least one string"),
        (lambda: Vocab(["a"]), "tokens must be a tuple"),
        (lambda: Vocab(("a", "b", "a")), "the token 'a' occurs twice"),
        (lambda: Vocab(("a b",)), "'a b' cannot be a token"),
        (lambda: Vocab(("", "b")), "'' cannot be a token"),
        (lambda: Vocab((3,)), "3 cannot be a token"),
        (lambda: Vocab(("\ud800",)), "cannot be a token"),
        (lambda: Vocab(("a",), separator=","), "separator=',' must be '' or ' '"),
        (lambda: Vocab(("a",), eos="b"), "eos='b' is not one of the tokens"),
        (lambda: Vocab.from_json([1]), "expected an object with tokens"),
        (lambda: Vocab.from_json({"tokens": ["a"], "size": 3}), "expected an object with tokens"),
    ],
)
def test_impossible_vocabularies_are_refused(make, complaint):
    with pytest.raises(HandloomError, match=complaint):
        make()


@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.sampled_from(["", " "]))
def test_vocabularies_survive_json(tokens, separator):
    try:
        vocab = Vocab(tuple(tokens), separator)
    except HandloomError:
        return
    assert Vocab.from_json(json.loads(json.dumps(vocab.to_json()))) == vocab


CONFIG = Config(vocab=3, block=4, d_model=4, layers=1, heads=1, d_head=2, d_ff=3)


def test_a_model_does_not_change():
    weights = params.random(CONFIG, seed=0)
    model = Model(CONFIG, weights, Vocab.numbers(3))
    before = model.params["W_E"].copy()
    weights["W_E"][:] = 7.0
    assert np.array_equal(model.params["W_E"], before)
    with pytest.raises(ValueError, match="read-only"):
        model.params["W_E"][0, 0] = 1.0
    with pytest.raises(AttributeError):
        model.config = CONFIG
    for place in (model.params, model.params["layers"][0], model.notes):
        with pytest.raises(TypeError):
            place["W_E"] = 0
    assert isinstance(model.params["layers"], tuple)


def test_copies_and_pickles_are_models_too():
    model = Model(CONFIG, params.random(CONFIG, seed=0), Vocab.numbers(3), {"a": 1})
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.config == model.config
        assert again.notes == model.notes
        assert np.array_equal(again.params["W_E"], model.params["W_E"])
        assert not again.params["W_E"].flags.writeable


def test_trained_tensors_make_a_model():
    from handloom.core import torch_engine

    model = Model(CONFIG, params.random(CONFIG, seed=0), Vocab.numbers(3))
    again = Model(CONFIG, torch_engine.tensors(model, grad=True), model.vocab)
    assert all(np.array_equal(again.flat[name], array) for name, array in model.flat.items())


def test_what_is_no_model_is_refused():
    weights = params.zeros(CONFIG)
    with pytest.raises(HandloomError, match="takes a Config, its parameters, a Vocab"):
        Model(CONFIG, weights, "012")
    with pytest.raises(HandloomError, match="params must be a dict of arrays"):
        Model(CONFIG, None, Vocab.numbers(3))
    with pytest.raises(HandloomError, match="parameter 'W_E' is not an array of numbers"):
        Model(CONFIG, weights | {"W_E": [[1, 2], [3]]}, Vocab.numbers(3))
    with pytest.raises(HandloomError, match="dtype is float32 or float64"):
        Model(CONFIG, weights, Vocab.numbers(3)).astype(int)
    with pytest.raises(HandloomError, match="token 99 is not in the vocabulary"):
        Vocab.numbers(3).decode([99])
    with pytest.raises(HandloomError, match="token -1 is not in the vocabulary"):
        Vocab.numbers(3).decode([-1])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda p: p.pop("W_E"), "parameter W_E is missing"),
        (lambda p: p["layers"][0].pop("W_Q"), "parameter layers.0.W_Q is missing"),
        (lambda p: p.update(W_X=np.zeros(3)), "parameter 'W_X' is not one that the Config has"),
        (lambda p: p["layers"].append({"W_Q": np.zeros(2)}), "parameter 'layers.1.W_Q' is not one"),
        (lambda p: p.update(W_E=np.zeros((4, 3))), r"parameter W_E has shape \(4, 3\); the Config asks for \(3, 4\)"),
        (lambda p: p.update(W_E=np.full((3, 4), np.nan)), "parameter W_E holds NaN or infinity"),
        (lambda p: p.update(W_E=np.zeros((3, 4), np.float32)), "parameters are float32, float64: make all"),
        (lambda p: p.update(W_E=np.zeros((3, 4), np.complex128)), "make all float32 or all float64"),
        (lambda p: p.update(W_E=[["a"] * 4] * 3), "make all float32 or all float64"),
    ],
)
def test_params_that_do_not_fit_are_refused(change, complaint):
    weights = params.zeros(CONFIG)
    change(weights)
    with pytest.raises(HandloomError, match=complaint):
        Model(CONFIG, weights, Vocab.numbers(3))


def test_vocabulary_and_notes_must_fit():
    weights = params.zeros(CONFIG)
    with pytest.raises(HandloomError, match=r"the vocabulary has 4 tokens \(expected 3, as in the Config\)"):
        Model(CONFIG, weights, Vocab.numbers(4))
    for notes in ({"f": print}, {"x": float("nan")}):
        with pytest.raises(HandloomError, match="notes must be plain JSON values"):
            Model(CONFIG, weights, Vocab.numbers(3), notes)


def test_lists_of_whole_numbers_are_weights_too():
    config = Config(vocab=2, block=1, d_model=2, positions="none", norm="none")
    model = Model(config, {"W_E": [[1, 0], [0, 1]]}, Vocab.numbers(2))
    assert model.dtype == np.float64
    assert np.array_equal(reference.forward(model, [1])[0], [[0.0, 1.0]])


@given(models())
@settings(max_examples=30)
def test_float32_and_back_is_the_rounded_model(model):
    rounded = model.astype(np.float32)
    assert rounded.dtype == np.float32
    assert rounded.astype(np.float64).astype(np.float32).flat.keys() == model.flat.keys()
    for name, array in rounded.flat.items():
        assert_close(array, model.flat[name], 1e-6)


# --- counting -------------------------------------------------------------------------------------------


def test_hello_world_has_the_books_72_parameters():
    from handloom.write import program

    assert count(program("book/hello")).total == 72


def test_min_has_the_books_6n_plus_39():
    """Chapter 5: width 3, one attention-only head of 3, n tokens and n positions, and the output bias of an MLP
    without neurons."""
    for n in (5, 28):
        config = Config(vocab=n, block=n, d_model=3, layers=1, heads=1, d_head=3, biases=("mlp",))
        model = Model(config, params.zeros(config), Vocab.numbers(n))
        assert count(model).total == 6 * n + 39
        assert count(model).nonzero == 0
        assert count(model).unique == 1
        assert count(model).trainable == 6 * n + 39 + 2 * 3  # and the gains of two norms


@given(models())
@settings(max_examples=40)
def test_counts_against_a_count_by_hand(model):
    c = model.config
    D, H, K, F = c.d_model, c.heads, c.d_head, c.d_ff
    G, reads = c.kv_heads or H, 2 if c.gated else 1
    layer = 2 * (H + G) * D * K + (reads + 1) * D * F
    layer += (H + 2 * G) * K + D if "attn" in c.biases else 0
    layer += reads * F + D if "mlp" in c.biases else 0
    expert = 2 * D * F + (F if "mlp" in c.biases else 0)
    layer += (c.experts - 1) * expert + D * c.experts + (c.experts if "mlp" in c.biases else 0) if c.experts else 0
    total = c.vocab * D * (1 if c.tied else 2) + c.layers * layer
    total += c.block * D if c.positions == "table" else 0
    total += c.vocab if "unembed" in c.biases else 0
    norms = c.layers * (bool(H or F) if c.parallel else bool(H) + bool(F)) + (c.place == "pre")
    norm_size = 0 if c.norm == "none" else D * (2 if "norm" in c.biases else 1)
    counted = count(model)
    assert counted.total == total
    assert counted.trainable == total + norms * norm_size
    assert counted.active == total - (c.layers * (c.experts - c.top) * expert if c.experts else 0)
    assert counted.nonzero == counted.unique == total  # random weights: none zero, none alike


def test_equal_tables_count_once_as_in_the_book():
    from handloom.core.transforms import untie
    from handloom.write import program

    assert count(untie(program("hello"))).total == 72


def test_zeros_count_as_entries_and_as_one_value():
    config = Config(vocab=2, block=2, d_model=2, norm="none")
    model = Model(
        config,
        {"W_E": np.array([[1.0, 0.0], [0.0, 1.0]]), "W_pos": np.array([[2.0, 1.0], [0.0, 0.0]])},
        Vocab.numbers(2),
    )
    counted = count(model)
    assert (counted.total, counted.nonzero, counted.unique, counted.trainable) == (8, 4, 3, 8)


def test_random_params_are_seeded():
    a, b, c = (params.flatten(params.random(CONFIG, seed=s)) for s in (1, 1, 2))
    assert all(np.array_equal(a[n], b[n]) for n in a)
    assert not np.array_equal(a["W_E"], c["W_E"])
    assert np.std(params.random(Config(vocab=200, block=2, d_model=50), seed=0, scale=0.5)["W_E"]) == pytest.approx(
        0.5, rel=0.05
    )


def test_repr_says_what_it_is():
    assert repr(random_model(CONFIG)) == "Model(3 tokens, 4 positions, 1 layers, 4 wide; 101 parameters)"
