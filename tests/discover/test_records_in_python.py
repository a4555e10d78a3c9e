"""Records for Python callers: a problem made in Python is selected, verified, exported and imported by itself."""

import json
import sqlite3

import pytest

from handloom.core import HandloomError
from handloom.discover import Problem, grid
from handloom.discover.records import Store, export_records, import_constructions, select, verify

MINE = Problem(grid(3, 3), forbidden=lambda a, b: a[0] == b[0], name="mine", best_known=3)


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "records.sqlite")
    store.add(MINE, (0,), {"how": "by hand"})
    store.add(MINE, (0, 4), {"how": "by hand"})
    store.add(Problem(grid(2, 2), name="other"), (1,), {"how": "by hand"})
    return store


def test_records_are_selected_by_their_problem_or_its_name(store):
    assert [record.score for record in select(store, MINE)] == [2, 1]
    assert [record.score for record in select(store, "mine", best=1)] == [2]
    assert [record.problem for record in select(store)] == ["mine", "mine", "other"]
    assert select(store, Problem(grid(2, 2), name="none")) == []


def test_records_are_verified_by_a_problem_made_in_python_and_others_are_not(store):
    mine, also_mine, other = verify(store, select(store), MINE)
    assert mine.right
    assert also_mine.right
    assert not other.right
    assert other.unknown == "other is not a built-in problem; name its file, such as other.py"
    with sqlite3.connect(store.place) as connection:
        connection.execute("UPDATE records SET construction = '[[0, 0], [0, 1]]' WHERE score = '2'")
    connection.close()
    wrong, right = verify(store, select(store, MINE), MINE)
    assert right.right
    assert "is forbidden" in wrong.reason


@pytest.mark.parametrize("ending", [".json", ".txt"])
def test_what_is_exported_is_imported_with_its_problem(store, tmp_path, ending):
    path, new = tmp_path / f"mine{ending}", Store.open(tmp_path / "new.sqlite")
    export_records(store, select(store, MINE), path, MINE)
    if ending == ".json":
        assert [item["best_known"] for item in json.loads(path.read_text())] == [3, 3]
    imported = import_constructions(path, new, MINE)
    assert [record.construction for record in imported.new] == [[[0, 0], [1, 1]], [[0, 0]]]
    again = import_constructions(path, new, MINE)
    assert (again.new, again.existing, again.refused) == ([], 2, [])


def test_what_is_not_legal_is_refused_and_a_file_without_a_problem_needs_one(store, tmp_path):
    (tmp_path / "a.json").write_text("[[0, 0], [0, 1]]")
    imported = import_constructions(tmp_path / "a.json", store, MINE)
    assert (imported.new, imported.count) == ([], 1)
    assert "number 1, of mine: the construction is not legal" in imported.refused[0]
    with pytest.raises(HandloomError, match="names no problem; name the problem as well as the file"):
        import_constructions(tmp_path / "a.json", store)
