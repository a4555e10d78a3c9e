"""handloom read: every analysis prints, gives JSON, draws, and refuses what is wrong in one line."""

import json

import pytest

from command import output

SEARCH = ("search", "--on", "1 2 3 4 1 2 3")
COMMANDS = {
    "heads": ("heads", "search"),
    "circuit": ("circuit", "min", "--pairs", "32"),
    "paths": ("paths", *SEARCH),
    "shares": ("shares", *SEARCH),
    "lens": ("lens", *SEARCH),
    "patch": ("patch", *SEARCH, "--other", "1 2 3 7 1 2 3"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_an_analysis_draws_itself(words, tmp_path):
    assert output("read", *words, "-o", "picture.svg", cwd=tmp_path) == "picture.svg\n"
    assert (tmp_path / "picture.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_an_analysis_gives_json_and_nothing_else(words, tmp_path):
    assert json.loads(output("read", *words, "--json", cwd=tmp_path))


def test_heads_have_the_promised_keys(tmp_path):
    found = json.loads(output("read", "heads", "search", "--json", cwd=tmp_path))
    assert [one["name"] for one in found] == ["offset 1", "offset 2", "induction 3", "unused"]
    assert {"head", "name", "score"} <= found[0].keys()


def test_a_circuit_has_the_promised_keys(tmp_path):
    found = json.loads(output("read", "circuit", "min", "--json", cwd=tmp_path))
    assert found["certified"] is True
    assert {"source", "target", "real", "share"} <= found["edges"][0].keys()


def test_a_model_alone_is_its_overview(tmp_path):
    text = output("read", *SEARCH, "--pairs", 64, cwd=tmp_path)
    assert text == output("read", "overview", *SEARCH, "--pairs", 64, cwd=tmp_path)
    assert all(word in text for word in ("induction 3", "16 real of 42 edges", "embed → 1.0"))


def test_an_overview_can_be_a_page(tmp_path):
    assert output("read", "min", "-o", "min.html", cwd=tmp_path) == "min.html\n"
    page = (tmp_path / "min.html").read_text()
    assert "3 real of 9 edges" in page
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")


def test_what_a_model_does_not_have_is_left_out_with_the_reason(tmp_path):
    text = output("read", "hello", cwd=tmp_path)
    assert "No heads: " in text
    assert "No circuit: " in text


def test_a_method_of_ones_own_is_scored(tmp_path):
    (tmp_path / "mine.py").write_text("def mine(model, pairs):\n    return {('embed', '0.0.v'): 1}\n")
    rows = json.loads(output("read", "score", "mine.py", "weights", "--on", "min", "--json", cwd=tmp_path))
    assert [row["method"] for row in rows] == ["mine", "weights"]
    assert rows[0]["auroc"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("heads", "hello"), "no attention heads"),
        (("hedas", "search"), "Did you mean 'heads'?"),
        (("paths", "search", "--on", "1 2 x"), "not in the vocabulary"),
        (("paths", "search", "-o", "p.gif"), "name it .svg, .png, .pdf or .tex"),
        (("patch", "search", "--on", "1 2", "--other", "1 2 3"), "choose inputs with equal numbers of tokens"),
        (("patch", "search", "--on", "1 2", "--other", "1 3", "--sites", "*.zz"), "no site '*.zz'"),
        (("film", "min"), "name the folder of a run"),
        (("score", "nope"), "is no method"),
        (("score", "nope.py"), "no such file"),
    ],
)
def test_what_is_wrong_is_one_line(words, problem, tmp_path):
    message = output("read", *words, cwd=tmp_path, code=2)
    assert problem in message
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1\n", "expected one function"),
        ("def a(model, pairs): ...\ndef b(model, pairs): ...\n", "name one, as in"),
        ("def a(model, pairs):\n    return 1 / 0\n", "ZeroDivisionError"),
        ("def a(model, pairs):\n    return {1: 2}\n", "is no edge of this model"),
    ],
)
def test_a_method_that_is_wrong_is_one_line(text, problem, tmp_path):
    (tmp_path / "mine.py").write_text(text)
    message = output("read", "score", "mine.py", "--on", "min", cwd=tmp_path, code=2)
    assert problem in message
    assert message.count("\n") == 1
