"""The state of a run: everything that changes while it runs, and what state.json stores of it."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from handloom.core.files import what_is
from handloom.discover.loop.balance import Balance
from handloom.discover.loop.ledger import Ledger
from handloom.discover.loop.model_turn import ModelState
from handloom.discover.loop.report import DiscoveryReport, Stage
from handloom.discover.loop.setup import Setup
from handloom.runs import Clock, Folder

Line = dict[str, Any]  # of metrics.jsonl

STATE = "state.json"
PAUSE = 0.1  # seconds between two calls of the watcher: faster than a reader can follow


@dataclass
class State:
    """The position of a run."""

    ledger: Ledger  # the pool and the records
    model: ModelState
    clock: Clock
    generation: int = 0
    number: int = 0  # of attempts so far; their seeds follow from it
    steps: int = 0  # of search
    turns: Counter[str] = field(default_factory=Counter)  # attempts under each symmetry, and from the pool
    lines: list[Line] = field(default_factory=list)
    balance: Balance = field(default_factory=Balance)
    halted: bool = False  # by Ctrl-C
    searching: bool = False  # whether a first search has ended: until then the run is preparing
    shown: tuple[Stage, float, float] = ("done", 0.0, 0.0)  # to the watcher: the stage, how much of it, and when

    @classmethod
    def new(cls, setup: Setup) -> "State":
        plan = setup.plan
        ledger = Ledger(setup.problem, setup.store, plan.keep, plan.seed, setup.folder)
        return cls(ledger, ModelState(plan.temperature), Clock(now=setup.now))

    def halt(self) -> None:
        self.halted = True


# The limits


def over(setup: Setup, state: State) -> bool:
    """Whether to stop now, at whatever point."""
    late = setup.seconds is not None and state.clock.elapsed() >= setup.seconds
    return state.halted or late or reached(setup, state)


def reached(setup: Setup, state: State) -> bool:
    """Whether the score to stop at is reached."""
    merit, score = setup.problem.merit, state.ledger.score
    return setup.until is not None and score is not None and merit(score) >= merit(setup.until)


def deadline(setup: Setup, state: State) -> float | None:
    """The limit of time by time.monotonic, for training and sampling; the run's own clock may count CPU time."""
    left = None if setup.seconds is None else max(0.0, setup.seconds - state.clock.elapsed())
    return None if left is None else time.monotonic() + left


# The folder


def save_state(setup: Setup, state: State) -> None:
    """Write the generation's line, and what resuming needs. A generation that was cut short will be repeated."""
    folder = setup.folder
    if folder is None:
        return
    folder.append(state.lines[-1])
    if over(setup, state) and not reached(setup, state):
        return
    if state.model.proposer:
        state.model.proposer.save(folder.path)
    values = {
        "generation": state.generation,
        "number": state.number,
        "steps": state.steps,
        "seconds": state.clock.elapsed(),
        "turns": state.turns,
        "ledger": state.ledger.to_json(),
        "model": state.model.to_json(),
        "balance": [state.balance.share, state.balance.generations],
    }
    folder.write_json(STATE, values)


def restored(setup: Setup, folder: Folder) -> State:
    """The state saved in a folder; a new one if no generation was completed."""
    state = State.new(setup)
    if what_is(folder.path / STATE) == "file":
        saved = folder.read_json(STATE)
        state.generation, state.number, state.steps = (saved[name] for name in ("generation", "number", "steps"))
        state.clock.before, state.turns = saved["seconds"], Counter(saved["turns"])
        state.ledger.restore(saved["ledger"])
        model = saved.get("model") or saved["apprentice"]  # its name in earlier runs
        state.balance = Balance(*saved.get("balance", ()))
        state.model = ModelState.from_json(model, setup, folder.path)
    return state


# The watcher


def show_progress(setup: Setup, state: State, stage: Stage, done: float) -> None:
    """Call the watcher, at most every PAUSE seconds within a stage."""
    now = time.monotonic()
    if stage == state.shown[0] and now - state.shown[2] < PAUSE:
        return
    state.shown = stage, done, now
    best, space = state.ledger.best, setup.problem.space
    setup.watch(
        DiscoveryReport(
            problem=str(setup.problem),
            stage=stage,
            seconds=state.clock.elapsed(),
            limit=setup.seconds,
            generation=state.generation,
            best=state.ledger.score,
            best_known=setup.problem.best_known,
            origin=best.origin if best else None,
            record_count=len(state.ledger.records),
            stage_done=done,
            loss=state.model.loss,
            lines=tuple(state.lines),
            steps=state.steps,
            picture=(space, space.read(best.construction)) if best else None,
            minimise=setup.problem.minimise,
        )
    )
