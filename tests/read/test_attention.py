"""Attention patterns: the average is the average, over strings that the model reads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handloom as hl
from draws import configs, random_model, trained_like
from handloom.core import Config, HandloomError, reference
from handloom.read import edge_attribution, mean_attention, strings_for
from handloom.read.graph import Graph
from handloom.read.inputs import PairBatch
from handloom.tasks import task as task_named
from handloom.tasks import task_of
from handloom.view.figures.attention import draw_attention
from handloom.write import program


def naive_mean(model, rows):
    """Cell by cell, string by string, by the reference."""
    patterns = []
    for row in rows:
        trace = reference.forward(model, row, "*.pattern")[1]
        patterns.append([trace[f"{i}.pattern"] for i in range(model.config.layers)])
    T = max(map(len, rows))
    mean = np.empty((model.config.layers, model.config.heads, T, T))
    for layer, head, r, c in np.ndindex(mean.shape):
        mean[layer, head, r, c] = np.mean([p[layer][head, r, c] for p in patterns if max(r, c) < p[layer].shape[-1]])
    return mean


@given(
    configs(layers=2, heads=2, block=6, vocab=5),
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=7),
)
@settings(max_examples=40)
def test_the_mean_is_that_of_a_loop_over_strings_and_cells(config, rows):
    model = random_model(config)
    expected = naive_mean(model, rows)
    for engine in ("reference", "torch"):
        found = mean_attention(model, rows, engine=engine)
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_batches_that_do_not_fit_at_once_change_nothing():
    model, rng, told = trained_like(), np.random.default_rng(0), []
    rows = [rng.integers(0, 3, n).tolist() for n in (5, 9, 5, 5, 9, 2, 5, 5)]
    whole = mean_attention(model, rows)
    found = mean_attention(model, rows, progress=lambda *far: told.append(far), at_once=2 * 2 * 2 * 25)
    assert np.allclose(found, whole)
    assert told == [(1, 8), (3, 8), (5, 8), (6, 8), (7, 8), (8, 8)]


def test_rows_sum_to_1_where_all_strings_are_equally_long():
    model = trained_like()
    rows = np.random.default_rng(0).integers(0, 3, (9, 7)).tolist()
    patterns = mean_attention(model, rows)
    assert patterns.shape == (2, 2, 7, 7)
    assert np.allclose(patterns.sum(-1), 1.0)
    assert not np.triu(patterns, 1).any()


def test_strings_come_from_the_model_or_from_its_task():
    model = trained_like()
    own = strings_for(model, task_named("strings:length=4-6"), 50, seed=0)
    assert {row[0] for row in own} == {2}
    assert all(2 not in row[1:] and len(row) <= 13 for row in own)
    assert own == strings_for(model, None, 50, seed=0)
    assert own != strings_for(model, None, 50, seed=1)
    both_ways = strings_for(trained_like(causal=False), task_named("strings:length=4-6"), 50, seed=0)
    assert all(row[0] == row[-1] == 2 and 6 <= len(row) <= 8 for row in both_ways)
    adder = program("addition:digits=3")
    asked = strings_for(adder, task_of(adder), 5, seed=0)
    assert all(len(row) == 11 for row in asked)  # 045+078=012: the 3 is written, not read
    assert sum(int(adder.vocab.decode(row).split("=")[1]) for row in asked) > 0
    with pytest.raises(HandloomError, match="no token to begin with, and its task is not known; give texts"):
        strings_for(random_model(Config(vocab=3, block=4, d_model=4)), None, 5, seed=0)


@pytest.mark.parametrize("attention", ["linear", "least-squares"])
def test_patterns_that_are_no_shares_are_refused_where_shares_are_meant(attention):
    model = random_model(Config(vocab=5, block=6, d_model=4, layers=1, heads=2, d_head=2, attention=attention))
    for look in (hl.read.heads, lambda one: hl.read.match_heads(one, one)):
        with pytest.raises(HandloomError, match=f"patterns of {attention} attention are no shares"):
            look(model)
    patterns = mean_attention(model, [[1, 2, 3], [4, 0, 1]])
    with pytest.raises(HandloomError, match=r"are no shares \(expected 0 to 1"):
        draw_attention(patterns * 10 - 1, "x.png")


def test_what_needs_a_stream_that_is_a_sum_refuses_sublayers_without_skips():
    config = Config(vocab=5, block=6, d_model=4, layers=1, heads=2, d_head=2, skips=())
    model = random_model(config)
    for look in (lambda: hl.read.shares(model, [1, 2]), lambda: hl.read.paths(model, [1, 2]), lambda: Graph(model)):
        with pytest.raises(HandloomError, match="sublayers without skips replace the stream"):
            look()
    with pytest.raises(HandloomError, match="circuits: sublayers without skips replace the stream"):
        hl.read.head_circuits(model)


def test_what_takes_an_mlp_for_one_reader_refuses_mixtures_of_experts():
    config = Config(vocab=5, block=6, d_model=4, layers=1, heads=2, d_head=2, d_ff=3, experts=2, parallel=True)
    model = random_model(config)
    for look in (hl.read.shares, hl.read.flow):
        with pytest.raises(HandloomError, match="shares: a mixture of experts reads the stream twice"):
            look(model, [1, 2, 3])
    with pytest.raises(HandloomError, match="attribution: a mixture of experts without a norm of its own"):
        edge_attribution(model, PairBatch(*np.zeros((3, 1, 4), int)))


def test_what_needs_other_attention_says_so():
    sizes = {"vocab": 5, "block": 6, "d_model": 4, "layers": 1, "heads": 2, "d_head": 2}
    squares, hard = (random_model(Config(**sizes, attention=kind)) for kind in ("least-squares", "hard"))
    with pytest.raises(HandloomError, match="shares: least-squares attention reads its keys twice"):
        hl.read.shares(squares, [1, 2, 3])
    with pytest.raises(HandloomError, match="hard attention has no gradient through its pattern"):
        edge_attribution(hard, PairBatch(*np.zeros((3, 1, 4), int)))
