"""Shares are covariances that sum to 1; flow finds the edges that carry the answer."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handloom as hl
from draws import SKIPS, configs, models, models_and_tokens, not_least_squares, random_model
from handloom.core import Config, HandloomError, Model, Vocab, params, trace, transforms
from handloom.read.frozen import run_frozen
from handloom.read.shares import all_readings, attention_readings, run_for_shares
from handloom.tasks import task_of

MODELS = 500
REPEATED = "4 0 8 0 1 3 0 8 0"


@settings(max_examples=MODELS)
@given(models_and_tokens(**SKIPS, experts=0).filter(not_least_squares), st.integers(0, 3))
def test_the_shares_of_every_model_sum_to_1(drawn, others):
    """Within 1e-12, where what varies is not itself a small difference of large numbers."""
    model, tokens = drawn
    rng = np.random.default_rng(0)
    rows = np.array([tokens, *(rng.permutation(model.config.vocab)[np.array(tokens)] for _ in range(others))])
    frozen, run = run_for_shares(model, rows if others else tokens)
    for parts, readings in zip(frozen.reads(), all_readings(model, frozen, run, None), strict=True):
        for one in readings:
            if found := one.shares(parts):
                worst = max(1.0, *map(abs, found.values()), math.sqrt(one.raw / one.total))
                assert sum(found.values()) == pytest.approx(1.0, abs=1e-12 * worst), one.receiver
    found = hl.read.shares(model, rows)
    json.dumps([found.to_json(), str(found)], allow_nan=False)


def centred(x, seen):
    return np.where(seen, x - (x * seen).sum(-1, keepdims=True) / seen.sum(-1, keepdims=True), 0.0)


@pytest.mark.parametrize("causal", [False, True])
def test_shares_of_queries_keys_and_values_are_covariances(causal):
    """Against the definition, written out with one matrix of scores per source."""
    config = Config(vocab=5, block=6, d_model=8, layers=2, heads=2, d_head=4, d_ff=8, causal=causal)
    model, rows = random_model(config, 2), np.random.default_rng(1).integers(0, 5, (3, 6))
    found, run = hl.read.shares(model, rows), trace(model, rows)
    parts, p = list(run_frozen(model, rows)[0].reads())[2], model.params["layers"][1]
    q, k = run["1.q"][:, 1], run["1.k"][:, 1]
    seen = np.tri(6) if causal else np.ones((6, 6))
    scores = centred(q @ k.swapaxes(1, 2) / 2, seen)
    wrote = run["1.result"][:, 1] - run["1.result"][:, 1].mean((0, 1))
    for source in ("embed", "0.1", "0.mlp"):
        x = parts[source]
        by_q = centred(x @ p["W_Q"][1] @ k.swapaxes(1, 2) / 2, seen)
        by_k = centred(q @ (x @ p["W_K"][1]).swapaxes(1, 2) / 2, seen)
        by_v = run["1.pattern"][:, 1] @ x @ p["W_V"][1] @ p["W_O"][1]
        by_v = by_v - by_v.mean((0, 1))
        assert found["1.1.q"][source] == pytest.approx((by_q * scores).sum() / (scores**2).sum(), rel=1e-9)
        assert found["1.1.k"][source] == pytest.approx((by_k * scores).sum() / (scores**2).sum(), rel=1e-9)
        assert found["1.1.v"][source] == pytest.approx((by_v * wrote).sum() / (wrote**2).sum(), rel=1e-9)


def test_the_shares_of_search_are_the_chapter_of_the_book():
    """The query is the last three tokens, the key the three before a position, the value the token there."""
    rows = np.random.default_rng(0).integers(0, 10, (64, 40))
    answers = np.where(np.arange(40) == 39, 0, -1) + 0 * rows
    found = hl.read.shares(hl.program("book/search"), rows, answers)
    third = pytest.approx(1 / 3, abs=0.03)
    assert {name: x for name, x in found["1.0.q"].items() if abs(x) > 0.01} == dict.fromkeys(
        ["embed", "0.1", "0.2"], third
    )
    assert {name: x for name, x in found["1.0.k"].items() if abs(x) > 0.01} == dict.fromkeys(
        ["0.1", "0.2", "0.3"], third
    )
    assert {name: x for name, x in found["1.0.v"].items() if abs(x) > 0.01} == {"embed": pytest.approx(1, abs=1e-6)}
    assert found["1.3.q"] == found["1.3.v"] == {}
    assert "1.3.v   nothing that varies" in str(found)
    with pytest.raises(HandloomError, match=r"receiver '1.0': not in this model \(expected 0.0.q, "):
        found["1.0"]


def test_a_wrong_sign_or_a_wrong_order_of_values_makes_their_share_fall():
    """Of the head of an induction program that copies, with the weights changed behind the back of the run."""
    model = hl.program("compiled/induction:n=8")
    rows = np.random.default_rng(0).integers(0, 4, (32, 9))
    frozen, run = run_for_shares(model, rows)
    p, parts = model.params["layers"][1], list(frozen.reads())[2]

    def share_of_embed(**changed):
        readings = {one.receiver: one for one in attention_readings(model.config, {**p, **changed}, run, 1)}
        return readings["1.0.v"].shares(parts)["embed"]

    assert share_of_embed() == pytest.approx(1.0, abs=0.01)
    assert share_of_embed(W_O=-p["W_O"]) == pytest.approx(-1.0, abs=0.01)
    assert abs(share_of_embed(W_V=p["W_V"][:, ::-1])) < 0.5
    assert abs(share_of_embed(W_O=p["W_O"][:, :, ::-1])) < 0.5


def test_shares_of_equal_rows_are_those_of_one():
    model = hl.program("addition")
    one, both = hl.read.shares(model, "447+809="), hl.read.shares(model, ["447+809=", "447+809="])
    for receiver in one:
        assert both[receiver] == pytest.approx(one[receiver], abs=1e-9)
    with pytest.raises(HandloomError, match="same number of tokens"):
        hl.read.shares(model, ["447+809=", "1+2="])


@settings(max_examples=30)
@given(
    configs(**SKIPS, experts=0, layers=2, heads=4, kv_heads=2, norm="rms", place="pre").filter(not_least_squares),
    st.integers(0, 99),
)
def test_heads_that_share_keys_and_values_are_one_receiver(config, seed):
    model = random_model(config, seed)
    tokens = np.arange(config.block) % config.vocab
    found = hl.read.shares(model, tokens)
    names = {name for name in found if name.startswith("1.")} - {"1.mlp"}
    assert names == {"1.0.q", "1.1.q", "1.2.q", "1.3.q", "1.0.k", "1.1.k", "1.0.v", "1.1.v"}
    apart = hl.read.shares(transforms.ungroup(model), tokens)
    for h in range(4):  # a query is read by one head
        assert found[f"1.{h}.q"] == pytest.approx(apart[f"1.{h}.q"], rel=1e-6, abs=1e-9)


# flow


def rows_with_repeats(count=48, length=20):
    """Rows whose last three tokens occur before, and where an answer is asked."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 10, (count, length))
    for row in rows:
        at = rng.integers(0, length - 7)
        row[-3:] = row[at : at + 3]
    return rows, np.where(np.arange(length) == length - 1, 0, -1) + 0 * rows


def compiled_edges(model):
    """The edges that the compiler put into a model, by its own account (notes, docs/truth.md)."""
    truth = model.notes["truth"]
    nodes = {node["name"]: node for node in truth["nodes"]}
    named = {"embed.token": "embed", "embed.position": "pos", "logits": "logits"}

    def name(node):
        return f"{node['layer']}.{node['index'] if node['kind'] == 'head' else 'mlp'}"

    names = {own: named.get(own) or name(node) for own, node in nodes.items()}
    return {
        (names[edge["source"]], names[edge["target"]] + (f".{edge['as']}" if edge["as"] in "qkv" else ""))
        for edge in truth["edges"]
    }


def pooled_flow(model, task, draws=96):
    """Over random inputs with their answers, one batch per length."""
    rng, total = np.random.default_rng(0), Counter()
    pairs = [task.pair(rng) for _ in range(draws)]
    for length in {(len(asked), len(answer)) for asked, answer in pairs}:
        same = [pair for pair in pairs if (len(pair[0]), len(pair[1])) == length]
        rows = np.array([[*asked, *answer] for asked, answer in same])[:, : model.config.block + 1]
        answers = np.where(np.arange(1, rows.shape[1]) < length[0], -1, rows[:, 1:])
        for edge, carried in hl.read.flow(model, rows[:, :-1], answers).items():
            total[edge] += carried * len(same)
    return total


def auroc(scores, real):
    """The chance that a real edge has a larger score than another one."""
    above = [np.sign(scores[a] - scores[b]) for a in real for b in scores.keys() - real]
    return 0.5 + 0.5 * float(np.mean(above))


@pytest.mark.parametrize(
    ("name", "least"), [("induction:n=8", 1), ("2-hop:n=8", 1), ("count-less:n=5", 0.97), ("addition:digits=2", 0.97)]
)
def test_flow_finds_the_edges_that_the_compiler_made(name, least):
    model = hl.program(f"compiled/{name}")
    real, task = compiled_edges(model), task_of(model)
    found = pooled_flow(model, task)
    assert real < found.keys()
    assert auroc(found, real) >= least
    assert auroc({edge: (edge in real) - 0.0 for edge in found}, real) == 1
    hidden = transforms.disguise(model, seed=1)
    assert auroc(pooled_flow(hidden, task), compiled_edges(hidden)) > 0.95


def distracted():
    """Two heads that look alike; what head 0 writes is unembedded, what head 1 writes nobody reads."""
    config = Config(vocab=4, block=6, d_model=12, layers=1, heads=2, d_head=4, norm="none", tied=False, biases=())
    weights = params.zeros(config)
    weights["W_E"][:, :4] = np.eye(4)
    weights["W_pos"] = np.zeros((6, 12))
    layer = weights["layers"][0]
    for h, to in ((0, 4), (1, 8)):
        layer["W_Q"][h, :4] = layer["W_K"][h, :4] = 3 * np.eye(4)
        layer["W_V"][h, :4] = np.eye(4)
        layer["W_O"][h, :, to : to + 4] = np.eye(4)
    weights["W_U"][4:8] = np.eye(4)
    return Model(config, weights, Vocab.numbers(4))


def test_nothing_flows_through_a_head_that_nobody_reads_though_it_has_shares():
    model, rows = distracted(), np.random.default_rng(0).integers(0, 4, (8, 6))
    found = hl.read.flow(model, rows)
    for part in "qkv":
        assert found["embed", f"0.1.{part}"] == 0 < found["embed", f"0.0.{part}"]
    assert hl.read.shares(model, rows)["0.1.v"]["embed"] == pytest.approx(1.0)
    assert found["0.0", "logits"] > 0 == found["0.1", "logits"] == found["embed", "logits"]


def test_a_source_that_always_writes_the_same_carries_nothing():
    model = distracted()
    flat = {name: array + (1.0 if name == "W_pos" else 0.0) for name, array in model.flat.items()}
    found = hl.read.flow(model.with_(params=flat), np.random.default_rng(0).integers(0, 4, (8, 6)))
    assert [edge for edge, carried in found.items() if edge[0] == "pos" and carried > 1e-12] == []


def test_rotation_and_permutation_change_neither_shares_nor_flow():
    model = transforms.layer_to_rms(hl.program("search"))
    rows, answers = rows_with_repeats()
    turned = transforms.rotate(model, transforms.random_rotation(model.config.d_model, seed=4))
    turned = transforms.permute_heads(turned, 0, [1, 0])

    def renamed(name):
        return {"0.0": "0.1", "0.1": "0.0"}.get(name[:3], name[:3]) + name[3:]

    here, there = hl.read.flow(model, rows, answers), hl.read.flow(turned, rows, answers)
    assert here == pytest.approx({(renamed(a), renamed(b)): x for (a, b), x in there.items()}, rel=1e-6, abs=1e-9)
    here, there = (hl.read.shares(one, rows, answers) for one in (model, turned))
    for receiver in here:
        moved = {renamed(name): x for name, x in there[renamed(receiver)].items()}
        assert here[receiver] == pytest.approx(moved, rel=1e-6, abs=1e-9)


@given(models(**SKIPS, experts=0).filter(not_least_squares), st.integers(0, 3))
def test_flow_has_every_edge_of_every_model(model, seed):
    config = model.config
    rows = np.random.default_rng(seed).integers(0, config.vocab, (2, config.block))
    found = hl.read.flow(model, rows)
    before = 1 + (config.positions in ("table", "sinusoid"))
    count = 0
    for _ in range(config.layers):
        count += (config.heads + 2 * config.groups) * before
        count += (before + config.heads * (not config.parallel)) * bool(config.d_ff)
        before += config.heads + bool(config.d_ff)
    assert len(found) == count + before
    assert all(carried >= 0 and math.isfinite(carried) for carried in found.values())
