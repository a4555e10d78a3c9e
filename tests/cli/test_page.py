"""handloom page: one file with the model, its certificate in its own words, and an exam with the oracle's answers."""

import json
import re

import pytest

import handloom as hl
from command import handloom, output
from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.tasks import task
from handloom.write.catalogue import prover_of


def block(html, name):
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.DOTALL)[1])


def test_the_page_of_addition_is_one_small_file_that_quotes_its_proof(tmp_path):
    found = json.loads(output("page", "addition", "--on", "865+230=", "-o", "a.html", "--json", cwd=tmp_path))
    html = (tmp_path / "a.html").read_text()
    assert found == {"file": "a.html", "bytes": len(html.encode())}
    assert found["bytes"] < 120_000
    about = block(html, "page")
    assert about["certificate"]["text"] == str(prover_of(hl.program("addition"))(hl.program("addition"), None))
    assert about["on"] == "865+230="
    assert "http" not in re.sub(r'id="packed">.*?<', "", html, flags=re.DOTALL).replace("http-equiv", "")


@pytest.mark.parametrize("name", ["addition", "min", "compiled/reverse"])
def test_the_exam_has_different_inputs_with_the_oracles_answers(name):
    model = hl.program(name)
    exam, oracle = block(hl.page(model).html, "page")["exam"], hl.task_of(model).oracle
    assert len(exam) == len({tuple(prompt) for prompt, _ in exam}) >= 100
    assert all(oracle(prompt) == answer for prompt, answer in exam)
    assert all(len(prompt) + len(answer) - 1 <= model.config.block for prompt, answer in exam)


def test_two_models_make_one_page_with_both(tmp_path):
    output("page", "min:n=4", "min:n=5", "--on", "2 1", "-o", "both.html", cwd=tmp_path)
    html = (tmp_path / "both.html").read_text()
    assert [block(html, name)["name"] for name in ("page", "page-beside")] == ["min:n=4", "min:n=5"]
    assert [block(html, name)["on"] for name in ("page", "page-beside")] == ["2 1", "2 1"]
    assert block(html, "model") == block(hl.page("min:n=4").html, "model")
    assert html == hl.page("min:n=4", on="2 1", beside="min:n=5").html


def test_a_model_of_strings_has_a_page_without_an_exam():
    made = task("strings:rule=s[1]==s[2],length=4-5")
    config = Config(vocab=len(made.vocab), block=8, d_model=4, layers=1, heads=1, d_head=4)
    html = hl.page(Model(config, params.random(config, seed=0), made.vocab, {"task": "s[1]==s[2]"})).html
    assert block(html, "page")["exam"] == []
    assert block(html, "page")["certificate"] is None


def test_a_notebook_shows_the_page_in_a_frame_that_may_only_run_its_script():
    shown = hl.page("hello")._repr_html_()
    assert 'sandbox="allow-scripts"' in shown
    assert "<script" not in shown  # it is all in the attribute


def test_a_model_that_a_browser_cannot_run_is_refused():
    config = Config(vocab=2, block=600, d_model=2)
    model = Model(config, params.zeros(config), Vocab.numbers(2))
    with pytest.raises(HandloomError, match=r"512 positions, and this one has .* and 600"):
        hl.page(model)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["addition", "-o", "a.txt"], "a.txt"),
        (["addition", "-o", "no/a.html"], "no"),
        (["addition", "--on", "1+1=", "-o", "a.html"], "two numbers of 3 digits"),
        (["adition", "-o", "a.html"], "addition"),
    ],
)
def test_wrong_words_are_answered_in_one_line(words, message, tmp_path):
    run = handloom("page", *words, cwd=tmp_path)
    assert run.returncode == 2
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())
