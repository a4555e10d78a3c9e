"""What a head looks at, in every case: the scores of the weights against the condition that the program states.

For each case here and each case there the score is computed, with a bound on its error. The positions that the program
selects must lie above all others by so much that softmax leaves nothing to them. Where several are selected, for a mean
or a count, their scores must be equal. The first token is always there; it comes between matches and the rest.
"""

from dataclasses import dataclass, replace

import numpy as np

from handloom.core.arrays import Array
from handloom.write.compiler.cases import Domains, bases_until, unproven
from handloom.write.compiler.ranges import computed, one_token
from handloom.write.compiler.streams import TINY, Reads, Streams, U, not_too_large
from handloom.write.compiler.values import At, Count, Plain, Position, Select, Value, Where

SURE = 18.0  # by which a score must exceed all others together: e⁻¹⁸ is less than what float32 rounds


@dataclass(frozen=True)
class HeadWeights:
    """What a head reads of the stream behind a norm, (D, K) each."""

    queries: Array
    keys: Array
    eps: float


@dataclass(frozen=True)
class Scores:
    """Scores (n, m) of cases there (m) for cases here (n), of the first token (n, 1), and how wrong each can be beside
    the error of the query, which is the same for all."""

    here: Reads
    there: Reads
    scores: Array
    error: Array
    first: Array
    first_error: Array


def scored(streams: Streams, head: HeadWeights, here: list[Value], there: list[Value]) -> Scores:
    queries, keys = (
        streams.read(weights, head.eps, values) for weights, values in ((head.queries, here), (head.keys, there))
    )
    root = np.sqrt(head.queries.shape[1])

    def against(rows: Array, wrong: Array) -> tuple[Array, Array]:  # (m, K) twice → (n, m) and its error
        scores, sizes = queries.values @ rows.T / root, np.abs(queries.values) @ np.abs(rows).T / root
        not_too_large(sizes)
        error = (np.abs(queries.values) + queries.errors) @ wrong.T / root
        return scores, error + (len(rows.T) + 3) * U * sizes + (keys.factor + U) * np.abs(scores) + TINY

    return Scores(queries, keys, *against(keys.values, keys.errors), *against(keys.first[None], keys.first_error[None]))


def between(found: Scores, keys: Array, wrong: Array) -> Array:
    """How wrong the difference of the scores of each key (m, K) and the next can be, (n, m − 1), if keys are so wrong.
    An error of the query is the same for both."""
    queries, root = np.abs(found.here.values), np.sqrt(keys.shape[1])
    sizes = queries @ np.abs(keys).T / root
    scores = found.here.values @ keys.T / root
    own = (queries + found.here.errors) @ wrong.T / root
    own = own + (keys.shape[1] + 3) * U * sizes + (found.there.factor + U) * np.abs(scores) + TINY
    common = found.here.errors @ np.abs(np.diff(keys, axis=0)).T / root
    error: Array = own[:, 1:] + own[:, :-1] + common
    return error


def with_queries(found: Scores, matches: Array) -> Scores:
    """Scores with the errors that queries make beside that of one match, or of the first token if there is none: all
    are compared with it."""
    keys, root = found.there.values, np.sqrt(found.there.values.shape[1])
    some: Array = np.asarray(matches.any(1))
    beside = np.where(some[:, None], keys[matches.argmax(1)], found.there.first)  # (n, K)

    def common(rows: Array) -> Array:  # (m, K) → (n, m)
        columns = range(rows.shape[1])
        return np.sum([found.here.errors[:, [k]] * np.abs(rows[:, k] - beside[:, [k]]) for k in columns], axis=0) / root

    error, first_error = found.error + common(keys), found.first_error + common(found.there.first[None])
    return replace(found, error=error, first_error=first_error)


class Selections:
    """Checks of what heads look at; each gives a bound on how unequal the weights of equal positions can be."""

    def __init__(self, domains: Domains, once: frozenset[str]) -> None:
        self.domains, self.once = domains, once
        self.block = domains.ranges.block
        self.lead = SURE + float(np.log(self.block))

    def check(self, streams: Streams, head: HeadWeights, value: Value) -> float:
        if isinstance(value, At):
            return self.check_place(streams, head, value)
        assert isinstance(value, Select | Count)
        if value in self.domains.totals:
            found = with_queries(scored(streams, head, [], []), np.ones((1, 1), bool))
            apart = 2 * found.error.max() + np.abs(found.scores - found.first).max() + found.first_error.max()
            return float(apart) * (1 + found.here.factor)
        return self.check_condition(streams, head, value)

    def check_place(self, streams: Streams, head: HeadWeights, value: At) -> float:
        """Nearer to the place is higher, on both sides of it: so whatever positions there are, the nearest wins."""
        position = self.domains.atom(Position)
        found = scored(streams, head, [value.place], [position])
        places = np.array([whole(one) for (one,) in found.here.cases])[:, None]
        order = np.argsort([float(at) for (at,) in found.there.cases])
        if [found.there.cases[i][0] for i in order] != list(range(1, self.block)):
            raise unproven("a head reads more of a position than where it is")
        scores = np.hstack([found.first, found.scores[:, order]])
        rises = np.diff(scores, axis=1)
        before = np.arange(self.block - 1)[None, :] < places  # the step from s to s + 1 is one towards the place
        keys = np.vstack([found.there.first, found.there.values[order]])
        wrong = np.vstack([found.there.first_error, found.there.errors[order]])
        lead = np.where(before, rises, -rises) - between(found, keys, wrong)
        self.require(lead.min(initial=np.inf), found, value)
        return 0.0

    def check_condition(self, streams: Streams, head: HeadWeights, value: Select | Count) -> float:
        where = value.where
        here = [one for _, one in where.pairs] + [one for _, points, _ in where.circles for one in points]
        there = [one for one, _ in where.pairs] + [one for points, _, _ in where.circles for one in points]
        queries = here + ([] if where.query is None else [where.query])
        by = value.by if isinstance(value, Select) else None
        ordered = isinstance(value, Select) and value.order != "all" and not self.unique(where)
        tied = by is not None and isinstance(value, Select) and by is value.value
        written = {signal.key[0] for signal in streams.signals if len(signal.key) == 1}
        flags = () if where.key is None else bases_until(where.key, written)
        order = ([by] if by is not None else []) + ([self.domains.atom(Position)] if ordered and not tied else [])
        found = scored(streams, head, queries, list(dict.fromkeys((*there, *flags, *order))))
        keys = [*there, *([] if where.key is None else [where.key]), *order]
        found = replace(found, there=replace(found.there, cases=computed_from(found.there, keys)))
        matches = matching(found, len(here), where)
        found = with_queries(found, matches)
        levels = [level(case, value, tied) if ordered else () for case in found.there.cases]
        apart = self.compare(found, matches, levels, value) * (1 + found.here.factor)
        return 0.0 if isinstance(value, Select) and value.order != "all" else apart

    def compare(self, found: Scores, matches: Array, levels: list[tuple[float, ...]], value: Select | Count) -> float:
        """Matches of a higher level above those of lower ones, above the first token, above the rest."""
        low, high = found.scores - found.error, found.scores + found.error
        rest = np.where(matches, -np.inf, high).max(1, initial=-np.inf)
        first_low, first_high = (found.first - found.first_error)[:, 0], (found.first + found.first_error)[:, 0]
        self.require((first_low - rest).min(), found, value)
        ranks = {one: i for i, one in enumerate(sorted(set(levels)))}
        below = np.full(len(low), -np.inf) if isinstance(value, Count) else first_high
        apart = 0.0
        for members in by_rank(levels, ranks):
            hits = matches[:, members]
            worst = np.where(hits, low[:, members], np.inf).min(1)
            best = np.where(hits, high[:, members], -np.inf).max(1)
            self.require((worst - below).min(), found, value)
            apart = max(apart, float(np.where(hits.any(1), best - worst, 0.0).max()))
            below = np.maximum(below, best)
        if isinstance(value, Count):
            hits = np.asarray(matches.any(1))
            gap = np.maximum(first_high - worst, best - first_low) if ranks else np.zeros(len(low))
            apart = max(apart, float(np.where(hits, gap, 0.0).max(initial=0.0)))
        return apart

    def require(self, lead: float, found: Scores, value: Value) -> None:
        if not lead >= self.lead * (1 + found.here.factor):
            raise unproven(
                f"{value.line}: a head's scores are {lead:.3g} apart where {self.lead:.3g} would leave no doubt"
            )

    def unique(self, where: Where) -> bool:
        return one_token(where.key, self.domains.ranges.tokens) in self.once


def computed_from(reads: Reads, wanted: list[Value]) -> list[tuple[Plain, ...]]:
    """The cases of some values, computed from those that were read."""
    rows = (dict(zip(reads.keys, case, strict=True)) for case in reads.cases)
    return [tuple(computed(value, row) for value in wanted) for row in rows]


def by_rank(levels: list[tuple[float, ...]], ranks: dict[tuple[float, ...], int]) -> list[Array]:
    """The cases of each level, the lowest level first."""
    numbers = np.array([ranks[one] for one in levels], int)
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


def matching(found: Scores, pairs: int, where: Where) -> Array:
    """Whether cases there match cases here, (n, m)."""
    numbers: dict[tuple[Plain, ...], int] = {}
    mine, its = (
        np.array([numbers.setdefault(case[:pairs], len(numbers)) for case in reads.cases], int)
        for reads in (found.here, found.there)
    )
    holds = np.array([where.key is None or bool(case[pairs]) for case in found.there.cases], bool)
    asked = np.array([where.query is None or bool(case[pairs]) for case in found.here.cases], bool)
    matches: Array = (mine[:, None] == its[None, :]) & holds[None, :] & asked[:, None]
    return matches


def level(case: tuple[Plain, ...], value: Select | Count, tied: bool) -> tuple[float, ...]:
    """How high a match ranks: by its position, or by a number and then by its position, if that matters."""
    assert isinstance(value, Select)
    if value.order in ("latest", "first"):
        return (float(case[-1]) if value.order == "latest" else -float(case[-1]),)
    numbers = [float(one) for one in case[-1 if tied else -2 :]]
    return (numbers[0] if value.order == "greatest" else -numbers[0], *(-one for one in numbers[1:]))


def whole(place: Plain) -> int:
    if isinstance(place, str) or place != int(place):
        raise unproven(f"{place!r} is not a position")
    return int(place)
