"""The loop: search, keep the best, train on them, propose more, improve these by search, keep the best.

    run(setup, state)      # setup: what the run is given (setup.py); state: what changes while it runs (state.py)

The first generation is search alone. In every later one the model trains on the pool and proposes constructions, and a
short search starts from each of them; beside these some searches begin from nothing, as many as has paid so far.
Without a model (the control) searches start from the pool instead. What is better than everything before is verified
exactly and stored at once.

Everything in a generation follows from the plan and the pool. So a run without a limit of time can be repeated, and an
interrupted one resumes from its last whole generation.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

from handloom.discover.loop.balance import PROPOSED, SEARCHED
from handloom.discover.loop.executors import Executor, executor_for
from handloom.discover.loop.model_turn import (
    FEWEST,
    adapt_temperature,
    propose,
    propose_without_model,
    train_model,
)
from handloom.discover.loop.plan import MODEL_ITSELF
from handloom.discover.loop.report import Stage, statistics_of
from handloom.discover.loop.schedule import next_attempt, next_seed
from handloom.discover.loop.setup import Setup
from handloom.discover.loop.state import Line, State, deadline, over, save_state, show_progress
from handloom.discover.model.codec import Decoded
from handloom.discover.problem import Number
from handloom.discover.search.attempts import ANY, Attempt, Outcome, symmetry_names
from handloom.discover.search.result import Stop
from handloom.discover.search.symmetry import NONE
from handloom.discover.spaces import Construction
from handloom.runs import interrupts

ROUND = 40  # attempts after which the symmetries are compared again
OF_PROPOSALS = (  # what a line of metrics says of proposals
    *("temperature", "loss", "held_out", "marginals", "share", "illegal"),
    *("duplicates", "repaired", "legal", "before", "after"),
)


def run(setup: Setup, state: State) -> None:
    """Generation after generation, until the time is over, the score is reached, all are done, or Ctrl-C."""
    with (
        interrupts(state.halt),
        closing(executor_for(setup.on, setup.problem, setup.symmetries)) as executor,
    ):
        state.clock.since = setup.now() if setup.began is None else setup.began
        state.ledger.add_greedy(lambda: over(setup, state))
        state.ledger.add_starts(setup.starts)
        show_progress(setup, state, "preparing", 0.0)
        while not over(setup, state) and (setup.generations is None or state.generation < setup.generations):
            state.lines.append(one_generation(setup, state, executor))
            state.generation += 1
            save_state(setup, state)
    show_progress(setup, state, "done", 1.0)


def one_generation(setup: Setup, state: State, executor: Executor) -> Line:
    """By search or with the model; then keep the best. The line that describes it."""
    few = len(state.ledger.pool.members) < FEWEST
    step = by_search if few or not state.generation or not setup.plan.model else with_proposals
    line = step(setup, state, executor)
    state.ledger.pool.trim()
    seconds = round(state.clock.elapsed(), 3)
    return {"generation": state.generation, "seconds": seconds, "best": state.ledger.score} | line


def by_search(setup: Setup, state: State, executor: Executor) -> Line:
    """From nothing; after the first generation also from the pool."""
    if not state.generation and setup.plan.model:
        search_smaller(setup, state)
    scores = search(setup, state, executor, setup.plan.attempts, from_pool=state.generation > 0)
    return dict.fromkeys(OF_PROPOSALS) | {"sampled": 0, "searched": statistics_of(scores, setup.problem.minimise)}


def with_proposals(setup: Setup, state: State, executor: Executor) -> Line:
    """Train, propose, improve; and some search."""
    proposals, count = proposals_of(setup, state, executor)
    small = setup.problem.minimise
    starts = [one.construction for one in proposals if one.construction is not None]
    new, known = split_new(state, starts)
    improved = improve(setup, state, executor, new)
    searched = search(setup, state, executor, count, from_pool=False)
    duplicates = 1 - len(new) / len(starts) if starts else 0.0
    line = {
        "temperature": state.model.temperature,
        "loss": state.model.loss,
        "held_out": state.model.held_out,
        "marginals": state.model.marginals,
        "share": round(state.balance.share, 3),
        "sampled": len(proposals),
        "illegal": share(len(proposals) - len(starts), len(proposals)),
        "duplicates": duplicates,
        "repaired": share(sum(one.repaired for one in proposals), len(proposals)),
        "legal": share(len(known) + sum(outcome.legal for outcome in improved), len(known) + len(improved)),
        "before": statistics_of([*known, *(outcome.before or 0 for outcome in improved)], small),
        "after": statistics_of([outcome.result.score for outcome in improved], small),
        "searched": statistics_of(searched, small),
    }
    adapt_temperature(setup, state.model, duplicates)
    state.balance.settle(state.ledger.pool.best())
    return line


def proposals_of(setup: Setup, state: State, executor: Executor) -> tuple[list[Decoded], int]:
    """The proposals of this generation, and how many searches begin from nothing beside them."""
    model, members = state.model, state.ledger.pool.best()
    count, searches = state.balance.sizes(setup.plan.samples)
    if setup.plan.proposals != MODEL_ITSELF:
        return propose_without_model(setup, model, members, count, state.generation), searches

    def stop() -> bool:
        return over(setup, state)

    def report(done: float) -> None:
        show_progress(setup, state, "learning", done)

    train_model(setup, model, members, state.generation, deadline(setup, state), report, stop)
    show_progress(setup, state, "sampling", 0.0)
    if stop():
        return [], searches
    score = partial(legal_scores, setup, state, executor)
    return propose(setup, model, count, state.generation, score, deadline(setup, state), stop), searches


def legal_scores(setup: Setup, state: State, executor: Executor, starts: Sequence[Construction]) -> list[Number]:
    """The scores of the legal parts of these constructions, without search. Those that there was no time for have the
    least."""
    attempts = [Attempt(NONE, i, 0, start) for i, start in enumerate(starts)]
    outcomes = executor.outcomes(attempts, lambda: over(setup, state))
    found = [setup.problem.merit(outcome.before or 0) for outcome in outcomes if outcome is not None]
    return found + [min(found, default=0)] * (len(starts) - len(found))


def split_new(state: State, starts: Sequence[Construction]) -> tuple[list[Construction], list[Number]]:
    """The starts that the pool does not have, each once; and the scores of those that it has."""
    pool = state.ledger.pool
    forms = [pool.canonical(start) for start in starts]
    new = {form: start for form, start in zip(forms, starts, strict=True) if form not in pool.members}
    return list(new.values()), [pool.members[form].score for form in forms if form in pool.members]


def improve(setup: Setup, state: State, executor: Executor, starts: Sequence[Construction]) -> list[Outcome]:
    """One short search from each start."""
    attempts = [Attempt(ANY, next_seed(setup, state), setup.plan.steps, start) for start in starts]
    return list(make_attempts(setup, state, executor, attempts, setup.plan.proposals, "improving"))


def search(setup: Setup, state: State, executor: Executor, count: int, from_pool: bool) -> list[Number]:
    """The scores of that many attempts, made in rounds."""
    scores: list[Number] = []
    for first in range(0, count, ROUND):
        attempts = [next_attempt(setup, state, from_pool) for _ in range(min(ROUND, count - first))]
        outcomes = make_attempts(setup, state, executor, attempts, "search", "searching", first, count)
        scores += [outcome.result.score for outcome in outcomes]
        if over(setup, state):
            break
    return scores


def make_attempts(
    setup: Setup,
    state: State,
    executor: Executor,
    attempts: Sequence[Attempt],
    how: str,
    stage: Stage,
    first: int = 0,
    count: int = 0,
) -> Iterator[Outcome]:
    """Make attempts, the first of which is number `first` of `count`, and put their outcomes into the ledger."""
    count, least = count or len(attempts), state.ledger.pool.least()
    attempts = [replace(attempt, least=least) for attempt in attempts]
    try:
        for i, outcome in enumerate(executor.outcomes(attempts, stop_and_show(setup, state, stage))):
            state.searching |= outcome is not None
            show_progress(setup, state, stage if state.searching else "preparing", (first + i) / count)
            if outcome is not None:
                state.steps += outcome.result.steps
                member = state.ledger.add(outcome, attempts[i], how, state.generation, state.clock.elapsed())
                state.balance.count(SEARCHED if how == "search" else PROPOSED, outcome.result.steps, member)
                yield outcome
    finally:
        state.ledger.settle()


def stop_and_show(setup: Setup, state: State, stage: Stage) -> Stop:
    """Whether to stop. The executor asks this often while it waits, so it also shows the progress."""
    here = threading.get_ident()
    state.shown = (state.shown[0], 0.0, state.shown[2])

    def stop() -> bool:
        if threading.get_ident() == here:  # the workers ask too
            show_progress(setup, state, stage if state.searching else "preparing", state.shown[1])
        return over(setup, state)

    return stop


def search_smaller(setup: Setup, state: State) -> None:
    """Find the best constructions of some smaller sizes, to train on as well."""
    for make in setup.problem.smaller[: setup.plan.smaller]:
        problem, count = make(), max(ROUND, setup.plan.attempts // 2)
        symmetries = symmetry_names(problem)
        turns = [symmetries[i % len(symmetries)] for i in range(count)]
        attempts = [Attempt(turn, next_seed(setup, state), setup.plan.steps) for turn in turns]
        with closing(executor_for(setup.on, problem, symmetries)) as executor:
            outcomes = executor.outcomes(attempts, stop_and_show(setup, state, "searching"))
            results = [outcome.result for outcome in outcomes if outcome]
        best = max((result.score for result in results), key=problem.merit, default=0)
        kept = dict.fromkeys(result.construction for result in results if result.score == best)
        state.model.smaller += [(problem.space, construction) for construction in kept]


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
