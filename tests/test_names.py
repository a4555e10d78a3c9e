"""Names are addresses: one module or shared name has one meaning; files and functions fit in the head."""

import ast
from collections import defaultdict

import pytest

from test_structure import MODULES, SOURCE

TREES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in MODULES}

# Modules that share a name because they are about the same thing: a task and the book's program for it, an analysis and
# its figure, a language of programs or of strings, a run and how it is shown, a page or a figure and the command that
# makes it, a note's readings and what writes them, catalogues of four nouns, a part of models or of training and the
# experiment on it.
SAME_THING = {
    "attention.py": "read/attention.py view/figures/attention.py",
    "catalogue.py": "discover/catalogue.py lab/catalogue.py tasks/catalogue.py write/catalogue.py",
    "certify.py": "cli/certify.py tasks/certify.py",
    "compile.py": "cli/compile.py write/compiler/compile.py",
    "circuit.py": "cli/read/circuit.py read/circuit.py",
    "curves.py": "cli/curves.py view/figures/curves.py",
    "discovery.py": "cli/live/discovery.py view/pages/discovery.py",
    "encodings.py": "cli/write/encodings.py lab/exact/encodings.py write/parts/encodings.py",
    "extremes.py": "tasks/extremes.py write/book/extremes.py",
    "heads.py": "cli/read/heads.py lab/learned/heads.py read/heads.py",
    "heatmap.py": "cli/heatmap.py view/svg/heatmap.py",
    "language.py": "language.py tasks/language.py",
    "lens.py": "cli/read/lens.py read/lens.py",
    "lookup.py": "tasks/lookup.py write/book/lookup.py",
    "lora.py": "lab/learned/lora.py learn/lora.py",
    "matrices.py": "lab/learned/matrices.py tasks/matrices.py",
    "ngrams.py": "cli/write/ngrams.py lab/learned/ngrams.py",
    "overview.py": "cli/read/overview.py read/overview.py",
    "paths.py": "cli/read/paths.py read/paths.py",
    "readings.py": "read/readings.py write/parts/readings.py",
    "score.py": "cli/read/score.py cli/score.py",
    "search.py": "tasks/search.py write/book/search.py",
    "shares.py": "cli/read/shares.py read/shares.py",
    "show.py": "cli/write/show.py view/pages/show.py",
    "sorting.py": "tasks/sorting.py write/book/sorting.py",
    "sums.py": "tasks/sums.py write/book/sums.py",
    "tour.py": "cli/tour.py view/pages/tour.py",
    "training.py": "cli/live/training.py learn/training.py",
}


def names_of_modules():
    found = defaultdict(set)
    for path in TREES:
        if not path.endswith("__init__.py"):
            found[path.rpartition("/")[2]].add(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def path_of(module):
    """The file of a module of handloom: handloom.core.native and handloom.core.files."""
    path = module.removeprefix("handloom.").replace(".", "/")
    return next((name for name in (f"{path}.py", f"{path}/__init__.py") if name in TREES), None)


def modules_named_in(tree):
    """The modules that a file imports, by the name they have there: `from handloom.core import native`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "handloom":
            for alias in node.names:
                yield alias.asname or alias.name, path_of(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, path_of(alias.name)


def uses_in(tree):
    """What a file uses of others: (file, name), imported by name, or as an attribute of an imported module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("handloom."):
            yield from ((path_of(node.module), alias.name) for alias in node.names)
    modules = dict(modules_named_in(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and modules.get(node.value.id):
            yield modules[node.value.id], node.attr


def names_used_elsewhere(trees=TREES):
    """Functions and classes by name, with the files that define them, if another file uses them from there."""
    found = defaultdict(set)
    kinds = (ast.FunctionDef, ast.ClassDef)
    defined = {path: {one.name for one in tree.body if isinstance(one, kinds)} for path, tree in TREES.items()}
    for tree in trees.values():
        for path, name in uses_in(tree):
            if name in defined.get(path, ()):
                found[name].add(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_modules_of_one_name_are_one_thing():
    assert names_of_modules() == {name: set(paths.split()) for name, paths in SAME_THING.items()}


def test_names_used_outside_their_file_have_one_meaning():
    assert names_used_elsewhere() == {}


def test_the_check_sees_attributes_of_modules():
    source = "from handloom.core import native, reference\nnative.forward, reference.forward"
    seen = names_used_elsewhere({"x.py": ast.parse(source)})
    assert seen == {"forward": {"core/native/__init__.py", "core/reference.py"}}


@pytest.mark.parametrize("path", TREES)
def test_files_and_functions_fit_in_the_head(path):
    """A file has up to 400 lines and a function up to 50, without its signature, which may be a table of options."""
    assert len((SOURCE / path).read_text().splitlines()) <= 400
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.FunctionDef):
            lines = node.end_lineno - node.body[0].lineno + 1
            assert lines <= 50, f"{node.name} has {lines} lines"
