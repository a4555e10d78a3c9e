"""Experiments on learning in context: their oracles against other definitions, and verdicts that change when the model
is not trained, or the labels say nothing."""

from itertools import islice, pairwise

import numpy as np
import pytest

from handloom.core import Config, Model, Vocab
from handloom.core import params as parameters
from handloom.lab.learned import (
    automata,
    few_shot,
    function_composition,
    grokking,
    hops,
    induction,
    ngrams,
    sample_size,
    simulators,
)
from handloom.lab.predictions import accuracy, first_step, log_probabilities, losses, mean_divergence
from handloom.lab.running import conclude
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.tasks.sequences import bigram_predictions, hop
from handloom.view.figures.panels import panels_file

RNG = np.random.default_rng


def hurried(module, monkeypatch, most):
    """The module's experiment, in which no model is trained for more than a few steps."""
    monkeypatch.setattr(module, "steps", lambda *given, **named: islice(steps(*given, **named), most))


def test_losses_and_accuracy_count_only_places_with_a_target():
    config = Config(vocab=3, block=4, d_model=4)
    model = Model(config, parameters.random(config, seed=0, scale=1.0), Vocab.numbers(3)).astype(np.float32)
    rows, targets = np.array([[0, 1, 2, 0]]), np.array([[NOTHING, 2, NOTHING, 1]])
    found, predicted = losses(model, rows, targets), log_probabilities(model, rows)
    assert np.isnan(found[0, [0, 2]]).all()
    assert np.allclose(found[0, [1, 3]], -predicted[0, [1, 3], [2, 1]])
    assert accuracy(model, rows, np.where(targets == NOTHING, NOTHING, predicted.argmax(-1))) == 1.0
    assert np.allclose(mean_divergence(predicted, predicted), 0.0)
    assert (mean_divergence(predicted, np.full_like(predicted, -np.log(3))) > 0).all()
    assert first_step([5, 10], [False, True]) == 10


def test_the_labels_of_hops_are_those_of_the_task():
    rows = RNG(0).integers(0, hops.LETTERS, (20, 24))
    for k in (1, 2, 4):
        for row, labels in zip(rows.tolist(), hops.labels(rows, k).tolist(), strict=True):
            for place, label in enumerate(labels):
                at = place
                for _ in range(k):
                    at = None if at is None else hop(row, at)
                assert label == (NOTHING if at is None else row[at])


def test_the_compiled_hops_take_a_layer_more_for_each_doubling():
    assert [hops.layers_by_hand(k) for k in (1, 2, 4)] == [3, 4, 5]


def test_the_bigram_strategy_is_the_best_prediction_of_the_task():
    rows, following = ngrams.draw(ngrams.any_chains, RNG(0), 4)
    predicted = np.exp(ngrams.strategies(rows)["bigram"])
    for row, end, found in zip(rows, following[:, -1:], predicted, strict=True):
        assert np.allclose(found, bigram_predictions([*row, *end], ngrams.LETTERS)[1:])


def test_letters_of_even_chains_are_equally_frequent():
    chains = ngrams.even_chains(RNG(0), 50)
    assert np.allclose(chains.sum(1), 1.0)
    assert np.allclose(chains.sum(2), 1.0)


def test_phases_must_come_in_the_order_of_the_claim():
    assert ngrams.in_order([("uniform", 3), ("unigram", 3), ("bigram", 5)]) == 3
    assert ngrams.in_order([("uniform", 3), ("bigram", 5), ("unigram", 3)]) == 0
    assert ngrams.in_order([("unigram", 3), ("bigram", 5)]) == 2


def test_the_mixture_of_characters_is_bayes_theorem():
    rows, _ = simulators.draw(RNG(0), 6)
    for row, found in zip(rows[:, :5], np.exp(simulators.mixture(rows[:, :5])), strict=True):
        joint = simulators.PRIOR.copy()
        for here, there in pairwise(row):
            joint *= simulators.CHAINS[:, here, there]
        assert np.allclose(found[-1], joint / joint.sum() @ simulators.CHAINS[:, row[-1]])


def test_the_chi_squared_test_tells_right_shares_from_wrong_ones():
    right = np.array([500, 300, 200])
    assert simulators.p_value(right, simulators.PRIOR) == pytest.approx(1.0)
    assert simulators.p_value(np.array([590, 210, 200]), simulators.PRIOR) < 1e-6


def test_groups_have_their_elements_and_states_are_products():
    tables = {name: automata.state_table(name) for name in automata.GENERATORS}
    assert {name: len(table) for name, table in tables.items()} == {"C2": 2, "S3": 6, "A5": 60}
    for table in tables.values():
        assert all(sorted(column) == list(range(len(table))) for column in table.T.tolist())
    letters, states = automata.draw(tables["C2"], RNG(0))
    assert np.array_equal(states, np.cumsum(letters, 1) % 2)


def test_the_answer_of_a_composition_is_f_of_g():
    rows, targets = function_composition.draw(8, True, RNG(0))
    for row, target in zip(rows.tolist(), targets.tolist(), strict=True):
        g, f, asked = row[:8], row[8:16], row[16:]
        assert target[16:] == [f[g[x - 8]] for x in asked]
    n = function_composition.bound()
    assert n * np.log2(n) > 4 * 17 * 32 >= (n - 1) * np.log2(n - 1)


def test_half_of_the_examples_are_true_and_the_first_three_bits_decide():
    bits, labels = sample_size.draw(20, 400, RNG(0))
    assert labels.mean() == 0.5
    assert np.array_equal(bits[:, :3].all(1), labels == 1)


def test_held_out_labellings_are_never_trained_on():
    assert (few_shot.labellings(RNG(0), 500, held_out=True).sum(-1) % few_shot.LABELS == 0).all()
    assert (few_shot.labellings(RNG(0), 500).sum(-1) % few_shot.LABELS != 0).all()


def test_the_stretch_is_repeated_and_its_length_varies():
    rows, targets = induction.draw(RNG(0), 50)
    assert np.array_equal(rows[:, 1:], targets[:, :-1])
    periods = [next(p for p in range(1, 40) if np.array_equal(row[p:], row[:-p])) for row in rows]
    assert min(periods) < 20 < 28 < max(periods) <= 32
    assert all(len(set(row[:period])) == period for row, period in zip(rows, periods, strict=True))


@pytest.mark.parametrize(
    ("module", "most"), [(induction, 20), (ngrams, 5), (simulators, 3), (few_shot, 3), (function_composition, 3)]
)
def test_without_training_no_claim_holds_and_the_picture_is_drawn(module, most, monkeypatch):
    hurried(module, monkeypatch, most)
    found = conclude(module, seeds=1)
    assert found.verdict != "holds"
    assert not found.results[0].good or module is ngrams  # whose first phases are in order from the start
    assert panels_file(module.picture(found.series), ".svg").startswith(b"<?xml")


@pytest.mark.parametrize(("module", "most"), [(grokking, 50), pytest.param(automata, 2, marks=pytest.mark.slow)])
def test_nor_does_it_in_a_full_run(module, most, monkeypatch):
    hurried(module, monkeypatch, most)
    found = conclude(module, seeds=1, quick=False)
    assert found.verdict != "holds"
    assert panels_file(module.picture(found.series), ".svg").startswith(b"<?xml")


def test_a_learner_that_does_not_select_needs_more_examples(monkeypatch):
    monkeypatch.setattr(sample_size, "by_attention", sample_size.by_least_squares)
    assert conclude(sample_size, seeds=1).verdict != "holds"


def test_labels_by_lot_cannot_be_learned(monkeypatch):
    lots = RNG(0)
    monkeypatch.setattr(few_shot, "labels_of", lambda asked, labelling: lots.integers(0, 4, asked.shape))
    hurried(few_shot, monkeypatch, 50)
    assert conclude(few_shot, seeds=1).verdict != "holds"


@pytest.mark.slow
@pytest.mark.parametrize(("module", "quick"), [(few_shot, False), (function_composition, True)])
def test_the_claim_holds(module, quick):
    assert conclude(module, seeds=1, quick=quick).verdict == "holds"
