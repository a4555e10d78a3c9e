"""How well does a network play backgammon after games against itself alone, by temporal differences?

Tesauro 1995 (TD-Gammon): a network with one hidden layer, raw inputs, TD(λ) and self-play; after 300,000 games and with
some features made by hand version 1.0 lost 0.25 points per game to masters. Mehlig's slides name it. Here: the same
network with 40 hidden units on the raw inputs and 60,000 games, a minute of one core. Masters are not at hand. The
network is compared with itself after 3,000 games, with random play, and, if the user names a judge, with pubeval (which
its author published as a benchmark), GNU Backgammon or the network of an earlier run. In the control each game is
won by whom a coin says.

A second claim, that a λ > 0 is better than λ = 0 (Tesauro used 0.7), is tried with his online traces, each λ
with two rates, so that α/(1 − λ), the whole step that a surprise leads to, is alike. The best λ > 0 of a first
comparison plays new games against λ = 0. The quick form leaves that out. In two full runs (seeds 0 and 1) λ = 0.3 was
the best of those above 0, and was not better than λ = 0 at two standard errors.

A full run keeps the network of seed 0 in its record, where `--judge backgammon.json` finds it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.games.gammon.judges import as_record, check_judge, judge_name, judged
from handloom.lab.games.gammon.matches import MatchScore, network_player, play_match, random_player
from handloom.lab.games.gammon.td_learning import Learning, learn
from handloom.lab.games.gammon.value_net import HIDDEN, first_weights
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

CLAIM = Claim(
    name="backgammon",
    says="TD(λ) and games against itself alone lead a network to strong backgammon",
    source="Tesauro 1995",
    seed="Mehlig",
    number="−0.25 points per game against masters after 300,000 games (from memory)",
    quick=8.7,
    full=120,
)
GAIN = 0.3  # points per game over the early network, at two standard errors
AGAINST_RANDOM = 1.0  # more than a plain win in every game
AGAINST_GNUBG = -0.25  # what TD-Gammon 1.0 lost to masters
DECAYS = (0.0, 0.3, 0.7, 0.9)
WHOLE_STEPS = (0.3, 1.0)  # α/(1 − λ)

Stage = tuple[int, float]  # games, and the rate α with which they are learned from


def run(lab: Lab) -> Finding:
    if lab.judge is not None:
        check_judge(lab.judge)
    early: Stage = lab.pick((1_500, 0.3), (3_000, 0.3))
    later: list[Stage] = lab.pick([(1_000, 0.3)], [(17_000, 0.3), (20_000, 0.1), (20_000, 0.03)])
    first, *networks = trained(lab, [early, *later])
    lab.progress(4, 10)
    chance = [] if lab.quick else trained(lab, [early, early], coin=True)
    coin = [over(lab, weights, first) for weights in chance]
    rivals = {} if lab.quick else by_decay(lab, first)
    lab.progress(9, 10)
    gains = [over(lab, weights, first) for weights in networks]
    at_random = play_match(network_player(networks[-1]), random_player(lab.rng(1)), lab.pick(100, 1_000), lab.seed)
    return Finding(
        checks=[
            Check(f"points over itself after {early[0]:,} games, less 2 errors", gains[-1].least, least=GAIN),
            Check("points over random play, less 2 errors", at_random.least, least=AGAINST_RANDOM),
            *decay_checks(lab, rivals),
            *judge_checks(lab, networks[-1]),
            Check("the same, results by a coin", coin[-1].least if coin else None, least=GAIN, control=True),
        ],
        series={
            "games": np.cumsum([games for games, _ in [early, *later]]).tolist(),
            "gains": [0.0, *(gain.mean for gain in gains)],
            "coin": [score.mean for score in coin],
            "decays": {str(decay): score.mean for decay, (_, score) in rivals.items()},
            "network": as_record(networks[-1]) if lab.seed == 0 and not lab.quick else [],
        },
    )


def trained(lab: Lab, stages: Sequence[Stage], decay: float = 0.0, coin: bool = False) -> list[Array]:
    """A network's weights after each stage of learning."""
    rng = lab.rng(0)
    weights, found = first_weights(HIDDEN, rng), []
    for games, rate in stages:
        learn(weights, Learning(games, rate, decay, coin=coin), rng)
        found.append(weights.copy())
    return found


def over(lab: Lab, weights: Array, other: Array) -> MatchScore:
    """What one network wins per game against another."""
    return play_match(network_player(weights), network_player(other), lab.pick(200, 2_000), lab.seed)


def by_decay(lab: Lab, early: Array, games: int = 6_000) -> dict[float, tuple[Array, MatchScore]]:
    """For each λ the network with the better of its rates, and its score against the early network."""
    best = {}
    for decay in DECAYS:
        rates = [step * (1 - decay) for step in WHOLE_STEPS]
        networks = [trained(lab, [(games, rate)], decay)[0] for rate in rates]
        best[decay] = max(((one, over(lab, one, early)) for one in networks), key=lambda pair: pair[1].mean)
    return best


def decay_checks(lab: Lab, rivals: Mapping[float, tuple[Array, MatchScore]]) -> list[Check]:
    """The best network of a λ > 0, in new games against that of λ = 0."""
    if not rivals:
        return []
    above, _ = max((rivals[decay] for decay in DECAYS if decay > 0), key=lambda pair: pair[1].mean)
    score = play_match(network_player(above), network_player(rivals[0.0][0]), 4_000, lab.seed + 1_000)
    return [Check("points of the best λ > 0 over λ = 0, less 2 errors", score.least, least=0.0)]


def judge_checks(lab: Lab, weights: Array) -> list[Check]:
    """Points per game against the user's judge, if there is one."""
    if lab.judge is None:
        return []
    score = judged(network_player(weights), lab.judge, lab.pick(100, 1_000), lab.seed)
    name = judge_name(lab.judge)
    if name == "gnubg":
        return [Check("points over gnubg, 0-ply", score.mean, least=AGAINST_GNUBG, said=AGAINST_GNUBG)]
    return [Check(f"points over {name}, less 2 errors", score.least, least=0.0)]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    games = seeds[0]["games"]
    curves = [band("results of the games", games, [series["gains"] for series in seeds])]
    if seeds[0]["coin"]:
        coin = [series["coin"] for series in seeds]
        curves.append(band("results by a coin", [games[0], 2 * games[0]], coin, control=True))
    mark = Mark(GAIN, f"{GAIN} asked of the last")
    panels: list[Panel] = [
        Lines(f"Points per game over itself after {games[0]:,} games", "games", "points per game", curves, [mark])
    ]
    if names := list(seeds[0]["decays"]):
        values = [[series["decays"][name] for series in seeds] for name in names]
        title = f"After 6,000 games, over itself after {games[0]:,}"
        panels.append(Bars(title, "points per game", [f"λ = {name}" for name in names], values, ["λ = 0.0"]))
    return panels
