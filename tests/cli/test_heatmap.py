"""handloom heatmap: what it draws of programs, runs and checkpoints, and one line for bad input."""

import json
import os
import subprocess
import sys

import pytest

from command import handloom as run_command
from draws import trained_like
from handloom.cli.heatmap import named
from handloom.core import load, save
from handloom.read import mean_attention
from handloom.tasks import task_of
from handloom.view.figures.attention import draw_attention
from handloom.write import program


def handloom(tmp_path, *words, code=0):
    done = run_command("heatmap", *words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def write_run(folder, rule="s[3]==s[8] and s[1]==s[-1]"):
    folder.mkdir()
    task = f"strings:rule={rule},length=9-12"
    for name in ("model.safetensors", "model-500.safetensors"):
        save(trained_like().with_(notes={"steps": 1500, "task": task}), folder / name)
    about = {"task": task, "network": {"kind": "transformer"}, "settings": {}}
    (folder / "run.json").write_text(json.dumps(about))


def test_the_command_on_a_program_a_run_and_a_kept_checkpoint(tmp_path):
    assert handloom(tmp_path, "min", "6 2 12 0", "-o", "min.svg") == "min.svg\n"
    assert (tmp_path / "min.svg").stat().st_size > 1000
    write_run(tmp_path / "run")
    told = json.loads(handloom(tmp_path, "run/model-500.safetensors", "--samples", "9", "--marks", "2", "--json"))
    assert (told["file"], told["strings"], told["marks"]) == ("attention.png", 9, [2])
    one = json.loads(handloom(tmp_path, "run", "0110110011", "--layer", "1", "--head", "0", "--json"))
    looks = one.pop("looks")
    assert one == {"file": "attention.png", "strings": 1, "longest": 11, "marks": [1, 3, 8, 10]}
    assert [(look["written"], look["at"]) for look in looks] == [(3, 1), (8, 1), (8, 3), (10, 1), (10, 3), (10, 8)]


def test_an_unused_head_is_said_to_be_not_used(tmp_path):
    handloom(tmp_path, "search", "4 0 8 0", "--layer", "1", "--head", "1", "-o", "drawn.png")
    patterns = mean_attention(program("search"), [[4, 0, 8, 0]])[1:, 1:]
    look = {"tokens": list("4080"), "first": 1, "layers": [1], "heads": [1], "title": "search"}
    said = draw_attention(patterns, tmp_path / "said.png", unused={"1.1"}, **look).read_bytes()
    silent = draw_attention(patterns, tmp_path / "silent.png", **look).read_bytes()
    assert (tmp_path / "drawn.png").read_bytes() == said != silent


def test_marks_are_what_the_rule_names_at_every_length(tmp_path):
    write_run(tmp_path / "run")
    task = task_of(load(tmp_path / "run" / "model-500.safetensors"))
    assert named(task, [[0] * 10], 1) == [1, 3, 8, 10]
    assert named(task, [[0] * n for n in (9, 12, 10, 0, 5)], 1) == [1, 3, 8]  # 0 and 5 are malformed
    assert named(task, [[0] * 5], 1) == named(None, [[0] * 9], 1) == []
    assert task_of(trained_like(), "run-of-nothing") is None
    save(trained_like().with_(notes={"task": "mine.py"}), tmp_path / "run" / "model.safetensors")
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
    told = handloom(tmp_path, *words, code=2)
    assert complaint in told
    assert told.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_without_matplotlib_it_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.argv = ['handloom', 'heatmap', 'min']\n"
        "from handloom.cli import main; main()"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "a figure needs Matplotlib, which is not installed: pip install" in run.stderr
