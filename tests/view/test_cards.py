"""What a notebook shows of a value: a whole, self-contained picture, whatever the value."""

import numpy as np
import pytest
from hypothesis import given, settings

import handloom as hl
from command import modules_after
from draws import configs, random_model, trained_like
from handloom.core import Trace
from handloom.core.trace import trace
from handloom.discover import Problem, grid
from handloom.discover.catalogue import problem_named
from handloom.discover.records.selection import Records
from handloom.discover.records.store import Record, Store
from handloom.view.cards import CARDS, MOST_PATTERNS, html
from handloom.write import program
from parsed import Balanced

BAD = "<script>alert(1)</script>"


def card(value):
    """The parsed picture of a value."""
    text = value._repr_html_()
    assert text == html(value)
    assert text is not None, CARDS[type(value).__name__](value)
    parsed = Balanced(text)
    assert not parsed.refers
    assert not parsed.tags["script"]
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert text.startswith('<div class="handloom value">')
    return parsed


@pytest.mark.parametrize("name", ["hello", "addition", "book/search"])
def test_a_written_model_shows_its_architecture_its_sizes_and_its_task(name):
    model = program(name)
    shown = card(model)
    assert shown.tags["svg"] == 1
    assert f"{hl.count(model).total:,}, {hl.count(model).nonzero:,} not zero" in shown.text
    assert model.notes["task"] in shown.text
    assert shown.words.count("MLP") == (1 if model.config.d_ff else 0)


@given(configs())
@settings(max_examples=30)
def test_every_model_and_its_trace_are_drawn(config):
    model = random_model(config)
    card(model)
    ids = [0] * model.config.block
    for tokens in (ids, [ids, ids]):
        assert len(trace(model, tokens)) > 0
        card(trace(model, tokens))


def test_a_trace_has_a_picture_for_each_head_and_for_the_stream_up_to_a_number():
    shown = card(trace(program("addition"), "995+007="))
    assert [words for words in shown.words if words.startswith("head ")] == [f"head {i}.0" for i in range(4)]
    assert "0.resid_pre" in shown.words
    assert shown.words.count("1.resid_pre") == 1, "only in the table: it is 0.resid_post"
    assert "1 × 8 × 8" in shown.words
    assert [words for words in shown.words if len(words.strip()) == 1][:8] == list("995+007=")
    wide = card(trace(trained_like(layers=5, heads=5), [0] * 13, want="*.pattern"))
    assert wide.tags["svg"] == MOST_PATTERNS
    assert f"(the first {MOST_PATTERNS} of 25)" in wide.text


def test_a_trace_of_another_engine_and_an_empty_one_are_shown():
    card(trace(trained_like(), [0, 1, 1], engine="torch"))
    assert "0 sites" in card(Trace([0, 1])).text
    assert card(trace(trained_like(), [0, 1], want="0.attn_out")).tags["svg"] == 0


def test_values_that_are_not_finite_can_be_shown():
    edited = trace(program("hello"), "H", edits={"resid_final": np.nan})
    card(edited)


def test_a_long_trace_has_a_picture_of_bounded_size():
    model = trained_like(block=300)
    assert len(trace(model, [0] * 300)._repr_html_()) < 1_000_000


def failing():
    model = program("addition:digits=1")
    W = model.flat["layers.3.W_V"].copy()
    W[0] *= 0.5
    return model.with_(params=model.flat | {"layers.3.W_V": W})


@pytest.mark.parametrize(
    ("make", "method", "look"),
    [
        (lambda: hl.read.explain("addition", program("addition:digits=1")).certificate, "proof", "good"),
        (lambda: hl.certify(program("min:n=4")), "exhaustive", "good"),
        (lambda: hl.certify(program("min"), samples=50), "sampled", "good"),
        (lambda: hl.certify(failing()), "exhaustive", "bad"),
    ],
    ids=["proof", "exhaustive", "sampled", "wrong"],
)
def test_a_certificate_shows_its_sentence_and_never_more_than_was_done(make, method, look):
    certificate = make()
    assert certificate.method == method
    shown = card(certificate)
    assert str(certificate) in shown.text
    assert f'class="badge {look}"' in certificate._repr_html_()
    assert ("proof" in shown.text) == (method == "proof")
    assert f"{certificate.inputs:,}" in shown.words


def test_a_training_shows_its_curves(tmp_path):
    how = {"count": 40, "layers": 1, "heads": 1, "d_model": 8, "samples": 10}
    run = hl.train("s[1]==s[2]", steps=6, every=2, folder=tmp_path / "run", **how)
    shown = card(run)
    assert shown.tags["svg"] == shown.tags["figure"] == 2
    assert "6 of 6" in shown.words
    assert str(run.evaluation) in shown.text
    assert run.learner.notes["task"] in shown.text
    without = hl.train("s[1]==s[2]", steps=6, every=2, **how)
    assert card(without).tags["svg"] == 2
    assert card(without.model()).tags["svg"] == 1
    without.evaluation = without.held_out_loss = None
    assert "not evaluated yet" in card(without).words


def record_of(**fields):
    about = {"id": 7, "problem": "isosceles:n=4", "score": 3, "construction": [[0, 0], [0, 1], [1, 3]], "key": ""}
    about |= {"found": "2026-01-31T23:59:59+00:00", "verified": "2026-02-01T00:00:00+00:00", "version": "0.1.0"}
    return Record(**about | {"origin": {"how": "search", "start": None}, "parent": None} | fields)


def test_a_record_shows_its_construction_score_and_origin(tmp_path):
    problem = problem_named("isosceles:n=4")
    store = Store.open(tmp_path / "r.sqlite")
    shown = card(store.add(problem, problem.space.read([[0, 0], [0, 1], [1, 3]]), {"how": "search", "start": None}))
    assert shown.tags["circle"] == 3
    assert {"3", "isosceles:n=4", "search, from nothing"} <= set(shown.words)
    assert shown.words[shown.words.index("best known") + 1] == "6"


def test_records_are_shown_as_a_table_of_bounded_length(tmp_path):
    shown = card(Records([record_of(), record_of(id=8, score=4, problem=BAD)]))
    assert shown.tags["tr"] == 3
    assert {"7", "8", "isosceles:n=4", BAD, "search"} <= set(shown.words)
    assert card(Records([record_of()] * 1000)).tags["tr"] == 51
    problem = problem_named("isosceles:n=4")
    Store.open(tmp_path / "r.sqlite").add(problem, problem.space.read([[0, 0]]), {"how": "import"})
    assert card(hl.records(tmp_path / "r.sqlite")).tags["tr"] == 2


def test_a_record_of_a_problem_that_is_not_ours_is_shown_without_running_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("raise SystemExit('was run')")
    mine = Problem(grid(3, 3), forbidden=lambda a, b: a[0] == b[0], name="mine.py:n=3")
    record = Store.open(tmp_path / "r.sqlite").add(mine, mine.space.read([[0, 0], [1, 2]]), {"how": "import"})
    assert "[[0, 0], [1, 2]]" in card(record).words
    assert len(record_of(problem="mine.py", construction=[[i, i] for i in range(10**4)])._repr_html_()) < 20_000
    assert "[[9, 9]]" in card(record_of(construction=[[9, 9]])).words, "not in a grid of 4 × 4"


def test_names_with_markup_in_them_do_nothing():
    model = program("min:n=4")
    card(model.with_(notes={"task": BAD, "made": BAD}))
    card(record_of(problem=BAD, construction=BAD, origin={"how": BAD}, version=BAD))
    card(hl.Certificate("sampled", 3, False, -1.0, "float64", how=BAD, wrong=1, counterexample=(BAD, BAD, BAD)))


@pytest.mark.parametrize("origin", [{}, None, {"how": 3, "start": 5}, {"start": {"from": []}}])
def test_odd_values_are_shown_too(origin):
    card(record_of(origin=origin, score=1.5, construction=None))
    odd = program("min:n=4").with_(notes={"task": ["a", 1], "made": {"x": None}})
    card(odd)


def test_a_value_that_cannot_be_drawn_is_left_to_its_text():
    assert html(3) is None
    assert html(record_of(score="many", problem=None)) is None


def test_a_picture_needs_neither_matplotlib_nor_torch():
    code = "import handloom as hl; m = hl.program('min:n=4'); t = hl.trace(m, '1 2 0')\n"
    shown = "assert all(len(v._repr_html_()) > 5000 for v in (m, t, hl.certify(m)))"
    loaded = modules_after(code + shown)
    assert not {"matplotlib", "torch", "numba"} & loaded
    assert "handloom.view" not in modules_after(code)
