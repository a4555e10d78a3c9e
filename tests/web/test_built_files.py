"""What the package carries of web/ is what its sources make, and what the sources may contain."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import handloom as hl
import handloom.studio
import handloom.view.pages
from handloom.view.pages.model_data import model_json
from page_engine import WEB, node

STUDIO = Path(handloom.studio.__file__).parent / "static"
ENGINE = Path(handloom.view.pages.__file__).parent / "engine.js"
SOURCES = sorted([*WEB.glob("*.*js"), *WEB.glob("*.css"), *WEB.glob("*/*.[jcm]*")])


@pytest.fixture
def modules():
    if not (WEB / "node_modules").exists():
        pytest.skip("NO web/node_modules: nothing has compared the built files with their sources; `make web` has it")


def test_the_built_script_is_what_the_sources_make(modules, tmp_path):
    node("build.mjs", tmp_path)
    for name in ("engine.js", "live.js", "style.css", "notebook.css"):
        assert (tmp_path / name).read_text() == ENGINE.with_name(name).read_text(), "run make web"
    for name in ("studio.js", "studio.css"):
        assert (tmp_path / name).read_text() == (STUDIO / name).read_text(), "run make web"


def test_the_kernel_is_what_its_source_makes(tmp_path):
    if not shutil.which("clang-14") or not shutil.which("wasm-ld-14"):
        pytest.skip("NO clang-14 AND lld-14: nothing has compared the kernel with kernel.c")
    node("build.mjs", "--kernel", tmp_path)
    assert (tmp_path / "kernel.wasm.js").read_text() == (WEB / "engine" / "kernel.wasm.js").read_text(), "run make web"


def test_the_types_of_the_sources_fit(modules):
    done = subprocess.run(["npx", "tsc"], cwd=WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_built_script_runs_as_a_page_runs_it():
    found = json.loads(node("tests/built.mjs", ENGINE, given=model_json(hl.program("addition"))))
    assert [one["kernel"] for one in found] == ["wasm", "plain"]
    assert all(one["passed"] and one["inputs"] == 3 for one in found)


def test_a_page_with_the_engine_and_addition_is_small():
    assert len(ENGINE.read_bytes()) + len(model_json(hl.program("addition"))) < 60_000


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_sources_fit_in_the_head_and_write_no_markup(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    assert path.name == "kernel.wasm.js" or max(map(len, text.splitlines())) <= 120
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)


def test_development_tools_have_one_version_and_no_address():
    pinned = json.loads((WEB / "package.json").read_text())["devDependencies"]
    assert pinned
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in pinned.values())
    assert "://" not in (WEB / "package-lock.json").read_text()
