"""The experiment of Wagner's talk: a transformer trains on attempts at a problem and generates more of them.

    python -m handloom.lab.wagner --steps 2000 --out wagner.json

The problem is isosceles:n=16. The attempts have scores as the talk's had: mean 16.7, median 17, the top fifth 20.7 on
average, at most 23. A model of makemore's default size trains on them and generates 1,000 strings; another one trains
on the best constructions for all smaller n as well. The results are in docs/discover/wagner.md.

The talk does not describe how its attempts were made. Ours are grown at random to a given size, point by point or, with
`--symmetry all`, orbit by orbit:

    >>> sizes = target_sizes(1000, middle=16.8, spread=3.0, most=23)
    >>> found = statistics_of(sizes)
    >>> round(found["mean"], 1), found["median"], round(found["top_fifth"], 1), found["max"]
    (16.7, 17.0, 20.7, 23)
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.checks import is_number, whole
from handloom.core.errors import shown
from handloom.core.files import write_atomically
from handloom.core.seeds import Elsewhere, generator
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.report import statistics_of
from handloom.discover.model.codec import Codec, Sized
from handloom.discover.model.proposer import Proposer
from handloom.discover.problem import Problem, verdict
from handloom.discover.search import orbit_search
from handloom.discover.search.attempts import search_for, symmetry_names
from handloom.discover.search.conflicts import Conflicts
from handloom.discover.search.greedy import allowed
from handloom.discover.search.orbit_search import OrbitSearch
from handloom.discover.search.symmetry import NONE, orbits_of
from handloom.discover.spaces import Construction
from handloom.learn.settings import Settings

MALFORMED = -10  # the talk's score of a malformed string
WAYS = ("cells", "sparse", "bpe")  # ways to write strings of any symmetry
ALL = "all"  # of the symmetries, one for each attempt in turn
PATIENCE = 300  # calls of the search per attempt
CALL = 100  # steps per call, after the first points
LAST = 50  # steps over which the final loss is averaged


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything that determines a result. The defaults are the talk's experiment, as far as the talk describes it."""

    n: int = 16
    seed: int = 0
    count: int = 10_000  # attempts to train on
    symmetry: str = NONE  # of the attempts
    middle: float = 16.8  # of the normal distribution of their sizes, which is cut off
    spread: float = 3.0
    most: int = 23  # points of an attempt
    with_smaller: bool = False
    tokens: str = "cells"
    steps: int = 2_000
    samples: int = 1_000
    layers: int = 4
    heads: int = 4
    width: int = 64
    rate: float = 5e-4  # makemore's
    warmup: int = 0

    def __post_init__(self) -> None:
        for name in ("n", "count", "most", "samples", "layers", "heads", "width"):
            whole(name, getattr(self, name), 1)
        for name in ("seed", "steps"):
            whole(name, getattr(self, name), 0)
        if not is_number(self.middle) or not is_number(self.spread) or self.spread <= 0.0:
            raise HandloomError(f"middle={self.middle} and spread={self.spread} must be numbers, the spread above 0")
        if self.tokens not in WAYS:
            raise HandloomError(f"tokens={shown(self.tokens)} must be one of {', '.join(WAYS)}")
        _ = self.training  # which checks the rest

    @property
    def training(self) -> Settings:
        return Settings(seed=self.seed, rate=self.rate, warmup=self.warmup)


@cache
def isosceles(n: int) -> Problem:
    """The same object every time, because its rule is compiled once per problem."""
    return problem_named("isosceles", n=n)


def target_sizes(count: int, middle: float, spread: float, most: int) -> list[int]:
    """That many sizes in ascending order: the quantiles of a normal distribution cut off at most + ½."""
    normal = NormalDist(middle, spread)
    below = normal.cdf(most + 0.5)
    return [max(1, round(normal.inv_cdf(below * (i + 0.5) / count))) for i in range(count)]


def attempts(
    n: int, count: int, seed: int, *, middle: float = 16.8, spread: float = 3.0, most: int = 23, symmetry: str = NONE
) -> list[Construction]:
    """Legal sets of these sizes, in random order. Under a symmetry, or under all in turn, they are unions of orbits of
    about these sizes."""
    problem = isosceles(n)
    rng = generator(seed, Elsewhere.ATTEMPTS)
    sizes = rng.permutation(target_sizes(whole("count", count, 1), middle, spread, most))
    made = [search_for(problem, name) for name in (symmetry_names(problem) if symmetry == ALL else [symmetry])]
    searches = [one for one in made if isinstance(one, OrbitSearch)]
    if not searches:
        raise HandloomError(f"{problem} has nothing to choose under the symmetry {symmetry}; use {NONE}")
    seeds = rng.integers(2**62, size=count)
    return [
        grown(searches[i % len(searches)], int(size), most, int(one))
        for i, (size, one) in enumerate(zip(sizes, seeds, strict=True))
    ]


def grown(search: OrbitSearch, size: int, most: int, seed: int) -> Construction:
    """A legal set, grown at random to a size; if growth stops before, orbits that are blocked once are swapped in.
    Surplus orbits are taken out again at random."""
    tables = search.tables
    state = orbit_search.state_of_start(tables, seed)
    orbit_search.make_steps(tables, state, max(1, size // int(tables.weights.max())))
    for _ in range(PATIENCE):
        missing = size - int(state.numbers[orbit_search.BEST])
        if missing <= 0:
            break
        orbit_search.make_steps(tables, state, min(missing, CALL) if state.counts[orbit_search.FREE] else CALL)
    return search.union(cut(tables, state.best, size, most, np.random.default_rng(seed)))


def cut(tables: Conflicts, chosen: Any, size: int, most: int, rng: np.random.Generator) -> Any:
    """Without some orbits, so that the size is as close as possible to the wanted one, and at most `most`."""
    kept = chosen.copy()
    total = int(tables.weights[kept].sum())
    for orbit in rng.permutation(np.nonzero(kept)[0]):
        less = total - int(tables.weights[orbit])
        nearer = abs(size - total) - abs(size - less)
        if total > most or nearer > 0 or (nearer == 0 and rng.random() < 0.5):
            kept[orbit], total = False, less
    return kept


def best_smaller(n_most: int, seed: int = 0, searches: int = 30, steps: int = 4_000) -> list[Sized]:
    """The best constructions for n = 1, …, n_most from `searches` searches under each symmetry, with all their mirror
    images and rotations, each once."""
    found: list[Sized] = []
    for n in range(1, n_most + 1):
        problem = isosceles(n)
        found += [(problem.space, construction) for construction in best_of(problem, seed, searches, steps)]
    return found


def best_of(problem: Problem, seed: int, searches: int, steps: int) -> list[Construction]:
    """The best constructions found, in ascending order."""
    results = []
    for name in symmetry_names(problem):
        if (search := search_for(problem, name)) is not None:
            results += [search.run(seed * searches + i, steps) for i in range(searches)]
    best = max(result.score for result in results)
    group = orbits_of(problem, "square").group
    images = {
        tuple(sorted(one[list(result.construction)].tolist()))
        for result in results
        if result.score == best
        for one in group
    }
    return sorted(images)


def legal_part(problem: Problem, construction: Construction) -> Construction:
    """Its elements in reading order, each taken if it forms nothing forbidden with those before; all of them if and
    only if it is legal."""
    taken: list[int] = []
    for new in construction:
        if allowed(problem, taken, new):
            taken.append(new)
    return tuple(taken)


def by_chance(problem: Problem, tried: Sequence[Construction], samples: int, seed: int) -> dict[str, Any] | None:
    """The scores of points at random, as many as attempts have: what a model gets that knows only the sizes."""
    rng = generator(seed, Elsewhere.CHANCE)
    sizes = [len(tried[i]) for i in rng.integers(len(tried), size=samples)]
    drawn = [sorted(rng.choice(problem.space.length, size, replace=False).tolist()) for size in sizes]
    return statistics_of([len(legal_part(problem, tuple(one))) for one in drawn])


def judged(problem: Problem, codec: Codec, sampled: Sequence[Sequence[int]], seen: set[Construction]) -> dict[str, Any]:
    """The scores of sampled strings: −10 for one that is not written as a construction of this size, otherwise the size
    of its legal part; and their points, legal or not. `seen` is what the model trained on."""
    decoded = [codec.decode(string) for string in sampled]
    found = [None if repaired else construction for construction, repaired in decoded]
    parts = [None if one is None else legal_part(problem, one) for one in found]
    legal = [one for one, part in zip(found, parts, strict=True) if one is not None and one == part]
    best = max((part for part in parts if part is not None), key=len, default=())
    assert verdict(problem, best).score == len(best)
    return {
        "scores": statistics_of([MALFORMED if part is None else len(part) for part in parts]),
        "points": statistics_of([MALFORMED if one is None else len(one) for one in found]),
        "malformed": found.count(None),
        "legal": len(legal),
        "largest_legal": max(map(len, legal), default=None),
        "new": len([one for one in found if one is not None and one not in seen]),
        "legal_and_new": len([one for one in legal if one not in seen]),
        "best": problem.space.shown(best),
    }


def experiment(
    wanted: Experiment,
    tried: Sequence[Construction] | None = None,
    smaller: Sequence[Sized] | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """Train on attempts, for at most that many seconds; sample more, and judge them. The attempts and the best smaller
    constructions are made if they are not given."""
    problem = isosceles(wanted.n)
    tried = attempts_for(wanted) if tried is None else tried
    others = (best_smaller(wanted.n - 1) if smaller is None else smaller) if wanted.with_smaller else []
    codec = Codec.of(wanted.tokens, [problem.space, *dict.fromkeys(space for space, _ in others)], tried)
    proposer = Proposer.of(
        codec,
        about=f"{problem}, from attempts",
        layers=wanted.layers,
        heads=wanted.heads,
        width=wanted.width,
        settings=wanted.training,
    )
    began, losses = time.monotonic(), list[float]()
    proposer.train(
        codec.strings(tried, others),
        wanted.steps,
        None if seconds is None else began + seconds,
        report=lambda step, loss: losses.append(loss),
    )
    trained = time.monotonic() - began
    return {
        "settings": asdict(wanted) | {"steps": proposer.step},
        "engine": proposer.engine,
        "training_seconds": round(trained, 1),
        "loss": float(np.mean(losses[-LAST:])) if losses else None,
        "attempts": statistics_of([len(construction) for construction in tried]),
        "by_chance": by_chance(problem, tried, wanted.samples, wanted.seed),
        "smaller": counted(others),
        "sampled": judged(problem, codec, proposer.propose(wanted.samples, seed=wanted.seed), set(tried)),
    }


def attempts_for(wanted: Experiment) -> list[Construction]:
    shape = {"middle": wanted.middle, "spread": wanted.spread}
    return attempts(wanted.n, wanted.count, wanted.seed, most=wanted.most, symmetry=wanted.symmetry, **shape)


def counted(others: Sequence[Sized]) -> dict[str, dict[str, int]]:
    """The size and the number of the smaller constructions, by n."""
    found: dict[str, dict[str, int]] = {}
    for space, construction in others:
        entry = found.setdefault(str(space.sides[0]), {"best": len(construction), "count": 0})
        entry["count"] += 1
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiment without and with the smaller sizes, and add both results to a JSON file."""
    options = vars(parser().parse_args(arguments))
    out, minutes = options.pop("out"), options.pop("minutes")
    try:
        wanted = Experiment(**options)
        results_in(out)  # raises an error before the work, not after it
        tried = attempts_for(wanted)
        for with_smaller in (False, True):
            one = replace(wanted, with_smaller=with_smaller)
            result = experiment(one, tried, seconds=None if minutes is None else 60 * minutes)
            add_result(out, result)
            print(json.dumps(result["settings"] | {"scores": result["sampled"]["scores"]}), flush=True)
    except HandloomError as error:
        print("handloom:", " ".join(str(error).splitlines()), file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """One option per setting of an experiment, and --minutes and --out."""
    made = argparse.ArgumentParser(prog="python -m handloom.lab.wagner", description=main.__doc__)
    for name, value in asdict(Experiment()).items():
        if name != "with_smaller":
            made.add_argument(f"--{name}", type=type(value), default=value, help=f"by default {value}")
    made.add_argument("--minutes", type=float, help="the most minutes of training per model")
    made.add_argument(
        "--out", type=Path, default=Path("wagner.json"), help="the file of results, by default wagner.json"
    )
    return made


def results_in(path: Path) -> list[dict[str, Any]]:
    """The results in a file; none if it does not exist."""
    try:
        found = json.loads(path.read_text()) if path.exists() else []
        if not isinstance(found, list) or not all("settings" in one for one in found):
            raise ValueError("it is not a list of results")
    except (OSError, TypeError, ValueError) as error:
        raise HandloomError(f"cannot add results to {path}: {error}; name another file") from error
    return found


def add_result(path: Path, result: dict[str, Any]) -> None:
    """Add a result to a file, in place of an older one with the same settings."""
    others = [one for one in results_in(path) if one["settings"] != result["settings"]]
    write_atomically(path, (json.dumps([*others, result], indent=1, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    sys.exit(main())
