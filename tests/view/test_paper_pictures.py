"""Pictures for papers: TikZ and PDF, and graphs drawn by their symmetry."""

import math
import random
import re
import shutil
import subprocess
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloom.discover import graph, grid, permutation, subsets, word
from handloom.discover.automorphisms import find_rotation
from handloom.view.svg.constructions import construction_drawing, draw_construction
from handloom.view.svg.drawing import Disc, Drawing, Label, Rect, Segment
from handloom.view.svg.graph_layout import layout
from handloom.view.svg.tikz import as_tikz

networkx = pytest.importorskip("networkx")

SPACES = [
    grid(4, 5),
    grid(3, 3, 3),
    graph(7),
    subsets(range(30)),
    subsets([(0, 1), (2, 3)]),
    word(9, "a%_&"),
    permutation(4),
]
COMMAND = re.compile(
    r"\\(fill|draw|filldraw)(\[[^]]*\])? \((-?[\d.]+),(-?[\d.]+)\)"
    r"( circle\[radius=[\d.]+\]| rectangle \([-\d.,]+\)|( -- \([-\d.,]+\))+);"
    r"|\\node\[anchor=mid[^]]*(\[[^]]*\])?[^]]*\] at \([-\d.,]+\) \{.*\};"
    r"|\\(begin|end)\{(scope|tikzpicture)\}(\[.*\])?|\\definecolor\{\w+\}\{HTML\}\{[0-9A-F]{6}\}"
    r"|\\useasboundingbox \(0,0\) rectangle \([\d.,]+\);|% .*"
)


def some(space, seed):
    rng = random.Random(seed)
    if space.kind == "word":
        return tuple(rng.randrange(len(space.elements)) for _ in range(space.length))
    if space.kind == "permutation":
        return tuple(rng.sample(range(space.length), space.length))
    return tuple(sorted(rng.sample(range(len(space.elements)), len(space.elements) // 3)))


# TikZ


@settings(max_examples=30)
@given(st.sampled_from(SPACES), st.integers(0, 10**6), st.text(max_size=30))
def test_every_line_of_tikz_is_a_command_and_every_shape_has_one(space, seed, title):
    drawing = construction_drawing(space, some(space, seed))
    lines = as_tikz(drawing, title).split("\n")
    assert all(COMMAND.fullmatch(line) for line in lines), [line for line in lines if not COMMAND.fullmatch(line)]
    shapes = [line for line in lines if re.match(r"\\(fill|draw|filldraw|node)", line)]
    assert len(shapes) == len(drawing.shapes)
    used = set(re.findall(r"(?:fill|draw|text)=(c[0-9a-f]+)", "\n".join(lines)))
    assert used <= set(re.findall(r"definecolor\{(\w+)\}", "\n".join(lines)))


def test_places_in_tikz_are_those_of_the_drawing():
    shapes = (Disc(3, 4, 2, "chosen"), Segment(0, 0, 5, 6, "grid", width=2), Rect(1, 2, 3, 4, "frame"))
    text = as_tikz(Drawing(10, 12, (*shapes, Label(5, 6, "50 % of a_1", "label"))))
    assert r"\fill (3,4) circle[radius=2];" in text
    assert r"\draw[line width=1.5bp] (0,0) -- (5,6);" in text
    assert r"\draw (1,2) rectangle (4,6);" in text
    assert r"at (5,6) {50 \% of a\_1};" in text
    assert "(10,12)" in text


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex")
@pytest.mark.parametrize("space", [grid(4, 5), graph(7), word(9, "a%_&")], ids=lambda space: space.kind)
def test_latex_typesets_it(tmp_path, space):
    draw_construction(space, some(space, 1), tmp_path / "best.tex", "50 % of {it} \\ ~")
    source = "\\documentclass{article}\\usepackage{tikz}\\begin{document}\\input{best}\\end{document}"
    (tmp_path / "paper.tex").write_text(source)
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")


# PDF


def test_a_pdf_is_one_page_with_a_path_for_each_point_and_the_same_each_time(tmp_path):
    space = grid(4, 4)
    drawn = draw_construction(space, (0, 5, 10), tmp_path / "best.pdf", "three").read_bytes()
    assert drawn.startswith(b"%PDF-")
    assert drawn.rstrip().endswith(b"%%EOF")
    assert re.search(rb"/Count 1\b", drawn)
    assert drawn == draw_construction(space, (0, 5, 10), tmp_path / "again.pdf", "three").read_bytes()
    streams = [zlib.decompress(one) for one in re.findall(rb"/FlateDecode.*?stream\r?\n(.*?)\nendstream", drawn, re.S)]
    curves = [len(re.findall(rb" c\n", stream)) for stream in streams]
    empty = draw_construction(space, (), tmp_path / "empty.pdf", "three").read_bytes()
    streams = [zlib.decompress(one) for one in re.findall(rb"/FlateDecode.*?stream\r?\n(.*?)\nendstream", empty, re.S)]
    assert sum(curves) > sum(len(re.findall(rb" c\n", stream)) for stream in streams)


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="no pdftotext")
def test_the_words_of_a_pdf_can_be_searched(tmp_path):
    path = draw_construction(subsets(range(30)), (3, 17), tmp_path / "ruler.pdf", "a ruler")
    words = subprocess.run(["pdftotext", path, "-"], capture_output=True, text=True, check=True).stdout.split()
    assert {"a", "ruler", "3", "17"} <= set(words)


# Graphs by their symmetry

GRAPHS = {
    "petersen": (networkx.petersen_graph(), 5, 2, 0),
    "wheel": (networkx.wheel_graph(8), 7, 1, 1),
    "heawood": (networkx.heawood_graph(), 7, 2, 0),
    "circle": (networkx.cycle_graph(13), 13, 1, 0),
    "two parts": (networkx.complete_bipartite_graph(4, 4), 8, 1, 0),
    "path": (networkx.path_graph(9), 2, 4, 1),
}


def edges_of(one):
    return [tuple(sorted(edge)) for edge in one.edges]


@pytest.mark.parametrize("name", GRAPHS)
def test_the_symmetry_of_a_known_graph_is_found(name):
    one, fold, orbits, fixed = GRAPHS[name]
    found = find_rotation(len(one), edges_of(one))
    assert (found.fold, len(found.orbits), len(found.fixed)) == (fold, orbits, fixed)


def test_frucht_has_no_symmetry_but_the_identity():
    frucht = networkx.frucht_graph()
    assert find_rotation(12, edges_of(frucht)) is None
    assert layout(12, edges_of(frucht)) is None
    discs = [s for s in construction_drawing(graph(12), ()).shapes if isinstance(s, Disc)]
    assert len(discs) == 12


@given(st.integers(3, 14), st.integers(0, 10**6))
def test_what_is_found_is_an_automorphism(vertices, seed):
    rng = random.Random(seed)
    edges = [(u, v) for u in range(vertices) for v in range(u + 1, vertices) if rng.random() < 0.3]
    found = find_rotation(vertices, edges)
    if found is None:
        return
    image = {v: orbit[(i + 1) % len(orbit)] for orbit in found.orbits for i, v in enumerate(orbit)}
    image |= {v: v for v in found.fixed}
    assert sorted(image.values()) == list(range(vertices))
    assert {tuple(sorted((image[u], image[v]))) for u, v in edges} == set(edges)
    assert {len(orbit) for orbit in found.orbits} == {found.fold}


@pytest.mark.parametrize("name", ["petersen", "heawood", "wheel", "circle", "two parts"])
def test_a_turn_of_the_picture_is_the_same_picture(name):
    one, fold, *_ = GRAPHS[name]
    places = layout(len(one), edges_of(one))
    angle = 2 * math.pi / fold

    def index(x, y):
        return min(range(len(places)), key=lambda v: math.dist(places[v], (x, y)))

    c, s = math.cos(angle), math.sin(angle)
    turned = [(c * x - s * y, s * x + c * y) for x, y in places]
    image = [index(x, y) for x, y in turned]
    assert all(math.dist(places[image[v]], turned[v]) < 1e-6 for v in range(len(places)))
    assert {tuple(sorted((image[u], image[v]))) for u, v in edges_of(one)} == set(edges_of(one))


def test_a_picture_of_order_two_is_its_own_mirror_image():
    one = GRAPHS["path"][0]
    places = layout(9, edges_of(one))
    there = {(round(x, 6) + 0.0, round(y, 6)) for x, y in places}
    assert {(round(-x, 6) + 0.0, y) for x, y in there} == there


def test_the_drawing_of_a_graph_does_not_depend_on_the_order_of_its_edges():
    edges = edges_of(networkx.petersen_graph())
    assert layout(10, edges) == layout(10, edges[::-1])
