"""The published records are legal, are what the page says, and can be imported."""

import json
import re
import runpy
import subprocess
from pathlib import Path

import pytest

from command import PROCESS
from handloom.discover.catalogue import problem_named
from handloom.discover.problem import verdict

DOCS = Path(__file__).parents[2] / "docs"
FILES = {path.stem: json.loads(path.read_text()) for path in sorted((DOCS / "records").glob("*.json"))}
RECORDS = [record for records in FILES.values() for record in records]
PAGE = (DOCS / "records.md").read_text()
BELOW = {"isosceles:n=64", "isosceles:n=100", "cap-set:d=7"}  # what we did not reach
SIZES = {
    "isosceles": range(1, 41),
    "squares": range(1, 17),
    "no-three-in-line": range(1, 25),
    "four-cycle-free": range(2, 33),
    "cap-set": range(1, 7),
    "permanent-312": range(1, 12),
}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["problem"])
def test_a_published_record_is_legal_and_has_its_score(record):
    problem = problem_named(record["problem"])
    assert verdict(problem, problem.space.read(record["construction"])) == (record["score"], None)


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_every_size_once_and_records_do_not_fall(name):
    records, key = FILES[name], "d" if name == "cap-set" else "n"
    problems = [record["problem"] for record in records]
    assert len(set(problems)) == len(problems)
    assert {f"{name}:{key}={size}" for size in SIZES[name]} <= {*problems}
    scores = [record["score"] for record in records]
    assert scores == sorted(scores)


@pytest.mark.parametrize("name", FILES)
def test_records_reach_what_is_known(name):
    for record in FILES[name]:
        known = problem_named(record["problem"]).best_known
        assert known is None or record["score"] >= known or record["problem"] in BELOW
        assert record.get("proof", {}).get("bound", record["score"]) == record["score"]


def test_the_tables_of_the_page_are_those_of_the_files():
    made = runpy.run_path(str(DOCS / "records_page.py"))
    assert made["with_tables"](PAGE) == PAGE
    assert {*made["TABLE"].findall(PAGE)} == {*FILES}
    for name, records in FILES.items():
        rows = re.findall(r"^\| (\d+) \| \**([\d,]+)\** \|", made["table"](name), re.MULTILINE)
        assert [int(score.replace(",", "")) for _, score in rows] == [record["score"] for record in records]


def test_a_file_takes_a_better_record_and_refuses_one_that_is_wrong(tmp_path):
    page = runpy.run_path(str(DOCS / "records_page.py"))
    page["put_in"].__globals__["FOLDER"] = tmp_path
    good = FILES["squares"][2]
    less = {"problem": good["problem"], "score": 1, "construction": [[0, 0]], "origin": {"how": "greedy", "run": "x"}}
    page["put_in"](less)
    assert page["rows_of"]("squares") == [{**less, "origin": {"how": "greedy"}}]
    page["put_in"](good)
    page["put_in"](less)
    assert [row["score"] for row in page["rows_of"]("squares")] == [good["score"]]
    with pytest.raises(SystemExit, match="squares:n=3: not as good as the store says"):
        page["put_in"](good | {"score": 9})


def test_the_published_file_can_be_imported(tmp_path):
    command = [*PROCESS, "records", "--store", str(tmp_path / "r.sqlite"), "--json"]
    few = tmp_path / "few.json"
    few.write_text(json.dumps(FILES["isosceles"][:8]))
    subprocess.run([*command, "--import", str(few)], check=True, capture_output=True)
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert {one["problem"]: one["score"] for one in listed} == {
        r["problem"]: r["score"] for r in FILES["isosceles"][:8]
    }
