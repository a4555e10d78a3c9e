"""A Problem: what a user states, and everything needed to search for constructions and to verify them.

    >>> from handloom.discover.spaces import grid
    >>> def in_line(a, b, c):
    ...     return (b[0] - a[0]) * (c[1] - a[1]) == (c[0] - a[0]) * (b[1] - a[1])
    >>> problem = Problem(grid(3, 3), forbidden=in_line)
    >>> verdict(problem, (0, 1, 2))
    Verdict(score=None, reason='(0, 0), (0, 1), (0, 2) is forbidden')
    >>> verdict(problem, (0, 1, 3, 5, 7, 8))
    Verdict(score=6, reason=None)

`forbidden` is a rule, a list of rules, or a list of sets of elements. A rule is a function of one to five elements,
which it gets in the order of the space; where it returns True they may not all be chosen. The search compiles rules by
Numba. `verdict` calls them as plain Python, on exact whole numbers, or as what is proven to compute the same
(exhaustive.py); and then the problem's own `check`, if it has one.

The score is the number of chosen elements, if no function for it is given. It is to be large, or with `minimise=True`
small. Then `required` may list sets of elements, each of which must contain a chosen one: a cover, a dominating set, a
blocking set. `symmetry` is one that constructions must have.

    >>> cover = Problem(grid(1, 4), required=[[(0, 0), (0, 1)], [(0, 1), (0, 2)], [(0, 3)]], minimise=True)
    >>> verdict(cover, (0, 2)).reason, verdict(cover, (1, 3)).score
    ('none of (0, 3) is chosen', 2)
    >>> cover.complement.sets[-1]  # what is left out, which a search looks for, may not contain this
    ((0, 3),)
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from handloom.core import HandloomError
from handloom.core.checks import is_number
from handloom.core.errors import in_users_code, shown, told
from handloom.discover.spaces import Construction, Element, Map, Maps, Space, maps_by_name

LARGEST = 1e308  # score: what a float can hold

Rule = Callable[..., Any]  # of some elements: whether they are forbidden
Number = int | float


@dataclass(frozen=True, eq=False)
class Problem:
    """A space of constructions, what is forbidden or required in it, and the score that is to be large or small."""

    space: Space
    forbidden: Rule | Sequence[Rule] | Sequence[Sequence[Element]] = ()
    score: Callable[[Any], Number] | None = None  # of an array: 0s and 1s, or the indices of letters or values
    guide: Callable[[Any], float] | None = None  # what a search climbs, where the score is too coarse
    check: Callable[[list[Element]], str | None] | None = None  # a second verifier: from the elements to what is wrong
    symmetries: Maps | None = None  # by default those of the space that the problem has
    best_known: Number | None = None
    source: str = ""  # of the best known value
    name: str = ""  # with its parameters
    about: str = ""
    smaller: tuple["Callable[[], Problem]", ...] = field(default=(), repr=False)  # the same for smaller sizes
    minimise: bool = False  # whether the score is to be small
    required: Sequence[Sequence[Element]] = ()  # sets of elements, of each of which one must be chosen
    symmetry: str | Map | Sequence[str | Map] | None = None  # that constructions must have: a name, a map, or several

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise HandloomError(f"a problem's space is {shown(self.space)}; make one with grid, graph, subsets or word")
        if self.symmetries is not None:
            maps_by_name(self.symmetries)
        if self.best_known is not None and not is_score(self.best_known):
            raise HandloomError(f"best_known={shown(self.best_known)} must be a number")
        if self.score is None and not self.space.is_subset:
            raise HandloomError(f"a problem of {self.space.plural} needs a score, a function of the {self.space.kind}")
        for what in ("score", "guide", "check"):
            if getattr(self, what) is not None and not callable(getattr(self, what)):
                raise HandloomError(f"{what}={shown(getattr(self, what))} must be a function")
        if self.guide is not None and self.score is None:
            raise HandloomError("a guide is for a search by score; give the problem a score too")
        for rule in self.rules:
            if not 1 <= arity(rule) <= 5:
                raise HandloomError(f"forbidden takes {arity(rule)} elements; it must take from 1 to 5, each by name")
        check_sets(self)
        check_symmetry(self)

    def merit(self, score: Number) -> Number:
        """What constructions are compared by: more is better, whether the score is to be large or small."""
        return -score if self.minimise else score

    @cached_property
    def complement(self) -> "Problem | None":
        """If sets are required, the problem of the elements that are left out: they may contain no required set."""
        if not len(self.required_rows):  # which checks them
            return None
        score, guide = (of_the_rest(self.space, one) if one else None for one in (self.score, self.guide))
        return Problem(
            self.space,
            self.required,
            score,
            guide,
            symmetries=self.symmetries,
            symmetry=self.symmetry,
            name=self.name,
            minimise=score is not None,
        )

    def others(self, construction: Construction) -> Construction:
        """The elements that a subset leaves out."""
        chosen = set(construction)
        return tuple(i for i in range(len(self.space.elements)) if i not in chosen)

    @cached_property
    def required_maps(self) -> tuple[Map, ...]:
        """The maps that must take a construction to itself."""
        known = named_symmetries(self)
        return tuple(
            one for part in symmetry_parts(self) for one in (known[part] if isinstance(part, str) else (part,))
        )

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of what is forbidden."""
        if callable(self.forbidden):
            return (self.forbidden,)
        return tuple(item for item in self.forbidden if callable(item))

    @cached_property
    def sets(self) -> tuple[tuple[Element, ...], ...]:
        """The listed sets of what is forbidden."""
        if callable(self.forbidden):
            return ()
        return tuple(tuple(item) for item in self.forbidden if not callable(item))

    @cached_property
    def set_rows(self) -> Any:
        """The listed sets as indices: one row per set, filled up with −1 in front, then ascending."""
        return rows_of("forbidden", self.sets, self.space)

    @cached_property
    def required_rows(self) -> Any:
        """The required sets, in the same form."""
        return rows_of("required", self.required, self.space)

    def __str__(self) -> str:
        return self.name or f"a problem of a {self.space.kind}"


def rows_of(what: str, sets: Sequence[Sequence[Element]], space: Space) -> Any:
    """Sets of elements as indices: one row per set, filled up with −1 in front, then ascending."""
    import numpy as np

    index, sizes = space.index, [len(some) for some in sets]
    rows = np.full((len(sizes), max(sizes, default=1)), -1, np.int64)
    if not all(sizes):
        raise HandloomError(f"{what} contains a set without elements; leave it out")
    try:
        flat = np.fromiter((index[element] for some in sets for element in some), np.int64, sum(sizes))
    except (KeyError, TypeError) as error:
        raise HandloomError(f"{what} contains {shown(error.args[0])}, which is not an element of the space") from error
    rows[np.arange(rows.shape[1]) < np.array(sizes, np.int64)[:, None]] = flat
    rows.sort(axis=1)
    rows[:, 1:][(rows[:, 1:] == rows[:, :-1]) & (rows[:, 1:] >= 0)] = -1  # an element listed twice
    rows.sort(axis=1)
    return rows


def check_sets(problem: Problem) -> None:
    """Raise an error for forbidden or required sets that do not go with the rest of a problem."""
    kind, forbids = problem.space.kind, bool(problem.rules or problem.sets)
    if not problem.space.is_subset and (forbids or problem.required):
        bad = "forbidden" if forbids else "required"
        way = "raise" if problem.minimise else "lower"
        raise HandloomError(f"{bad} is for subsets; {way} the score of a bad {kind} instead")
    if problem.required and not problem.minimise:
        raise HandloomError("required is for minimise=True: all elements together contain one of every set; add that")
    if problem.required and forbids:
        raise HandloomError("required and forbidden sets in one problem cannot be searched; use one, and a score")
    if problem.minimise and problem.score is None and not problem.required:
        raise HandloomError("minimise=True, but the empty set is the smallest; give required sets, or a score")


def check_symmetry(problem: Problem) -> None:
    """Raise an error for a required symmetry that is neither known nor a map."""
    if problem.symmetry is None:
        return
    if not problem.space.is_subset:
        raise HandloomError(f"symmetry is for subsets; give a score of a part that determines the {problem.space.kind}")
    known, parts = named_symmetries(problem), symmetry_parts(problem)
    for one in parts:
        if isinstance(one, str) and one not in known:
            raise HandloomError(f"symmetry={shown(one)}: no such symmetry here; it has {', '.join(known) or 'none'}")
    if not parts or not all(isinstance(one, str) or callable(one) for one in parts):
        raise HandloomError(
            f"symmetry={shown(problem.symmetry)} must be a name, a map of elements, or a list of names and maps"
        )


def named_symmetries(problem: Problem) -> dict[str, tuple[Map, ...]]:
    """The maps of each symmetry that has a name, the space's and the problem's own."""
    return {**problem.space.symmetries, **maps_by_name(problem.symmetries or {})}


def symmetry_parts(problem: Problem) -> tuple[Any, ...]:
    """What is required: the names and maps, however many were given."""
    one = problem.symmetry
    return () if one is None else tuple(one) if isinstance(one, list | tuple) else (one,)


def of_the_rest(space: Space, score: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A score as a function of what is left out."""
    is_graph = space.kind == "graph"

    def value(rest: Any) -> Any:
        chosen = 1 - rest
        if is_graph:
            for i in range(len(chosen)):
                chosen[i, i] = 0
        return score(chosen)

    return value


class Verdict(NamedTuple):
    """The score of a construction, or the reason why it is not legal."""

    score: Number | None
    reason: str | None = None


def verdict(problem: Problem, construction: Construction) -> Verdict:
    """Verify a construction exactly. Nothing of the search is used, no tables; nothing is compiled but a rule with
    millions of sets to look at, where that is proven to be the same (exhaustive.py)."""
    from handloom.discover.exhaustive import first_forbidden

    space = problem.space
    chosen = space.seen(construction)

    def names(elements: Iterable[Element]) -> str:
        return ", ".join(map(space.name, elements))

    with in_users_code(str(problem)):
        for rule in problem.rules:
            if some := first_forbidden(problem, rule, construction):
                bad = (space.elements[space.arguments.index(one)] for one in some)
                return Verdict(None, f"{names(bad)} is forbidden")
        there = set(chosen)
        for listed in problem.sets:
            if there.issuperset(listed):
                return Verdict(None, f"{names(listed)} is forbidden")
        for needed in problem.required:
            if there.isdisjoint(needed):
                return Verdict(None, f"none of {names(needed)} is chosen")
        if (lost := without_image(problem, chosen)) is not None:
            return Verdict(None, f"{names(lost[:1])} is chosen and its image {names(lost[1:2])} is not: {lost[2]}")
        if problem.check and (reason := problem.check(chosen)):
            return Verdict(None, reason)
        return Verdict(exact_score(problem, construction))


def without_image(problem: Problem, chosen: Sequence[Element]) -> tuple[Element, Element, str] | None:
    """A chosen element whose image under the required symmetry is not chosen, that image, and what is lacking."""
    there = set(chosen)
    name = f"the symmetry {problem.symmetry}" if isinstance(problem.symmetry, str) else "the required symmetry"
    for one in problem.required_maps:
        for element in chosen:
            if (image := one(element)) not in there:
                return element, image, f"it lacks {name}"
    return None


def exact_score(problem: Problem, construction: Construction) -> Number:
    """The score in plain Python. Whole numbers are NumPy's, of 64 bits; where these are not enough, Python's, which
    are unlimited."""
    import numpy as np

    if problem.score is None:
        return len(construction)
    overflows: list[str] = []
    with np.errstate(all="ignore", over="call", call=lambda kind, flag: overflows.append(kind)):
        value = plain(problem.score(score_argument(problem.space, construction)))
        if type(value) is int:
            value = unlimited(problem, construction, value, bool(overflows))
    if type(value) is int and abs(value) > LARGEST:
        raise HandloomError(f"{problem}: its score is beyond {LARGEST:g}; return a smaller number, such as a logarithm")
    if not is_score(value):
        raise HandloomError(f"{problem}: its score is {shown(value)}, which is not a number; return an int or a float")
    return value


def unlimited(problem: Problem, construction: Construction, value: int, overflow: bool) -> int:
    """The score computed with Python's whole numbers, if it exceeds 64 bits or NumPy reported an overflow. (NumPy
    treats arrays of Python's numbers differently in places, so they decide only then.)"""
    assert problem.score is not None
    try:
        exact = plain(problem.score(score_argument(problem.space, construction, object)))
    except Exception as error:
        if overflow:
            raise HandloomError(f"{problem}: numbers in its score exceed 64 bits; use Python's own") from error
        return value
    return exact if type(exact) is int and (overflow or abs(exact) >= 2**63) else value


def plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    import numpy as np

    single = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    return value.item() if single else value


def is_score(value: Any) -> bool:
    """Whether it is a number of Python's, and finite."""
    return type(value) in (int, float) and is_number(value)


def score_argument(space: Space, construction: Construction, numbers: type = int) -> Any:
    """The argument of a score: 0s and 1s in the shape of the grid or the group, the adjacency matrix of the graph, the
    matrix, otherwise a row; of int64, or of Python's own numbers, which NumPy calls objects."""
    import numpy as np

    kind = np.int64 if numbers is int else object
    if not space.is_subset:
        return np.array(construction, kind).reshape(space.sides if space.kind == "matrix" else -1)
    chosen = np.zeros(len(space.elements), kind)
    chosen[list(construction)] = 1
    if space.kind in ("grid", "group"):
        return chosen.reshape(space.sides)
    if space.kind == "graph":
        matrix = np.zeros((space.sides[0],) * 2, kind)
        for i in construction:
            u, v = space.elements[i]
            matrix[u, v] = matrix[v, u] = 1
        return matrix
    return chosen


def arity(rule: Rule) -> int:
    """The number of elements that a rule takes, 0 if that is open. A parameter with a default is not an element."""
    parameters = inspect.signature(rule).parameters.values()
    named = all(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters)
    return sum(one.default is one.empty for one in parameters) if named else 0


def call_rule(problem: Problem, rule: Rule, elements: Sequence[Element]) -> bool:
    """What a rule returns, in plain Python; what it raises becomes an error of one line. (Searches call rules tens of
    thousands of times, so the message is made only where there is an error.)"""
    try:
        return bool(rule(*elements))
    except Exception as error:
        raise HandloomError(f"{problem}: {told(error)}") from error
