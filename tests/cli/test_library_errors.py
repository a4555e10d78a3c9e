"""Errors of the library serve Python callers too: they name parameters, not flags and commands of the command line."""

import ast
import re
from pathlib import Path

import handloom
from handloom.cli import Handloom

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


def test_the_check_sees_flags_and_commands():
    source = 'raise HandloomError(f"{path} is taken; name another with --out, or handloom resume it")'
    assert any(map(speaks_of_flags, messages(ast.parse(source))))
    assert not speaks_of_flags("start it with ray start --head")
    assert not speaks_of_flags("this version of handloom reads 1")
