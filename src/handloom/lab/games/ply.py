"""A network that looks two plies ahead plays better than the same network that looks one ply ahead.

Tesauro 1995 gave TD-Gammon 2.0 a search of two plies, and it lost less to masters; but the version had also learned
from more games. Here the network stays the same. One player chooses the play after which the network expects most (1
ply). The other takes the eight plays that are best by this (three in the quick form), and for each lets the other side
answer each of the 21 rolls with the play that is best for it by the same network (2 plies). In the controls a player
meets itself, and the search takes the other side to answer with its worst play.
"""

from collections.abc import Sequence

from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.games.gammon.matches import MatchScore, look_ahead_player, network_player, play_match
from handloom.lab.games.gammon.td_learning import Learning, learn
from handloom.lab.games.gammon.value_net import HIDDEN, first_weights
from handloom.view.figures.panels import Bars, Mark, Panel

CLAIM = Claim(
    name="ply",
    says="the same network plays better when it looks two plies ahead than when it looks one ahead",
    source="Tesauro 1995",
    seed="Mehlig",
    number="better than one ply",
    quick=6,
    full=90,
)
MORE = 1e-6  # than nothing, at two standard errors


def run(lab: Lab) -> Finding:
    weights = taught(lab)
    lab.progress(1, 10)
    two = against_one_ply(lab, weights, lab.pick(120, 1_000))
    lab.progress(9, 10)
    fooled = against_one_ply(lab, weights, lab.pick(12, 100), worst=True)
    same = play_match(network_player(weights), network_player(weights), lab.pick(10, 100), lab.seed)
    decided = not lab.quick or abs(two.mean) >= 2 * two.error  # a quick match is short
    return Finding(
        checks=[
            Check("points of 2 plies over 1, less 2 errors", two.least if decided else None, least=MORE),
            Check("1 ply over itself", same.least, least=MORE, control=True),
            Check("2 plies over 1, if replies are the worst", fooled.least, least=MORE, control=True),
        ],
        series={"two plies": two.mean, "1 ply itself": same.mean, "2 plies, worst replies": fooled.mean},
    )


def taught(lab: Lab) -> Array:
    """The weights of a network after games against itself."""
    rng = lab.rng(0)
    weights = first_weights(HIDDEN, rng)
    for games, rate in lab.pick([(800, 0.3)], [(10_000, 0.3), (10_000, 0.1)]):
        learn(weights, Learning(games, rate), rng)
    return weights


def against_one_ply(lab: Lab, weights: Array, games: int, worst: bool = False) -> MatchScore:
    two_plies = look_ahead_player(weights, lab.pick(3, 8), worst)
    return play_match(two_plies, network_player(weights), games, lab.seed)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    names = list(seeds[0])
    values = [[series[name] for series in seeds] for name in names]
    mark = Mark(0.0, "as good as 1 ply")
    return [Bars("Points per game over the same network at 1 ply", "points per game", names, values, names[1:], [mark])]
