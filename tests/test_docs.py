"""What the documents show is what happens: Python examples, commands with their output, pictures, doctests."""

import doctest
import importlib
import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import handloom as hl
from command import handloom
from handloom.core.config import Config
from handloom.core.sites import SITES_OF_A_LAYER

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
TESTS = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
MODULES = sorted(
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for path in (ROOT / "src").rglob("*.py")
    if ">>>" in path.read_text()
)


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_examples_give_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")  # docs/read.md reads trained models there
    failed, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert not failed
    assert tried or ">>>" not in page.read_text()


def blocks(page):
    """Python blocks without prompts."""
    every = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    return [block for block in every if ">>>" not in block]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_python_blocks_run_and_what_they_assert_is_so(page, tmp_path, monkeypatch):
    """Run one after the other; names carry over. A page that asserts nothing would show nothing."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(page):
        exec(block, names)
    assert "assert " in "".join(blocks(page))


def test_every_chapter_has_python_blocks():
    chapters = [page for page in PAGES if page.name.startswith("chapter")]
    assert len(chapters) == 8
    assert all(map(blocks, chapters))


def commands(page):
    """Each console block as a list of (command, output)."""
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
        yield [tuple(part.split("\n", 1)) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


@pytest.mark.parametrize("page", [page for page in PAGES if "```console" in page.read_text()], ids=name)
def test_commands_give_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    for block in commands(page):
        for command, output in block:
            done = handloom(*shlex.split(command)[1:], cwd=tmp_path)
            shown = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).split("\n"))
            assert shown == output, command


def test_the_commands_of_learn_in_the_readme_run_as_they_are_typed(tmp_path, monkeypatch):
    """One after the other in an empty folder, by a shell; only that fewer steps are made, of a smaller model."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    block = re.search(r"```sh\n(handloom learn .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    small = "--until 0.99 --steps 4 --every 2 --samples 10 --layers 1 --heads 1 --width 8"
    lines = block.replace("--until 0.99", small).replace("20000", "6").replace("-n 1000", "-n 10").splitlines()
    assert len(lines) >= 6
    for line in lines:
        done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stderr)


def test_the_readme_has_examples_of_both_kinds():
    assert len(list(commands(ROOT / "README.md"))) >= 1
    assert (ROOT / "README.md").read_text().count(">>>") > 5


def test_the_make_targets_of_the_documents_exist():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        assert set(re.findall(r"\bmake (\w+)\b(?= *#|`)", page.read_text())) <= targets


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_give_what_they_show(module):
    loaded = importlib.import_module(module)
    failed, tried = doctest.testmod(loaded)
    assert tried
    assert not failed


def test_pictures_are_those_that_the_code_draws(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    pictures = runpy.run_path(str(ROOT / "docs" / "pictures.py"))["PICTURES"]
    for file, draw in pictures.items():
        assert (ROOT / "docs" / file).read_text() == draw(), f"run make docs: {file} is old"


def test_the_page_on_the_machine_names_every_site_and_every_field():
    text = (ROOT / "docs" / "machine.md").read_text()
    for site in (*SITES_OF_A_LAYER, "embed", "pos_embed", "resid_final", "ln_final", "ln_final_scale", "logits"):
        assert f"`{site}`" in text, site
    for field in Config.__dataclass_fields__:
        assert f"`{field}`" in text, field


def test_the_page_on_the_talk_says_what_the_stored_runs_say():
    rows = re.findall(
        r"^\| `wagner/([^`]+)`.*? \| ([\d,]+) \| ([\d.]+) % \| ([\d.]+) % \|$",
        (ROOT / "docs" / "talk.md").read_text(),
        re.MULTILINE,
    )
    assert len(rows) >= 8
    for run, steps, right, new in rows:
        data = (ROOT / "docs" / "talk" / f"{run.replace(' --', '-').replace(' ', '-')}.jsonl").read_text()
        lines = {line["step"]: line for line in map(json.loads, data.splitlines())}
        line = lines[int(steps.replace(",", ""))]
        assert (f"{line['success']:.1%}", f"{line['new']:.1%}") == (f"{right}%", f"{new}%"), run


def prose(page):
    """Lines outside code and tables, with their numbers."""
    code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.startswith(("|", "    ", "![")):
            yield number, line


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name)
def test_markdown_is_wrapped_at_120_characters(page):
    assert not [(number, line) for number, line in prose(page) if len(line) > 120]


def anchor(heading):
    """The id that GitHub and mkdocs give a heading."""
    words = re.sub(r"[^\w\s-]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower())
    return re.sub(r"[\s-]+", "-", words).strip("-")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name)
def test_links_to_sections_lead_to_headings(page):
    for file, section in re.findall(r"\]\(([^)#\s]*\.md)?#([\w-]+)\)", page.read_text()):
        there = (page.parent / file) if file else page
        headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
        assert section in map(anchor, headings), f"{file}#{section}"


NAMED_FROM = ("", "src/handloom", "src/handloom/core/native", "docs/discover")


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "ARCHITECTURE.md"], ids=name)
def test_files_and_tests_named_on_a_page_exist(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for file in re.findall(r"`([\w./-]+/[\w.-]+\.\w+|\w+\.h)`", text):
        assert file.startswith(("runs/", "site/")) or any((ROOT / folder / file).exists() for folder in NAMED_FROM), (
            file
        )
    for test in re.findall(r"`(test_\w+)", text):
        assert f"def {test}" in TESTS, test


def test_the_reference_has_every_public_name():
    listed = re.findall(r"^::: handloom:(\w+)$", (ROOT / "docs/reference/python.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(set(listed)) == sorted(hl.__all__)


def test_the_site_builds_without_warnings_and_needs_no_network(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {str(page.relative_to(tmp_path)): page.read_text() for page in tmp_path.rglob("*.html")}
    for page, text in pages.items():
        tags = re.findall(r"<(?:script|link|img|iframe|source|object)\b[^>]*>", text)
        assert not [tag for tag in tags if re.search(r"=[\"']?(https?:)?//", tag)], page
        assert 'class="arithmatex"' not in text, page  # a formula that was left as LaTeX
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text()), sheet
    assert (tmp_path / "search" / "search_index.js").exists()  # what the search reads from disk
    assert "<math" in pages["book/chapter7.html"]
    commands = pages["reference/commands.html"]
    assert {"handloom-learn", "handloom-write-list"} <= set(re.findall(r'<h2 id="([^"]*)"', commands))
    assert "<code>--temperature</code>" in commands
