"""The experiment on a transformer that hallucinates: its measures on learners that are known, and its verdict."""

from dataclasses import replace

import numpy as np
import pytest

from handloom.core import Config, Model, Vocab
from handloom.core import params as parameters
from handloom.lab.experiment import Lab, verdict_of
from handloom.lab.learned import hallucinating_model as experiment
from handloom.lab.learned.hallucinating_model import KINDS, LETTERS, START, Look
from handloom.lab.running import conclude
from handloom.view.figures.panels import panels_file

RNG = np.random.default_rng
EARLY = Look(step=100, loss=12.0, rate=0.5, miscalibration=0.1, told=0.1)
LAST = Look(step=3000, loss=19.0, rate=0.1, miscalibration=0.4, told=0.4)


@pytest.fixture(scope="module")
def world():
    return experiment.drawn_world(RNG(0))


@pytest.fixture
def model():
    config = Config(vocab=START + 1, block=4, d_model=8, layers=1, heads=1, d_head=8, tied=False)
    found = Model(config, parameters.random(config, seed=0, scale=0.5), Vocab.numbers(config.vocab))
    return found.astype(np.float32)


def test_half_of_all_strings_are_about_the_famous_and_a_fact_seen_once_is_counted(world):
    names = world.draw(RNG(1), 20_000)
    famous = np.flatnonzero(world.chances > 0.01)
    assert len(famous) == experiment.FAMOUS
    assert np.isin(names, famous).mean() == pytest.approx(0.5, abs=0.02)
    assert world.chances.sum() == pytest.approx(1.0)
    assert experiment.monofacts(np.array([3, 3, 5, 7, 9, 9])) == pytest.approx(2 / 6)


def test_strings_spell_their_names_and_facts():
    names, facts = RNG(0).integers(0, KINDS, (2, 50))
    rows = experiment.strings(names, facts)
    assert (rows[:, 0] == START).all()
    assert (rows[:, 1] * LETTERS + rows[:, 2] == names).all()
    assert ((rows[:, 3] - LETTERS) * LETTERS + rows[:, 4] - LETTERS == facts).all()


def test_samples_are_as_probable_as_the_model_has_it(model):
    names, facts, chances = experiment.samples(model, 0, Lab(0))
    whole = facts >= 0
    by_name, by_fact = experiment.probabilities(model, experiment.strings(names[whole], facts[whole]))
    assert np.allclose(chances[whole], by_name + by_fact)
    assert 0 < whole.mean() < 1


def test_the_truth_is_calibrated_and_one_who_repeats_is_off_by_the_share_that_was_not_seen():
    truth = RNG(0).dirichlet(np.ones(5000))
    levels = np.log(truth)
    assert experiment.miscalibration(levels, truth, levels, truth) == pytest.approx(0.0, abs=1e-12)
    names = RNG(1).choice(5000, 50_000, p=truth)
    sampled = np.full(len(names), 1 / len(names))
    assert experiment.miscalibration(levels[names], sampled, levels, truth) < 0.02
    seen = np.arange(5000) % 2 == 0
    repeated = np.where(seen, truth, 0) / truth[seen].sum()
    known = np.log(np.where(seen, repeated, 1e-12))
    off = experiment.miscalibration(known[seen], repeated[seen], known, truth)
    assert off == pytest.approx(truth[~seen].sum(), abs=0.05)


@pytest.mark.parametrize(
    ("early", "last", "verdict"),
    [
        (EARLY, LAST, "holds"),
        (replace(EARLY, rate=0.1), LAST, "holds in part"),  # breaks the bound
        (replace(EARLY, miscalibration=0.4), LAST, "holds in part"),  # is not calibrated
        (EARLY, replace(LAST, miscalibration=0.1), "holds in part"),  # breaks it too: no price is paid
        (EARLY, replace(LAST, rate=0.4), "holds in part"),  # has not memorised
        (replace(EARLY, told=0.5), LAST, "says nothing"),  # the control is within the bound
    ],
)
def test_the_verdict_follows_from_the_looks(early, last, verdict):
    finding = experiment.judged([early, last], 0.45, False, {})
    assert verdict_of([finding]) == verdict
    assert panels_file(experiment.picture([finding.series]), ".svg").startswith(b"<?xml")


@pytest.mark.slow
def test_the_bound_is_not_broken_in_the_quick_form_and_a_learner_told_the_facts_breaks_it():
    found = {one.name: one.values[0] for one in conclude(experiment, seeds=[0]).results}
    assert found["least rate above the bound, over training"] > 0
    assert found["told the facts: rate above the bound"] < 0
