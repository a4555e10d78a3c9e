"""Pictures of heads: every result draws itself, in bounded size, and what cannot be drawn says why."""

import numpy as np
import pytest

from draws import random_model
from handloom.core import Config, HandloomError
from handloom.read import FilmStrip, composition, head_circuits, heads, virtual_heads
from handloom.view.cards import html
from handloom.view.head_pictures import (
    HEAD_CARDS,
    circuits_drawing,
    composition_drawing,
    film_strip_drawing,
    head_circuits_drawing,
    heads_drawing,
    virtual_heads_drawing,
)
from handloom.view.svg.drawing import Label, as_svg
from handloom.write import program
from parsed import Balanced

SEARCH = program("search")


def film(frames=3, layers=2, heads=2, T=5):
    patterns = np.random.default_rng(0).dirichlet(np.ones(T), (frames, layers, heads, T))
    return FilmStrip("runs/x-1", tuple(range(0, 10 * frames, 10)), patterns, 4)


RESULTS = [
    heads(SEARCH),
    head_circuits(SEARCH),
    head_circuits(SEARCH)["1.0"],
    composition(SEARCH),
    virtual_heads(SEARCH, "4 0 8 0 1 3 0 8 0"),
    film(),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda one: type(one).__name__)
def test_a_result_shows_itself_in_a_notebook(result):
    text = result._repr_html_()
    assert text is not None, HEAD_CARDS[type(result).__name__](result)
    assert text == html(result)
    parsed = Balanced(text)
    assert parsed.tags["svg"] >= 1
    assert not parsed.refers
    assert not parsed.tags["script"]


def words(drawing):
    return [shape.text for shape in drawing.shapes if isinstance(shape, Label)]


def test_each_head_has_a_box_with_its_name_and_its_score():
    assert words(heads_drawing(heads(SEARCH))) == [
        *("0.0", "1.00", "offset 1"),
        *("0.1", "0.93", "offset 2"),
        *("1.0", "1.00", "induction 3"),
        *("1.1", "", "unused"),
    ]


def test_a_film_strip_has_a_row_per_checkpoint_and_a_column_per_head():
    drawing = film_strip_drawing(film())
    assert words(drawing) == ["0.0", "0.1", "1.0", "1.1", "0", "10", "20"]
    assert len([shape for shape in drawing.shapes if shape.part == "frame"]) == 3 * 4
    many = words(film_strip_drawing(film(frames=100)))
    assert many[4] == "0"
    assert many[-1] == "990"
    assert len(many) == 4 + 40


def test_a_long_row_and_a_strange_token_are_drawn_safely():
    model = random_model(Config(vocab=3, block=200, d_model=4, layers=2, heads=1, d_head=2))
    assert len(as_svg(virtual_heads_drawing(virtual_heads(model, [0, 1, 2] * 66)))) < 500_000
    strange = model.with_(vocab=type(model.vocab)(("<script>", "b", "\x00")))
    assert "<script>" not in as_svg(head_circuits_drawing(head_circuits(strange)["0.0"]))


def test_what_cannot_be_drawn_says_why():
    one_layer = random_model(Config(vocab=70, block=5, d_model=4, layers=1, heads=2, d_head=2))
    with pytest.raises(HandloomError, match=r"a picture of 70 tokens \(expected up to 64\); look at the numbers"):
        circuits_drawing(head_circuits(one_layer))
    with pytest.raises(HandloomError, match="one layer has no pairs of heads"):
        composition_drawing(composition(one_layer))
    with pytest.raises(HandloomError, match="one layer has none"):
        virtual_heads_drawing(virtual_heads(one_layer, [0, 1]))
    with pytest.raises(HandloomError, match="a picture of 30 heads"):
        film_strip_drawing(film(layers=5, heads=6))
