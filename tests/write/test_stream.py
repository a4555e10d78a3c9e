"""The residual stream as a value: what is written is read again behind a norm, and the notes come from the parts."""

import json

import numpy as np
import pytest

from handloom.core import Vocab, trace
from handloom.core.reference import softmax
from handloom.write import program
from handloom.write.parts.stream import Head, Layer, Neurons, assemble, axes, pinned

OURS = (
    "addition",
    "tiny-addition",
    "sort:n=20",
    "exercise/sort-digits:length=3",
    "search",
    "multiplication",
    "unpadded-addition",
)


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)


def test_what_is_written_beside_a_pinned_pair_is_read_behind_a_norm():
    stream = pinned(2.0**12, "a", "b", "c")
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(-5, 5, (3, 20))
    x = stream.write(one=1.0, a=a, b=b, c=c)  # (20, 5)
    assert np.allclose(x.sum(-1), 0.0, atol=1e-9)
    seen = layer_norm(x) @ stream.read(a=2.0, b=-1.0, one=3.0)
    assert np.allclose(seen, 2 * a - b + 3, atol=1e-4)


def test_amounts_broadcast_over_the_names_and_add_up():
    stream = axes({"digit": 3, "space": 1}, scale=2.0)
    rows = stream.write(digit=np.eye(3), space=-1.0)
    assert rows.tolist() == [[1, 0, 0, -1], [0, 1, 0, -1], [0, 0, 1, -1]]
    assert stream.read(digit=np.eye(3), space=[5.0, 6.0, 7.0]).tolist() == [[2, 0, 0, 10], [0, 2, 0, 12], [0, 0, 2, 14]]


def test_a_name_that_the_stream_has_not_is_an_error():
    with pytest.raises(KeyError, match="colour"):
        axes({"digit": 3}).read(colour=1.0)


def small(hard=None, vocab=3, bias=0.0):
    """One layer: a head that scores 1 for token 1, a head of rank 2 that makes d_head 2, and one neuron."""
    stream = axes({"token": vocab, "out": 1, "fill": 1}, token="token", fill="ballast")
    read, write, ids = stream.read, stream.write, np.eye(vocab)
    one = Head(
        "to token 1", [(read(token=np.ones(vocab)), read(token=ids[1]))], [(read(token=ids[2]), write(out=1.0))], hard
    )
    two = Head("nowhere", [(read(token=ids[:2]), read(token=ids[:2]))], [])
    neurons = Neurons("doubles", [(read(out=2.0), write(fill=1.0))], bias)
    fields = {"activation": "relu", "norm": "none", "biases": ("mlp",) if np.any(bias) else ()}
    layers = [Layer([one, two], neurons), Layer()]
    return assemble(stream, Vocab.numbers(vocab), write(token=ids), np.zeros((4, vocab + 2)), layers, {}, **fields)


def test_the_sizes_of_a_model_follow_from_its_parts():
    config = small().config
    assert (config.vocab, config.block, config.d_model, config.layers) == (3, 4, 5, 2)
    assert (config.heads, config.d_head, config.d_ff) == (2, 2, 1)


def test_a_score_is_the_sum_of_query_times_key_whatever_the_width_of_a_head():
    run = trace(small(), "0 1 2")
    assert np.allclose(run["0.pattern"][0, 2], softmax(np.array([0.0, 1.0, 0.0])))
    hard = trace(small(hard=3.0), "0 1 2")  # as given: attention divides by the root of d_head, 2
    assert np.allclose(hard["0.pattern"][0, 2], softmax(np.array([0.0, 3.0, 0.0]) / np.sqrt(2)))


def test_heads_move_and_neurons_add_what_their_parts_say():
    run = trace(small(bias=np.array([0.25])), "2 2")
    assert np.allclose(run["0.attn_out"][1], [0, 0, 0, 1, 0])
    assert np.allclose(run["0.mlp_out"][1], [0, 0, 0, 0, 2.25])


def test_a_bias_needs_a_config_with_biases():
    stream = axes({"a": 1, "b": 1})
    layers = [
        Layer([Head("", [], [(stream.read(a=1.0), stream.write(b=1.0))])], Neurons("", [(np.ones(2), np.ones(2))], 1.0))
    ]
    with pytest.raises(KeyError, match="b_in"):
        assemble(stream, Vocab.numbers(2), np.eye(2), np.zeros((1, 2)), layers, {}, activation="relu", biases=())


def test_the_notes_are_those_of_the_parts():
    notes = small().notes
    assert notes["directions"] == {"token": [0, 3], "out": 3, "fill": 4}
    assert notes["heads"] == {"0.0": "to token 1", "0.1": "nowhere"}
    assert notes["mlps"] == {"0": "doubles"}
    assert notes["readings"]["out"] == {"vectors": [[0, 0, 0, 1, 0]], "scale": 1.0, "kind": "number"}
    assert json.loads(json.dumps(dict(notes))) == notes


@pytest.mark.parametrize("name", OURS)
def test_every_part_of_our_own_programs_has_words_and_readings(name):
    model = program(name)
    for i, layer in enumerate(model.params["layers"]):
        for h, values in enumerate(layer["W_V"]):
            assert not values.any() or model.notes["heads"][f"{i}.{h}"]
        assert not np.any(layer.get("W_out", 0.0)) or model.notes["mlps"][str(i)]
    for reading in model.notes["readings"].values():
        assert np.shape(reading["vectors"])[1:] == (model.config.d_model,)
        assert reading["kind"] in ("number", "angle", "token", "ballast")
        assert reading["scale"] > 0


def test_a_reading_finds_in_a_trace_what_stands_there():
    model = program("addition")
    run, reading = trace(model, "045+978="), model.notes["readings"]
    behind = 8 * run["1.ln1"] @ np.array(reading["sum"]["vectors"])[0] * reading["sum"]["scale"]
    assert np.allclose(
        behind[5:8], [0 + 9, 4 + 7, 0], atol=0.01
    )  # every position has the sum of the place above its own
