"""Pre-training, LoRA, rare classes, skip-grams, heads, superposition: parts against oracles, and mutations."""

import numpy as np
import pytest
import torch

from handloom.core import Model, Vocab, reference
from handloom.core.params import flatten, zeros
from handloom.lab.experiment import Lab
from handloom.lab.learned import (
    dictionary,
    few_shot_rare,
    heads,
    lora,
    lora_undo,
    pretrain,
    skip_gram,
    superposition,
)
from handloom.lab.running import conclude
from handloom.learn.data import NOTHING


def test_the_second_half_of_a_text_is_the_first_moved_on():
    inputs, targets = pretrain.texts(np.random.default_rng(0), 20, [3])
    first, second = targets[:, : pretrain.HALF], targets[:, pretrain.HALF :]
    assert ((first + 3) % pretrain.LETTERS == second).all()
    assert (inputs[:, 0] == pretrain.LETTERS + 3).all()
    np.testing.assert_array_equal(inputs[:, 1:], targets[:, :-1])


def test_a_cut_change_has_its_rank_and_all_of_it_is_the_trained_model():
    rng = np.random.default_rng(0)
    assert np.linalg.matrix_rank(lora.truncated(rng.normal(size=(6, 5)), 2)) == 2
    flat, vocab = flatten(zeros(pretrain.CONFIG, np.float64)), Vocab.numbers(pretrain.CONFIG.vocab)
    base, full = (
        Model(pretrain.CONFIG, {name: rng.normal(size=array.shape) for name, array in flat.items()}, vocab)
        for _ in range(2)
    )
    for name, array in lora.cut_to(base, full, 64).flat.items():
        np.testing.assert_allclose(array, full.flat[name], atol=1e-9)
    none = lora.cut_to(base, full, 0).flat
    np.testing.assert_allclose(none["W_E"], base.flat["W_E"])
    np.testing.assert_allclose(none["layers.0.b_Q"], full.flat["layers.0.b_Q"])
    assert sum(lora.spectrum(base, full)) <= 1.0


def test_the_tame_language_has_the_tokens_of_the_whole_one_and_no_twos():
    whole, tame = lora_undo.languages()
    assert tame.vocab == whole.vocab
    rng = np.random.default_rng(0)
    texts = [tame.draw(rng) for _ in range(50)]
    assert not any("2" in text for text in texts)
    assert all(whole.right(text) for text in texts)
    assert any("2" in whole.draw(rng) for _ in range(5))


def test_a_rare_class_is_ranked_by_what_was_seen_of_it_and_not_if_labels_are_shuffled(monkeypatch):
    assert conclude(few_shot_rare, seeds=[0]).verdict == "holds"
    honest = few_shot_rare.trained

    def shuffled(pictures, labels, epochs, rng):
        return honest(pictures, labels[torch.randperm(len(labels), generator=rng)], epochs, rng)

    monkeypatch.setattr(few_shot_rare, "trained", shuffled)
    assert conclude(few_shot_rare, seeds=[0]).verdict == "holds in part"


def test_skip_grams_ask_for_the_partner_and_the_control_for_the_follower():
    rng = np.random.default_rng(0)
    rows, targets = skip_gram.partners(rng, 50)
    keys = rows[rows < skip_gram.KEYS]
    assert len(keys) == 50
    assert (targets[:, -1] - skip_gram.KEYS == (keys + 3) % skip_gram.FILLERS).all()
    assert (targets[:, :-1] == NOTHING).all()
    rows, targets = skip_gram.followers(rng, 50)
    for row, last in zip(rows, targets[:, -1], strict=True):
        assert row[np.flatnonzero(row < skip_gram.KEYS)[0] + 1] == last


@pytest.mark.slow
def test_without_a_link_of_key_and_answer_no_skip_gram_is_learned(monkeypatch):
    honest = skip_gram.partners

    def unlinked(rng, count):
        rows, targets = honest(rng, count)
        return rows, targets[rng.permutation(count)]

    assert conclude(skip_gram, seeds=[0]).verdict == "holds"
    monkeypatch.setattr(skip_gram, "partners", unlinked)
    assert conclude(skip_gram, seeds=[0]).verdict == "holds in part"


@pytest.mark.parametrize(("name", "answer"), [("repeat", [3, 1, 2]), ("move", [4, 2, 3]), ("sort", [1, 2, 3])])
def test_the_tasks_of_heads(name, answer):
    assert heads.TASKS[name](np.array([[3, 1, 2]]))[0].tolist() == answer
    inputs, targets = heads.drawn(np.random.default_rng(0), heads.TASKS[name], 5)
    known = targets != NOTHING
    assert known.sum() == 5 * heads.LENGTH
    np.testing.assert_array_equal(targets[:, heads.LENGTH :], heads.TASKS[name](inputs[:, : heads.LENGTH]))


def test_the_angles_of_a_pentagon():
    angles = np.radians(10 + 72 * np.arange(5))
    pentagon = np.stack([np.cos(angles), np.sin(angles)])
    assert superposition.off_pentagon(pentagon) < 1e-9
    assert superposition.off_pentagon(pentagon[:, [0, 1, 2, 3, 3]]) == pytest.approx(72.0)
    assert superposition.off_pentagon(pentagon * [1, 1, 1, 1, 0.1]) == 180.0


def test_five_sparse_features_form_a_pentagon_and_linear_ones_do_not():
    bent, linear = (
        superposition.best(superposition.trained(5, 2, (0.05,), 600, 0, kind))[0][0] for kind in (True, False)
    )
    assert superposition.off_pentagon(bent) < 5
    assert superposition.off_pentagon(linear) > 5
    assert (linear**2).sum() == pytest.approx(2.0, abs=0.1)


def test_the_kept_model_computes_what_the_network_does_for_the_shares_of_tokens_and_the_last():
    w, b = np.random.default_rng(0).normal(size=(3, 8)), np.random.default_rng(1).normal(size=8)
    rows = np.random.default_rng(2).integers(0, 8, (5, 12))
    shares = np.stack([np.bincount(row, minlength=8) / 12 + np.eye(8)[row[-1]] for row in rows])
    logits, trace = reference.forward(superposition.as_model(w, b), rows, ["resid_final"])
    np.testing.assert_allclose(trace["resid_final"][:, -1], shares @ w.T, atol=1e-12)
    expected = superposition.reconstructed(*(torch.tensor(one) for one in (shares, w, b)), bent=False)
    np.testing.assert_allclose(logits[:, -1], expected.numpy(), atol=1e-12)


def test_the_true_features_are_their_own_best_match():
    truth = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 10)))[0]
    assert dictionary.mean_cosine(truth, truth) == pytest.approx(1.0)
    assert dictionary.mean_cosine(truth, -truth) == pytest.approx(0.0, abs=1e-9)


def test_a_dictionary_of_dense_features_is_not_found(monkeypatch):
    """The features that the autoencoder sees are no longer sparse; those of the network still are."""
    assert conclude(dictionary, seeds=[0]).verdict == "holds"
    weights = np.random.default_rng(0).normal(size=(dictionary.DIMENSIONS, dictionary.FEATURES))

    def dense(weights, rng):
        return rng.random((20_000, dictionary.FEATURES)) @ weights.T

    found = dictionary.sparse_directions(dense(weights, np.random.default_rng(1)), "topk", 0.0, Lab())
    assert dictionary.mean_cosine(weights / np.linalg.norm(weights, axis=0), found) < 0.9
