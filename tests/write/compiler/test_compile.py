"""Compiling: random programs against the interpreter, and from a user's file to a model file that is enough."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import handloom as hl
from command import handloom
from handloom.core import HandloomError
from handloom.language import (
    END,
    at,
    back,
    choose,
    count,
    find,
    greatest,
    latest,
    number,
    position,
    program,
    there,
    token,
)
from handloom.write.compiler import cost_of, stored_program
from random_programs import programs

EXAMPLES = Path(__file__).parents[3] / "examples" / "language"
REVERSE = '''from handloom.language import *


@program(asks="[a-d]{0,5}>")
def reverse():
    """The letters backwards."""
    middle = find(">")
    return at(2 * middle - position - 1)
'''


@program(asks="[a-d]{0,3}>")
def reverse():
    """The letters backwards."""
    middle = find(">")
    return at(2 * middle - position - 1)


@program(asks="[abc]{1,4}", steps=1)
def induction():
    before = back(1)
    return latest(token, where=there(before) == token, otherwise=END)


@program(asks="[a-c]{1,3}>")
def histogram():
    letter = at(position - find(">") + 1)
    return choose(letter == ">", END, count(there(token) == letter))


def check_exact(drawn):
    """The model of a program, and of its file, is right on all inputs in both dtypes, in any order of sums."""
    try:
        model = hl.compile(drawn)
    except HandloomError as error:
        assert "\n" not in str(error)
        return False
    for dtype in ("float32", "float64"):
        certificate = hl.certify(model, dtype=dtype, everything=True)
        assert certificate.right, certificate
        assert certificate.method == "exhaustive"
        assert not certificate.ties
        assert not certificate.orders
    assert hl.certify(model).right  # by a proof, if there is one
    texts = list(drawn.asked.words())
    assert hl.task_of(model).answer(texts[-1]) == drawn(texts[-1])
    return True


@settings(max_examples=25)
@given(programs())
def test_a_random_program_is_compiled_exactly_or_refused(drawn):
    check_exact(drawn)


@pytest.mark.slow
@settings(max_examples=600)
@given(programs())
def test_many_random_programs_are_compiled_exactly_or_refused(drawn):
    check_exact(drawn)


@pytest.mark.parametrize("known", [reverse, induction, histogram], ids=lambda known: known.name)
def test_a_program_is_exact_in_both_dtypes(known):
    assert check_exact(known)


ODD_ONES = {  # each was once wrong, or not compiled
    "ties that are all equal": ("[ab]{0,3}", 2, lambda: greatest(number(token), token, otherwise=END)),
    "a coordinate that is constant": ("[01]{1,4}", 1, lambda: number(token) % 3),
    "a comparison that always holds": (
        "[ab]{1,3}",
        1,
        lambda: latest(token, where=there(number(token)) == number(token)),
    ),
    "a head that reads what its like fetched": ("[ab]{1,4}", 1, lambda: back(1, back(1))),
    "a count of what never occurs": ("[ab]{0,3}", 2, lambda: at(count(there(token) == END))),
    "no head at all": ("(ab|b){1,2}c", 1, lambda: choose(position < position, "a", token)),
}


@pytest.mark.parametrize("name", ODD_ONES)
def test_odd_programs_are_exact(name):
    asks, steps, function = ODD_ONES[name]
    assert check_exact(program(asks=asks, steps=steps)(function))


def test_labels_that_are_no_tokens_can_be_compared():
    def labels():
        kind = choose(position % 2 == 1, choose(token == "a", "odd", "x"), "even")
        return choose(latest(kind, where=there(kind) == back(1, kind)) == kind, "a", END)

    assert check_exact(program(asks="[ab]{1,3}", steps=1)(labels))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_compiles_and_is_right_on_its_hard_inputs(path):
    assert hl.certify(hl.compile(path), samples=100).right


def test_a_program_runs_without_a_transformer():
    assert reverse("abc>") == "cba"
    assert induction("abca") == "b"
    assert histogram("aba>") == "212"


def test_show_has_a_row_per_variable():
    assert repr(reverse.show("ab>")) == (
        " token  <>  a  b > b  a\n"
        "middle   0  0  0 3 3  3\n"
        "  next  <> <> <> b a <>"
    )  # fmt: skip
    assert "<th>middle</th><td>0</td>" in reverse.show("ab>")._repr_html_()
    assert "program reverse, asked [a-d]{0,3}&gt;: The letters backwards." in reverse._repr_html_()


def test_the_cost_is_by_source_line():
    rows = {row.text: (row.heads, row.neurons) for row in reverse.cost().lines}
    assert rows['middle = find(">")'] == (1, 0)
    assert rows["return at(2 * middle - position - 1)"] == (1, 0)
    assert sum(row.dimensions for row in reverse.cost().lines) == hl.compile(reverse).config.d_model
    assert "heads  neurons  dimensions" in repr(reverse.cost())


def test_a_compiled_model_is_in_float32_and_says_what_it_is():
    model = hl.compile(reverse)
    assert model.dtype == np.float32
    assert model.notes["task"] == "compiled/reverse"
    assert model("abc>") == "cba"
    with pytest.raises(HandloomError, match=r"this takes .*; it was given 'abcabc'"):
        model("abcabc")


def test_compile_takes_programs_and_nothing_else():
    with pytest.raises(HandloomError, match=r"compile takes a program of the language, or FILE.py:NAME, not 3"):
        hl.compile(3)


def test_the_file_alone_is_enough(here):
    (here / "reverse.py").write_text(REVERSE)
    done = handloom("compile", "reverse.py", "-o", "m.safetensors", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "right on all 1,365 inputs (proof: all cases of every part, with rounding), float32" in done.stdout
    assert 'middle = find(">")' in done.stdout
    (here / "reverse.py").unlink()
    assert handloom("certify", "m.safetensors", cwd=here).stdout.startswith(
        "right on all 1,365 inputs (proof: all cases of every part, with rounding), float32"
    )
    assert handloom("run", "m.safetensors", "abc>", "dd>", cwd=here).stdout == "cba\ndd\n"
    wrong = handloom("run", "m.safetensors", "abc", cwd=here)
    assert (wrong.returncode, "this takes [a-d]{0,5}>" in wrong.stderr) == (2, True)
    assert "compiled/reverse" in handloom("info", "m.safetensors", cwd=here).stdout
    assert handloom("score", "m.safetensors", "abc>cba", cwd=here).returncode == 0
    assert (here / "m.safetensors").stat().st_size < 10_000


def test_compile_as_json(here):
    (here / "reverse.py").write_text(REVERSE)
    done = json.loads(handloom("compile", "reverse.py:reverse", "--json", cwd=here).stdout)
    assert done["file"] == "reverse.safetensors"
    assert done["total"] >= done["nonzero"] > 0
    assert (done["layers"], done["certificate"]["right"]) == (2, True)
    assert done["width"] == hl.load("reverse.safetensors").config.d_model


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("x = 1\n", "p.py", "p.py: there is no program in it; write @program(asks=…) in front of a function"),
        (REVERSE + REVERSE.replace("reverse", "other"), "p.py", "p.py has the programs reverse, other; name one"),
        (REVERSE, "p.py:revers", "p.py: there is no program 'revers' in it; did you mean reverse?"),
        (REVERSE.replace("at(", "at(["), "p.py", "p.py, line 8: "),
        (REVERSE.replace("find(", "not find("), "p.py", 'p.py, line 7: middle = not find(">"): a value differs'),
        (REVERSE, "q.py", "q.py: no such file; name a Python file with a program in it"),
        (REVERSE, "reverse", "'reverse' is not FILE.py or FILE.py:NAME"),
    ],
)
def test_what_cannot_be_compiled_gives_one_line(here, text, name, message):
    (here / "p.py").write_text(text)
    done = handloom("compile", name, cwd=here)
    assert done.returncode == 2
    assert done.stderr.startswith(f"handloom: {message}")
    assert done.stderr.count("\n") == 1
    assert not list(here.glob("*.safetensors"))


def changed(data, rng):
    """The same data with one thing in it replaced."""
    if isinstance(data, (list, dict)) and data and rng.random() < 0.9:
        key = rng.choice(list(data) if isinstance(data, dict) else range(len(data)))
        copy = dict(data) if isinstance(data, dict) else list(data)
        copy[key] = changed(data[key], rng)
        return copy
    return rng.choice([None, -1, 3, 10**6, 1.5, 1e300, "a", "", "token", [], [1, 0], {}, True, [[0, 0]], "[ab]*"])


def test_notes_that_are_not_as_written_give_one_line_or_a_task():
    """Whatever is in the notes, reading them ends, and nothing but a HandloomError comes of it."""
    rng, refused = random.Random(0), 0
    for known in (reverse, histogram):
        model = hl.compile(known)
        for _ in range(150):
            other = model.with_(notes={**model.notes, "compiled": changed(model.notes["compiled"], rng)})
            try:
                task = hl.task_of(other)
                task.oracle(task.draw(np.random.default_rng(0)))
            except HandloomError as error:
                assert "\n" not in str(error)
                refused += 1
    assert refused > 100


def test_a_value_cannot_be_computed_from_itself():
    model = hl.compile(reverse)
    stored = json.loads(json.dumps(model.notes["compiled"]))
    last = len(stored["values"]) - 1
    stored["values"][last] = ["at", last, last]
    with pytest.raises(HandloomError, match=f"value {last} is computed from {last}, which is none before it"):
        hl.task_of(model.with_(notes={**model.notes, "compiled": stored}))


def test_the_stored_program_is_the_program():
    stored = stored_program(hl.compile(histogram))
    assert repr(stored.show("ab>")) == repr(histogram.show("ab>"))
    assert repr(stored) == repr(histogram)
    assert stored_program(hl.program("hello")) is None


def test_the_cost_of_a_file_is_in_its_notes():
    assert repr(cost_of(hl.compile(reverse))) == repr(reverse.cost())


def test_a_program_whose_only_token_is_looked_for_is_compiled():
    model = hl.program("compiled/reverse:n=0")
    assert (model.vocab.tokens, model(">")) == ((">", "<>"), "")
    assert hl.certify(model).right
