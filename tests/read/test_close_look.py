"""A closer look: a method beside the truth, a patching grid with two answers, and the film of a run."""

import numpy as np

import handloom as hl
from handloom.core.reference import forward
from handloom.read.circuit import circuit
from handloom.read.close_look import close_look, scores_of
from handloom.read.graph import Graph
from handloom.read.patching import patch
from handloom.tasks import task_of
from training_runs import RULE, SMALL


def test_a_method_scores_every_edge_and_exact_finds_the_circuit():
    model = hl.program("min:n=4")
    scores = scores_of("exact", model, pairs=64)
    assert set(scores) == set(Graph(model).edges)
    real = circuit(model, task_of(model), pairs=64).real
    assert set(sorted(scores, key=scores.__getitem__, reverse=True)[: len(real)]) == real


def test_the_patched_pair_has_two_answers_and_the_last_row_restores_the_clean_one():
    look = close_look(hl.program("search"), pairs=16)
    patching = look.patching
    clean, other = patching.tokens
    model = hl.program("search")
    ends = [forward(model, model.vocab.encode(" ".join(row)))[0][-1].argmax() for row in (clean, other)]
    assert ends[0] != ends[1]
    assert model.vocab.tokens[ends[0]] == patching.answer
    again = patch(model, " ".join(clean), " ".join(other), "*.resid_pre")
    assert np.array_equal(patching.effects["1.resid_pre"], again.effects["1.resid_pre"])
    assert not look.left_out


def test_what_a_model_does_not_have_is_left_out_with_the_reason():
    look = close_look(hl.program("hello"))
    assert look.scores is look.patching is look.film is None
    assert "No pairs of inputs" in look.left_out[0]


def test_a_run_that_kept_its_models_has_a_film_and_one_that_did_not_says_so(tmp_path):
    hl.train(RULE, folder=tmp_path / "kept", steps=20, keep=10, every=20, **SMALL)
    hl.train(RULE, folder=tmp_path / "bare", steps=1, every=1, **SMALL)
    look = close_look(str(tmp_path / "kept"), pairs=8)
    assert look.film is not None
    assert look.film.steps[-1] == 20
    bare = close_look(str(tmp_path / "bare"), pairs=8)
    assert bare.film is None
    assert any("train with keep=100" in reason for reason in bare.left_out)
