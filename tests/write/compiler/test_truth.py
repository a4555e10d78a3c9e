"""The truth about compiled models, against their weights and by ablation."""

import json

import pytest

import handloom as hl
from circuits import coefficients, listed, nodes_before_logits, without
from handloom.write.compiler import compile
from handloom.write.standard import STANDARD, standard

SOME = ("reverse", "induction", "dedupe", "histogram", "rank", "sort", "contains-ab", "dyck-1", "dyck-2", "parity",
        "automaton", "addition")  # fmt: skip
NEVER_NEEDED = {("addition", "0.mlp.1")}  # in inputs so short


def small(name: str):
    return standard(name, **STANDARD[name].small)


@pytest.mark.parametrize("name", STANDARD)
def test_the_edges_are_those_that_the_weights_have_coefficients_for(name):
    model = compile(small(name))
    truth = model.notes["truth"]
    assert coefficients(model, truth, relative=1e-5) == listed(truth)


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDARD)
def test_the_edges_are_those_of_the_weights_at_default_sizes_too(name):
    model = compile(standard(name))
    truth = model.notes["truth"]
    assert coefficients(model, truth, relative=1e-5) == listed(truth)


@pytest.mark.parametrize("name", SOME)
def test_without_a_node_that_has_a_path_to_the_logits_some_answer_is_wrong(name):
    program = small(name)
    model = compile(program)
    truth = model.notes["truth"]
    needed = nodes_before_logits(truth) | {source for edge in truth["cancelled"] for source in edge["sources"]}
    parts = [node for node in truth["nodes"] if node["kind"] in ("head", "neurons")]
    for node in parts:
        wrong = not hl.certify(without(model, node), program.task, samples=300).right
        assert wrong == (node["name"] in needed and (name, node["name"]) not in NEVER_NEEDED)


def test_what_cancels_is_what_was_cleared_with_the_neurons_that_cleared_it():
    truth = compile(small("contains-ab")).notes["truth"]
    nodes = {node["name"]: node for node in truth["nodes"]}
    assert truth["cancelled"]
    for edge in truth["cancelled"]:
        *writers, clearing = edge["sources"]
        assert nodes[clearing]["about"].startswith("clears")
        assert all(any(e["source"] == w and e["target"] == clearing for e in truth["edges"]) for w in writers)


def test_a_node_names_its_head_or_neurons_and_the_line_it_comes_from():
    model = compile(small("induction"))
    nodes = {node["name"]: node for node in model.notes["truth"]["nodes"]}
    assert list(nodes) == ["embed.token", "embed.position", "0.head.0", "1.head.0", "logits"]
    assert nodes["0.head.0"]["index"] == 0
    assert nodes["0.head.0"]["line"]["text"] in model.notes["heads"]["0.0"]
    assert nodes["logits"]["line"] is None


def test_a_variable_is_read_from_the_stream_as_it_was_written():
    for name in SOME:
        for variable in compile(small(name)).notes["truth"]["variables"]:
            product = sum(a * b for a, b in zip(variable["reads"], variable["writes"], strict=True))
            assert product == pytest.approx(1)
            low, high = variable["values"]
            assert low <= high


def test_the_truth_survives_another_dtype_and_a_file(tmp_path):
    model = compile(small("sort"))
    hl.save(model, tmp_path / "sort.safetensors")
    for other in (model.astype("float64"), hl.load(tmp_path / "sort.safetensors")):
        assert other.notes["truth"] == model.notes["truth"]
    assert json.loads(json.dumps(model.notes["truth"])) == model.notes["truth"]
