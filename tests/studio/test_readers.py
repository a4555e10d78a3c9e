"""Readings of the studio: each is made in a process of its own, and never waits for one that nobody wants any more."""

from handloom.studio import Studio
from handloom.studio.reading.readers import MOST, begin, follow, stop


def test_a_newer_reading_takes_the_place_of_the_oldest(tmp_path):
    studio = Studio(tmp_path)
    asked = [begin(studio, {"model": "search", "reading": "circuit"})["id"] for _ in range(MOST + 1)]
    first, *others = [follow(studio, {"id": one}) for one in asked]
    assert first["state"] == "stopped"
    assert first["error"] == "a newer reading has taken its place; read it again"
    assert [one["state"] for one in others] == ["reading"] * MOST
    assert [stop(studio, {"id": one})["state"] for one in asked] == ["stopped"] * (MOST + 1)
