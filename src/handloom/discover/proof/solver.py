"""Calls of CP-SAT: a model is solved in a thread, while this one watches, reports and can stop it."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import floor
from typing import Any

from handloom.core import HandloomError
from handloom.discover.search.result import Stop
from handloom.discover.spaces import Construction

LOOK = 0.05  # seconds between two looks at the solver
NEVER = 1e9  # seconds

News = Callable[[int | None, int | None], None]  # the best and the bound so far


def check_installed() -> None:
    for module, extra in (("ortools", "prove"), ("numba", "discover")):
        if not find_spec(module):
            raise HandloomError(f"prove needs {module}, which is not installed: pip install 'handloom[{extra}]'")


def new_model(size: int) -> tuple[Any, list[Any]]:
    """A model with a variable per element: whether it is chosen."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    return model, [model.new_bool_var(f"x{i}") for i in range(size)]


@dataclass(frozen=True)
class Ended:
    """How a solver ended: `finished` with a maximum, or with there being none; or with a bound only."""

    finished: bool
    chosen: Construction | None
    bound: int | None  # of the objective


def run_solver(model: Any, x: Sequence[Any], seed: int, seconds: float, stop: Stop, news: News) -> Ended:
    """Solve a model, for up to that many seconds, or until `stop` says so."""
    from ortools.sat.python import cp_model

    solver = solver_with(seed, seconds)
    best: list[int | None] = [None, None]

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            best[0] = round(self.objective_value)

    def bounded(value: float) -> None:
        best[1] = floor(value + 1e-6) if abs(value) < NEVER else None

    maximises = model.has_objective()
    if maximises:
        solver.best_bound_callback = bounded
    status = in_a_thread(solver, model, Watch() if maximises else None, stop, lambda: news(best[0], best[1]))
    if status == cp_model.MODEL_INVALID:
        raise HandloomError(f"CP-SAT does not take the model ({model.validate()}); this is an error in handloom")
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    bound = floor(solver.best_objective_bound + 1e-6) if found and maximises else best[1]
    chosen = tuple(i for i, one in enumerate(x) if solver.boolean_value(one)) if found else None
    return Ended(status in (cp_model.OPTIMAL, cp_model.INFEASIBLE), chosen, bound)


def solutions(
    model: Any, x: Sequence[Any], seconds: float, most: int, stop: Stop, news: News
) -> set[Construction] | None:
    """All solutions of a model; None if there are more than `most`, or too little time."""
    from ortools.sat.python import cp_model

    solver = solver_with(0, seconds)
    solver.parameters.num_workers = 1
    solver.parameters.enumerate_all_solutions = True
    found: set[Construction] = set()

    class Keep(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            found.add(tuple(i for i, one in enumerate(x) if self.boolean_value(one)))

    status = in_a_thread(solver, model, Keep(), lambda: stop() or len(found) > most, lambda: news(len(found), None))
    ended = status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return found if ended and len(found) <= most else None


def solver_with(seed: int, seconds: float) -> Any:
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.random_seed = seed
    solver.parameters.max_time_in_seconds = max(0.0, min(seconds, NEVER))
    solver.parameters.num_workers = os.cpu_count() or 1
    solver.parameters.catch_sigint_signal = False  # the caller's handler says when to stop
    return solver


def in_a_thread(solver: Any, model: Any, callback: Any, stop: Stop, look: Callable[[], None]) -> int:
    """The status with which the solver ends."""
    ended: list[Any] = []

    def work() -> None:
        try:
            ended.append(solver.solve(model, callback))
        except BaseException as error:  # raised again in the thread that waits
            ended.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(LOOK)
            look()
            if stop():
                solver.stop_search()
    finally:
        while thread.is_alive():
            solver.stop_search()
            time.sleep(LOOK)
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return int(ended[0])
