"""Sweeps: a range of sizes, one run each, resumed where they stopped, and the tables that the store gives."""

import csv
import json
import re
import shutil
import signal
import subprocess
import time
from functools import partial

import pytest

from command import PROCESS, output
from handloom import HandloomError
from handloom.discover.loop.sweep import begin_sweep, reopen_sweep
from handloom.discover.records.size_table import SizeRow, as_b_file, as_csv, as_latex, table_rows, terms_of
from handloom.discover.records.store import Store
from handloom.discover.size_ranges import has_range, names_in_range

CYCLES, QUICK = "four-cycle-free:n=5..7", {"generations": 1, "attempts": 10, "steps": 100, "model": False}
WORDS = ["--generations", 1, "--attempts", 10, "--steps", 100, "--no-model"]
OWN = """
from handloom.discover import Problem, subsets
def problem(n: int = 5):
    return Problem(subsets(range(n)), forbidden=[(i, i + 1) for i in range(n - 1)], best_known=(n + 1) // 2)
"""  # no two neighbours


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return partial(output, cwd=tmp_path)


# Ranges


def test_a_range_stands_for_its_names():
    assert names_in_range("isosceles:n=9..11") == ["isosceles:n=9", "isosceles:n=10", "isosceles:n=11"]
    assert names_in_range("a/b.py:k=2,n=1..5..2") == ["a/b.py:k=2,n=1", "a/b.py:k=2,n=3", "a/b.py:k=2,n=5"]
    assert not has_range("a..b/c.py:n=3")
    assert not has_range("isosceles")


@pytest.mark.parametrize("name", ["p:n=5..3", "p:n=1..2,k=1..2", "p:n=1..5..0", "p:n=0..99999"])
def test_a_range_that_stands_for_nothing_or_too_much_is_refused(name):
    with pytest.raises(HandloomError, match="range"):
        names_in_range(name)


# Running


def test_a_sweep_runs_each_size_and_ends_in_the_table(run, tmp_path):
    told = json.loads(run("discover", CYCLES, *WORDS, "--json"))
    assert [size["problem"] for size in told["sizes"]] == [f"four-cycle-free:n={n}" for n in (5, 6, 7)]
    assert [(row["parameters"], row["best"], row["best_known"]) for row in told["table"]] == [
        ({"n": "5"}, 6, 6),
        ({"n": "6"}, 7, 7),
        ({"n": "7"}, 9, 9),
    ]
    folder = tmp_path / told["run"]
    assert all((folder / f"n={n}" / "page.html").exists() for n in (5, 6, 7))
    table = run("discover", "--resume", told["run"]).splitlines()
    assert [line.split()[:3] for line in table] == [
        ["n", "best", "best"],
        *(["5", "6", "6"], ["6", "7", "7"], ["7", "9", "9"]),
    ]
    listed = run("runs", told["run"])
    assert all(f"n={n}" in listed for n in (5, 6, 7))


def test_a_sweep_of_a_file_has_a_copy_and_runs_it_once(run, tmp_path):
    (tmp_path / "own.py").write_text("with open('runs.txt', 'a') as log: log.write('x')\n" + OWN)
    with begin_sweep("own.py:n=3..6", QUICK) as sweep:
        (tmp_path / "own.py").unlink()
        assert [one.best.score for one in sweep.runs()] == [2, 2, 3, 3]
    assert (tmp_path / "runs.txt").read_text() == "xx"  # to see that all sizes are well, and to run them
    assert Store.open().problems() == [f"own:n={n}" for n in (3, 4, 5, 6)]


def test_a_sweep_that_is_stopped_resumes_with_the_size_that_was_cut_short(run):
    with begin_sweep(CYCLES, QUICK | {"generations": 2}) as sweep:
        runs = sweep.runs(before=lambda one: one.problem.name.endswith("=6") and one.state.halt())
        assert [one.problem.name for one in runs] == ["four-cycle-free:n=5"]
        assert sweep.halted
    with pytest.raises(HandloomError, match="exists already"):
        begin_sweep(CYCLES, QUICK, folder=sweep.folder.path)
    with reopen_sweep(sweep.folder.path) as again:
        assert [name[-1] for name in again.left] == ["6", "7"]
        found = list(again.runs())
        assert [(one.problem.name[-1], one.new, one.generation) for one in found] == [("6", False, 2), ("7", True, 2)]
    assert not again.halted
    assert len(again.done) == 3


def test_ctrl_c_ends_a_sweep_with_a_line_that_says_how_to_resume_it(run, tmp_path):
    command = [*PROCESS, "discover", "four-cycle-free:n=20..24", "--seconds", "60", "--no-model"]
    job = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    waited = 0.0
    while not list(tmp_path.glob("runs/*/n=20/records.jsonl")) and waited < 120:
        time.sleep(0.1)
        waited += 0.1
    job.send_signal(signal.SIGINT)
    out, err = job.communicate(timeout=120)
    assert job.returncode == 130
    assert "handloom discover --resume runs/four-cycle-free-1 continues" in err
    assert out.split()[:4] == ["n", "best", "best", "known"]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([CYCLES], "a size without a limit never ends"),
        (["four-cycle-free:n=0..3", "--seconds", 1], "must be a whole number from"),
        (["four-cycle-free:n=7..5", "--seconds", 1], "the last size is below the first"),
        (["four-cycle-free:n=5..7..0", "--seconds", 1], "a step of 0"),
        (["nothing:n=1..2", "--seconds", 1], "no problem and no file"),
        ([CYCLES, "--seconds", 1, "--compare"], "name one size"),
        ([CYCLES, "--until", 9, "--seeds", 2], "name one size"),
        ([CYCLES, "--seconds", 1, "--layers", 0], "layers"),
    ],
    ids=str,
)
def test_what_cannot_be_swept_is_told_in_one_line_and_leaves_nothing(run, tmp_path, words, told):
    error = run("discover", *words, code=2)
    assert told in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


# Tables

ROWS = [
    SizeRow("p:n=3,k=2", {"n": "3", "k": "2"}, 4, 4, 4, "search, mirror", 1),
    SizeRow("p:n=4,k=2", {"n": "4", "k": "2"}, 6, None, 6, "search", 2),
    SizeRow("p:n=5,k=2", {"n": "5", "k": "2"}, 7, 9, 8, "model", 3),
    SizeRow("p:n=6,k=2", {"n": "6", "k": "2"}, 9, None, 9, "search", 4),
    SizeRow("p:n=7,k=2", {"n": "7", "k": "2"}, 9, None, None, "search", 5),
]


def terms(text):
    """A strict reader of b-files: comments, empty lines, and lines of two whole numbers, the first one counting up."""
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    assert all(re.fullmatch(r"-?\d+ -?\d+", line) for line in lines)
    pairs = [tuple(map(int, line.split(" "))) for line in lines]
    assert [n for n, _ in pairs] == list(range(pairs[0][0], pairs[0][0] + len(pairs))) if pairs else True
    return pairs


def test_a_b_file_has_consecutive_proved_terms_and_the_rest_as_comments():
    text = as_b_file(ROWS)
    assert terms(text) == [(3, 4), (4, 6)]
    assert "# 5 7 (proved: at most 8)\n# 6 9 (proved: optimal)\n# 7 9\n" in text
    assert terms(as_b_file(ROWS, unproved=True)) == [(3, 4), (4, 6), (5, 7), (6, 9), (7, 9)]
    assert terms_of(ROWS[4:]) == []


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([ROWS[0], SizeRow("p:n=4,k=3", {"n": "4", "k": "3"}, 6, None, 6, "", 2)], "n, k vary"),
        ([ROWS[0], SizeRow("q:n=4,k=2", {"n": "4", "k": "2"}, 6, None, 6, "", 2)], "several problems"),
        ([SizeRow("p:n=3", {"n": "3"}, 0.5, None, None, "", 1)], "whole numbers"),
    ],
)
def test_what_is_no_sequence_has_no_b_file(rows, told):
    with pytest.raises(HandloomError, match=told):
        as_b_file(rows)


def test_a_csv_has_a_row_per_size_and_a_column_for_what_varies():
    rows = list(csv.DictReader(as_csv(ROWS).splitlines()))
    assert [row["n"] for row in rows] == ["3", "4", "5", "6", "7"]
    assert "k" not in rows[0]
    assert rows[0]["how_found"] == "search, mirror"
    assert [row["status"] for row in rows] == ["optimal", "optimal", "at most 8", "optimal", ""]
    assert [row["best_known"] for row in rows] == ["4", "", "9", "", ""]


def test_a_bound_below_the_best_is_one_of_a_minimum():
    assert SizeRow("p:n=3", {"n": "3"}, 9, None, 7, "", 1).status == "at least 7"


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex")
def test_latex_typesets_the_table(tmp_path):
    odd = SizeRow("a_b:word=50%&", {"word": "50%&", "n": "1"}, 2.5, None, None, "", 9)
    for i, rows in enumerate((ROWS, [odd], [odd, ROWS[0]])):
        text = as_latex(rows)
        assert text.count(r" \\") == len(rows) + 1
        source = f"\\documentclass{{article}}\\begin{{document}}\n{text}\\end{{document}}"
        (tmp_path / f"t{i}.tex").write_text(source)
        command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", f"t{i}.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stdout[-1500:]


def test_the_table_is_written_from_the_store_again_with_what_is_proved(run, tmp_path):
    pytest.importorskip("ortools")
    run("discover", CYCLES, *WORDS)
    proofs = json.loads(run("prove", "four-cycle-free:n=5..6", "--json"))
    assert [proof["bound"] for proof in proofs] == [6, 7]
    assert "proved terms: 2, values in comments: 1" in run("records", CYCLES, "--table", "t.b.txt")
    assert terms((tmp_path / "t.b.txt").read_text()) == [(5, 6), (6, 7)]
    run("records", "four-cycle-free:n=6..7", "--table", "t.csv")
    found = [row["n"] for row in csv.DictReader((tmp_path / "t.csv").read_text().splitlines())]
    assert found == ["6", "7"]
    run("records", "four-cycle-free", "--table", "t.tex")
    assert (tmp_path / "t.tex").read_text().count("optimal") == 2
    assert [row.status for row in table_rows(Store.open(), CYCLES)] == ["optimal", "optimal", ""]
    assert "not a name for a table" in run("records", "--table", "t.xls", code=2)
    assert "no records for the table" in run("records", "four-cycle-free:n=8..9", "--table", "t.csv", code=2)


def test_records_of_a_range_are_listed_without_the_file(run, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    run("discover", "own.py:n=3..6", *WORDS)
    names = [one["problem"] for one in json.loads(run("records", "own.py:n=4..5", "--best", 1, "--json"))]
    assert names == ["own:n=4", "own:n=5"]
    (tmp_path / "own.py").unlink()
    names = [one["problem"] for one in json.loads(run("records", "own:n=4..5", "--best", 1, "--json"))]
    assert names == ["own:n=4", "own:n=5"]
