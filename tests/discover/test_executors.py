"""Attempts made by workers: their outcomes, their order, and how they stop."""

import time
from dataclasses import replace

from handloom.discover import verdict
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.executors import Threads
from handloom.discover.loop.ledger import Ledger
from handloom.discover.records.store import Store
from handloom.discover.search.anneal import Annealer
from handloom.discover.search.attempts import Attempt, Searches, search_for, symmetry_names
from handloom.discover.search.conflicts import conflicts
from handloom.discover.search.symmetry import NONE, orbits_of
from handloom.discover.search.triples import TableLimits

PROBLEM = problem_named("isosceles:n=6")


def attempts_of(count, steps=400):
    kinds = [NONE, "mirror", "any", "diagonal"]
    start = (0, 1, 2, 9, 17, 30)
    return [Attempt(kinds[i % 4], i, steps * (1 + i % 5), start if i % 4 == 2 else None) for i in range(count)]


def test_outcomes_come_in_order_and_are_the_same_with_any_number_of_workers():
    problem, searches = PROBLEM, None
    results = []
    for workers in (1, 2, 4):
        searches = searches or Searches(problem, symmetry_names(problem))
        threads = Threads(searches, workers)
        results.append(list(threads.outcomes(attempts_of(40), lambda: False)))
        threads.close()
    assert results[0] == results[1] == results[2]
    assert len(results[0]) == 40
    for task, outcome in zip(attempts_of(40), results[0], strict=True):
        assert task.symmetry in ("any", outcome.symmetry)
        assert verdict(problem, outcome.result.construction) == (outcome.result.score, None)
        assert (outcome.before is None) == (task.start is None)
        plain = searches.under(outcome.symmetry, lambda: False)
        if task.start is None:
            assert outcome.result == plain.run(task.seed, task.steps)
        else:
            assert outcome.result.score >= outcome.before
            assert not outcome.legal


def test_a_legal_start_is_said_to_be_so_and_never_lost():
    problem = PROBLEM
    searches = Searches(problem, symmetry_names(problem))
    best = max((searches.under(NONE, lambda: False).run(s, 4_000) for s in range(5)), key=lambda found: found.score)
    outcome = searches.attempt(Attempt("mirror", 0, 10, best.construction), lambda: False)
    assert outcome.legal
    assert outcome.before == outcome.result.score == best.score


def test_what_cannot_enter_the_pool_stays_with_the_worker_and_the_run_is_the_same(tmp_path):
    """Outcomes of ever longer searches, round after round, into two ledgers; one of them says what it needs."""
    names = [NONE, "mirror", "diagonal"]
    searches = Searches(PROBLEM, names)
    told, untold = (Ledger(PROBLEM, Store.open(tmp_path / name), 10, seed=0) for name in ("told", "untold"))
    left = 0
    for turn in range(6):
        least = told.pool.least()
        for i in range(12):
            attempt = Attempt(names[i % len(names)], 12 * turn + i, 5 << turn, least=least)
            outcome = searches.attempt(attempt)
            told.add(outcome, attempt, "search", turn, 0.0)
            plain = replace(attempt, least=None)
            untold.add(searches.attempt(plain), plain, "search", turn, 0.0)
            left += not outcome.result.construction
        for ledger in (told, untold):
            ledger.settle()
        assert told.to_json() == untold.to_json()
    assert left > 0
    assert [one.construction for one in told.records] == [one.construction for one in untold.records]
    assert len(told.records) > 3


def test_an_attempt_that_cannot_be_made_under_its_symmetry_gives_none():
    problem = problem_named("isosceles:n=2")  # a quarter turn takes every point to all four
    threads = Threads(Searches(problem, symmetry_names(problem)), 2)
    first, second = threads.outcomes([Attempt("rotation-90", 0, 10), Attempt(NONE, 0, 10)], lambda: False)
    threads.close()
    assert first is None
    assert second.result.score == 2


def test_stopping_ends_a_search_that_would_take_days():
    problem = PROBLEM
    searches = Searches(problem, [NONE])
    searches.under(NONE, lambda: False).run(0, 10)  # compiled
    threads = Threads(searches, 2)
    ends = time.monotonic() + 0.3
    attempts = [Attempt(NONE, i, 10**12) for i in range(4)]
    assert all(one.result.steps < 10**12 for one in threads.outcomes(attempts, lambda: time.monotonic() > ends))
    again = list(threads.outcomes([Attempt(NONE, 1, 100)], lambda: False))
    threads.close()  # the workers are free again, too
    assert [outcome.result.steps for outcome in again] == [100]


def test_a_search_that_is_told_to_stop_gives_what_it_has():
    made = search_for(PROBLEM, NONE)
    ends = time.monotonic() + 0.2
    found = made.run(0, 10**12, None, lambda: time.monotonic() > ends)
    assert found.steps < 10**12
    assert verdict(PROBLEM, found.construction) == (found.score, None)


def test_tables_are_given_up_when_told_to_stop():
    problem = PROBLEM
    assert conflicts(problem, orbits_of(problem, NONE), lambda: True) is None
    searches = Searches(problem, [NONE])
    assert searches.attempt(Attempt(NONE, 0, 10), lambda: True) is None
    assert searches.made == {}  # it is made when there is time
    assert searches.attempt(Attempt(NONE, 0, 10), lambda: False) is not None


def test_a_start_is_searched_on_under_its_symmetry_where_without_one_there_are_no_tables():
    searches = Searches(PROBLEM, [NONE, "mirror"], TableLimits(orbits=20))  # of 36 points; a mirror leaves 18
    assert isinstance(searches.under(NONE, lambda: False), Annealer)
    start = searches.attempt(Attempt("mirror", 0, 50), lambda: False).result.construction
    for symmetry in (NONE, "any"):
        assert searches.attempt(Attempt(symmetry, 1, 50, start), lambda: False).symmetry == "mirror"
    assert searches.attempt(Attempt(NONE, 1, 50), lambda: False).symmetry == NONE
