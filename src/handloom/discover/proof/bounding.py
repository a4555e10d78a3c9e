"""`prove`: an upper bound for a problem, found twice, and kept with the problem's records.

The first run maximises: a clause per forbidden set, symmetry broken, and the bounds of parts. The second run has
another encoding, breaks symmetry in the opposite order, bounds the parts anew with another seed, and asks for one
element more than the bound: there must be no such construction. A solution of either is verified before it is believed.
"""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from handloom.core import HandloomError
from handloom.core.checks import is_number, whole
from handloom.core.errors import shown
from handloom.discover.catalogue import problem_named
from handloom.discover.problem import Problem, verdict
from handloom.discover.proof.clauses import add_clauses
from handloom.discover.proof.cliques import add_cliques
from handloom.discover.proof.family import Family, forbidden_family, greedy_size
from handloom.discover.proof.fixing import fixed_elements
from handloom.discover.proof.optima import classes_of
from handloom.discover.proof.parts import BoundedPart, Parts, with_images
from handloom.discover.proof.proof import Optima, Progress, Proof, SolverRun
from handloom.discover.proof.solver import NEVER, Ended, check_installed, new_model, run_solver, solutions
from handloom.discover.proof.symmetric import Group, break_symmetry, group_of, some_products
from handloom.discover.records.proofs import keep_proof
from handloom.discover.records.store import Store
from handloom.discover.search.attempts import search_for
from handloom.discover.search.canonical import form_of
from handloom.discover.search.symmetry import MOST_MAPS, NONE, symmetries_of
from handloom.discover.spaces import Construction, Space
from handloom.runs import interrupts

PART_SECONDS = 20.0  # for one part; its bound then is what was proved by then
TURN = 10.0  # seconds of the first
SHARE = 0.6  # of the time, for the first run
PARTS_SHARE = 0.5  # of that of a run, for the parts
SEARCHES, STEPS = 8, 20_000  # before the first run of the solver
MOST_COUNTED = 200_000  # constructions that symmetry breaking leaves

Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Encoding:
    """How a family of forbidden sets is given to the solver."""

    name: str
    add: Callable[[Any, list[Any], Family], None]
    backwards: bool  # whether symmetry is broken from the last element on


CLAUSES = Encoding("a clause per forbidden set", add_clauses, False)
CLIQUES = Encoding("cliques of forbidden sets", add_cliques, True)


def prove(
    problem: str | Problem,
    seconds: float | None = None,
    *,
    count: bool = False,
    seed: int = 0,
    store: str | os.PathLike[str] | None = "records.sqlite",
    watch: Watch = lambda progress: None,
) -> Proof:
    """An upper bound for a problem that asks for many elements without forbidden sets, by OR-Tools CP-SAT.

    It stops when a verified construction reaches the bound and another encoding has proved it again; or after that many
    seconds, or on Ctrl-C, with the bound so far. With count=True it also counts the optimal constructions. What is
    found and proved is kept in the store, with store=None nothing. `watch` is called with its progress."""
    check_installed()
    problem = problem if isinstance(problem, Problem) else problem_named(problem)
    check_suitable(problem)
    if seconds is not None and (not is_number(seconds) or seconds < 0):
        raise HandloomError(f"seconds={shown(seconds)} must be a number of at least 0")
    whole("seed", seed, 0)
    opened = Store.open(store) if store is not None and problem.name else None
    if opened is not None:
        opened.check_same(problem)
    return Proving(problem, seconds, seed, opened, watch).prove(count)


def check_suitable(problem: Problem) -> None:
    """Raise an error for a problem whose score is not a number of elements, or that asks for more than many of them."""
    if problem.score is not None or not problem.space.is_subset:
        raise HandloomError(
            f"{problem}: a proof needs a score that is the number of chosen elements (expected a set without forbidden"
            f" subsets, this has {'a score of its own' if problem.space.is_subset else f'{problem.space.kind}s'});"
            " state it with forbidden= and without score="
        )
    if problem.required or problem.required_maps:
        what = "required sets" if problem.required else "a required symmetry"
        raise HandloomError(
            f"{problem}: a proof is for many elements without forbidden sets, and this has {what};"
            " no bound for it is proved here"
        )


class Proving:
    """One proof on its way: its clock, what interrupts it, and the best construction so far."""

    def __init__(self, problem: Problem, seconds: float | None, seed: int, store: Store | None, watch: Watch) -> None:
        self.problem, self.seed, self.store, self.watch = problem, seed, store, watch
        self.began = time.monotonic()
        self.limit = NEVER if seconds is None else seconds
        self.until = self.limit  # of the current run
        self.halted = False
        self.best: Construction = ()

    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def stop(self) -> bool:
        return self.halted or self.elapsed() >= self.until

    def halt(self) -> None:
        self.halted = True

    def report(self, doing: str, best: int | None = None, bound: int | None = None) -> None:
        self.watch(Progress(str(self.problem), self.elapsed(), doing, best, bound))

    def prove(self, count: bool) -> Proof:
        with interrupts(self.halt):
            self.report("listing what is forbidden")
            family = forbidden_family(self.problem, self.stop)
            if family is None:
                raise HandloomError(f"{self.problem}: stopped before there was a bound; give it more time")
            self.start()
            self.search()
            proof = self.bounded(family)
            if self.store is not None:
                keep_proof(self.store, proof)
            if count and proof.optimal and not self.halted:
                self.until = self.limit
                proof = self.counted(proof, family)
                if self.store is not None:
                    keep_proof(self.store, proof)
        return proof

    def start(self) -> None:
        """Begin with the best record, verified again."""
        record = self.store.best(self.problem.name) if self.store else None
        if record is not None:
            self.keep(self.problem.space.read(record.construction))

    def search(self) -> None:
        """Begin with what some short searches find, which often is the maximum."""
        made = search_for(self.problem, NONE, self.stop)
        for seed in range(self.seed, self.seed + SEARCHES):
            if made is not None:
                self.report("searching", len(self.best))
                self.keep(made.run(seed, STEPS, stop=self.stop).construction)

    def keep(self, construction: Construction) -> None:
        """Verify a construction; keep it if it is the best. The solver's word is not enough."""
        score, reason = verdict(self.problem, construction)
        if score is None:
            raise HandloomError(
                f"{self.problem}: CP-SAT found what the verifier refuses ({reason}); the rule as compiled and as"
                " Python differ, or the problem's check forbids more than its rule: mend the problem"
            )
        if len(construction) > len(self.best) or not self.best:
            self.best = construction

    def bounded(self, family: Family) -> Proof:
        """The bound, by two runs."""
        self.until = self.limit * SHARE
        bound, first = self.first_run(family)
        reached = self.elapsed()
        again, note = None, ""
        if not self.halted and bound < family.size:
            self.until = self.limit
            again = self.second_run(family, bound)
            note = "" if again.bound == bound else "the second run did not end"
        elif bound < family.size:
            note = "there was no second run"
        self.add_record()
        return Proof(
            problem=str(self.problem),
            best=len(self.best),
            bound=bound,
            seconds=round(reached, 2),
            first=first,
            again=again,
            construction=self.problem.space.shown(self.best),
            note=note,
            interrupted=self.halted,
            trivial=bound == family.size > len(self.best),
            sets=len(family.rows),
            digest=hashlib.sha256(family.rows.tobytes()).hexdigest()[:16],
        )

    def first_run(self, family: Family) -> tuple[int, SolverRun]:
        """By turns, each longer than the one before: the solver maximises, or looks for one element more than the best.
        Which of the two ends sooner depends on the problem."""
        began = time.monotonic()
        parts, group, bound, turn = self.parts(CLAUSES, family, self.seed), self.group(family), family.size, TURN
        while not self.stop() and bound > len(self.best):
            news = self.news("maximising", bound if bound < family.size else None)
            outcome, proved = self.solved(CLAUSES, family, group, parts, self.seed, turn, None, news)
            self.keep(outcome.chosen or ())
            bound = min(bound, proved)
            while not self.stop() and bound > len(self.best):
                target = len(self.best) + 1
                doing = self.news(f"looking for {target}", bound)
                outcome, _ = self.solved(CLAUSES, family, group, parts, self.seed, 2 * turn, target, doing)
                self.keep(outcome.chosen or ())
                if outcome.finished and outcome.chosen is None:
                    bound = target - 1
                if outcome.chosen is None:
                    break
            turn *= 4
        return bound, SolverRun(CLAUSES.name, self.seed, bound, round(time.monotonic() - began, 2))

    def second_run(self, family: Family, bound: int) -> SolverRun:
        began = time.monotonic()
        parts, group, news = self.parts(CLIQUES, family, self.seed + 1), self.group(family), self.news("again", bound)
        outcome, _ = self.solved(CLIQUES, family, group, parts, self.seed + 1, NEVER, bound + 1, news)
        if outcome.chosen is not None:
            score = verdict(self.problem, outcome.chosen).score
            raise HandloomError(
                f"{self.problem}: two runs disagree, {bound} was proved and then {len(outcome.chosen)} elements found"
                f" ({'legal' if score is not None else 'not legal'}); this is an error in handloom or in CP-SAT"
            )
        proved = bound if outcome.finished else None
        return SolverRun(CLIQUES.name, self.seed + 1, proved, round(time.monotonic() - began, 2))

    def parts(self, encoding: Encoding, family: Family, seed: int) -> list[BoundedPart]:
        """The bounds of the parts of the space, by one encoding."""

        until = self.elapsed() + PARTS_SHARE * (self.until - self.elapsed())

        def bound_of(space: Space, inner: Family, parts: list[BoundedPart]) -> int | None:
            if self.stop() or self.elapsed() >= until:
                return None
            self.report(f"bounding parts of {inner.size} elements")
            group = group_of(space, inner)
            return self.solved(encoding, inner, group, parts, seed, PART_SECONDS, None, lambda best, bound: None)[1]

        return Parts(bound_of).of(self.problem.space, family)

    def news(self, doing: str, known: int | None = None) -> Callable[[int | None, int | None], None]:
        """What reports on a run of the solver, with the best of all runs and the least bound."""

        def tell(best: int | None, bound: int | None) -> None:
            nonlocal known
            known = min((one for one in (known, bound) if one is not None), default=None)
            self.report(doing, max(best or 0, len(self.best)), known)

        return tell

    def group(self, family: Family, most: int = MOST_MAPS) -> Group:
        given = [one for maps in symmetries_of(self.problem).values() for one in maps]
        return group_of(self.problem.space, family, given, most)

    def solved(
        self,
        encoding: Encoding,
        family: Family,
        group: Group,
        parts: list[BoundedPart],
        seed: int,
        seconds: float,
        target: int | None,
        news: Callable[[int | None, int | None], None],
    ) -> tuple[Ended, int]:
        """How the solver ended, and an upper bound, that of all elements if it has proved none."""
        whole = family.size == len(self.problem.space.elements)
        least = target or max(len(self.best) if whole else 0, greedy_size(family))
        model, x = modelled(encoding, family, group, parts, least)
        if target is None:
            model.maximize(sum(x))
            if whole and self.best:
                add_hint(model, x, leader(group, family.size, self.best, encoding.backwards))
        else:
            model.add(sum(x) >= target)
        left = max(0.0, min(seconds, self.until - self.elapsed()))
        outcome = run_solver(model, x, seed, left, self.stop, news)
        if target is None and outcome.finished and outcome.chosen is None:
            raise HandloomError(f"{self.problem}: CP-SAT refuses even the empty set; this is an error in handloom")
        return outcome, family.size if outcome.bound is None else min(outcome.bound, family.size)

    def add_record(self) -> None:
        """The best construction as a record, if the store has none as good."""
        if self.store is None or not self.best:
            return
        origin = {"how": "proof", "symmetry": None, "seed": self.seed, "run": None, "generation": 0, "parent": None}
        record = self.store.best(self.problem.name)
        if record is None or record.score < len(self.best):
            seconds = round(self.elapsed(), 2)
            form = form_of(self.problem)(self.best)
            self.store.add(self.problem, self.best, {**origin, "start": None, "seconds": seconds}, form)

    def counted(self, proof: Proof, family: Family) -> Proof:
        """The proof with the number of optimal constructions."""
        began, group = time.monotonic(), self.group(family, most=0)
        model, x = modelled(CLAUSES, family, group, [])
        model.add(sum(x) == proof.bound)
        left = self.limit - self.elapsed()
        found = solutions(
            model, x, left, MOST_COUNTED, self.stop, lambda best, _: self.report(f"counting, {best} so far")
        )
        if found is None:
            why = "Ctrl-C" if self.halted else f"too many, or no time: over {MOST_COUNTED:,}, or {left:.0f} s"
            return replace(proof, note=f"not counted ({why})", interrupted=self.halted)
        for construction in found:
            if verdict(self.problem, construction).score != proof.bound:
                raise HandloomError(
                    f"{self.problem}: CP-SAT counts what the verifier refuses; mend the problem's check"
                )
        classes = classes_of(self.problem.space, group, found)
        if classes is None:
            return replace(proof, note="not counted (the graphs are too symmetric)")
        seconds = round(time.monotonic() - began, 2)
        return replace(proof, count=Optima(sum(classes.values()), len(classes), str(group), seconds))


def modelled(
    encoding: Encoding, family: Family, group: Group, parts: list[BoundedPart], least: int = 0
) -> tuple[Any, list[Any]]:
    """The model of a family: its forbidden sets, the bounds of its parts, and its symmetry broken. Of a large group,
    elements are fixed for constructions of at least `least`."""
    model, x = new_model(family.size)
    encoding.add(model, x, family)
    images = with_images(parts, group)
    for part in images:
        model.add(sum(x[i] for i in part.elements) <= part.bound)
    if group.kind == "large" and least:
        taken, kept = fixed_elements(family, group.generators, least, images, encoding.backwards)
        for element in taken:
            model.add(x[element] == 1)
        group = Group("large", some_products(kept, family.size))
    for moved in group.broken:
        break_symmetry(model, x, moved, encoding.backwards)
    return model, x


def add_hint(model: Any, x: list[Any], chosen: Construction) -> None:
    there = set(chosen)
    for i, one in enumerate(x):
        model.add_hint(one, i in there)


def leader(group: Group, size: int, chosen: Construction, backwards: bool) -> Construction:
    """The image of a construction that symmetry breaking keeps: no broken permutation makes it greater."""

    def rank(some: Construction) -> list[bool]:
        there = set(some)
        order = range(size - 1, -1, -1) if backwards else range(size)
        return [i in there for i in order]

    best = chosen
    while True:
        images = (tuple(sorted(int(moved[i]) for i in best)) for moved in group.broken)
        greater = next((image for image in images if rank(image) > rank(best)), None)
        if greater is None:
            return best
        best = greater
