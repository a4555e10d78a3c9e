"""Published constructions: their source is kept, shown beside ours, and goes through files."""

import json
import re
from functools import partial

import pytest

from command import output
from handloom import HandloomError
from handloom.discover.records.sources import checked_source, published, sources_of
from handloom.discover.records.store import Store

PAPER = "A. Author & B. <Bold>, A paper, 2021"
CYCLE = "0 1\n1 2\n2 3\n3 4\n0 4\n"
NAME = "four-cycle-free:n=5"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The command in a folder with a run whose best is 6, and a paper's cycle of 5."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    here = partial(output, cwd=tmp_path)
    (tmp_path / "theirs.txt").write_text(CYCLE)
    here("records", NAME, "--import", "theirs.txt", "--source", PAPER)
    here("discover", NAME, "--generations", 1, "--attempts", 20, "--no-model")
    return here


def cards(page):
    """The cards beside what is published, as plain text."""
    part = re.search(r"Beside what is published</h\d><div[^>]*>(.*?)(<h[12]|<script)", page, re.S)
    return [re.sub(r"<svg.*?</svg>|<[^>]+>", " ", one) for one in part[1].split('<div class="card')[1:]]


def test_the_page_of_a_run_shows_a_paper_beside_our_best(run, tmp_path):
    ours, theirs = cards((tmp_path / "runs/four-cycle-free-1/page.html").read_text())
    assert "6" in ours
    assert "found here" in ours
    assert "A. Author &amp; B. &lt;Bold&gt;, A paper, 2021" in theirs
    assert "ours is 1 more" in theirs


def test_the_page_of_records_shows_it_too(run, tmp_path):
    run("records", NAME, "--page", "all.html")
    assert len(cards((tmp_path / "all.html").read_text())) == 2
    run("records", "--page", "all.html")
    page = (tmp_path / "all.html").read_text()
    assert page.count("<svg") >= 2
    assert not re.search(r'(src|href)="?http', page), "a page asks the network for nothing"
    assert "expected .html" in run("records", "--page", "all.pdf", code=2)


def test_a_run_without_published_constructions_has_no_such_part(run, tmp_path):
    run("discover", "four-cycle-free:n=6", "--generations", 1, "--attempts", 20, "--no-model", "--store", "b.sqlite")
    assert "Beside what is published" not in (tmp_path / "runs/four-cycle-free-2/page.html").read_text()


def test_what_the_search_has_found_too_keeps_its_origin_and_gets_the_source(run, tmp_path):
    best = Store.open().best(NAME)
    run("records", NAME, "--best", 1, "--export", "best.json")
    told = run("records", NAME, "--import", "best.json", "--source", "Another paper")
    assert "1 there already" in told
    again = Store.open().best(NAME)
    assert again.origin == best.origin
    first = published(Store.open(), NAME)[0]
    assert (first.record.id, first.source) == (best.id, "Another paper")
    run("records", NAME, "--page", "p.html")
    assert any("the same as ours, up to symmetry" in card for card in cards((tmp_path / "p.html").read_text()))


def test_the_source_is_listed_and_goes_through_json(run):
    assert PAPER in run("records", NAME)
    listed = json.loads(run("records", NAME, "--json"))
    assert [one.get("sources") for one in listed if one["origin"]["how"] == "import"] == [[PAPER]]
    run("records", "--all", "--export", "all.json")
    run("records", "--store", "new.sqlite", "--import", "all.json")
    assert list(sources_of(Store.open("new.sqlite")).values()) == [[PAPER]]


def test_what_is_refused_has_no_source(run, tmp_path):
    (tmp_path / "bad.txt").write_text("0 1\n1 2\n2 3\n0 3\n")
    run("records", NAME, "--import", "bad.txt", "--source", "Wrong", code=2)
    assert all("Wrong" not in sources for sources in sources_of(Store.open()).values())


@pytest.mark.parametrize("source", ["", "  ", "a\nb", "x" * 301, "\x1b[31m", 7])
def test_a_source_is_a_line_of_text(source):
    with pytest.raises(HandloomError, match="is not a source"):
        checked_source(source)


def test_a_source_needs_something_to_import(run):
    assert "--source is for what is imported" in run("records", "--source", "A paper", code=2)
