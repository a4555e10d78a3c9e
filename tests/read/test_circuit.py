"""True circuits: those of written programs are certified, agree with the compiler, and change with the weights."""

import numpy as np
import pytest

import handloom as hl
from handloom.read import circuit
from handloom.read.compiled_truth import stated_edges
from handloom.read.graph import Graph
from handloom.read.impossible import impossible_edges, unread_edges

WRITTEN = {"min": 3, "search": 16, "lookup": 21, "modular-sum": 11, "tiny-addition": 11}  # real edges, by the study
COMPILED = ["copy", "induction:n=15,letters=5", "min", "parity:n=6", "dyck-1:n=6", "histogram:n=4,letters=3"]


@pytest.mark.parametrize(("name", "real"), WRITTEN.items())
def test_the_real_edges_of_a_written_program_alone_keep_its_answers(name, real):
    found = circuit(name)
    assert found.certified
    assert len(found.real) == real
    assert found.core <= found.real
    assert not found.real & found.impossible


@pytest.mark.parametrize("name", COMPILED)
def test_no_real_edge_of_a_compiled_program_is_missing_from_what_the_compiler_states(name):
    found = circuit(f"compiled/{name}", pairs=128)
    unreal, unstated = found.disagreements()
    assert found.certified
    assert not unstated
    assert len(unreal) <= 0.3 * len(found.stated.edges)


def test_the_circuit_of_sums_is_exhaustive():
    found = circuit("sum")
    assert found.exhaustive
    assert found.pairs == found.held_out == 9900
    assert found.certified


def test_a_planted_edge_is_found():
    model = hl.program("compiled/min:n=4,digits=4")
    graph = Graph(model)
    assert ("pos", "logits") not in circuit(model).real
    flat = {name: np.array(array) for name, array in model.flat.items()}
    flat["W_pos"] += 500 * flat["W_E"][[model.vocab.ids["0"]]] * (np.arange(graph.config.block) == 3)[:, None]
    planted = hl.Model(model.config, hl.params.unflatten(model.config, flat), model.vocab, model.notes)
    assert ("pos", "logits") in circuit(planted).real


def test_edges_from_a_head_that_writes_nothing_are_impossible():
    found = impossible_edges(Graph(hl.program("search")))
    assert found == {("1.1", "logits")}


def test_what_is_impossible_is_never_read():
    for name in ("search", "compiled/addition:digits=1", "min"):
        graph = Graph(hl.program(name))
        assert impossible_edges(graph) <= unread_edges(graph)


def test_the_notes_of_the_compiler_have_the_names_of_the_graph():
    for name in ("compiled/reverse", "compiled/addition:digits=2", "compiled/sort:n=5,digits=4"):
        model = hl.program(name)
        stated = stated_edges(model)
        assert stated.edges
        assert stated.edges | stated.cancelled <= set(Graph(model).edges)
    assert stated_edges(hl.program("search")) is None


def test_a_circuit_prints_and_is_json():
    found = circuit("min")
    assert str(found).splitlines()[0].startswith("3 real of 9 edges, on 256 pairs of inputs")
    assert "  logits   ← 0.0" in str(found)
    as_json = found.to_json()
    assert as_json["certified"]
    assert {"source", "target", "real", "share"} <= as_json["edges"][0].keys()
