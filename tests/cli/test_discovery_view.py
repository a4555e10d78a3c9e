"""The live view of a run of discover."""

import re
from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from discoveries import metrics
from handloom.cli.live import discovery as discovery_view
from handloom.cli.live.discovery import DiscoveryView, line, picture, sparkline
from handloom.discover import grid, word
from handloom.discover.loop.report import DiscoveryReport
from handloom.discover.records.origin import came_from
from handloom.view.svg.charts import finite

MOMENT = DiscoveryReport(
    problem="line:n=5",
    stage="sampling",
    seconds=41.2,
    limit=60.0,
    generation=4,
    best=9,
    best_known=10,
    origin={"how": "model", "symmetry": None, "generation": 3},
    record_count=1057,
    stage_done=0.5,
    loss=0.4123,
    lines=tuple(metrics(5)),
    steps=1234567,
    picture=(grid(5, 5), (0, 6, 24)),
)


def rendered(progress, width=80, height=24):
    out = StringIO()
    Console(file=out, width=width, height=height).print(picture(progress, width, height))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 130])
def test_the_view_has_the_numbers_and_stays_within_the_terminal(width):
    text = rendered(MOMENT, width)
    for words in ("line:n=5", "best 9", "best known 10", "model, generation 3", "19 s left", "sampling", "loss 0.412"):
        assert words in text
    assert "1,234,567 steps of search, 1,057 records" in text
    assert re.search(r"legal +▁+ 75%", text)
    assert all(len(row) <= width for row in text.splitlines())
    assert text.count("●") == 3
    assert text.count("·") == 22


@pytest.mark.parametrize("width", [1, 10, 20, 36, 40])
def test_a_narrow_terminal_gets_what_fits(width):
    assert all(len(row) <= width for row in rendered(replace(MOMENT, picture=(grid(32, 32), (0,))), width).splitlines())


def test_a_grid_too_wide_for_dots_is_drawn_in_half_blocks():
    space = grid(16, 16)
    text = rendered(replace(MOMENT, picture=(space, space.read([[0, 0], [1, 0], [2, 3], [5, 7]]))), 60)
    assert [text.count(mark) for mark in "▀●"] == [1, 0]
    rows = [row[-16:] for row in text.splitlines()]
    assert rows[0] == "█" + "·" * 15
    assert rows[1] == "···▀" + "·" * 12
    assert rows[2] == "·" * 7 + "▄" + "·" * 8


@pytest.mark.parametrize(
    "change",
    [
        {"best": None, "origin": None, "picture": None, "lines": ()},
        {"best_known": None, "loss": None, "limit": None},
        {"best": 3.25, "stage": "done", "stage_done": 1.0, "seconds": 99.0, "limit": 0.0},
        {"picture": (word(5), (0, 1, 0, 1, 1))},
        {"picture": (grid(40, 40), (3,))},
        {"lines": tuple(metrics(200))},
        {"lines": tuple(metrics(3, model=False))},
        {"lines": ({"generation": 0},)},
    ],
)
def test_the_view_does_with_what_there_is(change):
    progress = replace(MOMENT, **change)
    text = rendered(progress)
    assert "line:n=5" in text
    assert ("nothing found yet" in text) == (progress.best is None)
    assert ("best known" in text) == (progress.best is not None and progress.best_known is not None)
    assert ("left" in text) == (progress.limit is not None)


@given(st.lists(st.none() | st.floats(-1e9, 1e9), max_size=300), st.integers(-3, 80))
def test_a_sparkline_rises_as_its_values_do(values, wide):
    text = sparkline(values, wide)
    assert len(text) == min(max(1, wide), len(values))
    if len(values) <= wide:
        pairs = [(v, c) for v, c in zip(values, text, strict=True) if v is not None]
        assert [c == " " for c in text] == [v is None for v in values]
        assert [c for _, c in sorted(pairs, key=lambda pair: pair[0])] == sorted(c for _, c in pairs)


def test_without_a_terminal_there_is_a_line_for_news_and_one_now_and_then(capsys, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(discovery_view.time, "monotonic", lambda: clock[0])
    with DiscoveryView() as view:
        for seconds, best in [(0, 7), (0.5, 8), (2, 8), (3, 8), (11.5, 8), (13, 9)]:
            clock[0] = 100 + seconds
            view(replace(MOMENT, seconds=seconds, best=best))
        view(replace(MOMENT, seconds=13, best=9, stage="done"))
    said = capsys.readouterr().err.splitlines()
    assert [row.split(":")[0] for row in said] == ["0 s", "2 s", "13 s", "13 s"]
    assert said[1] == line(replace(MOMENT, seconds=2, best=8))
    assert "best 8 (best known: 10; model, generation 3), 1,057 records, loss 0.412" in said[1]


def test_where_something_came_from_is_said_in_a_few_words():
    assert (
        came_from({"how": "search", "symmetry": "mirrors", "seconds": 3.21, "generation": 0})
        == "search, mirrors, 3.2 s"
    )
    assert came_from({"how": "import", "symmetry": None}) == "import"
    assert came_from({"how": "model", "generation": 0}) == "model, generation 0"
    assert came_from({}) == came_from(None) == ""


@pytest.mark.parametrize("value", [None, True, "3", float("nan"), float("inf"), [], 10**400])
def test_what_is_not_a_number_is_not_drawn(value):
    assert finite(value) is None
