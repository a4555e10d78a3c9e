"""The log of events: in order, whoever publishes; small, however much is published; and nobody waits for ever."""

import threading
from itertools import islice, pairwise

import pytest

from handloom.studio import events as module
from handloom.studio.events import MOST, SAMPLED, Events


def story(events, kind, count, **more):
    for step in range(count):
        events.publish({"type": kind, "job": 1, "step": step, **more})


def never():
    return False


def test_ids_increase_and_what_came_since_is_given():
    events = Events()
    assert [events.publish({"type": "begun", "job": i}) for i in range(5)] == [1, 2, 3, 4, 5]
    assert [event["job"] for event in events.since(3)] == [3, 4]
    assert events.since(5) == []


def test_threads_that_publish_at_once_lose_nothing():
    events = Events()
    threads = [threading.Thread(target=story, args=(events, "improved", 400), kwargs={"by": i}) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = events.since(0)
    assert [event["id"] for event in found] == list(range(1, 1601))
    for i in range(4):
        assert [event["step"] for event in found if event["by"] == i] == list(range(400))


@pytest.mark.parametrize("kind", MOST)
def test_frequent_events_are_thinned_to_the_end_and_the_others_stay(kind):
    events = Events()
    for other in ("begun", "evaluation", "improved"):
        events.publish({"type": other, "job": 1})
    story(events, kind, 20 * MOST[kind] + 3)
    events.publish({"type": "done", "job": 1})
    found = events.since(0)
    steps = [event["step"] for event in found if event["type"] == kind]
    assert len(steps) <= MOST[kind]
    assert steps[0] == 0
    assert steps[-1] == 20 * MOST[kind] + 2
    assert steps == sorted(steps)
    gaps = {b - a for a, b in pairwise(steps[:-1])}
    assert gaps == {32}  # the least power of 2 that leaves few enough
    assert {event["type"] for event in found} == {kind, "begun", "evaluation", "improved", "done"}


def test_old_evaluations_keep_their_numbers_without_samples():
    events = Events()
    story(events, "evaluation", SAMPLED + 5, loss=0.5, samples=["0110"])
    found = events.since(0)
    assert [event["step"] for event in found if "samples" in event] == list(range(5, SAMPLED + 5))
    assert all(event["loss"] == 0.5 for event in found)


def test_of_many_jobs_the_oldest_is_forgotten(monkeypatch):
    monkeypatch.setattr(module, "MOST_JOBS", 3)
    events = Events()
    for job in range(1, 6):
        events.publish({"type": "begun", "job": job})
        events.publish({"type": "done", "job": job})
    assert [event["job"] for event in events.since(0)] == [3, 3, 4, 4, 5, 5]


def test_a_follower_gets_what_was_there_and_what_comes():
    events = Events()
    story(events, "step", 3)
    later = threading.Timer(0.1, story, (events, "saved", 2))
    later.start()
    found = list(islice(events.follow(1, never), 4))
    assert [(event["type"], event["step"]) for event in found] == [("step", 1), ("step", 2), ("saved", 0), ("saved", 1)]
    later.join()


def test_a_follower_that_knows_an_earlier_studio_gets_everything():
    events = Events()
    story(events, "begun", 1)
    assert next(events.follow(1000, never))["type"] == "begun"


def test_a_silent_follower_gets_beats_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.05)
    monkeypatch.setattr(module, "LOOK", 0.01)
    stopped, found = threading.Event(), []
    for event in Events().follow(0, stopped.is_set):
        found.append(event)
        if len(found) == 2:
            stopped.set()
    assert found == [{"type": "beat"}] * 2
