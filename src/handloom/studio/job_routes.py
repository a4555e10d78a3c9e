"""Long jobs as a page asks for them: start one, halt one, list all.

    POST /api/jobs {"kind": "learn", "task": "s[2]==s[5]", "choices": {"steps": 2000}}    the job
    POST /api/jobs/halt {"job": 1}
    GET /api/jobs

worker.py has the kinds and what they take. What a page names is held against what the studio may open: paths are below
the start folder, and which Python files may run is not the page's to say.
"""

from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.finding import is_program
from handloom.studio.certificates import digest_of
from handloom.studio.desk import Studio
from handloom.studio.models import found, text_of
from handloom.tasks.catalogue import users_file

PLACES = ("out", "run", "store")  # of a spec: folders and files
OURS = ("files", "digest")  # what only the studio says, or needs


def start(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """Start a job. A certificate is about the weights that the page shows, whose digest it sends."""
    spec = checked(studio, body)
    model = found(studio, text_of(body, "model"))[0] if spec.get("kind") == "certify" else None
    if model and body.get("digest") not in (None, digest_of(model)):
        raise HandloomError(f"{body['model']}: it has changed since it was opened; open it again")
    job: dict[str, Any] = studio.jobs.start(spec).to_json()
    if model:
        studio.certificates.begun(job["id"], model, lambda: found(studio, body["model"])[0])
    return job


def halt(studio: Studio, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Tell a job to save what it has and end."""
    if type(number := body.get("job")) is not int:
        raise HandloomError(f"job={shown(number)} (expected a job's number); list the jobs")
    studio.jobs.halt(number)
    return jobs(studio, {})


def jobs(studio: Studio, body: dict[str, Any]) -> list[dict[str, Any]]:
    """All jobs since the studio was started."""
    return studio.jobs.list()


def checked(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """A spec in which every path is one that the studio may open, from the start folder on."""
    spec = {name: value for name, value in body.items() if name not in OURS}
    for name in PLACES:
        if isinstance(place := spec.get(name), str) and place:
            spec[name] = studio.shown(studio.place(place))
    if isinstance(model := spec.get("model"), str) and model and not is_program(model):
        spec["model"] = studio.shown(studio.place(model))
    for name in ("task", "problem"):
        if isinstance(given := spec.get(name), str) and (file := users_file(given)):
            studio.place(str(file[0]))
    return spec
