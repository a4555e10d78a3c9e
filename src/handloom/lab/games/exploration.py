"""Explore or exploit: which policies let Q-learning at tic-tac-toe become safe, and what exploring costs.

Mehlig's slides: a greedy policy takes the move of the largest value, a stochastic one sometimes does something else,
"explore-versus-exploit dilemma" (Sutton and Barto 2018, chapter 2). So a player who only exploits should miss
something, and one who explores should pay for it. The exam and the learner are those of `tic_tac_toe`, 60,000 games
each; the price is the number of errors in a game (moves that lose a part of the position's exact value) over the last
2,000 of them.

What was seen: with a table that starts at 0 the greedy player (equal moves at random) becomes safe as soon as the
others, at no price. In self-play somebody loses every decided game, so that moves played fall below the moves never
tried, and these are tried next: zero is an optimistic start. With a table that starts at −1, the value of a loss, the
greedy player keeps the first move that does not lose, and stays unsafe; from there one random move in ten is not enough
either after 60,000 games, and only random play (ε = 1) becomes safe, at three errors per game. So the dilemma is there,
and the start of the table decides whether it bites. The tables that start at −1 were added after the first result.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.games.tabular import GAMES, Course, learned, shuffled_rewards
from handloom.lab.games.tic_tac_toe import exam_times
from handloom.lab.games.tictactoe_positions import positions
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

CLAIM = Claim(
    name="exploration",
    says="a player who only exploits does not learn to play safely; one who explores does, and pays with errors",
    source="Sutton and Barto 2018; slides of Mehlig 2023",
    seed="Mehlig",
    number="unsafe at ε = 0, safe at ε > 0",
    quick=3.6,
    full=5,
)
DECAYING = "0.3 to 0"


def run(lab: Lab) -> Finding:
    policies = {
        "0": np.zeros(GAMES),
        "0.1": np.full(GAMES, 0.1),
        DECAYING: np.linspace(0.3, 0.0, GAMES),
        "1": np.ones(GAMES),
    }
    courses = {name: course(lab, epsilons) for name, epsilons in policies.items()}
    dark = {name: course(lab, policies[name], start=-1.0) for name in ("0", "0.1", "1")}
    wrong = course(lab, policies["0.1"], rewards=shuffled_rewards(positions(), lab.rng(1)))
    price = courses["0.1"].errors[-1] - courses["0"].errors[-1]
    return Finding(
        checks=[
            Check("ε = 0: lost endings", courses["0"].lost[-1], least=1, form=".0f"),
            Check("ε = 0 from −1: lost endings", dark["0"].lost[-1], least=1, form=".0f"),
            Check("ε = 0.1 from −1: lost endings", dark["0.1"].lost[-1], most=0, form=".0f"),
            Check("ε = 1 from −1: lost endings", dark["1"].lost[-1], most=0, form=".0f"),
            Check("ε = 0.1: lost endings", courses["0.1"].lost[-1], most=0, form=".0f"),
            Check("ε from 0.3 to 0: lost endings", courses[DECAYING].lost[-1], most=0, form=".0f"),
            Check("ε = 1: lost endings", courses["1"].lost[-1], most=0, form=".0f"),
            Check("errors per game at ε = 0.1 above ε = 0", price, least=0.1),
            Check("ε = 0.1, wrong rewards: lost endings", wrong.lost[-1], most=0, form=".0f", control=True),
        ],
        series={
            "games": courses["0"].games,
            "lost": {f"ε = {name}": one.lost for name, one in courses.items()} | {"ε = 0 from −1": dark["0"].lost},
            "wrong": wrong.lost,
            "errors": {f"ε = {name}": one.errors[-1] for name, one in courses.items()},
        },
    )


def course(lab: Lab, epsilons: Array, start: float = 0.0, rewards: Array | None = None) -> Course:
    return learned("q", epsilons, lab.rng(0), sorted({*exam_times(lab), GAMES - 2000}), rewards, start=start)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    games, names = seeds[0]["games"], list(seeds[0]["errors"])
    curves = [band(name, games, [one["lost"][name] for one in seeds]) for name in seeds[0]["lost"]]
    curves.append(band("wrong rewards", games, [one["wrong"] for one in seeds], control=True))
    return [
        Lines("Exam over every line of play", "games of self-play", "lost endings", curves, [Mark(0.0, "safe")]),
        Bars(
            "Price of exploring",
            "errors per game, last games",
            names,
            [[one["errors"][name] for one in seeds] for name in names],
            marks=[Mark(0.0, "perfect play")],
        ),
    ]
