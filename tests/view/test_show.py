"""A model shown says what is there: the same numbers as the model, in text and on the page."""

from dataclasses import replace

import numpy as np
import pytest

import handloom as hl
from draws import random_model
from handloom.core import Config, params, trace
from handloom.read import direction_names, explain
from handloom.read.part_names import head_words, mlp_words
from handloom.tasks.extremes import minimum
from handloom.view.architecture import architecture_text
from handloom.view.explanation_text import as_text, groups, run, sign_map
from handloom.view.pages.show import explanation_page, stream_scale
from handloom.view.svg.heatmap import shares_of
from handloom.write import PROGRAMS, program
from parsed import Balanced
from programs import BY_NAME


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_can_be_shown(name):
    explanation = explain(name, program(name))
    text = as_text(explanation)
    assert explanation.task.takes in text
    assert explanation.output == explanation.task.answer(explanation.given) or BY_NAME[name].wrong
    assert repr(explanation.output) in text
    assert str(explanation.certificate) in text
    for part, words in (head_words(explanation.model) | mlp_words(explanation.model)).items():
        assert words, f"say in the notes what {part} is for, or leave it zero"
    parsed = Balanced(explanation_page(explanation))
    assert not parsed.refers
    assert explanation.task.takes in parsed.text
    assert str(explanation.certificate) in parsed.text
    assert explanation.to_json()["certificate"]["right"] == explanation.certificate.right


def test_a_file_of_a_program_is_explained_and_so_is_a_model_of_ones_own():
    model = program("min:n=6")
    changed = model.with_(params=params.unflatten(model.config, {n: 1.0 * a for n, a in model.flat.items()}))
    assert as_text(explain("min", changed)) == as_text(explain("min", model))
    own = explain("a file", model.with_(notes={"made": "trained", "decode_steps": 1}))
    assert own.task is own.certificate is None
    assert "Not certified" in as_text(own)
    assert "Not certified" in explanation_page(own)
    assert explain("a file", own.model, task=minimum(6)).certificate.right


def test_the_example_is_followed():
    shown = explain("min:n=6", program("min:n=6"), "4 2 5")
    assert shown.output == "2"
    assert "looks at position 1, '2', 100%" in as_text(shown)
    stream = shown.to_json()["example"]["stream"]
    assert stream["ln_final"] == pytest.approx(trace(shown.model, "4 2 5")["ln_final"][-1].tolist())


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


def test_a_name_with_markup_in_it_does_nothing():
    bad = "<script>alert(1)</script>"
    model = program("min:n=6")
    notes = {**model.notes, "heads": {"0.0": bad}, "directions": {bad: 0}}
    page = Balanced(explanation_page(explain(bad, model.with_(notes=notes))))
    assert page.tags["script"] == 4  # the model, what is known of it, what runs it, and what unpacks that
    assert bad in page.text


def test_the_stream_shows_small_directions_beside_large_ones():
    """Of addition: high and low are in the thousands, and the digit is at most 9."""
    e = explain("addition", program("addition:digits=3"), "995+007=")
    sites, values = [site for site, _ in e.stream()], np.array([row for _, row in e.stream()])
    digit = direction_names(e.model).index("digit")
    shares = shares_of(values, stream_scale(sites, values))
    assert np.abs(values).max() > 1000 > 100 > np.abs(values[:, digit]).max()
    assert np.abs(shares[:, digit]).max() == pytest.approx(1.0)
    assert np.abs(shares[sites.index("ln_final")]).max() == pytest.approx(1.0)


def test_the_drawing_of_an_architecture_says_what_is_parallel_and_what_replaces_the_stream():
    config = Config(vocab=5, block=4, d_model=6, layers=1, heads=2, d_head=3, d_ff=7, parallel=True)
    text = architecture_text(config)
    assert text.count("parallel") == 2
    assert text.count("reads through") == 1
    assert "no skip" in architecture_text(replace(config, skips=()))
    text = architecture_text(replace(config, parallel=False, skips=("mlp",)))
    assert "│  attention   2 heads of 3, causal" in text
    assert "⊕─ MLP " in text


def test_the_drawing_of_an_architecture_says_how_many_experts_are_used():
    config = Config(vocab=5, block=4, d_model=6, layers=1, heads=2, d_head=3, d_ff=7, experts=8)
    assert "MLP         2 of 8 experts, each 6 → 7 → 6, gelu_tanh" in architecture_text(config)


def test_the_drawing_of_an_architecture_says_what_is_gated_and_shared():
    config = Config(vocab=5, block=4, d_model=6, layers=1, heads=4, d_head=2, d_ff=8, kv_heads=2, gated=True)
    text = architecture_text(config)
    assert "4 heads of 2 (2 for keys and values), causal" in text
    assert "6 → 8 → 6, gelu_tanh, gated" in text
    usual = architecture_text(replace(config, kv_heads=0, gated=False))
    assert "4 heads of 2, causal" in usual
    assert "gated" not in usual


def test_a_head_whose_shared_values_are_zero_is_not_used():
    model = random_model(Config(vocab=5, block=4, d_model=6, layers=1, heads=4, d_head=2, kv_heads=2, biases=()))
    values = model.flat["layers.0.W_V"].copy()
    values[1] = 0.0
    words = head_words(model.with_(params=model.flat | {"layers.0.W_V": values}))
    assert words == {"0.0": "", "0.1": "", "0.2": "not used", "0.3": "not used"}


@pytest.mark.parametrize("name", ["compiled/induction", "compiled/k-hop"])
def test_an_example_has_something_to_answer(name):
    task = hl.task_of(hl.program(name))
    assert task.answer(task.example())
