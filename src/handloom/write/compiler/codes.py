"""Codes: where tokens lie in the plane that their three dimensions leave, and what is written there to answer.

On a circle every token is nearest to itself, and can be copied and compared. On a parabola, a number v lies at (v, v²),
and the logit of 2av − v² is greatest at the token nearest to the number a: so a number that is computed can be the
answer as it is. On both, every token can be told from all others by one read.
"""

from dataclasses import dataclass

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.values import END

LOUD = 16.0  # how much louder an answer is than the token that is here


@dataclass(frozen=True)
class Codes:
    """Tokens with their points (V, 2), and what is written to answer each: points @ turn + shift."""

    tokens: tuple[str, ...]
    points: Array  # (V, 2)
    turn: Array  # (2, 2)
    shift: Array  # (2,)

    def __getitem__(self, token: str) -> Array:
        """The point of a token; of any other text the middle, which is as far from all tokens."""
        point: Array = self.points[self.tokens.index(token)] if token in self.tokens else np.zeros(2)
        return point

    def answer(self, token: str) -> Array:
        """What is written to answer a token."""
        written: Array = self[token] @ self.turn + self.shift
        return written

    @property
    def size(self) -> float:
        return float(np.abs(self.points).max())

    def match(self) -> tuple[float, float]:
        """The product of a point with itself, and the least difference to its product with another; only on the circle
        is the former the same for all."""
        products = self.points @ self.points.T
        others = np.where(np.eye(len(products), dtype=bool), -np.inf, products)
        return float(products[0, 0]), float((np.diag(products) - others.max(1)).min())

    def least_margin(self) -> float:
        """The least difference of an answer's logit to another, over all answers and all tokens here, for gain 1."""
        written = self.points @ self.turn + self.shift
        logits = (written[:, None] + self.points[None]) @ self.points.T  # answer, token here, logit
        best = np.einsum("aca->ac", logits)
        others = np.where(np.eye(len(written), dtype=bool)[:, None, :], -np.inf, logits).max(-1)
        return float((best - others).min())


def on_a_circle(tokens: tuple[str, ...], beside: tuple[str, ...]) -> Codes:
    """Tokens evenly spaced, the first token between two others."""
    order = around(tokens, beside)
    angles = 2 * np.pi * np.array([order.index(token) for token in tokens]) / len(tokens)
    points = np.sqrt(3.0) * np.column_stack([np.cos(angles), np.sin(angles)])
    return Codes(tokens, points, LOUD / (1 - np.cos(2 * np.pi / len(tokens))) * np.eye(2), np.zeros(2))


def around(tokens: tuple[str, ...], beside: tuple[str, ...]) -> tuple[str, ...]:
    """END, one token beside it, the others, and the other token beside it."""
    rest = [token for token in tokens if token != END and token not in beside]
    return (END, *beside[:1], *rest, *beside[1:])


def on_a_parabola(tokens: tuple[str, ...], beside: tuple[str, ...]) -> Codes | None:
    """Digits at their numbers, and the others above them; None if there are few digits."""
    digits = [token for token in tokens if token.isdecimal()]
    if len(digits) < 2:
        return None
    rest = [token for token in tokens if token not in digits and token != END and token not in beside]
    place = {token: float(token) for token in digits}
    place |= {token: max(place.values()) + 1 + i for i, token in enumerate([*beside[1:], END, *beside[:1], *rest])}
    x = np.array([place[token] for token in tokens])
    middle = (x.min() + x.max()) / 2
    wide, high = 1 / np.ptp(x), 4 / np.ptp(x) ** 2
    points = np.column_stack([2 * wide * (x - middle), high * (x - middle) ** 2])
    # the logit of v to the answer a is κ(2 (a − m)(v − m) − (v − m)²): from x, twice κ over the width; from 1, −κ/high
    kappa = loudness(points, x - middle)
    turn = np.diag([2 * kappa / (2 * wide) ** 2, 0.0])
    return Codes(tokens, points, turn, np.array([0.0, -kappa / high]))


def loudness(points: Array, x: Array) -> float:
    """How loud an answer must be: LOUD times what the token here can add, over the square of the distance."""
    products = points @ points.T  # token here, logit
    gain = products[:, None, :] - products[:, :, None]  # token here, answer, other
    squares = (x[:, None] - x[None, :]) ** 2
    return LOUD * float((gain / np.where(squares > 0, squares, np.inf)).max())
