"""The shape of the code: layers import only downwards, light things stay light, modules say what they are for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import handloom
from command import COMMAND, modules_after
from handloom.core.registry import OFFERS, offered

SOURCE = Path(handloom.__file__).parent
ORDER = [
    "core",
    "tasks",
    "runs",
    "write",
    "learn",
    "read",
    "share",
    "discover",
    "view",
    "lab",
    "studio",
    "cli",
]  # each imports from those before it
SIDE_BY_SIDE = {"write", "learn", "read", "share"}  # except that these do not import each other
BELOW = {room: set(ORDER[: ORDER.index(room)]) - (SIDE_BY_SIDE if room in SIDE_BY_SIDE else set()) for room in ORDER}
MODULES = sorted(SOURCE.rglob("*.py"))


def imported(tree):
    """The handloom modules that a file's import statements name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports hide the layer"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layers_of(names):
    """The layers that these names belong to; a public name of the package counts for the layer it comes from."""
    names = [handloom.MODULE_OF.get(name.removeprefix("handloom."), name) for name in names]
    return {name.split(".")[1] for name in names if name.startswith("handloom.")} & set(BELOW)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_layer_imports_only_from_those_below_it(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), f"{path} does not say what it is for"
    inside = path.relative_to(SOURCE).parts
    if len(inside) > 1:
        assert inside[0] in BELOW, f"{inside[0]} is not a layer of the design"
        assert layers_of(imported(tree)) <= BELOW[inside[0]] | {inside[0]}


def test_the_check_of_layers_sees_every_way_to_import():
    ways = (
        "import handloom.cli",
        "from handloom.cli import run",
        "from handloom import cli",
        "def f():\n import handloom.cli.run",
    )
    assert layers_of(imported(ast.parse("from handloom import program"))) == {"write"}
    for way in ways:
        assert layers_of(imported(ast.parse(way))) == {"cli"}


def test_what_a_room_asks_of_one_below_it_is_in_one_list_and_there():
    """No other file of core or tasks names a room below it in a text, to be imported when it runs."""
    for name in OFFERS:
        assert offered(name) is not None
    for path in MODULES:
        room = path.relative_to(SOURCE).parts[0]
        if room in ("core", "tasks") and path.name != "registry.py":
            texts = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
            named = [text for text in texts if isinstance(text, str) and text.startswith("handloom.")]
            assert layers_of(name.partition(":")[0] for name in named) <= BELOW[room] | {room}, path


def test_help_loads_neither_numpy_nor_torch():
    loaded = modules_after(COMMAND.format(words="'--help'"))
    assert "typer" in loaded
    assert not {"numpy", "torch", "handloom.core"} & loaded


@pytest.mark.parametrize("words", ["run hello", "info hello", "write list", "write show sum", "certify min:n=4"])
def test_running_a_small_model_does_not_load_torch(words):
    loaded = modules_after(COMMAND.format(words=str(words.split())[1:-1]))
    assert "numpy" in loaded
    assert "torch" not in loaded


def test_torch_is_loaded_where_it_is_asked_for():
    assert "torch" in modules_after(COMMAND.format(words="'run', 'hello', '--engine', 'torch'"))


def test_importing_handloom_loads_nothing_until_a_name_is_used():
    assert "numpy" not in modules_after("import handloom as hl; dir(hl)")
    assert "torch" not in modules_after("import handloom as hl; hl.program('hello')()")


def test_every_public_name_is_there():
    for name in handloom.__all__:
        assert getattr(handloom, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'modle'; it has Certificate, Config"):
        handloom.modle  # noqa: B018


def test_without_torch_the_torch_engine_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None\n" + COMMAND.format(words="'run', 'hello', '--engine', 'torch'")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "the torch engine needs torch, which is not installed: pip install 'handloom[learn]'" in run.stderr
