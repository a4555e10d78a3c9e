"""Figures: a picture of attention is a picture of it, and bad input gets one line."""

import os

import numpy as np
import pytest

from draws import trained_like
from handloom.core import HandloomError
from handloom.read import mean_attention
from handloom.view.figures import attention
from handloom.view.figures.attention import draw_attention
from handloom.view.figures.curves import draw_curves
from handloom.write import program


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_picture_of_every_kind_twice_the_same(tmp_path, suffix, begins):
    patterns = mean_attention(trained_like(), [[2, 0, 1, 1, 0]])
    paths = [draw_attention(patterns, tmp_path / f"{i}{suffix}", marks=[2, 99], title="$x^") for i in range(2)]
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first.startswith(begins)
    assert sorted(os.listdir(tmp_path)) == [f"0{suffix}", f"1{suffix}"]


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


def test_unused_heads_are_marked_where_they_are_drawn(tmp_path):
    patterns = mean_attention(trained_like(), [[2, 0, 1, 1, 0]])
    pictures = {}
    for name, unused in (("none", ()), ("one", {"3.1"}), ("elsewhere", {"0.0"})):
        path = draw_attention(patterns, tmp_path / "a.png", layers=[3, 4], heads=[1, 2], unused=unused)
        pictures[name] = path.read_bytes()
    assert pictures["none"] == pictures["elsewhere"] != pictures["one"]


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
