"""Search, smaller than the book's and right also where the book's is not: one dimension per token instead of three.

A token is a point on a half circle, and its height there is a number from −1 to 1. The heads of layer 0 copy the
heights of the tokens before, each into a dimension of its own. Next to them stands a constant, so that layer norm puts
every list of heights on a sphere, where it is nearer to itself than to any other. (Exercise 4 of the book's chapter 4.)

Few tokens allow one dimension and one head less: the two tokens furthest back share a dimension, the last one at a
fraction of its height, like the digits of a number. The head that fetches them is soft: it looks between the two.
(Exercise 5.) The query then has a remainder, the token one further back at the square of that fraction; it is too small
to matter.

At the first `length` positions, which have no `length` tokens before them and so cannot be an answer, the constant has
the other sign. No query finds them. The book's construction lacks such a mark, and takes them for what they are not.

Heights of very many tokens are too near each other for float32: docs/book/chapter4.md has the measurements.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model, Vocab
from handloom.core.arrays import Array
from handloom.write.parts.encodings import level
from handloom.write.parts.loudness import HARD, LOUD_SEARCH, SURE
from handloom.write.parts.readings import PLACED, reading
from handloom.write.parts.stream import Direction, Head, Layer, Stream, assemble, explained

SHARE = 0.07  # the height of a token that shares a dimension with the one after it
GATHERED = ("0.resid_mid", "0.resid_post", "1.resid_pre", "1.resid_mid", "1.resid_post", "resid_final")
SHARING_TOKENS, SHARING_BLOCK = 12, 300  # up to these sizes, two tokens may share a dimension in float32


def small_search(tokens: int = 10, length: int = 3, block: int = 100) -> Model:
    """Our smallest: two tokens share a dimension where float32 can tell all pairs apart."""
    return narrow_search(tokens, length, block, sharing=tokens <= SHARING_TOKENS and block <= SHARING_BLOCK)


def narrow_search(tokens: int, length: int, block: int, sharing: bool) -> Model:
    if tokens < 1 or length < 2 or block < 1:
        raise HandloomError("search needs at least 1 token, a length of at least 2 and a block of at least 1")
    kept = length - sharing  # how many numbers layer 0 keeps of the tokens before
    plan = Plan(length, kept, step=2 * np.pi / (block + length), stream=directions(kept))
    table = plan.stream.write(token=plan.size * half_circle(tokens))
    layers, notes = [gather(plan), find(plan)], {"decode_steps": 1}
    return assemble(
        with_readings(plan, tokens),
        Vocab.numbers(tokens),
        table,
        positions(plan, block),
        layers,
        notes,
        biases=(),
        eps=0.0,
    )


def directions(kept: int) -> Stream:
    """Directions across each other and across (1, …, 1), the mean, which norms remove: two for the token, its height
    and width; then the position, two, and after layer 0 in its place the numbers kept; last the constant."""
    across = level(max(kept, 2) + 4)
    return Stream(
        {
            "token": Direction(across[:2], across[:2], "token"),
            "height": Direction(across[:1], across[:1]),
            "position": Direction(across[2:4], across[2:4], "angle"),
            "kept": Direction(across[2 : 2 + kept], across[2 : 2 + kept]),
            "constant": Direction(across[-1:], across[-1:]),
        }
    )


def with_readings(plan: "Plan", tokens: int) -> Stream:
    """Which tokens, positions and tokens before stand there. Of two that share a dimension the nearer is told."""
    heights, kept = half_circle(tokens)[:, :1], plan.stream.directions["kept"].reads
    before = {
        f"{number + 1} back": reading(kept[number : number + 1], points=plan.scale(number) * heights, sites=GATHERED)
        for number in range(plan.kept)
    }
    known: dict[str, Any] = {"token": {"points": "W_E"}, "position": {"points": "W_pos", "sites": PLACED}}
    return explained(plan.stream, **known, kept={"sites": GATHERED}, **before)


@dataclass(frozen=True)
class Plan:
    """Token, position and constant have the length `size` each, so that layer norm keeps their sum as it is."""

    length: int
    kept: int
    step: float  # the angle between positions
    stream: Stream

    @property
    def size(self) -> float:
        return float(np.sqrt(self.stream.width / 3))

    @property
    def d_head(self) -> int:
        """The numbers and the constant, or the token's height and the position."""
        return max(self.kept + 1, 3)

    def scale(self, number: int) -> float:
        """The length, at full height, of a number that is kept. Lists of numbers are furthest apart on the sphere if
        together they are as long as all the rest; a dimension that two tokens share needs nearly all of that."""
        rest = np.sqrt(2.0) * self.size
        if self.kept == self.length:
            return float(rest / np.sqrt(self.kept))
        return float(rest if number == self.kept - 1 else rest / np.sqrt(4.0 * self.kept))

    def look(self, head: int) -> tuple[float, float]:
        """How sharply a head of layer 0 looks, and how far back: its scores are sharp · cos(step · (distance − back)).
        Each looks at one position, but for a last one that looks between two, SHARE times as much at the second."""
        if head < self.kept - 1 or self.kept == self.length:
            return SURE / (1 - np.cos(self.step)), head + 1.0
        lead = -np.log(SHARE)  # of the first of the two over the second
        rise = (SURE / 2 + lead) / np.sin(self.step)
        return rise / (2 * np.sin(self.step / 2)), head + 1.5 - np.arcsin(lead / rise) / self.step

    def seen(self, head: int) -> Array:
        """The attention such a head pays to each distance."""
        sharp, back = self.look(head)
        distances = np.arange(round(2 * np.pi / self.step))
        weights: Array = np.exp(sharp * (np.cos(self.step * (distances - back)) - 1))
        return weights / weights.sum()


def half_circle(tokens: int) -> Array:
    """Points (tokens, 2) on the half circle of radius 1, at evenly spaced heights: height and width."""
    heights = np.linspace(-1.0, 1.0, tokens)
    return np.stack([heights, np.sqrt(1.0 - heights**2)], axis=-1)


def turned(angle: float) -> Array:
    """turn, for the circle in two dimensions."""
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def positions(plan: Plan, block: int) -> Array:
    """Positions go round a circle; the constant is negative where no answer can stand."""
    at = np.arange(block)
    circle = np.stack([np.cos(plan.step * at), np.sin(plan.step * at)], axis=-1)
    constant = np.where(at < plan.length, -1.0, 1.0)
    return plan.stream.write(position=plan.size * circle, constant=plan.size * constant)


def gather(plan: Plan) -> Layer:
    """Head h fetches the height of the token h + 1 back. Head 0 also fetches the positions it sees, turns them to its
    own and takes that away."""
    position, height, root = plan.stream.read(position=np.eye(2)), plan.stream.read(height=1.0), np.sqrt(plan.d_head)
    heads = []
    for h in range(plan.kept):
        sharp, back = plan.look(h)
        query = turned(back * plan.step) @ (sharp * root / plan.size**2 * position)
        amount = plan.scale(h) / (plan.size * plan.seen(h)[h + 1])
        moves = [(height, plan.stream.write(kept=amount * np.eye(plan.kept)[h]))]
        about = f"fetches the height of the token {h + 1} back"
        if h == 0:
            back_turn = sum(weight * turned(-distance * plan.step) for distance, weight in enumerate(plan.seen(0)))
            moves.append((position, -np.linalg.inv(back_turn) @ position))
            about += ", and takes away the position"
        if h == plan.kept - 1 and plan.kept < plan.length:
            about = f"looks between the tokens {h + 1} and {h + 2} back, and fetches both heights as one"
        heads.append(Head(about, [(query, position)], moves, hard=1.0))
    return Layer(heads)


def find(plan: Plan) -> Layer:
    """The numbers that I should have kept at the next position, against those kept; and what stands there, loud."""
    stream, every = plan.stream, np.eye(plan.kept)
    before, length_before = stream.read(height=1.0), plan.size
    looks = []
    for k, number in enumerate(stream.read(kept=every)):
        looks.append((HARD * plan.scale(k) / length_before * before, number))
        before, length_before = number, plan.scale(k)
    if plan.kept < plan.length:
        query, number = looks[-1]
        looks[-1] = query + HARD * SHARE * number, number
    # The rest of the stream, token and constant, has the length √2 · size; the sphere is that of (numbers, √2 · size).
    looks.append((stream.read(constant=2 * HARD), stream.read(constant=1.0)))
    token = stream.read(token=np.eye(2)), stream.write(token=LOUD_SEARCH * np.eye(2))
    about = "finds where the tokens before are my last ones, and takes the token there"
    return Layer([Head(about, looks, [token], hard=1.0)])
