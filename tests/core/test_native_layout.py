"""The contract between Python and the C++ engine: layout.py and layout.h say the same, and a library of another version
is not used."""

import ctypes
import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import handloom
from command import handloom_process
from cxx import ENGINE, compiled, needs_compiler
from handloom.core.native import layout
from handloom.core.native.library import OUTDATED, reason_missing

PACKAGE = Path(handloom.__file__).parent
STRUCTS = {
    name.removesuffix("Struct"): value
    for name, value in vars(layout).items()
    if isinstance(value, type) and issubclass(value, ctypes.Structure)
}


def test_the_library_beside_the_sources_is_of_their_version():
    """Otherwise all other tests of the engine would be skipped; `make setup` builds it again."""
    assert reason_missing() != OUTDATED


@needs_compiler
def test_structs_and_enumerations_are_the_same_on_both_sides(tmp_path):
    """A C++ program prints where it has the fields that Python names."""
    facts = {"LAYOUT_VERSION": layout.VERSION}
    for name, struct in STRUCTS.items():
        facts[f"sizeof({name})"] = ctypes.sizeof(struct)
        for field, _ in struct._fields_:
            facts[f"offsetof({name}, {field})"] = getattr(struct, field).offset
            facts[f"sizeof({name}::{field})"] = getattr(struct, field).size
    facts |= {f"Norm::{name}": i for i, name in enumerate(layout.NORMS)}
    facts |= {f"Activation::{name}": i for i, name in enumerate(layout.ACTIVATIONS)}
    prints = "\n".join(f'printf("%d\\n", (int)({fact}));' for fact in facts)
    source = tmp_path / "facts.cpp"
    source.write_text(f'#include <cstdio>\n#include "layout.h"\nusing namespace handloom;\nint main() {{ {prints} }}\n')
    built = compiled(source, tmp_path / "facts")
    assert built.returncode == 0, built.stderr
    printed = subprocess.check_output([tmp_path / "facts"], text=True)
    assert dict(zip(facts, map(int, printed.split()), strict=True)) == facts
    assert {"Config", "AdamW", "Strings", "Sampling", "Prompts", "Progress"} == set(STRUCTS)


@pytest.fixture(scope="module", params=["another version", "no version"])
def elsewhere(request, tmp_path_factory):
    """A copy of the package whose only library is of another version, or as it was before versions."""
    folder = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(PACKAGE, folder / "handloom", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    source, flags = ENGINE / "engine.cpp", [f"-DHANDLOOM_LAYOUT_VERSION={layout.VERSION + 1}"]
    if request.param == "no version":
        source, flags = folder / "old.cpp", []
        source.write_text('extern "C" int handloom_best() { return 0; }\n')
    library = folder / "handloom" / "core" / "native" / f"_plain{EXTENSION_SUFFIXES[0]}"
    built = compiled(source, library, "-shared", "-fPIC", *flags)
    assert built.returncode == 0, built.stderr
    return folder


def environment(folder, **more):
    env = {name: value for name, value in os.environ.items() if name != "HANDLOOM_NATIVE"}
    return env | {"PYTHONPATH": str(folder)} | more


@needs_compiler
def test_without_a_library_of_this_version_the_others_run_and_the_reason_is_given(elsewhere, tmp_path):
    code = (
        "import handloom as hl\nfrom handloom.core import native, engines\n"
        "config = hl.Config(vocab=3, block=4, d_model=2)\n"
        "model = hl.Model(config, hl.params.random(config, 0, dtype='float32'), hl.Vocab.numbers(3))\n"
        "print(hl.__file__, native.library(), engines.fastest(model) == 'native', sep='|')\n"
        "print(native.reason_against(config))"
    )
    found = subprocess.check_output([sys.executable, "-c", code], env=environment(elsewhere), cwd=tmp_path, text=True)
    assert found == f"{elsewhere / 'handloom' / '__init__.py'}|None|False\n{OUTDATED}\n"


@needs_compiler
@pytest.mark.parametrize("chosen", [{}, {"HANDLOOM_NATIVE": "plain"}], ids=str)
def test_asking_for_it_is_refused_in_one_line_that_says_to_reinstall(elsewhere, chosen, tmp_path):
    words = ["learn", "s[2]==s[5]", "--steps", "1", "--count", "50", "--engine", "native"]
    done = handloom_process(*words, cwd=tmp_path, env=environment(elsewhere, **chosen))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert OUTDATED in done.stderr
    assert "install handloom again" in OUTDATED
    assert not any(tmp_path.iterdir())
