"""The experiment on matrices: its results against NumPy's, what is asked, and what breaks its claim."""

import numpy as np
import pytest

from handloom.lab.experiment import verdict_of
from handloom.lab.learned import matrices
from handloom.lab.running import conclude
from handloom.view.figures.panels import panels_file

SOLVE = {
    "transpose": lambda a, rest: a.T,
    "sum": lambda a, rest: a + rest.reshape(2, 2),
    "product": lambda a, rest: a @ rest,
    "inverse": lambda a, rest: np.linalg.solve(a, np.eye(2)),
}


def questions(name, count=300):
    return matrices.draw_questions(name, np.random.default_rng(0), count)


def verdict(change):
    """Of answers that are the labels, changed."""
    asked = {name: questions(name, 2000) for name in matrices.OPERATIONS}
    results = {name: matrices.results_of(name, rows) for name, rows in asked.items()}
    unit = {name: what.unit for name, what in matrices.OPERATIONS.items()}
    answers = {name: change(matrices.labels_of(name, rows) * unit[name]) for name, rows in asked.items()}
    answers[matrices.FOREIGN] = np.roll(answers["transpose"], 1, axis=0)
    finding = matrices.judged(answers, results | {matrices.FOREIGN: results["transpose"]}, {})
    return verdict_of([finding]), {check.name: check.within for check in finding.checks}, finding


@pytest.mark.parametrize("name", matrices.OPERATIONS)
def test_results_are_those_of_numpy(name):
    rows = questions(name)
    right = [SOLVE[name](row[:4].reshape(2, 2), row[4:]).ravel() for row in rows / 10]
    assert np.allclose(matrices.results_of(name, rows), right)


@pytest.mark.parametrize("name", matrices.OPERATIONS)
def test_labels_can_be_written_and_are_within_five_per_cent(name):
    rows, what = questions(name, 5000), matrices.OPERATIONS[name]
    labels = matrices.labels_of(name, rows)
    assert np.abs(labels).max() <= matrices.LARGEST
    assert (matrices.errors(labels * what.unit, matrices.results_of(name, rows)) <= 0.05).mean() > 0.98


def test_only_well_conditioned_matrices_are_inverted():
    found = questions("inverse").reshape(-1, 2, 2) / 10
    assert np.linalg.cond(found, "fro").max() <= matrices.CONDITION + 1e-9
    assert np.abs(np.linalg.inv(found)).max() < 1


@pytest.mark.parametrize("name", matrices.OPERATIONS)
@pytest.mark.parametrize("foreign", [False, True])
def test_a_batch_asks_for_the_answer_only_and_foreign_answers_are_another_questions(name, foreign):
    what = matrices.OPERATIONS[name]
    inputs, targets = matrices.batch_of(name, np.random.default_rng(0), 50, foreign)
    labels = matrices.labels_of(name, inputs[:, : what.asked] - matrices.ZERO)
    same = (targets[:, -what.answered :] - matrices.ZERO == labels).all(1)
    assert same.mean() < 0.2 if foreign else same.all()
    assert (targets[:, : what.asked - 1] == -1).all()
    assert (inputs[:, what.asked :] == targets[:, what.asked - 1 : -1]).all()


def test_the_verdict_follows_from_the_answers():
    found, checks, finding = verdict(lambda right: right * np.where(np.arange(len(right)) % 20, 1.0, 1.1)[:, None])
    assert found == "holds"
    assert panels_file(matrices.picture([finding.series]), ".svg").startswith(b"<?xml")
    found, checks, _ = verdict(lambda right: np.where(np.arange(len(right)) % 20, 1.0, -1.0)[:, None] * right)
    assert found == "holds in part"
    assert not checks["wrong ones within 20 %"]
    assert verdict(lambda right: np.roll(right, 1, axis=0))[0] == "does not hold"
    assert verdict(np.zeros_like)[0] == "does not hold"


def test_a_wrong_inverse_is_seen(monkeypatch):
    right = matrices.results_of("inverse", questions("inverse"))
    wrong = right.reshape(-1, 2, 2).swapaxes(1, 2).reshape(-1, 4)
    assert (matrices.errors(wrong, right) <= 0.05).mean() < 0.2


@pytest.mark.slow
def test_the_quick_form_transposes_and_other_labels_teach_nothing(monkeypatch):
    assert conclude(matrices, seeds=[0]).results[0].passed
    batch = matrices.batch_of
    monkeypatch.setattr(matrices, "batch_of", lambda name, rng, count, foreign: batch(name, rng, count, True))
    found = conclude(matrices, seeds=[0])
    assert not found.results[0].passed
    assert found.verdict == "open"  # a quick run is too short to say that it does not hold
