"""What people look at: pictures of constructions, the page of a run, the live view."""

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from io import StringIO
from itertools import pairwise, product
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from handloom import HandloomError
from handloom.cli import discovery_view
from handloom.cli.discovery_view import DiscoveryView, line, picture, sparkline
from handloom.discover import Problem, graph, grid, permutation, subsets, word
from handloom.discover.progress import Progress, came_from
from handloom.view.charts import finite, ticks
from handloom.view.constructions import Nest, draw, drawing, svg
from handloom.view.discovery_page import discovery_page
from handloom.view.drawing import ACCENT, Disc
from handloom.view.histograms import bins_for

SVG = "{http://www.w3.org/2000/svg}"
XMLNS = 'xmlns="http://www.w3.org/2000/svg"'
SPACES = [
    *(grid(n, n) for n in (1, 2, 5, 16, 33, 100)),
    *(grid(*sides) for sides in [(7,), (500,), (1, 40), (40, 1), (3, 8), (3, 3, 3), (9, 4, 5), (1, 1, 1), (2,) * 7]),
    *(grid(*(3,) * d) for d in (4, 5, 6)),
    *(graph(n) for n in (2, 3, 25, 90)),
    subsets([0]),
    subsets(range(-5, 60)),
    subsets([1, 10**30]),
    subsets(range(1, 3000)),
    subsets([(0, 1), (2, 3), (4, 5)]),
    subsets(product(range(30), range(30), range(2))),
    word(1),
    word(20),
    word(333, "abcde"),
    word(9, "<&>\x00\n\ud800"),
    permutation(1),
    permutation(30),
]


def some_construction(space, seed):
    """Any of the space's constructions; what is empty and what is full among them."""
    rng = random.Random(seed)
    if space.kind == "word":
        return tuple(rng.randrange(len(space.elements)) for _ in range(space.length))
    if space.kind == "permutation":
        return tuple(rng.sample(range(space.length), space.length))
    share = rng.choice([0, 0.02, 0.5, 1])
    return tuple(sorted(rng.sample(range(len(space.elements)), round(share * len(space.elements)))))


def marks(root):
    """The shapes of an SVG that stand for what was chosen."""
    chosen = [group for group in root.iter(f"{SVG}g") if group.get("class") in ("chosen", "chosen-line")]
    return [shape for group in chosen for shape in group]


# pictures


@settings(max_examples=80)
@given(st.sampled_from(SPACES), st.integers(0, 10**6), st.text(max_size=150))
def test_a_picture_is_well_formed_and_marks_each_chosen_element_once(space, seed, title):
    construction = some_construction(space, seed)
    root = ElementTree.fromstring(svg(space, construction, title))
    assert len(marks(root)) == len(construction)
    width, height = float(root.get("width")), float(root.get("height"))
    assert 0 < width < 1000
    assert 0 < height < 1500
    for disc in root.iter(f"{SVG}circle"):
        assert 0 < float(disc.get("cx")) < width
        assert 0 < float(disc.get("cy")) < height


def test_a_picture_of_points_has_a_disc_for_each_that_says_where_it_is():
    space = grid(4, 4)
    root = ElementTree.fromstring(svg(space, space.read([[0, 1], [0, 2], [3, 0]])))
    discs = list(root.iter(f"{SVG}circle"))
    assert [disc.find(f"{SVG}title").text for disc in discs] == ["(0, 1)", "(0, 2)", "(3, 0)"]
    x, y = ([float(disc.get(at)) for disc in discs] for at in ("cx", "cy"))
    assert y[0] == y[1] < y[2], "the first coordinate counts rows from above"
    assert x[2] < x[0] < x[1], "the second counts columns"


def test_a_permutation_is_drawn_as_its_matrix():
    discs = [shape for shape in drawing(permutation(5), (2, 0, 4, 1, 3)).shapes if isinstance(shape, Disc)]
    assert [disc.hint for disc in discs] == ["(0, 2)", "(1, 0)", "(2, 4)", "(3, 1)", "(4, 3)"]
    assert sorted(range(5), key=lambda i: discs[i].x) == [1, 3, 0, 4, 2]


@pytest.mark.parametrize("sides", [(4, 5), (3,) * 3, (3,) * 4, (3,) * 5, (3,) * 6, (10, 4, 4), (7, 2, 9), (2,) * 9])
def test_the_cells_of_a_grid_in_a_grid_do_not_overlap(sides):
    nest = Nest(sides)
    places = [nest.place(point) for point in product(*map(range, sides))]
    assert len(set(places)) == len(places)
    for at in zip(*places, strict=True):
        steps = sorted(set(at))
        assert all(b - a > 0.999 for a, b in pairwise(steps))
    assert nest.size == pytest.approx([max(at) + 1 for at in zip(*places, strict=True)])


def test_dimension_six_is_27_by_27_with_more_room_between_larger_blocks():
    nest = Nest((3,) * 6)
    columns = sorted({nest.place(point)[1] for point in product(range(3), repeat=6)})
    assert len(columns) == len({nest.place(point)[0] for point in product(range(3), repeat=6)}) == 27
    gaps = [b - a for a, b in pairwise(columns)]
    inside, small, large = gaps[0], gaps[2], gaps[8]
    assert inside < small < large
    assert gaps == pytest.approx([large if i % 9 == 0 else small if i % 3 == 0 else inside for i in range(1, 27)])


def test_an_edge_joins_its_two_vertices():
    space = graph(7)
    root = ElementTree.fromstring(svg(space, space.read([[1, 4]])))
    vertices = [(disc.get("cx"), disc.get("cy")) for disc in root.iter(f"{SVG}circle")]
    (edge,) = root.iter(f"{SVG}line")
    assert len(vertices) == 7
    assert [(edge.get("x1"), edge.get("y1")), (edge.get("x2"), edge.get("y2"))] == [vertices[1], vertices[4]]


def test_the_marks_of_a_ruler_are_as_far_apart_as_its_numbers():
    space = subsets(range(0, 56))
    golomb = [0, 1, 6, 10, 23, 26, 34, 41, 53, 55]
    root = ElementTree.fromstring(svg(space, space.read(golomb)))
    places = [float(mark.get("x1")) for mark in marks(root)]
    unit = (places[-1] - places[0]) / 55
    assert [(x - places[0]) / unit for x in places] == pytest.approx(golomb, abs=0.01)


def test_equal_letters_have_equal_colours_and_different_ones_different():
    space = word(40, "abcd")
    construction = some_construction(space, 3)
    fills = [mark.get("fill") for mark in marks(ElementTree.fromstring(svg(space, construction)))]
    assert len(set(zip(construction, fills, strict=True))) == len(set(fills)) == 4


def test_a_title_is_escaped_and_a_long_one_cut():
    text = svg(grid(2, 2), (0,), "<script>alert(1)</script> & " + "x" * 500)
    (title,) = [t.text for t in ElementTree.fromstring(text).iter(f"{SVG}text")]
    assert "<script" not in text
    assert title.startswith("<script>alert(1)</script> & xx")
    assert len(title) == 100


def test_a_png_has_the_discs_where_the_svg_has_them(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    space = grid(16, 16)
    construction = some_construction(space, 8)
    pixels = image.imread(draw(space, construction, tmp_path / "a.png"))
    shapes = drawing(space, construction)
    scale = pixels.shape[1] / shapes.width
    accent = pytest.approx([int(ACCENT[i : i + 2], 16) / 255 for i in (1, 3, 5)], abs=0.01)
    for i, point in enumerate(space.elements):
        (disc,) = [shape for shape in drawing(space, (i,)).shapes if isinstance(shape, Disc)]
        pixel = list(pixels[round(disc.y * scale), round(disc.x * scale), :3])
        assert (pixel == accent) == (i in construction), point


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{space.kind}-{len(space.elements)}-{space.length}")
def test_every_kind_can_be_written_as_a_png(space, tmp_path):
    pytest.importorskip("matplotlib")
    if len(space.elements) > 1000:
        space = grid(30, 30)
    path = draw(space, some_construction(space, 5), tmp_path / "a.png", "$x_1$ & \x00 <b> \ud800 漢")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_file_is_the_svg_and_other_endings_are_refused(tmp_path):
    space = grid(3, 3)
    assert draw(space, (0, 5), tmp_path / "a.svg", "t").read_text() == svg(space, (0, 5), "t") + "\n"
    with pytest.raises(HandloomError, match=r"name it \.svg or \.png"):
        draw(space, (0, 5), tmp_path / "a.gif")
    with pytest.raises(HandloomError, match="there is no folder"):
        draw(space, (0, 5), tmp_path / "missing" / "a.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


# charts and histograms


@given(st.floats(-1e200, 1e200), st.floats(-1e200, 1e200), st.integers(1, 12))
def test_ticks_are_few_and_lie_between_the_ends(a, b, most):
    low, high = min(a, b), max(a, b)
    found = ticks(low, high, most)
    room = 1e-6 * (high - low)
    assert len(found) <= most + 1
    assert all(low - room <= tick <= high + room for tick in found)


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


# the page


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


def stats(*scores):
    ordered = sorted(scores)
    fifth = ordered[-max(1, len(scores) // 5) :]
    found = {"count": len(scores), "mean": sum(scores) / len(scores), "median": ordered[len(scores) // 2]}
    found |= {"top_fifth": sum(fifth) / len(fifth), "max": ordered[-1]}
    return found | {"histogram": {str(score): count for score, count in Counter(scores).items()}}


def metrics(generations, model=True):
    """Lines as a run writes them."""
    rng = random.Random(generations)
    for g in range(generations):
        told = model and g > 0
        yield {
            "generation": g,
            "seconds": 2.5 * g + 1,
            "best": 7 + min(g, 3),
            "temperature": 1.0 if told else None,
            "loss": 1 / (g + 1) if told else None,
            "sampled": 40 if told else 0,
            "illegal": 0.25 if told else None,
            "duplicates": 0.5 if told else None,
            "before": stats(*(rng.randint(2, 8) for _ in range(30))) if told else None,
            "after": stats(*(rng.randint(5, 10) for _ in range(30))) if told else None,
            "searched": stats(*(rng.randint(4, 7) for _ in range(50))),
        }


def kept_records(count):
    """Each the parent of the next better one."""
    rng = random.Random(count)
    for i in range(count):
        points = sorted(rng.sample(PROBLEM.space.elements, 1 + i % 10))
        origin = {"how": "model", "symmetry": "mirrors", "generation": i}
        yield Kept(i, "line:n=5", len(points), [list(point) for point in points], origin, i - 1 if i else None)


def write_page(folder, lines, records=(), problem=PROBLEM, about=None):
    told = {"problem": problem.name, "settings": {"seconds": 60, "tokens": "bpe"}, "handloom": "0.1.0", "seed": 7}
    (folder / "run.json").write_text(json.dumps(told if about is None else about))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return discovery_page(folder, problem, list(records), folder / "page.html").read_text("utf-8")


class Balanced(HTMLParser):
    """A page whose tags are closed in the order in which they were opened; its words and what it refers to."""

    def __init__(self, page):
        super().__init__()
        self.open, self.words, self.tags, self.refers = [], [], Counter(), []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.refers += [value for name, value in attributes if name in ("src", "href", "xlink:href", "data", "action")]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


@pytest.mark.parametrize(("generations", "model"), [(0, False), (1, False), (2, True), (9, False), (200, True)])
def test_a_page_needs_nothing_from_elsewhere_and_has_all_its_tags_closed(tmp_path, generations, model):
    page = write_page(tmp_path, metrics(generations, model), kept_records(12))
    parsed = Balanced(page)
    assert not parsed.refers
    assert "http" not in page.replace(XMLNS, "")
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
    assert "Search alone made 250 constructions." in words
    assert "160 samples; 25% could not be read as constructions, 50% had been there before." in words
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
    assert "Loss a token" not in page
    assert "before local search" not in page


def test_what_could_not_be_read_stands_apart_in_the_histogram(tmp_path):
    page = write_page(tmp_path, metrics(2))
    assert page.count('class="illegal"') == 1
    assert re.search(r'class="illegal"[^>]*><title>10</title>', page), "a quarter of 40"


def test_names_with_markup_in_them_do_nothing(tmp_path):
    bad = '<script>alert("x")</script> & <b>'
    problem = Problem(grid(2, 2), name=bad, about=bad, source=bad)
    record = Kept(1, bad + "2", 1, [[0, 0]], {"how": bad, "symmetry": bad})
    about = {"problem": bad, "settings": {bad: bad}, "seed": bad, "handloom": bad}
    page = write_page(tmp_path, metrics(2), [record], problem, about)
    assert Balanced(page).tags["script"] == 1
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
    orphan = [replace(record, parent=77) for record in kept_records(1)]
    assert "Its parent is not kept." in write_page(tmp_path, [], orphan)


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


@settings(max_examples=60)
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
    with pytest.raises(HandloomError, match=r"run\.json cannot be read"):
        discovery_page(tmp_path, PROBLEM, [], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


# the live view

MOMENT = Progress(
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
