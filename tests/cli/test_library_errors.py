"""Errors of the library serve Python callers too: they name parameters, not flags and commands of the command line."""

import ast
import pickle
import re
from pathlib import Path
from typing import get_args

import pytest

import handloom
from command import output
from handloom.cli import Handloom
from handloom.cli.remedies import WORDS, with_remedy
from handloom.core import HandloomError
from handloom.core.errors import Action

SOURCE = Path(handloom.__file__).parent
FLAG_OR_COMMAND = re.compile(rf"--[a-z]|\bhandloom ({'|'.join(Handloom.names)})\b")
OTHERS = ("ray start --head",)  # commands of other programs


def messages(tree):
    """The texts in what is raised as a HandloomError."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and "HandloomError" in ast.unparse(node):
            yield from (part.value for part in ast.walk(node) if isinstance(getattr(part, "value", None), str))


def speaks_of_flags(message):
    for other in OTHERS:
        message = message.replace(other, "")
    return FLAG_OR_COMMAND.search(message) is not None


def test_no_error_of_the_library_names_a_flag_or_a_command():
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] != "cli":
            named = [message for message in messages(ast.parse(path.read_text())) if speaks_of_flags(message)]
            assert not named, path


def test_every_remedy_of_the_library_has_words_at_the_command_line():
    assert {"resume", *WORDS} == set(get_args(Action))


def test_the_command_line_adds_what_to_type(tmp_path):
    """An error may be pickled on its way from another process, and wrapped."""
    (tmp_path / "run.json").write_text('{"kind": "discover", "problem": "isosceles:n=5", "settings": {}}')
    error = pickle.loads(pickle.dumps(HandloomError("it exists already; resume it", ("resume", str(tmp_path)))))
    assert with_remedy(error) == f"it exists already; resume it (handloom discover --resume {tmp_path})"
    assert with_remedy(HandloomError("needs a model", ("base model", ""))) == "needs a model (--start MODEL)"
    assert with_remedy(HandloomError("it is wrong")) == "it is wrong"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["learn", "parity", "--lora", 3], "give one as start, or leave lora out (--start MODEL)"),
        (["learn", "parity", "--engine", "native", "--dropout", 0.1], "use torch, or auto (--engine torch)"),
        (["learn", "parity", "--out", "taken"], "taken exists already; name another folder (--out FOLDER)"),
        (["runs", "none"], "none is not a folder of runs"),
        (["discover", "some.txt"], "some.txt is not a Python file (expected one that defines a problem)"),
        (["run", "begun"], "begun is a run that has no model (expected a model.safetensors in it)"),
        (["resume", "begun"], "resume it with discover, or name another (handloom discover --resume begun)"),
        (["score", "hello"], "score: no text to score; write texts behind the model, or give a file with --file"),
        (["score", "hello", "a", "--file", "some.txt"], "score: both texts and --file some.txt"),
        (["run", "addition:digits=100000", "1"], "digits=100000: texts of 300,003 tokens"),
    ],
)
def test_an_error_names_the_command_or_the_flag_that_helps(tmp_path, words, told):
    (tmp_path / "some.txt").write_text("a\n")
    for name in ("taken", "begun"):
        (tmp_path / name).mkdir()
    (tmp_path / "taken/mine.txt").write_text("mine")
    (tmp_path / "begun/run.json").write_text('{"kind": "discover", "problem": "isosceles:n=5", "settings": {}}')
    assert told in output(*words, cwd=tmp_path, code=2)


def test_the_check_sees_flags_and_commands():
    source = 'raise HandloomError(f"{path} is taken; name another with --out, or handloom resume it")'
    assert any(map(speaks_of_flags, messages(ast.parse(source))))
    assert not speaks_of_flags("start it with ray start --head")
    assert not speaks_of_flags("this version of handloom reads 1")
