"""Searches besides the book's: a smaller one, right also where the book's is not, and answers to chapter 4's exercises.

`small_search` needs one dimension a token, where the book takes three. A token is a point on a half circle, and its
height there is a number from −1 to 1. The heads of layer 0 copy the heights of the tokens before, each into a dimension
of its own. Next to them stands a constant, so that layer norm puts every list of heights on a sphere, where it is
nearer to itself than to any other. (Exercise 4.)

Few tokens allow one dimension and one head less: the two tokens furthest back share a dimension, the last one at a
fraction of its height, like the digits of a number. The head that fetches them is soft: it looks between the two.
(Exercise 5.) The query then has a remainder, the token one further back at the square of that fraction; it is too small
to matter.

At the first `length` positions, which have no `length` tokens before them and so cannot be an answer, the constant has
the other sign. No query finds them. The book's construction lacks such a mark, and takes them for what they are not.

Heights of very many tokens are too near each other for float32: docs/book/chapter4.md says what was measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.core.arrays import Array
from handloom.tasks.task import Ids

HARD, LOUD = 1e8, 1e4
SURE = 40.0  # by how much the score of a position looked at exceeds that of its neighbours
SHARE = 0.07  # the height of a token that shares a dimension with the one after it
SHARING_TOKENS, SHARING_BLOCK = 12, 300  # up to so many, two tokens may share a dimension in float32


def small_search(tokens: int = 10, length: int = 3, block: int = 100) -> Model:
    """Our smallest: two tokens share a dimension where float32 can tell all pairs apart."""
    return narrow_search(tokens, length, block, sharing=tokens <= SHARING_TOKENS and block <= SHARING_BLOCK)


def lean_search(tokens: int = 10, length: int = 3, block: int = 100) -> Model:
    """One dimension a token, and none shared."""
    return narrow_search(tokens, length, block, sharing=False)


def narrow_search(tokens: int, length: int, block: int, sharing: bool) -> Model:
    if tokens < 1 or length < 2 or block < 1:
        raise HandloomError("search needs at least 1 token, a length of at least 2 and a block of at least 1")
    kept = length - sharing  # how many numbers layer 0 keeps of the tokens before
    D = max(kept, 2) + 4  # the numbers kept, or the position; the token 2; the constant 1; the mean, which norms remove
    config = Config(
        vocab=tokens, block=block, d_model=D, layers=2, heads=kept, d_head=max(kept + 1, 3), biases=(), eps=0.0
    )  # fmt: skip
    weights = params.zeros(config)
    plan = Plan(length, kept, size=np.sqrt(D / 3), step=2 * np.pi / (block + length), frame=level(D))
    weights["W_E"] = plan.size * half_circle(tokens) @ plan.frame[:2]
    weights["W_pos"] = positions(plan, block) @ plan.frame[2:]
    gather(weights["layers"][0], plan)
    find(weights["layers"][1], plan)
    fetches = {f"0.{h}": f"fetches the height of the token {h + 1} back" for h in range(kept)}
    fetches["0.0"] += ", and takes away the position"
    if sharing:
        fetches[f"0.{kept - 1}"] = (
            f"looks between the tokens {kept} and {kept + 1} back, and fetches both heights as one"
        )
    finds = "finds where the tokens before are my last ones, and takes the token there"
    return Model(config, weights, Vocab.numbers(tokens), {"decode_steps": 1, "heads": fetches | {"1.0": finds}})


@dataclass(frozen=True)
class Plan:
    """What stands where along the directions of `frame`: the token's height and width; the position, and after layer 0
    in its place the numbers kept; last the constant. Token, position and constant have the length `size` each, so that
    layer norm keeps their sum as it is."""

    length: int
    kept: int
    size: float
    step: float  # the angle between positions
    frame: Array

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


def level(width: int) -> Array:
    """`width` − 1 directions (rows) of length 1, across each other and across (1, …, 1): what is written along them has
    mean zero."""
    below, steps = -np.tri(width)[:-1], np.arange(1, width)
    below[steps - 1, steps] = steps
    directions: Array = below / np.sqrt(steps * (steps + 1.0))[:, None]
    return directions


def turned(angle: float) -> Array:
    """turn, for the circle in two dimensions."""
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def positions(plan: Plan, block: int) -> Array:
    """Positions go round a circle; the constant is negative where no answer can stand."""
    at = np.arange(block)
    table = np.zeros((block, len(plan.frame) - 2))
    table[:, 0], table[:, 1] = np.cos(plan.step * at), np.sin(plan.step * at)
    table[:, -1] = np.where(at < plan.length, -1.0, 1.0)
    return plan.size * table


def gather(layer: dict[str, np.ndarray], plan: Plan) -> None:
    """Head h fetches the height of the token h + 1 back. Head 0 also fetches the positions it sees, turns them to its
    own and takes that away."""
    place = plan.frame[2:4].T  # (D, 2)
    for h in range(plan.kept):
        sharp, back = plan.look(h)
        hardness = sharp * np.sqrt(layer["W_Q"].shape[-1]) / plan.size**2
        layer["W_Q"][h, :, :2] = hardness * place @ turned(-back * plan.step)
        layer["W_K"][h, :, :2] = place
        layer["W_V"][h, :, 0] = plan.frame[0]
        layer["W_O"][h, 0] = plan.scale(h) / (plan.size * plan.seen(h)[h + 1]) * plan.frame[2 + h]
    back_turn = sum(weight * turned(-distance * plan.step) for distance, weight in enumerate(plan.seen(0)))
    layer["W_V"][0, :, 1:3] = place
    layer["W_O"][0, 1:3] = -np.linalg.inv(back_turn) @ place.T


def find(layer: dict[str, np.ndarray], plan: Plan) -> None:
    """The numbers that I should have kept at the next position, against those kept; and what stands there, loud."""
    query, key, value, fetched = (layer[name][0] for name in ("W_Q", "W_K", "W_V", "W_O"))
    height, numbers, constant = plan.frame[0], plan.frame[2 : 2 + plan.kept], plan.frame[-1]
    before, length_before = height, plan.size
    for k, number in enumerate(numbers):
        query[:, k] = HARD * plan.scale(k) / length_before * before
        key[:, k] = number
        before, length_before = number, plan.scale(k)
    if plan.kept < plan.length:
        query[:, plan.kept - 1] += HARD * SHARE * numbers[-1]
    # The rest of the stream, token and constant, has the length √2 · size; the sphere is that of (numbers, √2 · size).
    query[:, plan.kept], key[:, plan.kept] = 2 * HARD * constant, constant
    value[:, :2] = plan.frame[:2].T
    fetched[:2] = LOUD * plan.frame[:2]


def norms_behind(model: Model) -> Model:
    """The same weights with the layer norms behind the sublayers. (Exercise 2.) The searches need no more: layer norm
    keeps what they embed, and what it would do in front of a sublayer it now does behind the one before."""
    weights = {name: value for name, value in model.params.items() if name != "ln_final"}
    return model.with_(config=replace(model.config, place="post"), params=weights)


Table = Mapping[tuple[int, ...], int]


def table_search(table: Table, tokens: int) -> Model:
    """A search that looks things up in any table that is written in front of the question. (Exercise 3.)"""
    lengths = {len(key) for key in table}
    if len(lengths) != 1 or 0 in lengths:
        raise HandloomError("a table to look up in needs at least one key, and keys of one length, 1 or more")
    return small_search(tokens + 1, lengths.pop() + 1, len(table_question(table, next(iter(table)), tokens)))


def table_question(table: Table, key: tuple[int, ...], tokens: int) -> Ids:
    """The table, entry by entry, and the key. In front of each key stands the token after the last, which is in none
    of them: so the question stands where an entry begins and nowhere else."""
    entries = [[tokens, *known, value] for known, value in table.items()]
    return [*chain.from_iterable(entries), tokens, *key]
