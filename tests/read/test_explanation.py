"""A model explained: its example, its answer position by position, its certificate, and the names in its notes."""

import numpy as np
import pytest

import handloom as hl
from command import modules_after
from handloom.core import HandloomError, trace
from handloom.read import direction_names, explain
from handloom.tasks import task
from handloom.write import PROGRAMS, program


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_notes_name_is_there(name):
    """Names of directions fit the stream, and words are only said of heads and MLPs that exist."""
    model = program(name)
    names = direction_names(model)
    assert len(names) == len(set(names)) == model.config.d_model
    c = model.config
    assert set(model.notes.get("heads", {})) <= {f"{i}.{h}" for i in range(c.layers) for h in range(c.heads)}
    assert set(model.notes.get("mlps", {})) <= {str(i) for i in range(c.layers if c.d_ff else 0)}


@pytest.mark.parametrize(
    "notes", [{"directions": {"x": [0, 10**12]}}, {"directions": 3}, {"heads": [1]}, {"mlps": {"0": None}}]
)
def test_notes_that_are_damaged_are_told_in_one_line(notes):
    model = program("min:n=6")
    with pytest.raises(HandloomError, match="a file: its notes are damaged: "):
        explain("a file", model.with_(notes={**model.notes, **notes}))


def test_the_answer_is_explained_position_by_position():
    """What the table says is in the trace: in 995 + 007 the three first digits of the answer take the carry that 5 + 7
    makes (position 6), and the last one takes none, at +."""
    e = explain("addition", program("addition:digits=3"), "995+007=")
    assert [(step.position, step.token, step.gives) for step in e.answer] == [
        (7, "=", "1"), (8, "1", "0"), (9, "0", "0"), (10, "0", "2")
    ]  # fmt: skip
    assert [[at for at, _ in step.looks["3.0"]] for step in e.answer] == [[6], [6], [6], [3]]
    assert [[at for at, _ in step.looks["1.0"]] for step in e.answer][1:] == [[0, 4], [1, 5], [2, 6]]
    whole = trace(e.model, "995+007=100")
    for step in e.answer:
        direction, amount = step.writes["head 3.0"]
        assert direction == "digit"
        assert amount == pytest.approx(whole["3.attn_out"][step.position, 4], rel=1e-9)
        assert step.writes["MLP 3"][1] == pytest.approx(np.abs(whole["3.mlp_out"][step.position]).max() * -1, rel=1e-9)
    assert e.to_json()["answer"][0]["gives"] == "1"


@pytest.mark.parametrize("begun", ["", "1"])
def test_an_example_may_have_the_beginning_of_its_answer(begun):
    e = explain("addition", program("addition:digits=1"), f"9+4={begun}")
    assert begun + e.output == "13"
    assert e.at == 3 + len(begun)
    assert [step.gives for step in e.answer] == ["1", "3"]
    assert e.to_json()["example"]["stream"]["resid_final"] == pytest.approx(
        trace(e.model, f"9+4={begun}")["resid_final"][-1].tolist()
    )


@pytest.mark.parametrize("example", ["9+4=2", "9+4=131", "9+4", "9+x=1", ""])
def test_an_example_that_is_no_input_with_the_beginning_of_its_answer_is_refused(example):
    takes = r"this takes two numbers of 1 digit each, such as 5\+8=, or that and the beginning of its answer"
    with pytest.raises(HandloomError, match=takes):
        explain("addition", program("addition:digits=1"), example)


def test_the_default_example_shows_something():
    """Of search: a text in which the last three tokens are not all one, and neither is the answer one of them."""
    given = task("search").example()
    *_, a, b, c = given.split()
    assert len({a, b, c}) > 1
    assert task("search").answer(given) not in (a, b, c)


@pytest.mark.parametrize(
    ("name", "method"), [("addition:digits=1", "proof"), ("min:n=4", "exhaustive"), ("min", "sampled")]
)
def test_the_strongest_certificate_is_quoted(name, method):
    assert explain(name, program(name)).certificate.method == method


@pytest.mark.parametrize(
    ("name", "more"), [("addition:digits=5", "looks for a proof"), ("tiny-addition:digits=3", "tries all 1,000,000")]
)
def test_where_certify_would_find_more_it_is_said(name, more):
    assert explain(name, program(name)).certified.endswith(f"; handloom certify {name} {more}")


def test_a_proof_of_a_program_is_none_of_a_file_that_was_changed():
    model = program("addition:digits=1")
    W = model.flat["layers.3.W_V"].copy()
    W[0] *= 0.5
    certificate = explain("a file", model.with_(params=model.flat | {"layers.3.W_V": W})).certificate
    assert (certificate.method, certificate.right) == ("exhaustive", False)


def test_a_proof_is_of_the_models_own_task_and_of_no_other():
    """Both tasks have the same tokens and as many inputs."""
    model = program("addition:digits=2")
    assert explain("addition", model).certificate.method == "proof"
    other = explain("addition", model, task=task("modular-sum:digits=2"))
    assert not other.certificate.right
    assert "proof" not in other.certified


def test_a_model_whose_task_cannot_be_had_is_shown_without_a_certificate():
    noted = program("min:n=5")
    for name in ("mine.py", "discover/isosceles:n=16"):
        model = noted.with_(notes={"decode_steps": 1, "task": name})
        assert explain("a file", model).certificate is None


def test_the_room_is_loaded_when_it_is_first_used():
    assert hl.read.explain is explain
    assert "handloom.read" not in modules_after("import handloom as hl; hl.program('hello')")
    assert "handloom.read" in modules_after("import handloom as hl; hl.read")
