"""The graph of a model: runs with nothing cut are plain runs, and a cut does what it says, whatever the Config."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import SKIPS, configs, random_model
from handloom import HandloomError
from handloom.core import Config, Model, Vocab, params, reference
from handloom.read.graph import Graph
from handloom.read.inputs import PairBatch


def batch_for(config: Config, seed: int = 0, rows: int = 3, length: int = 4) -> PairBatch:
    rng = np.random.default_rng(seed)
    shape = (rows, min(length, config.block))
    clean, other = rng.integers(config.vocab, size=(2, *shape))
    asked = rng.random(shape) < 0.5
    asked[:, -1] = True
    return PairBatch(clean, other, np.where(asked, 0, -1))


@settings(max_examples=40)
@given(configs(**SKIPS, place="pre"), st.integers(0, 99))
def test_with_nothing_cut_the_logits_are_those_of_the_reference(config, seed):
    model = random_model(config, seed)
    graph, batch = Graph(model), batch_for(config, seed)
    found = graph.logits(batch, [frozenset(), frozenset()], graph.other_terms(batch))
    right = reference.forward(model, batch.clean)[0][batch.asked]
    np.testing.assert_allclose(found, np.stack([right, right]), rtol=1e-9, atol=1e-9 * (1 + np.abs(right).max()))


@settings(max_examples=40)
@given(configs(**SKIPS, place="pre"), st.integers(0, 99))
def test_with_everything_cut_the_logits_are_those_of_the_other_run(config, seed):
    model = random_model(config, seed)
    graph, batch = Graph(model), batch_for(config, seed)
    found = graph.logits(batch, [frozenset(graph.edges)], graph.terms(batch.other))[0]
    right = reference.forward(model, batch.other)[0][batch.asked]
    np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9 * (1 + np.abs(right).max()))


def small_model(**more) -> Model:
    sizes = {"vocab": 7, "block": 6, "d_model": 8, "layers": 2, "heads": 2, "d_head": 4, "d_ff": 8}
    config = Config(**sizes, **more)
    return Model(config, params.random(config, seed=3, scale=0.5), Vocab.numbers(7))


def test_a_cut_query_is_that_of_a_run_with_this_term_replaced():
    model = small_model()
    graph, batch = Graph(model), batch_for(model.config)
    other = graph.other_terms(batch)
    now = graph.terms(batch.clean)
    _, plain = reference.forward(model, batch.clean, ["1.resid_pre", "1.q"])
    layer = model.astype(np.float64).params["layers"][1]
    swapped = plain["1.resid_pre"] + other["0.1"] - now["0.1"]
    normed = reference.norm(model.config, layer["ln1"], swapped, "", graph.silent)
    query = normed @ layer["W_Q"][0] + layer["b_Q"][0]
    edited = plain["1.q"].copy()
    edited[:, 0] = query
    right = reference.forward(model, batch.clean, edits={"1.q": edited})[0][batch.asked]
    np.testing.assert_allclose(graph.logits(batch, [{("0.1", "1.0.q")}], other)[0], right, rtol=1e-10, atol=1e-10)


def test_sets_of_cuts_run_together_as_they_do_alone():
    model = small_model(kv_heads=1)
    graph, batch = Graph(model), batch_for(model.config)
    other = graph.other_terms(batch)
    rng = np.random.default_rng(0)
    cuts = [frozenset(edge for edge in graph.edges if rng.random() < share) for share in (0.0, 0.1, 0.5, 0.9)]
    together = graph.logits(batch, cuts, other)
    alone = np.concatenate([graph.logits(batch, [cut], other) for cut in cuts])
    np.testing.assert_allclose(together, alone, rtol=1e-10, atol=1e-10)


def test_two_layers_of_four_heads_have_106_edges():
    config = Config(vocab=5, block=5, d_model=8, layers=2, heads=4, d_head=2)
    assert len(Graph(Model(config, params.random(config, seed=0), Vocab.numbers(5))).edges) == 106


def test_groups_share_keys_and_values():
    graph = Graph(small_model(kv_heads=1))
    assert [name for name in graph.receivers if name.startswith("0.")] == ["0.0.q", "0.0.k", "0.0.v", "0.1.q", "0.mlp"]


def test_shuffled_positions_are_those_of_the_same_rows():
    graph, batch = Graph(small_model()), batch_for(small_model().config)
    mine, other = graph.terms(batch.other)["pos"], graph.other_terms(batch)["pos"]
    assert not np.array_equal(mine, other)
    np.testing.assert_array_equal(np.sort(mine, axis=1), np.sort(other, axis=1))


def test_a_post_norm_model_is_refused():
    with pytest.raises(HandloomError, match="choose a pre-norm model"):
        Graph(small_model(place="post"))
