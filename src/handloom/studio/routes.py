"""What the studio answers, by method and path. Each is a function of the studio and the JSON that was sent; modules are
loaded when something of theirs is asked for, so that the first picture does not wait for all of them.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from handloom.studio.desk import Studio

Call = Callable[[Studio, dict[str, Any]], Any]


def later(name: str) -> Call:
    """A function of this package, as module:function, loaded when it is called."""

    def call(studio: Studio, body: dict[str, Any]) -> Any:
        module, _, function = name.partition(":")
        return getattr(import_module(f"{__package__}.{module}"), function)(studio, body)

    return call


ROUTES: dict[str, Call] = {
    "GET /api/home": later("home:home"),
    "POST /api/model": later("models:open_model"),
    "POST /api/source": later("texts:source"),
    "POST /api/text": later("texts:read"),
    "POST /api/text/edits": later("texts:with_edits"),
    "POST /api/save": later("saving:save"),
    "POST /api/export": later("saving:export"),
    "GET /api/readings": later("reading.readers:listed"),
    "POST /api/read": later("reading.readers:begin"),
    "POST /api/reading": later("reading.readers:follow"),
    "POST /api/reading/stop": later("reading.readers:stop"),
    "POST /api/lesson": later("lessons_api:opened"),
    "POST /api/lesson/model": later("lessons_api:model"),
    "POST /api/lesson/certificate": later("lessons_api:certificate"),
    "POST /api/lesson/page": later("lessons_api:page"),
    "GET /api/jobs": later("job_routes:jobs"),
    "POST /api/jobs": later("job_routes:start"),
    "POST /api/jobs/halt": later("job_routes:halt"),
    "GET /api/runs": later("run_log:runs"),
    "POST /api/run": later("run_log:open_run"),
    "POST /api/film": later("run_log:film"),
    "GET /api/forms": later("run_log:forms"),
    "POST /api/problem": later("board:open_problem"),
    "POST /api/score": later("board:score"),
    "POST /api/keep": later("board:keep"),
}
