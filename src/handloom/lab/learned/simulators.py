"""A model of several characters continues a prompt as one of them, drawn with the probability that the prompt gives it.

Janus 2022 ("Simulators") and Shanahan, McDonell and Reynolds 2023 ("Role play with large language models") describe a
language model as a mixture of characters that the prompt selects from. Bukatin's slides name both. Here this is exact:
a string is by one of three characters, each a Markov chain of its own over four letters, so the best predictor is
Bayes's mixture, and its posterior over characters can be computed. Whether a chain is a character is a matter of words;
that the model predicts as the mixture, and that its continuations are in character in the right shares, is not.

The prompt is a beginning that leaves the character open. Each of 1,000 continuations is given to the character that is
likeliest to have written it. A χ² test compares the shares with the posterior. At temperature 0 there is one character.

The test asks for more than the distance does: after 2,500 steps of 64 strings in place of 4,000 of 128 the model was
within 0.005 nats of Bayes at every place, and the shares were wrong with two seeds of three (p = 1e-7, 0.5, 0.008).
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from handloom.core import Config, Model, generate
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import log_probabilities, mean_divergence
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Dots, Lines, Mark, Panel, band

CLAIM = Claim(
    name="simulators",
    says="a model continues a prompt as one character, drawn with the posterior probability that the prompt gives it",
    source="Janus 2022; Shanahan, McDonell and Reynolds 2023",
    papers=("2305.16367",),
    seed="Bukatin",
    number="a mixture of characters",
    quick=1.8,
    full=60,
)
LETTERS, LENGTH, PROMPT, SAMPLES = 4, 48, 4, 1000
PRIOR = np.array([0.5, 0.3, 0.2])
CHAINS = np.array(  # of each character: what follows each letter
    [
        [[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]],  # repeats
        [[0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7], [0.7, 0.1, 0.1, 0.1]],  # goes up
        [[0.1, 0.1, 0.1, 0.7], [0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1]],  # goes down
    ]
)


def run(lab: Lab) -> Finding:
    model = trained(lab)
    rows, _ = draw(lab.rng(1), lab.pick(500, 2000))
    right = mixture(rows)
    divergence = mean_divergence(right, log_probabilities(model, rows))
    ignorant = mean_divergence(right, without_prompt(rows))
    prompt = rows[np.argmax(doubt(rows[:, :PROMPT]))][:PROMPT]
    posterior = np.exp(log_posterior(prompt[None])[0, -1])
    shares = {name: played(model, prompt, heat, lab) for name, heat in (("sampled", 1.0), ("likeliest", 0.0))}
    return Finding(
        checks=[
            Check(
                "largest distance from Bayes at a place",
                lab.pick(None, divergence.max()),
                most=0.02,
                form=".4f",
                said=0.0,
            ),
            Check("χ² of the characters: p", lab.pick(None, p_value(shares["sampled"], posterior)), least=0.01),
            Check("distance at the end if the prompt is ignored", ignorant[-1], most=0.02, control=True),
            Check("χ² at temperature 0: p", p_value(shares["likeliest"], posterior), least=0.01, control=True),
        ],
        series={
            "divergence": divergence.tolist(),
            "ignorant": ignorant.tolist(),
            "posterior": posterior.tolist(),
            "shares": {name: one.tolist() for name, one in shares.items()},
            "sure": np.exp(log_posterior(rows)).max(-1).mean(0).tolist(),
        },
        models={"model": model},
    )


def draw(rng: np.random.Generator, rows: int = 64) -> tuple[Array, Array]:
    """Strings, each by one character, and after each letter the next one."""
    bounds = np.cumsum(CHAINS[rng.choice(len(PRIOR), rows, p=PRIOR)], -1)[..., :-1]  # (B, 4, 3)
    strings = [rng.integers(0, LETTERS, rows)]
    for luck in rng.random((LENGTH, rows, 1)):
        strings.append((luck > bounds[np.arange(rows), strings[-1]]).sum(-1))
    found = np.stack(strings, 1)
    return found[:, :-1], found[:, 1:]


def log_posterior(rows: Array, prior: Array = PRIOR) -> Array:
    """The logarithm of the probability of each character, given the letters up to each place, (B, T, 3)."""
    taken = np.log(CHAINS[:, rows[:, :-1], rows[:, 1:]])  # (3, B, T − 1)
    told = np.concatenate([np.zeros((len(prior), len(rows), 1)), np.cumsum(taken, -1)], -1)
    joint = np.moveaxis(told, 0, -1) + np.log(prior)
    return np.asarray(joint - np.logaddexp.reduce(joint, -1)[..., None])


def mixture(rows: Array) -> Array:
    """The logarithm of Bayes's predictions behind every place, (B, T, 4)."""
    return np.log(np.einsum("btk,kbtv->btv", np.exp(log_posterior(rows)), CHAINS[:, rows]))


def without_prompt(rows: Array) -> Array:
    """The same if only the last letter is known: all characters, as likely as before the prompt."""
    return np.log(np.einsum("k,kbtv->btv", PRIOR, CHAINS[:, rows]))


def doubt(prompts: Array) -> Array:
    """The entropy of the posterior behind each prompt, (B,)."""
    found = log_posterior(prompts)[:, -1]
    return np.asarray(-(np.exp(found) * found).sum(-1))


def trained(lab: Lab) -> Model:
    config = Config(vocab=LETTERS, block=LENGTH, d_model=32, layers=2, heads=4, d_head=8, d_ff=64, tied=False)
    most, rows = lab.pick((150, 32), (4000, 128))
    for step in steps(
        config, partial(draw, rows=rows), Settings(steps=most, rate=3e-3, schedule="cosine", seed=lab.seed)
    ):
        lab.progress(step.number, most)
    model: Model = step.model()
    return model


def played(model: Model, prompt: Array, temperature: float, lab: Lab) -> Array:
    """How many of the continuations of a prompt each character is likeliest to have written."""
    prompts = [prompt.tolist()] * SAMPLES
    new = generate(model, prompts, steps=LENGTH - PROMPT, temperature=temperature, seed=lab.seed, engine="auto")
    rows = np.array([[prompt[-1], *one] for one in new])
    equal = np.full(len(PRIOR), 1 / len(PRIOR))
    return np.bincount(log_posterior(rows, equal)[:, -1].argmax(-1), minlength=len(PRIOR))


def p_value(counts: Array, expected: Array) -> float:
    """Of a χ² test with two degrees of freedom, for which it is exp(−χ²/2)."""
    wanted = expected * counts.sum()
    return float(np.exp(-((counts - wanted) ** 2 / wanted).sum() / 2))


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    places = list(range(2, LENGTH + 1))  # at the first all characters are the same
    distances = [
        band("model", places, [series["divergence"][1:] for series in seeds]),
        band("prompt ignored", places, [series["ignorant"][1:] for series in seeds], control=True),
    ]
    points = {
        text: [
            pair
            for one in seeds
            for pair in zip(one["posterior"], np.divide(one["shares"][name], SAMPLES).tolist(), strict=True)
        ]
        for name, text in (("sampled", "sampled"), ("likeliest", "temperature 0"))
    }
    return [
        Lines("Distance from Bayes's mixture", "place", "nats", distances, [Mark(0.02, "0.02")], log_y=True),
        Dots("Characters in 1,000 continuations", "posterior by Bayes", "share", points),
        Lines(
            "How sure the characters are", "letters read", "largest posterior",
            [band("Bayes", places, [series["sure"][1:] for series in seeds])],
        ),
    ]  # fmt: skip
