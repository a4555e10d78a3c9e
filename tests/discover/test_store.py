"""The store of records: what is kept is verified and whole, whoever is killed, and whoever else is writing."""

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloom.core import HandloomError
from handloom.discover import Problem, graph, grid, permutation, subsets, word
from handloom.discover.problem import verdict
from handloom.discover.records.ranking import rank
from handloom.discover.records.store import Find, NotLegal, Record, Store, wrong

SEARCH = {"how": "search", "symmetry": None, "seed": 1, "run": None, "generation": 0, "start": None, "parent": None}


def in_a_row(a, b, c):
    return a[0] == b[0] == c[0]


ROWS = Problem(grid(2, 3), forbidden=in_a_row, name="rows")
BITS = """
from handloom.discover import Problem, word
bits = Problem(word(16), score=lambda letters: int(letters.sum()), name="bits")
def letters(number):
    return tuple(int(bit) for bit in f"{number:016b}")
"""  # for the programs that are killed, which should start fast
names = {}
exec(BITS, names)
bits, letters = names["bits"], names["letters"]


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "records.sqlite")


def refused(call, *words):
    """The message of a refusal, which is one line and has these words."""
    with pytest.raises(HandloomError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message
    return message


def child(code, *arguments, **more):
    """A program of its own that has the problem `bits` and a store, the first of its arguments."""
    start = f"import sys, os\nfrom handloom.discover.records.store import Store\n{BITS}\npath = sys.argv[1]\n"
    command = [sys.executable, "-c", start + code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


# What is kept


def test_of_all_subsets_of_a_grid_exactly_the_legal_ones_are_kept(store):
    legal = []
    for construction in (c for size in range(7) for c in combinations(range(6), size)):
        if {0, 1, 2} <= set(construction) or {3, 4, 5} <= set(construction):
            with pytest.raises(NotLegal, match="is forbidden"):
                store.add(ROWS, construction, SEARCH)
        else:
            assert store.add(ROWS, construction, SEARCH).score == len(construction)
            legal.append(construction)
    assert sorted(ROWS.space.read(record.construction) for record in store.records()) == sorted(legal)
    assert len(legal) == 49


def test_a_record_comes_back_as_it_was_added(store):
    parent = store.add(ROWS, (0,), SEARCH)
    added = store.add(ROWS, (0, 5), SEARCH | {"how": "model", "generation": 3, "parent": parent.id})
    assert store.best("rows") == added
    assert added.construction == [[0, 0], [1, 2]]
    assert (added.problem, added.score, added.parent, added.origin["how"]) == ("rows", 2, parent.id, "model")
    assert added.found == added.verified
    assert added.found.endswith("+00:00")
    assert added.version


@pytest.mark.parametrize(
    ("problem", "construction", "written"),
    [
        (Problem(graph(3), name="graph"), (0, 2), [[0, 1], [1, 2]]),
        (Problem(subsets([5, 7, 9]), name="list"), (0, 2), [5, 9]),
        (Problem(word(3, "ab"), score=len, name="word"), (0, 1, 1), "abb"),
        (Problem(permutation(3), score=len, name="permutation"), (2, 0, 1), [2, 0, 1]),
        (Problem(grid(2, 2, 2), name="box"), (), []),
    ],
)
def test_every_kind_of_construction_is_kept_as_people_write_it(store, problem, construction, written):
    assert store.add(problem, construction, SEARCH).construction == written
    assert problem.space.read(store.best(problem.name).construction) == construction
    store.check_same(problem)


def test_a_construction_is_kept_once(store):
    assert store.add(ROWS, (0, 1), SEARCH)
    assert store.add(ROWS, (0, 1), SEARCH) is None
    assert store.add(ROWS, (1, 2), SEARCH, key=(0, 1)) is None
    assert store.add(ROWS, (4, 5), SEARCH, key=(3, 4)) is not None
    assert store.add(ROWS, (3, 4), SEARCH) is None
    assert store.add(Problem(grid(2, 3), name="other"), (3, 4), SEARCH) is not None
    assert len(store.records()) == 3


def test_many_that_are_added_together_become_what_each_becomes_alone(store, tmp_path):
    """Legal ones, one that is not, the same twice, and one that the store has."""
    finds = [Find(one, SEARCH) for one in [(0, 1), (0, 1, 2), (4,), (0, 1), (), (3, 4, 5)]]
    finds.append(Find((1, 2), SEARCH, key=(4,)))
    alone = Store.open(tmp_path / "alone.sqlite")
    for one in (store, alone):
        one.add(ROWS, (4,), SEARCH)
    together, single = store.add_all(ROWS, finds), []
    for find in finds:
        try:
            single.append(alone.add(ROWS, *find))
        except NotLegal as error:
            single.append(error)
    plain = [[getattr(one, "construction", one and str(one)) for one in added] for added in (together, single)]
    assert plain[0] == plain[1]
    assert [type(one) for one in together] == [Record, NotLegal, type(None), type(None), Record, NotLegal, type(None)]
    assert [one.construction for one in store.records()] == [one.construction for one in alone.records()]


def test_of_many_that_are_added_together_all_are_kept_or_none(store):
    finds = [Find((0,), SEARCH), Find((1,), SEARCH | {"parent": 7})]
    refused(lambda: store.add_all(ROWS, finds), "the parent of a record is 7")
    assert store.records() == []


@pytest.mark.parametrize(
    ("space", "construction"),
    [
        (grid(2, 3), (1, 0)),
        (grid(2, 3), (0, 0)),
        (grid(2, 3), (-1,)),
        (grid(2, 3), (6,)),
        (grid(2, 3), (0.0,)),
        (grid(2, 3), ("a",)),
        (grid(2, 3), 3),
        (grid(2, 3), None),
        (word(3), (0, 1)),
        (word(3), (0, 1, 2)),
        (word(3), (0, 1, -1)),
        (permutation(3), (0, 1, 1)),
        (permutation(3), (0, 1)),
    ],
)
def test_what_is_not_a_construction_is_refused(store, space, construction):
    refused(lambda: store.add(Problem(space, score=lambda a: 1, name="p"), construction, SEARCH), "p: ")
    assert not store.place.exists()


def test_other_things_that_cannot_be_kept_are_refused_and_no_file_is_made(store):
    refused(lambda: store.add(Problem(grid(2, 2)), (0,), SEARCH), "give it a name")
    refused(lambda: store.add(Problem(grid(2, 2), name="\ud800"), (0,), SEARCH), "surrogates")
    refused(lambda: store.add(ROWS, (0,), {"how": object()}), "the origin cannot be written as JSON")
    refused(lambda: store.add(ROWS, (0,), {"how": float("nan")}), "the origin cannot be written as JSON")
    refused(lambda: store.add(Problem(grid(2, 2), score=lambda a: "x", name="p"), (0,), SEARCH), "not a number")
    refused(lambda: store.add(Problem(grid(2, 2), forbidden=lambda a: 1 / 0, name="p"), (0,), SEARCH), "ZeroDivision")
    assert store.records() == []


def test_a_parent_must_be_in_the_store(store):
    refused(lambda: store.add(ROWS, (0,), SEARCH | {"parent": 7}), "the parent of a record is 7")
    refused(lambda: store.add(ROWS, (0,), SEARCH | {"parent": 10**30}), "records.sqlite")
    assert store.records() == []


def test_nothing_is_locked_while_a_construction_is_verified(store):
    store = replace(store, patience=0.1)

    def score(chosen):
        store.add(ROWS, (0, 1), SEARCH)
        return 5

    assert store.add(Problem(grid(2, 2), score=score, name="p"), (0,), SEARCH).score == 5
    assert store.problems() == ["p", "rows"]


# Scores

NUMBERS = st.integers(-(10**307), 10**307) | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(NUMBERS, min_size=1, max_size=12))
def test_ranks_sort_as_the_numbers_do(numbers):
    exact = {number: Fraction(number) for number in numbers}
    for a, b in combinations(numbers, 2):
        assert (rank(a) < rank(b)) == (exact[a] < exact[b])
        assert (rank(a) == rank(b)) == (exact[a] == exact[b])


@settings(max_examples=8)
@given(numbers=st.lists(NUMBERS, min_size=1, max_size=8), least=NUMBERS, limit=st.integers(0, 8))
def test_records_are_found_by_score_whatever_kind_of_number_it_is(tmp_path_factory, numbers, least, limit):
    numbers = [2**63, 2**63 + 1, *numbers]
    problem = Problem(subsets(range(len(numbers))), score=lambda chosen: numbers[chosen.argmax()], name="numbers")
    store = Store.open(tmp_path_factory.mktemp("store") / "records.sqlite")
    for i, number in enumerate(numbers):
        score = store.add(problem, (i,), SEARCH).score
        assert (score, type(score)) == (number, type(number))
    order = sorted(range(len(numbers)), key=lambda i: (-Fraction(numbers[i]), i))
    found = store.records("numbers")
    assert [record.construction for record in found] == [[i] for i in order]
    assert [type(record.score) for record in found] == [type(numbers[i]) for i in order]
    assert store.best("numbers") == found[0]
    assert store.records("numbers", least, limit) == [record for record in found if record.score >= least][:limit]
    assert not any(wrong(problem, record) for record in found)


def test_records_of_all_problems_and_of_none(store):
    assert store.records() == store.problems() == []
    assert store.best("rows") is None
    first = store.add(ROWS, (0,), SEARCH)
    other = store.add(Problem(grid(2, 3), name="a"), (0,), SEARCH)
    assert store.records() == [other, first]
    assert store.problems() == ["a", "rows"]
    assert store.best("nobody's") is None


# The same problem


def test_a_store_with_records_of_another_problem_by_that_name_is_refused(store):
    store.check_same(ROWS)
    store.add(ROWS, (1, 2, 4, 5), SEARCH)
    store.check_same(ROWS)
    others = [
        Problem(grid(2, 2), name="rows"),
        Problem(word(4), score=len, name="rows"),
        Problem(grid(2, 3), forbidden=lambda a, b: a[0] == b[0], name="rows"),
        Problem(grid(2, 3), score=lambda a: 4.0, name="rows"),
        Problem(grid(2, 3), score=lambda a: 5, name="rows"),
    ]
    for other in others:
        refused(lambda other=other: store.check_same(other), "another problem called rows", "use another store")
    assert store.best("rows").score == 4


# Files that cannot be used


def test_files_that_are_no_stores_are_refused_and_left_as_they_are(tmp_path):
    (tmp_path / "text").write_text("This is not a database, but it is long enough to be one." * 100)
    (tmp_path / "empty").write_bytes(b"")
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE records (id)")
    connection.close()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    refused(lambda: Store.open(tmp_path / "text"), "is not a SQLite database")
    refused(lambda: Store.open(tmp_path / "empty"), "something else")
    refused(lambda: Store.open(tmp_path / "other"), "something else")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_places_where_no_store_can_be_are_refused(tmp_path):
    refused(lambda: Store.open(tmp_path), "is a folder")
    refused(lambda: Store.open(tmp_path / "no" / "such"), "there is no folder")
    refused(lambda: Store.open("/dev/null"), "not a regular file")
    refused(lambda: Store.open("a\0b"), "null")
    refused(lambda: Store.open(3), "expected the name of a file")
    refused(lambda: Store.open(tmp_path / "none", create=False), "no such file of records", "a discovery run")
    assert list(tmp_path.iterdir()) == []


def test_odd_names_and_links_are_names_like_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("target")
    for name in ("a?mode=ro#x%20.sqlite", "é ü", "link"):
        Store.open(name).add(ROWS, (0,), SEARCH)
        assert Store.open(name, create=False).best("rows").score == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a?mode=ro#x%20.sqlite", "link", "target", "é ü"]


def test_the_store_stays_where_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store.open()
    monkeypatch.chdir("/")
    store.add(ROWS, (0,), SEARCH)
    assert [path.name for path in tmp_path.iterdir()] == ["records.sqlite"]


def test_a_format_of_the_future_is_refused(store):
    store.add(ROWS, (0,), SEARCH)
    with store.connected() as connection:
        connection.execute("PRAGMA user_version = 2")
    refused(lambda: Store.open(store.path), "format 2", "expected 1")


def test_a_damaged_file_gives_records_or_one_line(store):
    for i in range(40):
        store.add(bits, letters(i), SEARCH)
    whole = store.place.read_bytes()
    there = {record.id: record for record in store.records()}
    chance = random.Random(0)
    for _ in range(150):
        damaged = bytearray(whole)
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(whole)) :]
        for _ in range(chance.choice([1, 10, 1000])):
            damaged[chance.randrange(max(1, len(damaged)))] = chance.randrange(256)
        store.place.write_bytes(damaged)
        for use in (lambda: Store.open(store.path).records(), store.check_whole, store.problems):
            try:
                use()
            except HandloomError as error:
                assert "\n" not in str(error)
        store.place.with_name("records.sqlite-journal").unlink(missing_ok=True)
    store.place.write_bytes(whole)
    assert {record.id: record for record in store.records()} == there


def test_the_check_of_the_whole_file_finds_a_lost_page(store):
    for i in range(40):
        store.add(bits, letters(i), SEARCH)
    store.check_whole()
    data = bytearray(store.place.read_bytes())
    data[-2000:] = bytes(2000)
    store.place.write_bytes(data)
    refused(store.check_whole, "damaged")


@pytest.mark.parametrize("column", ["score", "construction", "origin"])
def test_a_record_that_was_tampered_with_is_said_to_be_damaged(store, column):
    store.add(ROWS, (0,), SEARCH)
    with store.connected() as connection:
        connection.execute(f"UPDATE records SET {column} = '\"'")
    refused(lambda: store.best("rows"), "is damaged: a record cannot be read")


def test_a_store_that_may_only_be_read_is_read():
    """Root may write anywhere, so the program becomes nobody first."""
    code = """
def attempt(action):
    try: print(action())
    except ValueError as error: print(error)
os.chdir(path)
Store.open("records.sqlite").add(bits, letters(3), {})
os.chmod("records.sqlite", 0o444)
os.chmod(".", 0o555)
if os.getuid() == 0: os.setuid(65534)
store = Store.open("records.sqlite")
attempt(lambda: store.best("bits").score)
attempt(lambda: store.add(bits, letters(2), {}))
attempt(lambda: Store.open("new.sqlite"))
"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        said, errors = child(code, folder).communicate(timeout=60)
        os.chmod(folder, 0o755)
    assert said.splitlines() == [
        "2",
        "cannot write records.sqlite: it is read-only",
        "cannot write new.sqlite: permission denied",
    ], errors


def test_a_store_in_a_folder_that_may_not_be_entered_is_refused():
    code = """
os.chmod(path, 0)
if os.getuid() == 0: os.setuid(65534)
try: Store.open(path + "/records.sqlite")
except ValueError as error: print(error)
"""
    with tempfile.TemporaryDirectory() as folder:
        said, errors = child(code, folder).communicate(timeout=60)
        os.chmod(folder, 0o755)
    assert said.endswith("cannot be opened: Permission denied\n"), errors


def test_a_full_disk_is_said_in_one_line_and_loses_nothing(store):
    """A disk is full for whoever may not write more than so much."""
    code = """
store = Store.open(path)
try:
    for i in range(1000): store.add(bits, letters(i), {}); print(i, flush=True)
except ValueError as error: print(error)
"""
    for most in (9_999, 30_000):
        limit = lambda most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))  # noqa: E731
        said, errors = child(code, store.path, preexec_fn=limit).communicate(timeout=60)
        *added, last = said.splitlines()
        assert "cannot" in last, errors
        assert "write" in last
        assert len(added) == len(store.records()) == (0 if most < 10_000 else len(added))
        assert [path.name for path in store.place.parent.iterdir()] == (["records.sqlite"] if added else [])
    assert added
    store.check_whole()
    assert store.add(bits, letters(2000), SEARCH)


def test_a_disk_that_is_full_for_sqlite_is_said_to_be(store):
    store.add(ROWS, (0,), SEARCH)

    def fill():
        with store.connected() as connection:
            connection.execute("PRAGMA max_page_count = 1")
            connection.execute("UPDATE records SET origin = zeroblob(1000000)")

    refused(fill, "cannot write", "the disk is full")
    assert store.best("rows").origin == SEARCH


def test_a_store_that_stays_locked_raises_an_error(store):
    store = replace(store, patience=0.1)
    store.add(ROWS, (0,), SEARCH)
    with store.connected() as other:
        other.execute("BEGIN IMMEDIATE")
        assert store.best("rows").score == 1  # who only reads need not wait
        refused(lambda: store.add(ROWS, (1,), SEARCH), "locked by another program")
    assert store.add(ROWS, (1,), SEARCH)


def test_where_there_are_no_links_a_store_is_made_too(store, monkeypatch):
    def no_links(*paths):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    store.add(ROWS, (0,), SEARCH)
    assert Store.open(store.path).best("rows").score == 1
    assert [path.name for path in store.place.parent.iterdir()] == ["records.sqlite"]


def test_a_store_that_is_deleted_while_it_is_used_is_made_again(store):
    store.add(ROWS, (0,), SEARCH)
    store.place.unlink()
    assert store.best("rows") is None
    assert store.add(ROWS, (1,), SEARCH).id == 1


# Killed, and several at once

ADD = """
print("ready", flush=True)
with Store.open(path) as store:
    for i in range(int(sys.argv[2]), int(sys.argv[3])):
        record = store.add(bits, letters(i), {"how": "search"})
        print(i, record is not None, flush=True)
"""


def check_all(store):
    """Every record is whole and right; their numbers."""
    store.check_whole()
    found = store.records("bits")
    for record in found:
        assert verdict(bits, bits.space.read(record.construction)).score == record.score
        assert record.origin == {"how": "search"}
    return {int(record.construction, 2) for record in found}


def test_killed_at_any_moment_a_store_holds_whole_records_and_all_that_were_reported(store):
    chance = random.Random(1)
    reported = set()
    for lines in range(6):  # the first time it is killed while it makes the store
        running = child(ADD, store.path, 1000 * lines, 1000 * lines + 1000)
        first = [running.stdout.readline() for _ in range(lines + 1)]
        time.sleep(0.03 * chance.random())
        running.send_signal(signal.SIGKILL)
        with running:  # communicate would pass over what readline has read ahead
            rest, errors = running.stdout.read(), running.stderr.read()
        assert (first[0], errors) == ("ready\n", "")
        said = "".join(first[1:]) + rest
        reported |= {int(line.split()[0]) for line in said.splitlines() if line.endswith("True")}
        there = check_all(Store.open(store.path))
        assert reported <= there
        assert len(there - reported) <= lines + 1  # each time perhaps one that could not be reported any more
    assert len(reported) >= 15
    assert store.add(bits, letters(60000), SEARCH)


def test_killed_in_the_middle_of_a_transaction_it_has_not_happened(store):
    """What does not fit into memory is written to the file before the commit; then only the journal knows the old."""
    code = """
store = Store.open(path)
for i in range(20): store.add(bits, letters(i), {"how": "search"})
before = store.place.read_bytes()
with store.connected() as connection:
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE records SET score = '0', origin = ?", ["x" * 50_000])
    print(store.place.read_bytes() != before, flush=True)
    os.kill(os.getpid(), 9)
"""
    said, _ = child(code, store.path).communicate(timeout=60)
    assert said == "True\n"
    assert store.place.with_name("records.sqlite-journal").exists()
    assert check_all(store) == set(range(20))


@pytest.mark.parametrize("count", [2, 4])
def test_several_programs_that_write_at_once_lose_nothing(store, count):
    """Each adds ten of its own and five of its neighbour's; they also make the store at the same moment."""
    programs = [child(ADD, store.path, 10 * i, 10 * i + 15) for i in range(count)]
    added = []
    for program in programs:
        said, errors = program.communicate(timeout=100)
        assert (program.returncode, errors) == (0, "")
        added += [int(line.split()[0]) for line in said.splitlines() if line.endswith("True")]
    assert sorted(added) == list(range(10 * count + 5))  # each was new to exactly one
    assert check_all(store) == set(added)
    assert [path.name for path in store.place.parent.iterdir()] == ["records.sqlite"]


def test_a_record_is_json_that_other_programs_can_read(store):
    store.add(ROWS, (0, 4), SEARCH)
    with sqlite3.connect(store.place) as connection:
        ((score, construction, origin),) = connection.execute("SELECT score, construction, origin FROM records")
    connection.close()
    assert [json.loads(text) for text in (score, construction, origin)] == [2, [[0, 0], [1, 1]], SEARCH]
