"""Names of heads: right where they are known, never above what chance gives, and said to be partly or mixed if so."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handloom as hl
from draws import configs, random_model, trained_like
from handloom.core import HandloomError, reference
from handloom.read import composition, heads
from handloom.read.head_rows import given_rows
from handloom.read.head_scores import measure
from handloom.read.heads import name_of, unused_on
from handloom.read.part_names import NOT_USED, head_words
from handloom.write import program
from tailored import HARD, at, back, nowhere, pairs, tailored


def names(found):
    return {one.head: one.name for one in found}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("book/search", "offset 0, offset 1, offset 2, offset 3, induction 3, offset 0, partly offset 0, unused"),
        ("search", "offset 1, offset 2, induction 3, unused"),
        ("exercise/search-lean", "offset 1, offset 2, offset 3, induction 3, unused, unused"),
        ("search:length=2", "offset 1, induction 2"),
        ("compiled/induction", "offset 1, induction 1"),
        ("lookup", "offset 0, offset 1, offset 2, offset 3, offset 4"),
    ],
)
def test_heads_of_programs_are_called_what_they_were_written_for(name, expected):
    found = heads(program(name))
    assert ", ".join(one.name for one in found)[: len(expected)] == expected
    assert {one.rows for one in found} == {"random"}


def test_the_searches_score_as_in_the_study():
    book, ours = heads(program("book/search")), heads(program("search"))
    assert all(book[f"0.{h}"].score > 0.999 for h in range(4))
    by_context = [book["1.0"].scores["random"][f"induction {n}"] for n in (1, 2, 3, 4)]
    assert by_context[0] < by_context[1] < 0.9
    assert by_context[2] > 0.995
    assert by_context[2] > by_context[3] > 0.95
    assert ours["0.1"].score == pytest.approx(0.93, abs=0.01)


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("addition", "0.0", "offset 4"),
        ("addition", "2.0", "offset 0"),
        ("sort:n=20", "0.0", "token 0"),
        ("sort:n=20", "1.0", "same token"),
        ("compiled/reverse", "0.0", "token >"),
        ("modular-sum", "0.1", "position 1"),
        ("compiled/sort:n=4", "1.0", "broad"),
    ],
)
def test_where_inputs_have_a_format_heads_are_named_on_inputs(name, head, expected):
    one = heads(name)[head]
    assert (one.name, one.rows) == (expected, "task")
    assert set(one.scores) == {"random", "task"}


def test_a_head_that_looks_at_two_digits_has_both_in_its_evidence():
    one = heads("addition")["0.0"]
    assert [name for name, _ in one.also] == ["offset 8"]
    assert one.score + one.also[0][1] > 0.95


def test_the_fixed_period_trap():
    """A head that looks 11 back is no induction head, though on rows of period 12 it cannot be told from one."""
    model = tailored(back(11))
    rng = np.random.default_rng(0)
    trap = [np.resize(rng.permutation(12), 40).tolist() for _ in range(20)]
    on_trap = heads(model, trap)["0.0"].scores["given"]
    assert on_trap["induction 1"] > 0.9
    for seed in range(3):
        found = heads(model, seed=seed)["0.0"]
        assert found.name == "offset 11"
        assert max(found.scores["random"][f"induction {n}"] for n in (1, 2, 3, 4)) <= 0.1


def test_every_kind_of_head_is_told_from_the_others():
    rng = np.random.default_rng(0)
    mixture = pairs(rng.normal(0, 3, (12, 12)))
    same = pairs(HARD * np.eye(12))
    model = tailored(back(1), at(0), mixture, same, nowhere(), back(2), 0.4 * back(3), writes=[1, 1, 1, 1, 1, 0, 1])
    expected = ["offset 1", "position 0", "skip-gram", "same token", "broad", "unused", "offset 3"]
    found = heads(model)
    assert list(names(found).values()) == expected
    assert [name for name, _ in found["0.3"].also] == ["skip-gram", "offset 0"]
    assert found["0.2"].scores["random"]["skip-gram"] > 0.9
    assert found["0.2"].scores["random"]["by position"] < 0.1


def test_scores_that_depend_on_positions_are_no_skip_grams():
    model = tailored(
        back(1), pairs(np.zeros((12, 12))) + np.random.default_rng(1).normal(0, 3, (52, 52)) * in_positions()
    )
    for one in heads(model):
        assert one.scores["random"]["skip-gram"] < 0.1
        assert one.scores["random"]["by position"] > 0.9
        assert one.name != "skip-gram"


def in_positions():
    block = np.zeros((52, 52))
    block[12:, 12:] = 1.0
    return block


def test_a_pair_of_tokens_explains_nothing_by_chance():
    """With as many pairs as entries a fit would explain everything; on rows held out it does not."""
    noisy = tailored(np.random.default_rng(0).normal(0, 1, (100, 100)) * outside_pairs(60), tokens=60, block=40)
    assert heads(noisy)["0.0"].scores["random"]["skip-gram"] < 0.3


def outside_pairs(tokens):
    block = np.ones((tokens + 40, tokens + 40))
    block[:tokens, :tokens] = 0.0
    return block


def test_a_model_that_sees_both_ways_may_look_ahead():
    assert heads(tailored(back(-1), back(1), causal=False))["0.0"].name == "offset -1"


def test_even_attention_scores_nothing_and_is_broad():
    found = heads(tailored(nowhere()))["0.0"]
    targets = {name: score for name, score in found.scores["random"].items() if " " in name}
    assert len(targets) > 60
    assert max(map(abs, targets.values())) < 1e-9
    assert found.name == "broad"
    assert found.score == pytest.approx(1.0)


def by_hand(model, rows):
    """Scores by loops over rows, positions and what they see."""
    sums = {}
    for row in rows:
        pattern = reference.forward(model, row, "*.pattern")[1]["0.pattern"]
        for t in range(len(row)):
            seen = range(t + 1 if model.config.causal else len(row))
            kinds = {"same token": [s for s in seen if s != t and row[s] == row[t]]}
            kinds |= {f"same token + {d}": [s for s in seen if s >= d and row[s - d] == row[t]] for d in (2, 3)}
            kinds |= {f"offset {k}": [t - k] for k in range(len(row)) if t - k in seen}
            kinds |= {f"position {p}": [p] for p in seen}
            for n in range(1, 5):
                last = row[t - n + 1 : t + 1] if t >= n - 1 else None
                kinds[f"induction {n}"] = [s for s in seen if s >= n and last is not None and row[s - n : s] == last]
            for name, targets in kinds.items():
                if 0 < len(targets) < len(seen):
                    mass, chance, count = sums.get(name, (0.0, 0.0, 0))
                    sums[name] = mass + pattern[:, t, targets].sum(-1), chance + len(targets) / len(seen), count + 1
    return {name: (mass - chance) / (count - chance) for name, (mass, chance, count) in sums.items()}


@given(
    configs(layers=1, heads=2, vocab=3, block=6),
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=9),
)
@settings(max_examples=40)
def test_scores_are_those_of_a_loop_over_rows_and_positions(config, rows):
    model = random_model(config)
    found, expected = measure(model, given_rows(model, rows)), by_hand(model, rows)
    for h in range(2):
        for name, score in found.scores[f"0.{h}"].items():
            if name != "broad" and "-" not in name:
                assert score == pytest.approx(expected[name][h], abs=1e-9), name


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        ({"offset 1": 0.5, "position 0": 0.9}, "offset 1"),  # it rests on position 0 where it has no target
        ({"offset 1": 0.49, "position 0": 0.6}, "position 0"),
        ({"offset 1": 0.3, "broad": 0.91}, "broad"),
        ({"offset 1": 0.3, "skip-gram": 0.7, "by position": 0.1}, "skip-gram"),
        ({"offset 1": 0.3, "skip-gram": 0.7, "by position": 0.8}, "partly offset 1"),
        ({"induction 1": 0.992, "induction 2": 1.0}, "induction 1"),
        ({"induction 1": 0.8, "induction 2": 1.0, "induction 3": 1.0}, "induction 2"),
        ({"induction 1": 0.24, "broad": 0.7}, "mixed"),
        ({"offset 1": -0.2}, "mixed"),
        ({}, "mixed"),
    ],
)
def test_names_follow_from_scores(scores, name):
    assert name_of(scores)[0] == name


def test_a_mixed_head_has_the_two_best():
    assert name_of({"offset 1": 0.2, "offset 2": 0.1, "position 0": 0.15})[2] == (
        ("offset 1", 0.2),
        ("position 0", 0.15),
    )


@pytest.mark.parametrize(
    "name", ["book/search", "search", "multiplication", "sort:n=20", "compiled/palindrome", "addition"]
)
def test_unused_are_the_heads_without_weights_however_little_the_others_write(name):
    model = program(name)
    expected = {head for head, words in head_words(model).items() if words == NOT_USED}
    assert {head for head, found in names(heads(model)).items() if found == "unused"} == expected


def test_a_head_that_writes_a_trace_is_unused_only_if_nothing_changes_without_it():
    assert heads("multiplication")["1.4"].writes < 1e-10
    model = trained_like()
    flat = model.flat
    flat["layers.1.W_O"] = flat["layers.1.W_O"] * np.array([1e-9, 1.0])[:, None, None]
    assert names(heads(model.with_(params=flat)))["1.0"] == "unused"
    assert unused_on(model.with_(params=flat), [[2, 0, 1, 1, 0]]) == {"1.0"}
    assert unused_on(model, [[2, 0, 1, 1, 0]]) == set()


def test_a_bias_of_values_is_a_use():
    model = trained_like(layers=1)
    flat = model.flat
    flat["layers.0.W_V"] = np.zeros_like(flat["layers.0.W_V"])
    assert head_words(model.with_(params=flat)) == {"0.0": "", "0.1": ""}
    assert unused_on(model.with_(params=flat), [[2, 0, 1]]) == set()


def test_the_result_prints_is_a_list_of_json_and_refuses_an_unknown_head():
    found = heads("search")
    values = json.loads(json.dumps(found.to_json()))
    assert [(one["head"], one["name"]) for one in values] == list(names(found).items())
    assert {"head", "name", "score", "also", "rows", "writes", "scores"} == set(values[0])
    assert "1.0   induction 3   1.00" in str(found)
    with pytest.raises(HandloomError, match=r"no head '3.0' in this model; its heads are 0.0, 0.1, 1.0, 1.1"):
        found["3.0"]
    with pytest.raises(HandloomError, match="no attention heads"):
        heads("hello")


@given(configs(layers=1, heads=2).filter(lambda config: config.averages))
@settings(max_examples=30)
def test_every_config_whose_heads_take_means_gets_names(config):
    for one in heads(random_model(config), count=6):
        assert one.name
        assert np.isfinite(one.score)


def induction_model(seed, layers=2, **options):
    """A model without MLPs, trained on what followed the last symbol when it occurred before."""
    choices = {"heads": 2, "width": 32, "d_ff": 0, "batch": 64, "rate": 3e-3, "every": 250, "until": 0.99} | options
    return hl.train("induction", layers=layers, seed=seed, **choices).model()


def check_pair(model):
    """The head that looks back by 1, the induction heads, and what composes most."""
    found = heads(model)
    before = [one.head for one in found if one.name == "offset 1" and one.head.startswith("0.")]
    matching = {one.head: one.score for one in found if one.name == "induction 1" and one.head.startswith("1.")}
    assert before
    assert matching
    most = composition(model).top(1)[0]
    assert (most.source, most.kind) == (max(before, key=lambda head: found[head].score), "k")
    assert most.target in matching
    assert most.value >= 1.5


def test_the_pair_of_one_trained_induction_model_is_found_within_seconds():
    check_pair(induction_model(seed=3, steps=1500, count=10_000, every=1500, samples=0, until=0.0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_pair_of_a_trained_induction_model_is_found(seed):
    check_pair(induction_model(seed, steps=5000, count=50_000))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_one_layer_has_no_induction_head(seed):
    model = induction_model(seed, layers=1, heads=4, steps=4000, count=50_000)
    for one in heads(model):
        assert max(one.scores["random"][f"induction {n}"] for n in (1, 2, 3, 4)) < 0.5
