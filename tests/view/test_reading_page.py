"""The page of an overview: truth and method told apart by more than colour, and written beside learned."""

from dataclasses import replace
from pathlib import Path

import pytest

import handloom as hl
from handloom.core import load
from handloom.read.circuit import circuit
from handloom.read.close_look import close_look, scores_of
from handloom.read.overview import overview
from handloom.view.pages.reading import overview_page, written_for
from handloom.view.reading_cards import circuit_card
from handloom.view.svg.circuit_graph import circuit_drawing
from handloom.view.svg.drawing import LOOKS, Label, Segment

LEARNED = Path(__file__).parents[2] / "docs" / "read" / "models" / "induction-1.safetensors"
KINDS = ("plus-line", "missed-line", "extra-line")


def test_hits_misses_and_extras_have_lines_of_their_own_and_the_legend_counts_them():
    model = hl.program("search")
    found = circuit(model, pairs=64)
    wrong = {edge: -number for edge, number in scores_of("exact", model, pairs=64).items()}
    drawing = circuit_drawing(found, wrong)
    lines = [shape for shape in drawing.shapes if isinstance(shape, Segment) and shape.part in KINDS]
    drawn = [sum(shape.part == kind and bool(shape.hint) for shape in lines) for kind in KINDS]
    told = [
        int(shape.text.rpartition(": ")[2])
        for shape in drawing.shapes
        if isinstance(shape, Label) and ": " in shape.text
    ]
    assert drawn == told
    assert drawn[0] + drawn[1] == len(found.real)
    assert drawn[0] + drawn[2] == len(found.real), "a method chooses as many as are real"
    assert drawn[2] > 0
    assert len({LOOKS[kind].dash for kind in KINDS}) == 3, "not by colour alone"


def test_without_a_method_there_is_one_kind_of_line_and_no_legend():
    drawing = circuit_drawing(circuit(hl.program("min:n=4"), pairs=16))
    assert {shape.part for shape in drawing.shapes if isinstance(shape, Segment)} == {"plus-line"}
    assert not any(": " in shape.text for shape in drawing.shapes if isinstance(shape, Label))


def test_a_trained_model_stands_beside_the_program_that_was_written_for_its_task():
    learned = load(LEARNED)
    written = written_for(learned)
    assert written is not None
    assert written.vocab.tokens == learned.vocab.tokens
    assert written_for(hl.program("search")) is None, "it is written itself"
    assert written_for(learned.with_(notes={"task": "no such task"})) is None
    assert written_for(learned.with_(notes={"task": "min:n=4"})) is None, "its tokens are others"


def test_where_every_edge_is_real_no_method_is_judged():
    found = circuit(hl.program("search"), pairs=16)
    every = replace(found, edges=tuple(replace(one, real=True) for one in found.edges))
    scores = dict.fromkeys((one.edge for one in found.edges), 1.0)
    assert "AUROC" in circuit_card(found, "flow", scores)
    assert "AUROC" not in circuit_card(every, "flow", scores)
    assert "missed" not in circuit_card(every, "flow", scores)


@pytest.mark.parametrize(("model", "beside"), [("min:n=4", False), (str(LEARNED), True)])
def test_the_page_has_a_loom_and_a_patching_grid_and_names_the_method(model, beside):
    page = overview_page(overview(model, pairs=8), close_look(model, method="weights", pairs=8))
    assert page.count('class="loom-figure"') == 1
    assert ("data-beside" in page.partition("<script")[0]) == beside
    assert "<h3>Patching</h3>" in page
    assert "<b>weights</b>" in page
