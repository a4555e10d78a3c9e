"""A run of discovery as a job: what it tells while it searches, new or resumed."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.checks import is_number
from handloom.core.errors import shown
from handloom.discover.loop.report import DiscoveryReport
from handloom.discover.loop.start import Discovery, begin, reopen
from handloom.discover.problem import Number
from handloom.studio.allowed import check_problem, check_run
from handloom.studio.worker import Halt, Pace, Spec, Tell, choices_of, words
from handloom.view.pages.discovery import run_page

LIMITS = ("seconds", "until", "generations")


def discover(spec: Spec, tell: Tell, halt: Halt) -> None:
    """A new run."""
    check_numba()
    problem = words(spec, "problem")
    check_problem(problem, spec["files"])
    store = words(spec, "store") if spec.get("store") else "records.sqlite"
    out = words(spec, "out") if spec.get("out") else True
    limits: dict[str, Any] = limits_of(spec)
    search(begin(problem, store=store, folder=out, **limits, **choices_of(spec)), problem, tell, halt)


def resume(spec: Spec, tell: Tell, halt: Halt) -> None:
    """An existing run, from its last whole generation. Its seconds are counted from now."""
    check_numba()
    path = Path(words(spec, "run"))
    about = check_run(path, spec["files"])
    limits: dict[str, Any] = limits_of(spec)
    search(reopen(path, spec.get("store"), **limits), str(about.get("problem")), tell, halt)


def check_numba() -> None:
    if not find_spec("numba"):
        raise HandloomError("discover needs numba, which is not installed: pip install 'handloom[discover]'")


def limits_of(spec: Spec) -> dict[str, Number]:
    """When to stop, as far as the spec says so; the time counts from now."""
    found = {name: spec[name] for name in LIMITS if spec.get(name) is not None}
    for name, value in found.items():
        if not is_number(value) or (value < 0 and name != "until"):
            raise HandloomError(f"{spec['kind']}: {name}={shown(value)} (expected a number); give one, or leave it out")
    return found | {"began": time.monotonic()}


def search(discovery: Discovery, title: str, tell: Tell, halt: Halt) -> None:
    """Search, tell about it, and write the run's page."""
    watching = Watching(discovery, tell)
    tell("begun", title=title, **facts(discovery))
    watching.tell_news()
    halt.calls(discovery.state.halt)
    discovery.run(watching)
    watching.tell_news()
    page = run_page(discovery)
    result = discovery.to_json() | {"page": page, "store": discovery.store.path}
    tell("done", halted=discovery.halted, text=discovery.sentence(), **result)


def facts(discovery: Discovery) -> dict[str, Any]:
    """What is known of a run before it searches."""
    problem, space = discovery.problem, discovery.problem.space
    return {
        "folder": discovery.folder,
        "settings": discovery.settings.to_json(),
        "config": None,
        "limit": discovery.setup.seconds,
        "about": problem.about,
        "best_known": problem.best_known,
        "minimise": problem.minimise,
        "source": problem.source,
        "space": {"kind": space.kind, "sides": space.sides, "length": space.length},
    }


class Watching:
    """Is called several times per second, and tells what is new."""

    def __init__(self, discovery: Discovery, tell: Tell) -> None:
        self.discovery, self.tell, self.pace = discovery, tell, Pace()
        self.records = self.lines = 0  # that have been told
        self.best: Number | None = None
        self.stage = ""

    def __call__(self, report: DiscoveryReport) -> None:
        self.tell_news()
        if not self.pace.is_due() and report.stage == self.stage:
            return
        self.stage = report.stage
        self.tell(
            "stage",
            generation=report.generation,
            stage=report.stage,
            share=report.stage_done,
            loss=report.loss,
            best=report.best,
            records=report.record_count,
            searched=report.steps,
            seconds=report.seconds,
            limit=report.limit,
        )

    def tell_news(self) -> None:
        """Records that are better than all before, and the lines of generations."""
        records, lines = self.discovery.records, self.discovery.lines
        for record in records[self.records :]:
            merit = self.discovery.problem.merit
            if self.best is None or merit(record.score) > merit(self.best):
                self.best, origin = record.score, record.origin
                values = {"score": record.score, "construction": record.construction, "origin": origin}
                self.tell("improved", seconds=origin.get("seconds"), **values)
        for line in lines[self.lines :]:
            self.tell("generation", **line)
        self.records, self.lines = len(records), len(lines)
