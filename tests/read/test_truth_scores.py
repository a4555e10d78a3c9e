"""Scores of methods against the truth: exact with ties, 1 for the truth itself, one half for chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import handloom as hl
from handloom.read.circuit import circuit
from handloom.read.finders import METHODS
from handloom.read.graph import Graph
from handloom.read.inputs import pairs_of
from handloom.read.truth_scores import areas, auroc, average_precision, precision_at, score_methods

TASK = "compiled/induction:n=9,letters=4"
EDGES = [("embed", f"{i}.0.q") for i in range(8)]


@pytest.fixture(scope="module")
def truth():
    return circuit(TASK, pairs=128)


def test_equal_scores_count_half():
    scores = dict(zip(EDGES, [3, 2, 2, 1, 0, 0, 0, 0], strict=True))
    real = frozenset({EDGES[0], EDGES[1]})
    assert auroc(scores, real) == (6 + 5.5) / 12
    assert average_precision(scores, real) == (1 + 2 / 3) / 2
    assert precision_at(scores, real, 2) == (1 + 0.5) / 2


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=8))
def test_auroc_is_the_share_of_pairs_in_the_right_order(rows):
    scores = {edge: float(number) for edge, (number, _) in zip(EDGES, rows, strict=False)}
    real = frozenset(edge for edge, (_, is_real) in zip(EDGES, rows, strict=False) if is_real)
    chances = [
        1.0 if scores[a] > scores[b] else 0.5 if scores[a] == scores[b] else 0.0
        for a in scores
        for b in scores
        if a in real and b not in real
    ]
    found = auroc(scores, real)
    assert np.isnan(found) if not chances else found == pytest.approx(np.mean(chances))


def test_the_truth_itself_scores_1_and_its_opposite_0(truth):
    itself = {one.edge: float(one.real) for one in truth.edges}
    assert auroc(itself, truth.real) == average_precision(itself, truth.real) == 1
    assert auroc({edge: -number for edge, number in itself.items()}, truth.real) == 0


def test_a_random_method_is_at_one_half(truth):
    rng = np.random.default_rng(0)
    found = [auroc({one.edge: rng.random() for one in truth.edges}, truth.real) for _ in range(200)]
    assert abs(np.mean(found) - 0.5) < 3 * np.std(found) / np.sqrt(200)


def test_keeping_the_true_edges_first_is_faithful_at_once(truth):
    model = hl.program(TASK)
    pairs = pairs_of(model, count=24, seed=5)
    cpr, cmd = areas(Graph(model), {one.edge: float(one.real) for one in truth.edges}, pairs)
    worse = areas(Graph(model), {one.edge: -float(one.real) for one in truth.edges}, pairs)
    assert cpr > worse[0]
    assert cmd < worse[1]


def test_exact_finds_the_truth_on_other_inputs():
    table = score_methods("exact", on=["min", "modular-sum"], pairs=128)
    assert table.mean("exact") > 0.99


def test_a_method_of_ones_own_is_a_function():
    def by_name(model, pairs):
        return {("embed", "0.0.v"): 1}

    table = score_methods([by_name, "weights"], on=["min"], pairs=64)
    assert table.methods == ["by_name", "weights"]
    assert 0.5 < table.rows[0].auroc < 0.7
    assert "by_name" in str(table)
    assert table.to_json()[0]["model"] == "min"


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (lambda model, pairs: 3, "expected a dict"),
        (lambda model, pairs: {("embed", "9.9.q"): 1}, "is no edge of this model"),
        (lambda model, pairs: {("embed", "0.0.q"): "much"}, "not a number"),
        (lambda model, pairs: {("embed", "0.0.q"): float("nan")}, "expected a finite number"),
        ("eep", "no method 'eep'; there are"),
    ],
)
def test_what_is_no_score_is_refused(method, problem):
    with pytest.raises(hl.HandloomError, match=problem):
        score_methods(method, on=["min"], pairs=16)


def assert_same_scores(method, model, changed, renamed=lambda name: name):
    """A method gives two models the same scores, with heads renamed."""
    pairs = pairs_of(model, count=16)
    before, after = METHODS[method](model, pairs), METHODS[method](changed, pairs)
    largest = max(map(abs, before.values()))
    differences = [abs(before[s, r] - after[renamed(s), renamed(r)]) for s, r in before]
    assert max(differences) <= 1e-6 * largest


@pytest.mark.parametrize("method", METHODS)
def test_turning_the_stream_changes_no_score(method):
    model = hl.program(TASK).astype(np.float64)
    rotation = hl.transforms.random_rotation(model.config.d_model, seed=2)
    assert_same_scores(method, model, hl.transforms.rotate(hl.transforms.layer_to_rms(model), rotation))


@pytest.mark.parametrize("method", [name for name in METHODS if name != "acdc"])  # which prunes in the order of heads
def test_reordering_heads_and_neurons_reorders_the_scores(method):
    model = hl.program("lookup").astype(np.float64)
    order = [2, 0, 4, 1, 3]
    changed = hl.transforms.permute_heads(model, 0, order)
    changed = hl.transforms.permute_neurons(changed, 0, np.arange(model.config.d_ff)[::-1])
    names = {f"0.{old}": f"0.{new}" for new, old in enumerate(order)}

    def renamed(name):
        head, _, part = name.rpartition(".")
        return f"{names[head]}.{part}" if head in names else names.get(name, name)

    assert_same_scores(method, model, changed, renamed)
