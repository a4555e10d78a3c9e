"""The exact experiments hold; and with one step of each broken on purpose the verdict changes."""

from dataclasses import replace

import numpy as np
import pytest

from handloom.core.reference import softmax
from handloom.lab.exact import (
    clusters,
    grokking_elsewhere,
    hallucination,
    hopfield,
    masked_experts,
    modern_hopfield,
    parity_limit,
    rank,
    spins,
    tensor,
)
from handloom.lab.exact.trained_models import trained_models
from handloom.lab.experiment import Lab
from handloom.lab.running import conclude
from handloom.read import Term
from handloom.write import program


@pytest.fixture
def smaller():
    """Fewer draws, so that each verdict takes a second at most; what is broken shows in few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parity_limit, "LENGTHS", (64, 128, 256))
        patch.setattr(parity_limit, "PROGRAM_LENGTHS", (64, 128, 256))
        patch.setattr(modern_hopfield, "TRIES", 100)
        patch.setattr(hallucination, "LARGE", 20_000)
        patch.setattr(grokking_elsewhere, "SPURIOUS", (20, 80, 320))
        yield


MODULES = [
    clusters,
    grokking_elsewhere,
    hallucination,
    hopfield,
    masked_experts,
    modern_hopfield,
    parity_limit,
    rank,
    spins,
    tensor,
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.CLAIM.name)
def test_a_claim_holds_and_its_picture_can_be_drawn_from_what_a_file_keeps(module):
    found = conclude(module, seeds=1)
    assert found.verdict == "holds", str(found)
    assert module.picture(found.series)


BREAKS = {
    "hopfield: nothing is ever updated": (hopfield, "relax", lambda weights, states: states.copy()),
    "masked-experts: a softmax over all experts": (masked_experts, "chosen", softmax),
    "masked-experts: a mask that is not computed anew": (
        masked_experts,
        "masks_of_its_own",
        lambda model: dict.fromkeys([f"{i}.mlp_post" for i in range(model.config.layers)], first_mask),
    ),
    "masked-experts: what is not chosen counts too": (masked_experts, "others", np.flatnonzero),
    "masked-experts: the mask of another string is no other": (
        masked_experts,
        "of_another_string",
        lambda gates: gates,
    ),
    "modern-hopfield: a linear energy": (modern_hopfield, "exponential", modern_hopfield.linear),
    "modern-hopfield: nearest pattern by the wrong sign": (
        modern_hopfield,
        "update",
        lambda patterns, states: softmax(-modern_hopfield.BETA * states @ patterns.T) @ patterns,
    ),
    "spins: the wrong sign of the step": (spins, "gradient", lambda x, states: -spin_gradient(x, states)),
    "spins: the energy without its square": (
        spins,
        "energy",
        lambda x, states: spin_energy(x, states) - (states * states).sum(-1) / 2,
    ),
    "clusters: tokens repel": (clusters, "simulate", lambda x, beta, sign, steps: simulate(x, beta, -sign, steps)),
    "clusters: no attention on the line": (
        clusters,
        "on_a_line",
        lambda x, sign: np.full((len(x), len(x)), 1 / len(x)),
    ),
    "hallucination: the bound without miscalibration": (
        hallucination,
        "miscalibration",
        lambda given, seen, told=False: 0.0,
    ),
    "hallucination: facts seen twice for those seen once": (
        hallucination.Seen,
        "monofacts",
        property(lambda seen: seen.facts[2] / seen.n),
    ),
    "tensor: heads composed in the wrong order": (tensor, "along", lambda steps, x: along(steps[::-1], x)),
    "tensor: norms left on": (tensor, "attention_only", lambda norm, layers, lab: attention_only("rms", layers, lab)),
    "rank: rows not centred": (rank, "centred", lambda scores: scores),
    "rank: keys on a line": (rank, "circle_scores", lambda P: 400.0 * (P @ np.c_[: rank.T]) @ np.c_[: rank.T].T),
    "grokking-elsewhere: labels shuffled": (grokking_elsewhere, "labels", lambda X: np.roll(X[:, 0], 7)),
    "grokking-elsewhere: no weight decay": (grokking_elsewhere, "DECAY", 0.0),
    "parity-limit: attention that looks at single positions": (
        parity_limit,
        "random_model",
        lambda norm, seed: sharp(norm, seed),
    ),
    "parity-limit: a layer norm that does not magnify": (
        parity_limit,
        "program",
        lambda name, length: with_the_usual_eps(name, length),
    ),
}
spin_gradient, spin_energy, simulate = spins.gradient, spins.energy, clusters.simulate
random_model = parity_limit.random_model
along, attention_only = tensor.along, tensor.attention_only


def first_mask(post):
    """The first two experts, whatever the input."""
    return post * (np.arange(post.shape[-1]) < masked_experts.TOP * masked_experts.NEURONS) / masked_experts.TOP


def sharp(norm, seed):
    """A random model that looks at single positions."""
    model = random_model(norm, seed)
    loud = {name: array * (100.0 if name.endswith("W_Q") else 1.0) for name, array in model.flat.items()}
    return model.with_(params=loud)


def with_the_usual_eps(name, length):
    model = program(name, length=length)
    return model.with_(config=replace(model.config, eps=1e-5))


@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_experiment_does_not_hold(what, monkeypatch, smaller):
    where, name, broken = BREAKS[what]
    module = hallucination if where is hallucination.Seen else where
    monkeypatch.setattr(where, name, broken)
    assert conclude(module, seeds=1).verdict != "holds"


def test_trained_models_that_are_there_come_with_strings_of_their_tasks():
    ((name, (model, rows)),) = trained_models(["sort-0", "no-such-model"], rows=3).items()
    assert name == "sort-0"
    assert len(rows) == 3
    assert max(map(max, rows)) < model.config.vocab


def test_the_same_seed_finds_the_same_and_another_does_not():
    one, same, other = (rank.run(Lab(seed)).series["random"] for seed in (0, 0, 1))
    assert one == same != other


def test_relaxation_ends_where_no_neuron_wants_to_flip():
    rng = np.random.default_rng(0)
    patterns = rng.choice([-1.0, 1.0], (30, 100))
    weights = hopfield.hebbian(patterns)
    states = hopfield.relax(weights, patterns.T)
    assert ((weights @ states) * states >= 0).all()


def test_a_complex_step_gives_the_slope_that_differences_give():
    rng = np.random.default_rng(0)
    patterns, states = rng.choice([-1.0, 1.0], (5, 4)), rng.normal(size=(3, 4))
    step = 1e-5 * np.eye(4)[2]
    difference = (spins.energy(patterns, states + step) - spins.energy(patterns, states - step)) / 2e-5
    assert np.allclose(spins.gradient(patterns, states)[:, 2], difference, atol=1e-7)


def test_clusters_are_counted_along_chains_of_near_tokens():
    angles = np.array([0.0, 0.1, 0.2, 0.3, 2.0, 2.1, 4.0])
    assert clusters.clusters(np.stack([np.cos(angles), np.sin(angles)], axis=-1)) == 3


def test_every_learner_gives_probabilities_that_sum_to_one():
    seen = hallucination.draw(2_000, 0.5, 1.0, np.random.default_rng(0))
    for learner in hallucination.LEARNERS.values():
        given = learner(seen)
        assert given.min() >= 0
        assert np.isclose(given.sum(), 1.0)


def test_miscalibration_is_that_of_the_sentences_written_out(monkeypatch):
    """Against the definition, sentence by sentence, in a world of 50 facts and 200 possible hallucinations."""
    monkeypatch.setattr(hallucination, "POSSIBLE", 200.0)
    rng = np.random.default_rng(3)
    p = np.append(rng.dirichlet(np.ones(50)), np.zeros(200))
    counts = np.append(rng.multinomial(60, p[:50]), np.zeros(200, int))
    facts = np.bincount(counts[:50], minlength=3).astype(float)
    seen = hallucination.Seen(60, facts, np.bincount(counts[:50], p[:50], minlength=3))
    for learner in hallucination.LEARNERS.values():
        given = learner(seen)
        g = (given / np.maximum(hallucination.sentences(seen), 1))[counts]
        averaged = np.array([p[np.isclose(g, one, rtol=1e-9)].mean() for one in g])
        assert np.isclose(hallucination.miscalibration(given, seen), np.abs(g - averaged).sum() / 2)
        assert np.isclose(hallucination.rate(given, seen), g[50:].sum())


def test_gradient_descent_in_closed_form_is_gradient_descent():
    rng = np.random.default_rng(0)
    X, start = rng.normal(size=(10, 15)) / 2, rng.normal(size=15)
    w, expected = start, {}
    for step in range(10):
        expected[step] = w
        w = w - grokking_elsewhere.RATE * (X.T @ (X @ w - X[:, 0]) / 10 + 0.1 * w)
    found = grokking_elsewhere.descend(X, X[:, 0], start, 0.1)
    for i, step in enumerate(grokking_elsewhere.STEPS[:8]):
        assert np.allclose(found[:, i], expected[int(step)])


def test_a_term_is_its_kronecker_product():
    rng = np.random.default_rng(0)
    term, x = Term(rng.normal(size=(3, 3)), rng.normal(size=(4, 4))), rng.normal(size=(3, 4))
    assert np.allclose(np.kron(term.A, term.W) @ x.ravel(), term(x).ravel())


def test_fits_of_patterns_are_as_good_as_what_is_written_down():
    P = np.random.default_rng(0).dirichlet(np.ones(rank.T), rank.T)
    fits = rank.best_fits(P, 800, np.random.default_rng(1))
    written = [rank.kl(P, rank.exact_scores(P, width)) for width in rank.WIDTHS]
    assert all(fit <= there + 1e-6 for fit, there in zip(fits, written, strict=True))
