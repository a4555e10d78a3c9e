"""Pictures of constructions, as SVG and as PNG."""

import random
from itertools import pairwise, product
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloom import HandloomError
from handloom.discover import graph, grid, permutation, subsets, word
from handloom.view.colours import BLUE, rgb
from handloom.view.svg.constructions import Nest, construction_drawing, draw_construction, svg
from handloom.view.svg.drawing import Disc

SVG = "{http://www.w3.org/2000/svg}"
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


@settings(max_examples=40)
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
    discs = [shape for shape in construction_drawing(permutation(5), (2, 0, 4, 1, 3)).shapes if isinstance(shape, Disc)]
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
    fills = [mark.get("fill-opacity", "1") for mark in marks(ElementTree.fromstring(svg(space, construction)))]
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
    pixels = image.imread(draw_construction(space, construction, tmp_path / "a.png"))
    shapes = construction_drawing(space, construction)
    scale = pixels.shape[1] / shapes.width
    accent = pytest.approx(rgb(BLUE).tolist(), abs=0.01)
    for i, point in enumerate(space.elements):
        (disc,) = [shape for shape in construction_drawing(space, (i,)).shapes if isinstance(shape, Disc)]
        pixel = list(pixels[round(disc.y * scale), round(disc.x * scale), :3])
        assert (pixel == accent) == (i in construction), point


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{space.kind}-{len(space.elements)}-{space.length}")
def test_every_kind_can_be_written_as_a_png(space, tmp_path):
    pytest.importorskip("matplotlib")
    if len(space.elements) > 1000:
        space = grid(30, 30)
    path = draw_construction(space, some_construction(space, 5), tmp_path / "a.png", "$x_1$ & \x00 <b> \ud800 漢")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_file_is_the_svg_and_other_endings_are_refused(tmp_path):
    space = grid(3, 3)
    assert draw_construction(space, (0, 5), tmp_path / "a.svg", "t").read_text() == svg(space, (0, 5), "t") + "\n"
    with pytest.raises(HandloomError, match=r"name it \.svg, \.png, \.pdf or \.tex"):
        draw_construction(space, (0, 5), tmp_path / "a.gif")
    with pytest.raises(HandloomError, match="there is no folder"):
        draw_construction(space, (0, 5), tmp_path / "missing" / "a.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]
