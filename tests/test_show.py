"""A program explained says what is there: the same numbers as the model, in text, on the page and as JSON."""

import numpy as np
import pytest

from handloom.core import HandloomError, params, trace
from handloom.view.show import as_page, as_text, direction_names, explain, groups, heads, mlps, run, sign_map
from handloom.write import PROGRAMS, program


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_can_be_explained(name):
    explanation = explain(name, program(name))
    text = as_text(explanation)
    assert explanation.task.takes in text
    assert repr(explanation.said) in text
    assert str(explanation.certificate) in text
    for part, words, *_ in (*heads(explanation), *mlps(explanation)):
        assert words, f"say in the notes what {part} is for, or leave it zero"
    page = as_page(explanation)
    assert page.startswith("<!doctype html>")
    assert "{" not in page.split("</style>")[1].split("<svg")[0]
    assert explanation.to_json()["certificate"]["right"] == explanation.certificate.right


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_notes_name_is_there(name):
    """Names of directions fit the stream, and words are only said of heads and MLPs that exist."""
    model = program(name)
    names = direction_names(model)
    assert len(names) == len(set(names)) == model.config.d_model
    c = model.config
    assert set(model.notes.get("heads", {})) <= {f"{i}.{h}" for i in range(c.layers) for h in range(c.heads)}
    assert set(model.notes.get("mlps", {})) <= {str(i) for i in range(c.layers if c.d_ff else 0)}


def test_the_example_is_followed():
    shown = explain("min:n=6", program("min:n=6"), "4 2 5")
    assert shown.said == "2"
    assert "looks at position 1, '2', 100%" in as_text(shown)
    stream = shown.to_json()["example"]["stream"]
    assert stream["ln_final"] == pytest.approx(trace(shown.model, "4 2 5")["ln_final"][-1].tolist())


def test_a_file_of_a_program_is_explained_and_what_is_no_program_is_refused():
    model = program("min:n=6")
    changed = model.with_(params=params.unflatten(model.config, {n: 1.0 * a for n, a in model.flat.items()}))
    assert as_text(explain("a file", changed)).splitlines()[1:] == as_text(explain("min", model)).splitlines()[1:]
    with pytest.raises(HandloomError, match="a file is no program, by its notes; handloom info"):
        explain("a file", model.with_(notes={"made": "trained"}))


@pytest.mark.parametrize(
    "notes", [{"directions": {"x": [0, 10**12]}}, {"directions": 3}, {"heads": [1]}, {"mlps": {"0": None}}]
)
def test_notes_that_are_damaged_are_told_in_one_line(notes):
    model = program("min:n=6")
    with pytest.raises(HandloomError, match="a file: its notes are damaged: "):
        explain("a file", model.with_(notes={**model.notes, **notes}))


def test_a_matrix_as_signs():
    lines = sign_map("W", np.array([[1.0, 0], [1.0, 0], [-2.0, 0]]), ["a 0", "a 1", "b"], ["x 0", "x 1"])
    assert lines == [
        "W  3 × 2, 3 not zero, from 1 to 2 in size",
        "         to x 0–1",
        "  a 0–1  + ·",
        "      b  − ·",
    ]


def test_runs_of_names():
    assert groups(["token 0", "token 1", "one", "place 0", "place 1"]) == ["token 0–1", "one", "place 0–1"]
    assert run(["a 1", "a 2", "b 0"]) == "a 1–b 0"
