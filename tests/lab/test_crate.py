"""The white-box transformer: its measures against formulas, and the verdict under mutations."""

import numpy as np
import pytest
import torch

from handloom.lab.experiment import Lab
from handloom.lab.learned import crate
from handloom.lab.running import conclude


def test_the_rate_of_tokens_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    z, u = rng.normal(size=(2, 16, crate.WIDTH)), rng.normal(size=(crate.WIDTH, crate.WIDTH))
    normed = (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + 1e-5)
    wide = crate.WIDTH // crate.HEADS
    rates = [
        sum(
            np.linalg.slogdet(np.eye(16) + part @ part.T * wide / (16 * crate.EPS**2))[1] / 2
            for part in np.split(one @ u, crate.HEADS, axis=-1)
        )
        for one in normed
    ]  # the determinant is the same for zᵀz and for zzᵀ
    assert crate.rate(torch.tensor(z), torch.tensor(u)) == pytest.approx(np.mean(rates), rel=1e-6)


def test_both_networks_have_equally_many_parameters_in_their_layers():
    counts = [sum(w.numel() for name, w in crate.make(kind, 0).items() if "." in name) for kind in ("crate", "usual")]
    assert abs(counts[0] - counts[1]) <= 2 * crate.WIDTH**2


def test_layers_that_gained_are_counted_in_both_measures():
    assert crate.gained([[3, 2, 1], [2, 1]], [[3, 4, 1], [2, 1]]) == 1
    assert crate.gained([[3, 2, 1], [2, 1]], [[3, 2, 1], [2, 1]]) == 0


def found(monkeypatch, after, before, right=0.97):
    """The verdict with these measures of the trained and the untrained network."""
    monkeypatch.setattr(crate, "train", lambda kind, steps, glyphs, lab, labels=crate.true: (kind, steps, labels))
    monkeypatch.setattr(crate, "measures", lambda net, x: after if net[1] else before)
    accuracies = {crate.true: right, crate.shuffled: 0.1}
    monkeypatch.setattr(crate, "accuracy", lambda net, test: 0.98 if net[0] == "usual" else accuracies[net[2]])
    return conclude(crate, seeds=[0], quick=False)


FALLING, FLAT = ([7, 6, 5, 4, 3, 2, 1], [6, 5, 4, 3, 2, 1]), ([1] * 7, [1] * 6)


def test_the_verdict_follows_from_the_measures(monkeypatch):
    assert found(monkeypatch, FALLING, FLAT).verdict == "holds"
    assert found(monkeypatch, FALLING, FALLING).verdict == "holds in part"
    assert found(monkeypatch, FLAT, FLAT, right=0.5).verdict == "does not hold"


def test_labels_by_lot_teach_nothing_that_true_labels_do(monkeypatch):
    lab, glyphs = Lab(), Lab().rng(1).random((crate.CLASSES, crate.SIDE, crate.SIDE)) < 0.5
    test = crate.pictures(glyphs, 500, lab.rng(2))
    right, by_lot = (
        crate.accuracy(crate.train("crate", 60, glyphs, lab, how), test) for how in (crate.true, crate.shuffled)
    )
    assert right > 0.3 > by_lot
