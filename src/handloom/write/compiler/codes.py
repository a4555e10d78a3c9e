"""Codes: where tokens lie in the plane that their three dimensions leave, and what is written there to answer.

On a circle every token is nearest to itself, and can be copied and compared. On a parabola, a number v lies at (v, v²),
and the logit of 2av − v² is greatest at the token nearest to the number a: so a number that is computed can be the
answer as it is. Tokens that are no numbers lie on an arc above it, where they are further apart than in one row with
the numbers. On both, every token can be told from all others by one read.
"""

from dataclasses import dataclass

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.values import END

LOUD = 16.0  # how much louder an answer is than the token that is here


@dataclass(frozen=True)
class Codes:
    """Tokens with their points (V, 2), and what is written to answer each, (V, 2). Where it is `straight`, that is
    points @ turn + shift, so that a token which was fetched can be answered."""

    tokens: tuple[str, ...]
    points: Array  # (V, 2)
    answers: Array  # (V, 2)
    straight: frozenset[str]
    turn: Array  # (2,), of both coordinates
    shift: Array  # (2,)

    def __getitem__(self, token: str) -> Array:
        """The point of a token; of any other text the middle, which is as far from all tokens."""
        point: Array = self.points[self.tokens.index(token)] if token in self.tokens else np.zeros(2)
        return point

    def answer(self, token: str) -> Array:
        """What is written to answer a token; for any other text, which is never the answer, what the middle gives."""
        written: Array = self.answers[self.tokens.index(token)] if token in self.tokens else self.shift
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

    def logits(self) -> Array:
        """For all answers, tokens that are here, and tokens: the logit, for gain 1."""
        logits: Array = (self.answers[:, None] + self.points[None]) @ self.points.T
        return logits

    def least_margin(self) -> float:
        """The least difference of an answer's logit to another, over all answers and all tokens here, for gain 1."""
        logits = self.logits()
        best = np.einsum("aca->ac", logits)
        others = np.where(np.eye(len(logits), dtype=bool)[:, None, :], -np.inf, logits).max(-1)
        return float((best - others).min())

    def relative_margin(self) -> float:
        """The same as a part of the largest logit, which no gain changes."""
        return self.least_margin() / float(np.abs(self.logits()).max())


def on_a_circle(tokens: tuple[str, ...], beside: tuple[str, ...]) -> Codes:
    """Tokens evenly spaced, the first token between two others."""
    order = around(tokens, beside)
    angles = 2 * np.pi * np.array([order.index(token) for token in tokens]) / len(tokens)
    points = np.sqrt(3.0) * np.column_stack([np.cos(angles), np.sin(angles)])
    loud = LOUD / (1 - np.cos(2 * np.pi / len(tokens)))
    return Codes(tokens, points, loud * points, frozenset(tokens), np.full(2, loud), np.zeros(2))


def around(tokens: tuple[str, ...], beside: tuple[str, ...]) -> tuple[str, ...]:
    """END, one token beside it, the others, and the other token beside it."""
    rest = [token for token in tokens if token != END and token not in beside]
    return (END, *beside[:1], *rest, *beside[1:])


def on_a_parabola(tokens: tuple[str, ...], beside: tuple[str, ...]) -> Codes | None:
    """Digits at their numbers, then END with a token beside it, and the others on a half circle that closes the
    parabola; None if there are few digits. One that heads look for lies beside END, like any other token."""
    digits = [token for token in tokens if token.isdecimal() and token not in beside]
    if len(digits) < 2:
        return None
    place = {token: float(token) for token in digits}
    place |= {token: max(place.values()) + 1 + i for i, token in enumerate([*beside[1:], END])}
    above = [*beside[:1], *(token for token in tokens if token not in place and token not in beside)]
    low, high = min(place.values()), max(place.values())
    on = np.array([token in place for token in tokens])
    x = np.array([2 * (place.get(token, low) - low) / (high - low) - 1 for token in tokens])
    angles = np.array([np.pi * (1 + above.index(t)) / (1 + len(above)) if t in above else 0.0 for t in tokens])
    line, arc = np.column_stack([x, x**2 - 1]), np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.where(on[:, None], line, arc)
    # the logit of v to the answer a is 2av − v² and a constant; on the arc an answer's is greatest along its own radius
    plain = np.where(on[:, None], np.column_stack([2 * x, -np.ones(len(x))]), arc)
    loud = loudness(points, plain, on)
    turn, shift = np.array([2 * loud[on][0], 0.0]), np.array([0.0, -loud[on][0]])
    return Codes(tokens, points, loud[:, None] * plain, frozenset(place), turn, shift)


def loudness(points: Array, plain: Array, on: Array) -> Array:
    """How loud each answer must be, (V,): LOUD times what the token here can add for another one, over its lead. It is
    the same for all on the line, and for all beside it, and the least lead is the same for both."""
    lead = np.einsum("ac,ac->a", plain, points)[:, None] - plain @ points.T  # answer, other
    products = points @ points.T  # token here, logit
    gain = (products[:, None, :] - products[:, :, None]).max(0)  # answer, other
    other = ~np.eye(len(points), dtype=bool)
    least = np.array([lead[on == here][other[on == here]].min() for here in on])
    needed = np.array([(gain / np.where(other, lead, np.inf))[on == here].max() for here in on])
    loud: Array = LOUD * (needed * least).max() / least
    return loud
