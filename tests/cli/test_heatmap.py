"""Attention heatmaps: the average is the average, the picture is a picture of it, and bad input gets one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import handloom as run_command
from draws import configs, random_model
from handloom.cli import heatmap as command
from handloom.core import Config, HandloomError, Model, Vocab, params, reference, save
from handloom.read.attention import mean_attention, right_strings, strings_for
from handloom.read.looks import Ablation, Look, effects, looks
from handloom.tasks import task as task_named
from handloom.tasks import task_of
from handloom.view.figures import attention
from handloom.view.figures.attention import draw_attention
from handloom.view.figures.curves import draw_curves
from handloom.write import program

HANDLOOM = Path(sys.executable).with_name("handloom")
LETTERS = Vocab.of("01", bos="<end>", eos="<end>")


def trained_like(block=13, **fields):
    """A model as training leaves one."""
    sizes = {"d_model": 8, "layers": 2, "heads": 2, "d_head": 4} | fields
    return random_model(Config(vocab=3, block=block, **sizes)).with_(vocab=LETTERS, notes={"steps": 1500})


def naive_mean(model, rows):
    """Cell by cell, string by string, by the reference."""
    patterns = []
    for row in rows:
        trace = reference.forward(model, row, "*.pattern")[1]
        patterns.append([trace[f"{i}.pattern"] for i in range(model.config.layers)])
    T = max(map(len, rows))
    mean = np.empty((model.config.layers, model.config.heads, T, T))
    for layer, head, r, c in np.ndindex(mean.shape):
        mean[layer, head, r, c] = np.mean([p[layer][head, r, c] for p in patterns if max(r, c) < p[layer].shape[-1]])
    return mean


@given(
    configs(layers=2, heads=2, block=6, vocab=5),
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=7),
)
@settings(max_examples=40)
def test_the_mean_is_that_of_a_loop_over_strings_and_cells(config, rows):
    model = random_model(config)
    expected = naive_mean(model, rows)
    for engine in ("reference", "torch"):
        found = mean_attention(model, rows, engine=engine)
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_batches_that_do_not_fit_at_once_change_nothing(monkeypatch):
    model, rng, told = trained_like(), np.random.default_rng(0), []
    rows = [rng.integers(0, 3, n).tolist() for n in (5, 9, 5, 5, 9, 2, 5, 5)]
    whole = mean_attention(model, rows)
    monkeypatch.setattr(attention, "AT_ONCE", 2 * 2 * 2 * 25)
    assert np.allclose(mean_attention(model, rows, progress=lambda *far: told.append(far)), whole)
    assert told == [(1, 8), (3, 8), (5, 8), (6, 8), (7, 8), (8, 8)]


def test_rows_sum_to_1_where_all_strings_are_equally_long():
    model = trained_like()
    rows = np.random.default_rng(0).integers(0, 3, (9, 7)).tolist()
    patterns = mean_attention(model, rows)
    assert patterns.shape == (2, 2, 7, 7)
    assert np.allclose(patterns.sum(-1), 1.0)
    assert not np.triu(patterns, 1).any()


def test_strings_come_from_the_model_or_from_its_task():
    model = trained_like()
    own = strings_for(model, task_named("strings:length=4-6"), 50, seed=0)
    assert {row[0] for row in own} == {2}
    assert all(2 not in row[1:] and len(row) <= 13 for row in own)
    assert own == strings_for(model, None, 50, seed=0)
    assert own != strings_for(model, None, 50, seed=1)
    both_ways = strings_for(trained_like(causal=False), task_named("strings:length=4-6"), 50, seed=0)
    assert all(row[0] == row[-1] == 2 and 6 <= len(row) <= 8 for row in both_ways)
    adder = program("addition:digits=3")
    asked = strings_for(adder, task_of(adder), 5, seed=0)
    assert all(len(row) == 11 for row in asked)  # 045+078=012: the 3 is written, not read
    assert sum(int(adder.vocab.decode(row).split("=")[1]) for row in asked) > 0
    with pytest.raises(HandloomError, match="no token to begin with, and its task is not known; give texts"):
        strings_for(random_model(Config(vocab=3, block=4, d_model=4)), None, 5, seed=0)


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_picture_of_every_kind_twice_the_same(tmp_path, suffix, begins):
    patterns = mean_attention(trained_like(), [[2, 0, 1, 1, 0]])
    paths = [draw_attention(patterns, tmp_path / f"{i}{suffix}", marks=[2, 99], title="$x^") for i in range(2)]
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first.startswith(begins)
    assert sorted(os.listdir(tmp_path)) == [f"0{suffix}", f"1{suffix}"]


@pytest.mark.parametrize("first", [0, 1])
def test_the_head_that_looks_most_at_a_digit_where_another_is_written_is_found(first):
    patterns = np.tile(np.tri(6) / np.arange(1, 7)[:, None], (2, 3, 1, 1))
    patterns[1, 2, 4 - first] = np.eye(6)[2 - first]  # about to write digit 5, it looks at digit 2
    found = looks(patterns, [5, 2, 9], first, [0, 1], [0, 1, 2])
    assert found[0] == Look(5, 2, 1, 2, 1.0, 1 / (5 - first))
    assert len(found) == 6
    assert str(found[0]).startswith("where digit 5 is written, layer 1, head 2 gives digit 2 100% of its attention")
    assert [look.marked for look in found] == [True, *[False] * 5]
    others = looks(patterns, [5, 2], first, [0, 1], [0, 1])  # without the head that looks there
    assert (others[0].layer, others[0].head, others[0].share) == (0, 0, pytest.approx(1 / (5 - first)))


def copying():
    """Three heads that look hard where digit 5 is written. Head 0 at digit 2, which it copies to the logits; head 1 at
    digit 1, which it copies to where nobody reads it; head 2 at digit 2, and adds nothing. Written by hand."""
    config = Config(vocab=3, block=8, d_model=15, layers=1, heads=3, d_head=3, norm="none", tied=False, biases=())
    weights = params.zeros(config)
    token, place, said, unread = 0, 3, 11, 13  # where they stand in the stream
    weights["W_E"][:, token : token + 3] = np.eye(3)
    weights["W_pos"][:, place : place + 8] = np.eye(8)
    layer = weights["layers"][0]
    for head, (at, to) in enumerate([(2, said), (1, unread), (2, None)]):
        layer["W_Q"][head, place + 4, 0] = 20.0  # digit 5 is written at position 4
        layer["W_K"][head, place + at, 0] = 1.0
        layer["W_V"][head, token : token + 2, 1:3] = np.eye(2)
        if to is not None:
            layer["W_O"][head, 1:3, to : to + 2] = np.eye(2)
    weights["W_U"][said : said + 2, :2] = 9.0 * np.eye(2)
    return Model(config, weights, LETTERS)


def test_a_look_is_told_as_one_with_an_effect_only_if_the_digit_is_worse_without_it():
    model, task = copying(), task_named("strings:rule=s[2]==s[5] and s[1]==s[6],length=6")
    strings = right_strings(task, model, 100, seed=0)
    found = effects(model, looks(mean_attention(model, strings), [1, 2, 5], 0, [0], [0, 1, 2]), strings, [1, 2, 5], 0)
    assert [(look.written, look.at) for look in found] == [(2, 1), (5, 1), (5, 2)]
    even, idle, real = found
    assert (even.effect, even.marked, even.likely) == (None, False, None)
    assert (idle.head, idle.effect, idle.likely, idle.without) == (1, False, real.likely, pytest.approx(idle.likely))
    assert (real.head, real.effect) == (0, True)  # and not head 2, which looks there as much
    assert real.share == pytest.approx(idle.share) == pytest.approx(1.0, abs=0.01)
    assert real.likely > 0.99 > 0.6 > real.without
    assert str(real).endswith("without it the right digit has 50% instead of 100%")
    assert str(idle).endswith(", without effect: the right digit has 100%, and without it 100%")
    few = effects(model, looks(mean_attention(model, strings), [2, 5], 0, [0], [0, 1]), strings[:19], [2, 5], 0)
    assert str(few[0]).endswith("whether that has an effect was not tested")


def test_both_engines_find_the_same_effect(monkeypatch):
    model, strings = (
        copying(),
        np.array(right_strings(task_named("strings:rule=s[2]==s[5],length=6"), copying(), 30, 0)),
    )
    monkeypatch.setattr("handloom.read.looks.fast_engine", lambda tokens: "torch")
    torch = Ablation(model, strings[:, :6], [2, 5]).without(0, 0, 2)
    monkeypatch.undo()
    assert np.allclose(Ablation(model, strings[:, :6], [2, 5]).without(0, 0, 2), torch)


@pytest.mark.parametrize(
    ("written", "rows"),
    [(True, {0, 2, 4}), (False, {1, 3})],  # row 4 writes what comes after the last column
)
def test_marks_are_at_the_columns_of_digits_and_at_the_rows_that_write_them(written, rows):
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    attention.panel(axis, np.eye(5), "", 2.0)
    attention.mark(axis, [1, 3, 5, 9], 5, written)
    drawn = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in axis.lines if line.get_marker() != "None"
    }
    assert drawn == {(1, -0.5), (3, -0.5)} | {(4.5, row) for row in rows}


def test_marks_change_the_picture_and_marks_elsewhere_do_not(tmp_path):
    patterns = mean_attention(trained_like(), [[2, 0, 1, 1, 0]])
    pictures = {}
    for name, marks, first in (("none", [], 0), ("four", [4], 0), ("six", [6], 0), ("five from 1", [5], 1)):
        path = draw_attention(patterns, tmp_path / "a.png", marks=marks, first=first, tokens=list("<0110"))
        pictures[name] = path.read_bytes()
    assert pictures["none"] == pictures["six"] != pictures["four"] == pictures["five from 1"]


def test_labels_are_tokens_or_numbers():
    assert attention.tick_labels(list("ab c"), 0, 4) == {0: "a", 1: "b", 2: "␣", 3: "c"}
    assert attention.tick_labels(None, 0, 4) == {0: "0", 1: "1", 2: "2", 3: "3"}
    assert attention.tick_labels(None, 1, 3) == {0: "1", 1: "2", 2: "3"}
    assert attention.tick_labels(["0"] * 50, 0, 50) == {i: str(i) for i in range(0, 50, 5)}
    assert [attention.readable(token) for token in ("\n", "a\tb", "remarkable")] == ["␣", "a\\tb", "remarka…"]


@pytest.mark.parametrize("tokens", [["$a^", "_", "\\frac", "😀", "字"], ["<end>", "\n", " ", "a" * 99, "%"]])
def test_any_token_can_be_a_label(tmp_path, tokens):
    patterns = mean_attention(trained_like(), [[2, 0, 1, 1, 0]])
    for suffix in (".png", ".svg"):
        assert draw_attention(patterns, tmp_path / f"a{suffix}", tokens=tokens).stat().st_size > 1000


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda p: draw_attention(p, "a.gif"), r"a.gif is not a kind of picture that can be drawn; name it .png, .svg"),
        (
            lambda p: draw_attention(p[0], "a.png"),
            r"patterns have the shape \(layers, heads, T, T\); these have \(2, 5",
        ),
        (lambda p: draw_attention(p, "a.png", tokens=["a"]), "there are 1 tokens for 5 positions"),
        (lambda p: draw_attention(np.tile(p, (11, 10, 1, 1)), "a.png"), "22 × 20 heads are too many for one picture"),
        (lambda p: draw_attention(p, "nowhere/a.png"), "there is no folder nowhere"),
        (lambda p: mean_attention(trained_like(), []), "there are no strings to average over"),
        (lambda p: mean_attention(trained_like(), [[0, 7]]), "token 7 is not in the vocabulary"),
        (lambda p: mean_attention(program("hello"), [[0]]), "this model has no attention heads"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_nothing_written(tmp_path, monkeypatch, make, complaint):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HandloomError, match=complaint):
        make(mean_attention(trained_like(), [[2, 0, 1, 1, 0]]))
    assert os.listdir(tmp_path) == []


def test_a_picture_that_cannot_be_drawn_leaves_the_old_one(tmp_path, monkeypatch):
    def failing(*given, **more):
        raise KeyboardInterrupt

    (tmp_path / "a.png").write_bytes(b"old")
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", failing)
    with pytest.raises(KeyboardInterrupt):
        draw_attention(np.ones((1, 1, 2, 2)), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.png"]


def handloom(tmp_path, *words, code=0):
    done = run_command("heatmap", *words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def write_run(folder, rule="s[3]==s[8] and s[1]==s[-1]"):
    folder.mkdir()
    for name in ("model.safetensors", "model-500.safetensors"):
        save(trained_like(), folder / name)
    about = {"task": f"strings:rule={rule},length=9-12", "network": {"kind": "transformer"}, "settings": {}}
    (folder / "run.json").write_text(json.dumps(about))


def test_the_command_on_a_program_a_run_and_a_kept_checkpoint(tmp_path):
    assert handloom(tmp_path, "min", "6 2 12 0", "-o", "min.svg") == "min.svg\n"
    assert (tmp_path / "min.svg").stat().st_size > 1000
    write_run(tmp_path / "run")
    said = json.loads(handloom(tmp_path, "run/model-500.safetensors", "--samples", "9", "--marks", "2", "--json"))
    assert (said["file"], said["strings"], said["marks"]) == ("attention.png", 9, [2])
    one = json.loads(handloom(tmp_path, "run", "0110110011", "--layer", "1", "--head", "0", "--json"))
    looks = one.pop("looks")
    assert one == {"file": "attention.png", "strings": 1, "longest": 11, "marks": [1, 3, 8, 10]}
    assert [(look["written"], look["at"]) for look in looks] == [(3, 1), (8, 1), (8, 3), (10, 1), (10, 3), (10, 8)]


def test_marks_are_what_the_rule_names_at_every_length(tmp_path):
    write_run(tmp_path / "run")
    task = task_of(trained_like(), tmp_path / "run" / "model-500.safetensors")
    assert command.named(task, [[0] * 10]) == [1, 3, 8, 10]
    assert command.named(task, [[0] * n for n in (9, 12, 10, 0, 5)]) == [1, 3, 8]  # 0 and 5 are malformed
    assert command.named(task, [[0] * 5]) == command.named(None, [[0] * 9]) == []
    assert task_of(trained_like(), "run-of-nothing") is None
    (tmp_path / "run" / "run.json").write_text("[" * 10)
    assert json.loads(handloom(tmp_path, "run", "0110110011", "--json"))["marks"] == []  # a picture needs no task


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("min", "-o", "a.gif"), "a.gif is not a kind of picture that can be drawn"),
        (("min", "-o", "no/a.png"), "cannot write no/a.png: there is no folder no"),
        (("hello",), "this model has no attention heads"),
        (("min", "--layer", "3"), "there is no layer 3; this model has layers 0 to 0"),
        (("min", "--marks", "1,x"), "--marks '1,x' are not digits of a string; write them as 13,22"),
        (("min", "1 2 x"), "token 'x' is not in the vocabulary"),
    ],
)
def test_bad_input_gets_one_line_and_no_file(tmp_path, words, complaint):
    said = handloom(tmp_path, *words, code=2)
    assert complaint in said
    assert said.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_without_matplotlib_it_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.argv = ['handloom', 'heatmap', 'min']\n"
        "from handloom.cli import main; main()"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "a figure needs Matplotlib, which is not installed: pip install" in run.stderr


def test_curves_of_runs_are_drawn_and_runs_without_any_are_refused(tmp_path):
    line = {"step": 10, "success": 0.5, "held_out": 0.7, "loss": 0.8}
    runs = {"one": [[line, line | {"step": 20}]], "two": [[line | {"held_out": None}]]}
    picture = draw_curves(runs, tmp_path / "curves.svg").read_text()
    assert picture.startswith("<?xml")
    with pytest.raises(HandloomError, match="two has not been evaluated"):
        draw_curves({"one": [[line]], "two": [[]]}, tmp_path / "curves.svg")
    with pytest.raises(HandloomError, match="not a kind of picture"):
        draw_curves({"one": [[line]]}, tmp_path / "curves.txt")
    assert (tmp_path / "curves.svg").read_text() == picture
