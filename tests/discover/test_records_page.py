"""The published records are legal, are what the page says, and can be imported."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from command import PROCESS
from handloom.discover.catalogue import problem_named
from handloom.discover.problem import verdict

DOCS = Path(__file__).parents[2] / "docs"
BELOW = {"isosceles:n=64"}  # what we did not reach
RECORDS = json.loads((DOCS / "records" / "isosceles.json").read_text())


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["problem"])
def test_a_published_record_is_legal_and_has_its_score(record):
    problem = problem_named(record["problem"])
    assert verdict(problem, problem.space.read(record["construction"])) == (record["score"], None)


def test_the_table_of_records_is_that_of_the_file():
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d*) \|", (DOCS / "records.md").read_text(), re.MULTILINE)
    assert [(f"isosceles:n={n}", int(score)) for n, score, _ in rows] == [(r["problem"], r["score"]) for r in RECORDS]
    assert all(known in ("", str(problem_named(f"isosceles:n={n}").best_known)) for n, _, known in rows)
    assert {int(n) for n, _, _ in rows} >= set(range(1, 41))


def test_records_do_not_fall_as_the_grid_grows_and_reach_what_is_known():
    scores = [record["score"] for record in RECORDS]
    assert scores == sorted(scores)
    for record in RECORDS:
        known = problem_named(record["problem"]).best_known
        assert known is None or record["score"] >= known or record["problem"] in BELOW


def test_the_published_file_can_be_imported(tmp_path):
    command = [*PROCESS, "records", "--store", str(tmp_path / "r.sqlite"), "--json"]
    few = tmp_path / "few.json"
    few.write_text(json.dumps(RECORDS[:8]))
    subprocess.run([*command, "--import", str(few)], check=True, capture_output=True)
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert {one["problem"]: one["score"] for one in listed} == {r["problem"]: r["score"] for r in RECORDS[:8]}
