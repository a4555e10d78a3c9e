"""Temporal differences: the identities behind TD(λ), and which λ learns a random walk with the least error.

With O(s) = w·s and O(s_T) = 0 at the end of an episode, Mehlig's slides (and Sutton 1988) state:

    R_t − O(s_t) = Σ_{τ=t}^{T−1} δ_τ,     δ_τ = r_{τ+1} + O(s_{τ+1}) − O(s_τ)
    Σ_t [R_t − O(s_t)] s_t = Σ_τ δ_τ Σ_{t=0}^{τ} s_t       (TD(1), applied at the end = gradient descent)

Erratum: the slide "Terms in this double sum can be summed in a different way" prints the inner sum as t = τ … T−1; it
runs over t = 0 … τ, as in the rule with λ that follows on the slide. The printed sum is a control here, and is off.
A second one: the slide on SARSA has TD(0) correspond to O(s_t) ← O(s_t) + η δ_t. With a linear O the output changes by
η δ_t |s_t|², so that this is the same only for states of length 1, as those of a table are; others are a control too.

The random walk is the one of Sutton and Barto (2018, example 7.1 and chapter 12): 19 states in a row, start in the
middle, reward −1 at the left end and +1 at the right. The exact values are those of a linear system. The error is the
root mean square over states, averaged over the first ten episodes and over many walks, for each λ at its best rate η.
Weights change at every step, with the traces of the slide. Without chance (a walk that only moves right) every return
is the value itself, so λ = 1 is best: that is the control for "the best λ is between 0 and 1".
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="td",
    says="TD(1) applied at the end of an episode is gradient descent, and a λ between 0 and 1 learns with less error",
    source="Sutton 1988; Sutton and Barto 2018; slides of Mehlig 2023",
    seed="Mehlig",
    number="equal; best λ strictly between 0 and 1",
    quick=0.8,
    full=6,
)
LAMBDAS = (0.0, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0)
DRAWN = (0.0, 0.4, 0.8, 0.95, 1.0)  # with a curve of their own
STATES, EPISODES = 19, 10


def run(lab: Lab) -> Finding:
    rng = lab.rng()
    states, rewards, weights = random_episode(rng, lab.pick(200, 1000), 12)
    deltas = differences(rewards, states @ weights)
    errors = returns(rewards) - states @ weights
    step = errors @ states  # gradient descent on ½ Σ (R_t − O(s_t))², up to the rate
    rates = rates_for(lab.pick(7, 16))
    walks = lab.pick(30, 200)
    chance = {lam: walk_errors(rng, walks, lam, rates, right=0.5) for lam in LAMBDAS}
    certain = {lam: walk_errors(rng, 1, lam, rates, right=1.0) for lam in LAMBDAS}
    least = {lam: min(found) for lam, found in chance.items()}
    return Finding(
        checks=[
            Check("R − O − sum of differences", gap(errors, summed(deltas)), most=1e-9, said=0.0, form=".1e"),
            Check("TD(1) − gradient descent", gap(step, deltas @ traces(states, 1.0)), most=1e-9, said=0.0, form=".1e"),
            Check(
                "sum as printed on the slide",
                gap(step, deltas @ as_printed(states)),
                most=1e-9,
                form=".1e",
                control=True,
            ),
            Check(
                "TD(0) − the slide's rule for outputs, states of length 1",
                output_gap(unit_vectors(states), rewards, weights),
                most=1e-9,
                said=0.0,
                form=".1e",
            ),
            Check(
                "the same, states of other lengths",
                output_gap(states, rewards, weights),
                most=1e-9,
                form=".1e",
                control=True,
            ),
            Check("walk: error saved by λ in between", saved(chance), least=0.01),
            Check("walk without chance: error saved", saved(certain), least=0.01, control=True),
        ],
        series={
            "rates": rates.tolist(),
            "errors": {str(lam): found for lam, found in chance.items()},
            "lambdas": list(LAMBDAS),
            "least": [least[lam] for lam in LAMBDAS],
            "certain": [min(certain[lam]) for lam in LAMBDAS],
        },
    )


def random_episode(rng: np.random.Generator, steps: int, size: int) -> tuple[Array, Array, Array]:
    """States (T, size), rewards r_1 … r_T, and weights (size)."""
    return rng.normal(size=(steps, size)), rng.normal(size=steps), rng.normal(size=size)


def returns(rewards: Array) -> Array:
    """R_t = r_{t+1} + … + r_T."""
    return np.cumsum(rewards[::-1])[::-1]


def differences(rewards: Array, outputs: Array) -> Array:
    """δ_τ = r_{τ+1} + O(s_{τ+1}) − O(s_τ), where O is 0 at the end."""
    return rewards + np.append(outputs[1:], 0.0) - outputs


def summed(deltas: Array) -> Array:
    """Σ_{τ=t}^{T−1} δ_τ for every t."""
    return np.array([deltas[t:].sum() for t in range(len(deltas))])


def traces(states: Array, lam: float) -> Array:
    """Σ_{t=0}^{τ} λ^{τ−t} s_t for every τ."""
    rows, trace = [], np.zeros(states.shape[1])
    for state in states:
        trace = lam * trace + state
        rows.append(trace)
    return np.array(rows)


def as_printed(states: Array) -> Array:
    """The slide's Σ_{t=τ}^{T−1} s_t for every τ."""
    return traces(states[::-1], 1.0)[::-1]


def output_gap(states: Array, rewards: Array, weights: Array, rate: float = 0.1) -> float:
    """How far the outputs O(s_t) after one step of TD(0) each are from O(s_t) + η δ_t."""
    outputs = states @ weights
    deltas = differences(rewards, outputs)
    after = weights + rate * deltas[:, None] * states  # of each step by itself
    return gap((after * states).sum(1), outputs + rate * deltas)


def unit_vectors(states: Array) -> Array:
    return np.asarray(states / np.linalg.norm(states, axis=1, keepdims=True))


def gap(a: Array, b: Array) -> float:
    """The largest difference, beside the largest entry."""
    return float(np.abs(a - b).max() / np.abs(a).max())


def walk_values(right: float) -> Array:
    """The exact expected reward from each state: v = P v + r."""
    move = right * np.eye(STATES, k=1) + (1 - right) * np.eye(STATES, k=-1)
    ends = np.zeros(STATES)
    ends[0], ends[-1] = right - 1, right
    return np.linalg.solve(np.eye(STATES) - move, ends)


def rates_for(many: int) -> Array:
    return np.geomspace(0.01, 1.0, many)


def walk_errors(rng: np.random.Generator, walks: int, lam: float, rates: Array, right: float) -> list[float]:
    """For each rate the error of TD(λ), averaged over walks and over the first ten episodes. A rate at which
    the weights run away has the error of the start."""
    weights = np.zeros((walks, len(rates), STATES))
    values = walk_values(right)
    visited = np.arange(STATES) >= (STATES // 2 if right == 1 else 0)
    total = np.zeros(len(rates))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(EPISODES):
            learn_episode(rng, weights, lam, rates, right)
            total += np.sqrt(((weights - values)[..., visited] ** 2).mean(-1)).mean(0)
    start = float(np.sqrt((values[visited] ** 2).mean()))
    return np.nan_to_num(np.minimum(total / EPISODES, start), nan=start).tolist()


def learn_episode(rng: np.random.Generator, weights: Array, lam: float, rates: Array, right: float) -> None:
    """One episode of every walk, in step; a walk that is over has δ = 0. `weights` (walks, rates, states) change."""
    walks = len(weights)
    every = np.arange(walks)
    place = np.full(walks, STATES // 2)
    trace = np.zeros((walks, STATES))
    while (alive := (place >= 0) & (place < STATES)).any():
        now = every[alive], place[alive]
        trace *= lam
        trace[now] += 1
        place = np.where(alive, place + np.where(rng.random(walks) < right, 1, -1), place)
        after, inside = np.clip(place, 0, STATES - 1), (place >= 0) & (place < STATES)
        reward = np.where(place >= STATES, 1.0, np.where(place < 0, -1.0, 0.0))
        delta = np.zeros(weights.shape[:2])
        outputs = weights[every, :, after] * inside[:, None]
        delta[alive] = reward[alive, None] + outputs[alive] - weights[now[0], :, now[1]]
        weights += (rates * delta)[..., None] * trace[:, None, :]


def saved(errors: dict[float, list[float]]) -> float:
    """How much less the error is at the best λ between 0 and 1 than at the better of 0 and 1."""
    least = {lam: min(found) for lam, found in errors.items()}
    return min(least[0.0], least[1.0]) - min(error for lam, error in least.items() if 0 < lam < 1)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    first: Any = seeds[0]
    curves = [band(f"λ = {lam}", first["rates"], [one["errors"][str(lam)] for one in seeds]) for lam in DRAWN]
    best = [
        band("random walk", first["lambdas"], [one["least"] for one in seeds]),
        band("walk without chance", first["lambdas"], [one["certain"] for one in seeds], control=True),
    ]
    return [
        Lines("Random walk with 19 states", x="rate η", y="error of ten episodes", curves=curves, log_x=True),
        Lines(
            "Each λ at its best rate",
            x="λ",
            y="least error",
            curves=best,
            marks=[Mark(0.0, "TD(0)", axis="x"), Mark(1.0, "TD(1): gradient descent", axis="x")],
        ),
    ]
