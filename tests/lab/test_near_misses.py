"""The experiment on near misses: how numbers are written, its measures on known answers, and what breaks its claim."""

import numpy as np
import pytest

from handloom.lab.experiment import verdict_of
from handloom.lab.learned import near_misses
from handloom.lab.running import conclude


def exam(count=2000):
    return near_misses.eigenvalues_of(near_misses.draw_matrices(np.random.default_rng(0), count))


def found(answers, results):
    finding = near_misses.judged(answers.astype(float), results, {})
    return verdict_of([finding]), {check.name: check.within for check in finding.checks}


def test_eigenvalues_are_those_of_numpy_the_larger_first():
    matrices = near_misses.draw_matrices(np.random.default_rng(0), 100)
    right = [np.linalg.eigvalsh([[a, b], [b, c]])[::-1] for a, b, c in matrices]
    assert np.abs(near_misses.eigenvalues_of(matrices) - right).max() <= 0.501


def test_numbers_are_read_as_they_are_written_and_others_are_none():
    numbers = np.array([[-198, 0], [7, -3]])
    tokens = near_misses.written(numbers)
    assert (near_misses.read(tokens) == numbers).all()
    assert np.isnan(near_misses.read(tokens[:, ::-1])).all()


def test_a_batch_asks_for_the_eigenvalues_only():
    inputs, targets = near_misses.batch_of(np.random.default_rng(0), 20)
    matrices = near_misses.read(inputs[:, : near_misses.ASKED])
    assert (near_misses.read(targets[:, -4:]) == near_misses.eigenvalues_of(matrices.astype(int))).all()
    assert (targets[:, :-4] == -1).all()
    assert (inputs[:, -3:] == targets[:, -4:-1]).all()


def test_small_errors_that_cancel_are_near_misses_and_absurd_ones_are_not():
    results = exam()
    rng = np.random.default_rng(1)
    size = np.rint(rng.uniform(0, 0.03, len(results)) * np.abs(results).sum(1))
    sign = rng.choice([-1, 1], len(results))
    cancel = results + np.stack([sign * size, -sign * size], 1)
    assert found(cancel, results)[0] == "holds"
    verdict, checks = found(results + np.stack([sign * size, sign * size], 1), results)
    assert verdict == "holds in part"
    assert not checks["part of the errors that is left in the sum"]
    absurd = np.where(rng.random(len(results))[:, None] < 0.5, results, rng.permutation(results))
    verdict, checks = found(absurd, results)
    assert verdict == "holds in part"
    assert not checks["wrong ones within 20 %"]
    assert not checks["wrong ones whose sum is near the trace"]


def test_answers_that_are_no_numbers_are_wrong_and_not_near():
    results = exam()
    answers = results.astype(float)
    answers[: len(results) // 2, 1] = np.nan
    _, checks = found(answers, results)
    assert not checks["wrong ones that are two numbers, the larger first"]
    assert not checks["wrong ones within 20 %"]


@pytest.mark.slow
def test_with_labels_of_other_matrices_nothing_is_near(monkeypatch):
    batch = near_misses.batch_of

    def shuffled(rng, count):
        inputs, targets = batch(rng, count)
        inputs[:, : near_misses.ASKED] = rng.permutation(inputs[:, : near_misses.ASKED])
        return inputs, targets

    name = "wrong ones within 20 %"
    assert {one.name: one.passed for one in conclude(near_misses, seeds=[0]).results}[name]
    monkeypatch.setattr(near_misses, "batch_of", shuffled)
    assert not {one.name: one.passed for one in conclude(near_misses, seeds=[0]).results}[name]
