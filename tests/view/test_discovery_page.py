"""The page of a run of discover, and its charts and histograms."""

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discoveries import metrics
from handloom import HandloomError
from handloom.discover import Problem, grid
from handloom.view.pages.discovery import discovery_page
from handloom.view.svg.charts import Curve, chart, ticks
from handloom.view.svg.constructions import svg
from handloom.view.svg.histograms import bins_for
from parsed import Balanced

XMLNS = 'xmlns="http://www.w3.org/2000/svg"'


@given(st.floats(-1e200, 1e200), st.floats(-1e200, 1e200), st.integers(1, 12))
def test_ticks_are_few_and_lie_between_the_ends(a, b, most):
    low, high = min(a, b), max(a, b)
    found = ticks(low, high, most)
    room = 1e-6 * (high - low)
    assert len(found) <= most + 1
    assert all(low - room <= tick <= high + room for tick in found)


def test_a_chart_with_fewer_than_two_points_is_hidden():
    assert chart("x", [Curve("a", "best", [None, 3, None])], [0, 1, 2]) == ""
    assert chart("x", [Curve("a", "best", [2, 3, None])], [0, 1, 2]) != ""


def test_whole_scores_have_whole_ticks():
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", chart("x", [Curve("a", "best", [19, 20, 20])], [0, 1, 2]))
    assert texts == ["19", "20", "0", "1", "2"]
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", chart("x", [Curve("a", "best", [19.0, 19.5])], [0, 1]))
    assert "19.2" in texts or "19.5" in texts


@given(st.dictionaries(st.integers(-500, 500), st.integers(0, 99), min_size=1), st.none() | st.integers(-600, 600))
def test_every_score_is_counted_in_the_bin_that_holds_it(counts, best_known):
    histogram = {str(score): count for score, count in counts.items()}
    bins = bins_for([histogram], best_known)
    expected = Counter()
    for score, count in counts.items():
        expected[(score - bins.low) // bins.width] += count
    assert bins.heights(histogram) == [expected[i] for i in range(bins.count)]
    assert bins.count <= 60


def test_scores_that_are_not_whole_are_counted_too():
    histogram = {"0.5": 2, "1.25": 3, "9.5": 1, "nan": 7, "x": 7}
    bins = bins_for([histogram])
    heights = bins.heights(histogram)
    assert sum(heights) == 6
    assert (heights[0], heights[-1]) == (2, 1)
    assert bins_for([{}, None]) is None


@dataclass(frozen=True)
class Kept:
    """As a record of the store."""

    id: int
    problem: str
    score: float
    construction: Any
    origin: Any
    parent: int | None = None


def in_line(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) == (c[0] - a[0]) * (b[1] - a[1])


PROBLEM = Problem(grid(5, 5), forbidden=in_line, best_known=10, name="line:n=5", about="No three in line.")


def kept_records(count):
    """Each the parent of the next better one."""
    rng = random.Random(count)
    for i in range(count):
        points = sorted(rng.sample(PROBLEM.space.elements, 1 + i % 10))
        start = {"from": "pool", "score": i, "construction": [[0, 0]]} if i else None
        origin = {"how": "search", "symmetry": "mirrors", "generation": i, "start": start}
        yield Kept(i, "line:n=5", len(points), [list(point) for point in points], origin, i - 1 if i else None)


def write_page(folder, lines, records=(), problem=PROBLEM, about=None):
    told = {"problem": problem.name, "settings": {"seconds": 60, "tokens": "bpe"}, "handloom": "0.1.0", "seed": 7}
    (folder / "run.json").write_text(json.dumps(told if about is None else about))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return discovery_page(folder, problem, list(records), folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize(("generations", "model"), [(0, False), (1, False), (2, True), (9, False), (200, True)])
def test_a_page_needs_nothing_from_elsewhere_and_has_all_its_tags_closed(tmp_path, generations, model):
    page = write_page(tmp_path, metrics(generations, model), kept_records(12))
    parsed = Balanced(page)
    assert not parsed.refers
    assert "http" not in page.replace(XMLNS, "").replace("http-equiv", "")
    assert "@import" not in page
    assert "url(" not in page
    assert "line:n=5" in parsed.text
    assert page.count('class="generation"') == generations


def test_a_page_shows_every_construction_in_the_gallery_and_its_ancestors(tmp_path):
    records = list(kept_records(10))
    page = write_page(tmp_path, metrics(3), records)
    drawn = Counter(re.findall(r"<svg xmlns.*?</svg>", page))
    for record in records:
        expected = svg(PROBLEM.space, PROBLEM.space.read(record.construction))
        assert drawn[expected] == 2 + (record.score == 10), "in the gallery, in the tree, and the best one on top"
    assert [f"record {i}" in page for i in range(10)] == [True] * 10
    assert "equals the best known value, 10" in page


def test_a_page_says_the_numbers_of_the_run(tmp_path):
    words = Balanced(write_page(tmp_path, metrics(5), kept_records(3))).text
    assert "5 generations in 0:00:11." in words
    assert "Search alone found 250 constructions." in words
    assert "160 samples; 25% were not constructions, 50% were already known." in words
    assert "3 records, each verified exactly. (seed 7, handloom 0.1.0)" in words
    (mean,) = [line["before"]["mean"] for line in metrics(5) if line["generation"] == 4]
    assert f"mean {round(mean, 2):.3g}," in words
    assert "tokens" in words
    assert "bpe" in words


@pytest.mark.parametrize(
    ("best", "words"),
    [(9, "1 below the best known value, 10"), (10, "equals the best known value, 10"), (12, "2 above the best known")],
)
def test_a_page_compares_with_the_best_known_value(tmp_path, best, words):
    assert words in write_page(tmp_path, [{"generation": 0, "best": best}])


def test_the_score_on_top_is_that_of_the_record_that_is_drawn(tmp_path):
    page = write_page(tmp_path, [{"generation": 0, "best": 9}], kept_records(3))
    assert '<span class="score">3</span>' in page


def test_a_run_without_a_model_says_so_and_has_no_curves_of_one(tmp_path):
    page = write_page(tmp_path, metrics(6, model=False), kept_records(2))
    assert "No model was used." in page
    assert "Loss per token" not in page
    assert "before local search" not in page


def test_what_could_not_be_read_stands_apart_in_the_histogram(tmp_path):
    page = write_page(tmp_path, metrics(2))
    assert page.count('class="illegal"') == 1
    assert re.search(r'class="illegal"[^>]*><rect [^>]*><title>10</title>', page), "a quarter of 40"


def test_names_with_markup_in_them_do_nothing(tmp_path):
    bad = '<script>alert("x")</script> & <b>'
    problem = Problem(grid(2, 2), name=bad, about=bad, source=bad)
    record = Kept(1, bad + "2", 1, [[0, 0]], {"how": bad, "symmetry": bad})
    about = {"problem": bad, "settings": {bad: bad}, "seed": bad, "handloom": bad}
    page = write_page(tmp_path, metrics(2), [record], problem, about)
    assert Balanced(page).tags["script"] == 2
    assert "alert(" in Balanced(page).text
    assert "<b>" not in page.replace("<b>1</b>", "").replace("<b>Search", "").replace("<b>The model", "")


def test_a_line_that_was_cut_off_is_left_out_and_a_repeated_generation_replaces_the_first(tmp_path):
    lines = [{"generation": 0, "best": 3}, {"generation": 1, "best": 50}, {"generation": 1, "best": 4}]
    write_page(tmp_path, lines)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"generation": 2, "best": 9')
    page = discovery_page(tmp_path, PROBLEM, [], tmp_path / "page.html").read_text()
    assert '<span class="score">4</span>' in page


def test_a_family_that_goes_round_in_circles_or_is_long_comes_to_an_end(tmp_path):
    circle = [replace(record, parent=(record.id - 1) % 3) for record in kept_records(3)]
    assert write_page(tmp_path, [], circle).count("→") == 2
    *older, last = kept_records(100)
    assert "84 more" in write_page(tmp_path, [], [*older, replace(last, score=11)])


def test_a_page_shows_what_the_first_search_began_with(tmp_path):
    def page(**origin):
        (record,) = kept_records(1)
        return write_page(tmp_path, [], [replace(record, origin={"how": "search", "seconds": 2.0} | origin)])

    assert "Search, 2.0 s, from nothing." in page(start=None)
    assert "Search, 2.0 s, from a start that was not recorded." in page()
    assert "<p>Import, 2.0 s.</p>" in page(how="import")
    start = {"from": "model", "score": 4, "construction": [[1, 2], [3, 4]]}
    drawn = svg(PROBLEM.space, PROBLEM.space.read(start["construction"]))
    for source, words in (("model", "a sample of the model"), ("pool", "a construction of the pool")):
        told = page(start=start | {"from": source}, parent=None)
        assert told.count("→") == 1
        assert drawn in told
        assert f"<b>4</b></p><p>{words}</p>" in told


def test_a_page_of_a_run_without_a_search_says_that_it_is_only_greedy(tmp_path):
    (record,) = kept_records(1)
    first = [replace(record, origin={"how": "greedy", "start": None})]
    for lines in ([], [{"generation": 0, "best": 3, "searched": None}]):
        assert "what it has is only greedy" in write_page(tmp_path, lines, first)
        assert "only greedy" not in write_page(tmp_path, lines, [record])
    assert "only greedy" not in write_page(tmp_path, metrics(1), first)


def test_a_record_of_another_size_has_a_card_without_a_picture(tmp_path):
    foreign = Kept(1, "line:n=9", 2, [[8, 8], [0, 0]], {"how": "import"})
    page = write_page(tmp_path, [], [foreign])
    assert "line:n=9" in page
    assert "<svg" not in page


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
SCORES = st.dictionaries(st.integers().map(str) | st.floats().map(str) | st.text(max_size=3), VALUES, max_size=5)
STATS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("count", "mean", "max"), VALUES) | {"histogram": SCORES | VALUES}
)
LINE = st.fixed_dictionaries(
    {"generation": st.integers(0, 300)},
    optional=dict.fromkeys(("seconds", "best", "temperature", "loss", "sampled", "illegal", "duplicates"), VALUES)
    | dict.fromkeys(("before", "after", "searched"), STATS | VALUES),
)


@settings(max_examples=40)
@given(st.lists(LINE, max_size=5), st.dictionaries(st.text(max_size=5), VALUES, max_size=4), VALUES)
def test_whatever_the_files_of_a_run_say_the_page_is_whole(tmp_path_factory, lines, about, settings):
    folder = tmp_path_factory.mktemp("run")
    text = write_page(folder, lines, kept_records(2), about=about | {"settings": settings})
    Balanced(text)  # raises where a tag is not closed
    assert text.rstrip().endswith("</html>")


def test_a_folder_that_is_not_a_run_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(HandloomError, match=r"has no run\.json"):
        discovery_page(tmp_path, PROBLEM, [], tmp_path / "page.html")
    (tmp_path / "run.json").write_text("[")
    with pytest.raises(HandloomError, match=r"run\.json is damaged"):
        discovery_page(tmp_path, PROBLEM, [], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
