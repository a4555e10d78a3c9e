"""Certificates that jobs have found, by the weights that they are about, for as long as the studio runs.

What a job held against the oracle is what stood on the disk when it began. So a certificate is kept only if the same
weights are there when it is done.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.files import digest
from handloom.studio.events import Events


def digest_of(model: Model) -> str:
    """A digest of all that a certificate depends on: the weights, the tokens, and the notes, which name the task."""
    return digest(
        {"vocab": model.vocab.to_json(), "config": model.config.to_json(), "notes": {**model.notes}}, model.flat
    )


class Certificates:
    """What is known, and the jobs that will know more."""

    def __init__(self, events: Events) -> None:
        self.events, self.lock = events, Lock()
        self.found: dict[str, dict[str, str]] = {}  # by digest
        self.jobs: dict[int, tuple[str, Callable[[], Model]]] = {}  # those that run: the digest, and the model now

    def begun(self, job: int, model: Model, again: Callable[[], Model]) -> None:
        """A job holds this model against its task; `again` loads it anew."""
        self.collect()
        self.jobs[job] = (digest_of(model), again)

    def known(self, model: Model) -> dict[str, Any]:
        """What a page shows: the certificate of these weights, and the job that looks for one."""
        self.collect()
        digest = digest_of(model)
        found = {
            "digest": digest,
            "certifying": next((job for job, (one, _) in self.jobs.items() if one == digest), None),
        }
        return found | ({"certificate": self.found[digest]} if digest in self.found else {})

    def collect(self) -> None:
        """Take what jobs have found since."""
        with self.lock:
            if not self.jobs:
                return
            for event in self.events.since(0):
                if event.get("job") in self.jobs and event["type"] in ("done", "error"):
                    digest, again = self.jobs.pop(event["job"])
                    if (certificate := event.get("certificate")) and is_still(again, digest):
                        self.found[digest] = {"text": event["text"], "method": certificate["method"]}


def is_still(again: Callable[[], Model], digest: str) -> bool:
    """Whether the model is what it was."""
    try:
        return digest_of(again()) == digest
    except HandloomError:
        return False
