"""The events of all jobs, in order, for any number of pages that follow them.

    events = Events()
    events.publish({"type": "step", "job": 1, "step": 10, "loss": 0.7})
    for event in events.follow(after=0, stop=closed.is_set):
        ...

Each event gets an id, one more than the last. A page that was away gives the id it has seen last, and gets what came
since; a new page gives 0. So that this stays small, a job's frequent events are thinned: when there are too many of a
type, every second one is dropped, of those before and of those to come, so that a curve keeps its shape.
"""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]

BEAT = 5.0  # seconds of silence after which a follower gets a beat, to notice a connection that is closed
LOOK = 0.25  # seconds between two looks at whether a follower has to stop
MOST = {"step": 400, "stage": 60, "progress": 20, "frame": 12}  # events of a job that are kept, by type,
MOST_OTHERS = 2_000  # and of any other type
SAMPLED = 20  # evaluations of a job that keep their samples
MOST_JOBS = 50  # jobs whose events are kept; of earlier ones nothing is


@dataclass
class Series:
    """The ids of a job's events of one type: at most so many, evenly spaced, and the last one."""

    most: int
    every: int = 1
    count: int = 0
    kept: dict[int, int] = field(default_factory=dict)  # from their numbers, among all of the type, to their ids

    def add(self, number: int) -> list[int]:
        """Add an id; those that are dropped for it."""
        self.kept[self.count] = number
        dropped = [self.count - 1] if (self.count - 1) % self.every else []
        if len(self.kept) - len(dropped) > self.most:
            self.every *= 2
            dropped = [one for one in self.kept if one % self.every and one != self.count]
        self.count += 1
        return [self.kept.pop(one) for one in dropped]


class Events:
    """A log of events, kept in memory."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.kept: dict[int, Event] = {}  # by id, in order
        self.of_jobs: dict[Any, dict[str, Series]] = {}  # by job and type
        self.last = 0

    def publish(self, event: Event) -> int:
        """Add an event; its id. Any thread may call this."""
        with self.changed:
            self.last += 1
            self.kept[self.last] = event | {"id": self.last}
            self.thin(event.get("job"), event["type"])
            self.changed.notify_all()
            return self.last

    def thin(self, job: Any, kind: str) -> None:
        """Drop what is too much, now that there is one more: events of this type, samples of old evaluations, and all
        of the oldest job."""
        series = self.of_jobs.setdefault(job, {}).setdefault(kind, Series(MOST.get(kind, MOST_OTHERS)))
        dropped = series.add(self.last)
        if kind == "evaluation" and len(series.kept) > SAMPLED:
            old = [*series.kept.values()][-SAMPLED - 1]
            self.kept[old] = {name: value for name, value in self.kept[old].items() if name != "samples"}
        if len(self.of_jobs) > MOST_JOBS:
            oldest = self.of_jobs.pop(next(iter(self.of_jobs)))
            dropped += [number for series in oldest.values() for number in series.kept.values()]
        for number in dropped:
            del self.kept[number]

    def since(self, after: int) -> list[Event]:
        """The kept events with larger ids."""
        with self.changed:
            found = []
            for number in reversed(self.kept):
                if number <= after:
                    break
                found.append(self.kept[number])
        return found[::-1]

    def follow(self, after: int, stop: Callable[[], bool]) -> Iterator[Event]:
        """The events with larger ids, now and as they come, until told to stop; and beats, while there are none. A
        follower that falls behind gets what is still kept."""
        after, heard = after if after <= self.last else 0, time.monotonic()  # an id of an earlier studio says nothing
        while not stop():
            for event in self.since(after):
                yield event
                after, heard = event["id"], time.monotonic()
            if time.monotonic() - heard >= BEAT:
                yield {"type": "beat"}
                heard = time.monotonic()
            with self.changed:
                self.changed.wait_for(lambda seen=after: self.last > seen, LOOK)  # type: ignore[misc]
