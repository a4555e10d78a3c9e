"""Attribution: gradients against finite differences of cut edges, against exact effects where weights are small, and
integrated gradients against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import SKIPS, assert_close, configs, random_model
from handloom.core import Config, HandloomError, params
from handloom.read import ablate, attribution, edge_attribution, node_attribution
from handloom.read.graph import Graph
from handloom.read.inputs import PairBatch
from handloom.read.metric import margins

SIZES = {"vocab": 9, "block": 8, "d_model": 12, "layers": 2, "heads": 2, "d_head": 6, "d_ff": 10}
STEP = 1e-6


def some_pairs(config, seed, rows=3):
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, config.block + 1))
    clean, other = rng.integers(0, config.vocab, (2, rows, T))
    answers = rng.integers(-1, config.vocab, (rows, T))
    answers[:, -1] = rng.integers(0, config.vocab, rows)
    return PairBatch(clean, other, answers)


def metrics(graph, batch, other):
    """The metric with each edge cut alone."""
    logits = graph.logits(batch, [{edge} for edge in graph.edges], other)
    return margins(logits, batch.answers[batch.asked]).mean(-1)


def exact(graph, batch, share=1.0):
    """The change of the metric for each edge that gets a share of the way to its other value."""
    clean, other = graph.terms(batch.clean), graph.other_terms(batch)
    there = metrics(graph, batch, {name: clean[name] + share * (other[name] - clean[name]) for name in clean})
    return there - metrics(graph, batch, clean)


def has_gradients(config):
    """Those that `edge_attribution` takes."""
    two_readers = config.experts and (config.parallel or config.norm == "none")
    return config.attention != "hard" and not two_readers


@settings(max_examples=15, deadline=None)
@given(configs(**SKIPS, place="pre", vocab=5).filter(has_gradients), st.integers(0, 99))
def test_scores_are_the_slope_of_cutting_an_edge_for_every_config(config, seed):
    model = random_model(config, seed, 0.3)
    graph, batch = Graph(model), some_pairs(config, seed)
    slope = (exact(graph, batch, STEP) - exact(graph, batch, -STEP)) / (2 * STEP)
    assert_close(list(edge_attribution(model, batch).values()), slope, 1e-5)


def test_where_weights_are_small_the_estimate_is_the_exact_effect_of_each_edge():
    config = Config(**SIZES | {"vocab": 2}, norm="none")  # of two tokens: the metric too is linear
    model = random_model(config).with_(params=params.random(config, seed=0, scale=0.02))
    batch = some_pairs(config, 0, rows=8)
    estimate, effect = np.array(list(edge_attribution(model, batch).values())), exact(Graph(model), batch)
    measurable = np.abs(effect) > 1e-13  # a run's rounding is below
    assert measurable.mean() > 0.5
    assert_close(estimate[measurable] / effect[measurable], np.ones(measurable.sum()), 0.02)
    assert float(estimate @ effect / (effect @ effect)) == pytest.approx(1.0, abs=5e-4)


def test_a_helpful_edge_has_a_number_below_zero():
    """Without layers and norms all is linear: the score is the exact change, and the other token makes it worse."""
    config = Config(vocab=4, block=3, d_model=4, norm="none", positions="none", tied=False, biases=())
    weights = {"W_E": np.eye(4), "W_U": np.eye(4)}  # each token predicts itself
    model = random_model(config).with_(params=weights)
    clean, other = np.array([[0, 1, 2]]), np.array([[0, 1, 3]])
    batch = PairBatch(clean, other, np.array([[-1, -1, 2]]))
    assert edge_attribution(model, batch)["embed", "logits"] in (-1.0, -2.0)  # which other token is largest is a tie
    assert exact(Graph(model), batch).tolist() == [-2.0]


def test_integrated_gradients_average_the_gradients_on_the_way(monkeypatch):
    """With m steps of the way from the other embeddings to the clean ones, taken here by changing the embeddings."""
    config = Config(**SIZES, positions="none")
    model = random_model(config, 2, 0.4)
    batch = some_pairs(config, 3)
    steps = 4
    found = edge_attribution(model, batch, steps)
    run = attribution.Attribution(model, 1)
    plain = run.compute

    def at(share):
        def compute(some, ids, want, edits=None):
            if edits is None:
                return plain(some, ids, want)
            other = run.p["W_E"][some.other]
            return plain(some, ids, want, {"embed": lambda x: (other + share * (x - other)).requires_grad_()})

        monkeypatch.setattr(run, "compute", compute)
        changes = run.changes
        clean_run = plain(batch, batch.clean, run.written)[1]
        monkeypatch.setattr(run, "changes", lambda clean, other, order: changes(clean_run, other, order))
        scores = run.scores(batch, 0)
        monkeypatch.setattr(run, "changes", changes)
        return np.array(list(scores.values()))

    expected = sum(at(step / steps) for step in range(1, steps + 1)) / steps
    assert_close(list(found.values()), expected, 1e-12)


def test_the_score_of_a_node_is_its_own_slope():
    """Node scores against an edit of all that the node writes, by a small step towards its other value."""
    model = random_model(Config(**SIZES), 4, 0.3)
    batch = some_pairs(model.config, 5)
    found = node_attribution(model, batch)
    graph = Graph(model)
    clean, other = graph.terms(batch.clean), graph.other_terms(batch)
    cuts = [{edge for edge in graph.edges if edge[0] == source} for source in graph.sources]

    def changed(share):
        near = {name: clean[name] + share * (other[name] - clean[name]) for name in clean}
        # a source's own cut edges carry `near` whatever is before it, and what is before it is clean
        return margins(graph.logits(batch, cuts, near), batch.answers[batch.asked]).mean(-1)

    slope = (changed(STEP) - changed(-STEP)) / (2 * STEP)
    assert_close([found[source] for source in graph.sources], slope, 1e-5)
    assert found.metric == pytest.approx(ablate(model, "0.0", batch).metric)


def test_rows_in_parts_give_the_same_scores(monkeypatch):
    model = random_model(Config(**SIZES), 6, 0.3)
    batch = some_pairs(model.config, 7, rows=5)
    whole = edge_attribution(model, batch, steps=2)
    monkeypatch.setattr(attribution, "AT_ONCE", 1)
    assert_close(list(edge_attribution(model, batch, steps=2).values()), list(whole.values()), 1e-12)


def test_what_cannot_be_attributed_is_refused():
    post = random_model(Config(**SIZES, place="post"))
    batch = some_pairs(post.config, 0)
    with pytest.raises(HandloomError, match="choose a pre-norm model"):
        edge_attribution(post, batch)
    with pytest.raises(HandloomError, match="steps=0 must be a whole number of at least 1"):
        edge_attribution(random_model(Config(**SIZES)), batch, steps=0)
    with pytest.raises(HandloomError, match="no place of the pairs has an answer"):
        edge_attribution(random_model(Config(**SIZES)), PairBatch(batch.clean, batch.other, 0 * batch.answers - 1))
