"""Temporal-difference learning, TD(λ), of the network's chances from games against itself.

    weights = first_weights(40, rng)
    learn(weights, Learning(games=1000), rng)       # changes the weights

Every turn the network plays the move after which it expects most; the dice are all the exploration there is. Let Y_t be
its outputs before roll t, for the side that rolls, and Y'_{t+1} the next outputs turned to the same side (a win is
the other's loss), or the result if the game is over.

- `traces`, Tesauro's rule: after each turn w ← w + α (Y'_{t+1} − Y_t) e_t with e_t = λ e'_{t−1} + ∇Y_t, for each
  output. The traces change sides each turn, as the outputs do.
- `returns`: after the game, from its last turn back, w ← w + α (G_t − Y_t) ∇Y_t, where
  G_t = (1 − λ) Y'_{t+1} + λ G'_{t+1}.

With weights that stay the same during a game the two are one (Sutton 1988).
"""

from dataclasses import dataclass

import numpy as np

from handloom.core.arrays import Array
from handloom.lab.games.gammon.kernels import learn_by_returns, learn_by_traces
from handloom.lab.games.gammon.plays import start


@dataclass(frozen=True)
class Learning:
    """How to learn: so many games, the rate α, the decay λ, by traces or by returns. In a control the winner of each
    game is drawn by a coin."""

    games: int
    rate: float = 0.1
    decay: float = 0.0
    traces: bool = True
    coin: bool = False


def learn(weights: Array, how: Learning, rng: np.random.Generator) -> None:
    """Change the weights by learning from games with the dice of this generator."""
    rule = learn_by_traces if how.traces else learn_by_returns
    rule(weights, start(), how.games, how.rate, how.decay, how.coin, rng)
