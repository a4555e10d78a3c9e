"""Records as files, and `handloom records`: what users list, draw, export, verify again and bring in."""

import json
import random
import sqlite3
from functools import partial
from itertools import combinations

import pytest

from command import handloom, modules_after, output
from handloom.discover import Problem, grid
from handloom.discover.records.store import Store

OWN = """
from handloom.discover import Problem, grid
def problem(n: int = 3):
    return Problem(grid(n, n), forbidden=lambda a, b: a[0] == b[0])
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """What `handloom records` prints in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return partial(output, "records", cwd=tmp_path)


def isosceles(n):
    from handloom.discover.catalogue import problem_named

    return problem_named(f"isosceles:n={n}")


def largest(n):
    """A largest set of points of the n × n grid without an isosceles triangle, by trying all, largest first."""
    points = [(x, y) for x in range(n) for y in range(n)]

    def distance(p, q):
        return (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2

    def legal(chosen):
        return all(len({distance(p, q) for q in chosen}) == len(chosen) for p in chosen)

    return next(c for size in range(n * n, 0, -1) for c in combinations(points, size) if legal(c))


BEST = {3: largest(3), 2: largest(2)}


def picture(n, points):
    return "\n".join(" ".join("01"[(x, y) in points] for y in range(n)) for x in range(n))


@pytest.fixture
def filled(run, tmp_path):
    """A store with three records of two problems that come with handloom, and one of a problem of one's own."""
    for n in (2, 3):
        (tmp_path / "found.txt").write_text(picture(n, BEST[n]))
        run(f"isosceles:n={n}", "--import", "found.txt")
    (tmp_path / "found.txt").write_text("0 1\n2 0\n")
    run("isosceles:n=3", "--import", "found.txt")
    (tmp_path / "own.py").write_text(OWN)
    run("own.py", "--import", "found.txt")
    return Store.open(tmp_path / "records.sqlite")


# Listing


def test_the_best_record_of_each_problem_is_listed_with_what_is_known(run, filled):
    lines = run().splitlines()
    assert lines[0].split() == ["problem", "score", "best", "known", "how", "found", "when", "record"]
    assert [line.split()[:3] for line in lines[1:3]] == [["isosceles:n=2", "2", "2"], ["isosceles:n=3", "4", "4"]]
    assert lines[3].split()[0].startswith("own")
    assert all("import, found.txt" in line for line in lines[1:])
    assert len(lines) == 4


def test_the_best_known_value_of_a_problem_file_is_listed_without_running_the_file(run, filled, tmp_path):
    def listed(*words):
        return {item["problem"]: item["best_known"] for item in json.loads(run(*words, "--json"))}

    assert listed() == {"isosceles:n=2": 2, "isosceles:n=3": 4, "own:n=3": None}
    (tmp_path / "own.py").write_text(OWN.replace("grid(n, n)", "grid(n, n), best_known=n"))
    assert listed("own.py") == {"own:n=3": 3}  # as the file says
    run("own.py", "--import", "found.txt")  # it is there already
    (tmp_path / "own.py").write_text("raise SystemExit('not to be run')")
    assert listed("own") == {"own:n=3": 3}
    assert run().splitlines()[3].split()[:3] == ["own:n=3", "2", "3"]
    assert listed() == {"isosceles:n=2": 2, "isosceles:n=3": 4, "own:n=3": 3}


def test_a_store_of_an_earlier_version_has_no_best_known_values_of_files(run, filled):
    with sqlite3.connect(filled.place) as connection:
        connection.execute("DROP TABLE IF EXISTS known")
    assert filled.best_known("own:n=3") is None
    assert [item["best_known"] for item in json.loads(run("--json"))] == [2, 4, None]


def test_the_table_fits_a_terminal_of_eighty_columns(run, filled, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run().splitlines()
    assert lines[0].split()[-1] == "record"
    assert [line.split()[-1] for line in lines if line.startswith(" isosceles")] == ["1", "2"]


def test_the_number_of_a_record_is_never_cropped(run, filled, tmp_path, monkeypatch):
    with sqlite3.connect(tmp_path / "records.sqlite") as store:
        origin = json.dumps({"how": "search", "symmetry": "rotation-90 and some more", "generation": 17})
        store.execute("UPDATE records SET origin = ?", (origin,))
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("isosceles").splitlines()
    assert lines[0].split()[-1] == "record"
    assert sorted(line.split()[-1] for line in lines if line.startswith(" isosceles")) == ["1", "2", "3"]


def test_records_are_listed_as_json_with_the_promised_keys(run, filled):
    listed = json.loads(run("--json"))
    assert [(item["problem"], item["score"], item["verified"]) for item in listed[:2]] == [
        ("isosceles:n=2", 2, True),
        ("isosceles:n=3", 4, True),
    ]
    assert all({"problem", "score", "verified", "found", "construction", "origin"} <= set(item) for item in listed)
    assert listed[1]["construction"] == [list(point) for point in BEST[3]]
    assert listed[1]["origin"]["how"] == "import"


def test_what_is_listed_can_be_chosen(run, filled):
    def scores(*words):
        return [item["score"] for item in json.loads(run(*words, "--json"))]

    assert scores("--all") == [2, 4, 2, 2]
    assert scores("--best", 1) == [2, 4, 2]
    assert scores("isosceles:n=3") == [4, 2]
    assert scores("isosceles:n=3", "--best", 1) == [4]
    assert scores("isosceles") == [2, 4, 2]
    assert scores("isosceles:n=9") == []
    assert "no such records" in run("isosceles:n=9")
    assert "isoceles" in run("isoceles", code=2)


def test_problems_are_listed_in_the_order_of_their_sizes(run, tmp_path):
    store = Store.open(tmp_path / "records.sqlite")
    for n in (10, 9, 11, 1):
        store.add(isosceles(n), (0,), {"how": "greedy"})
    assert [item["problem"] for item in json.loads(run("--json"))] == [f"isosceles:n={n}" for n in (1, 9, 10, 11)]


def test_problems_of_ones_own_are_listed_without_their_file(run, filled, tmp_path):
    name = filled.problems()[-1]
    (tmp_path / "own.py").write_text("raise SystemExit")
    assert json.loads(run("--json"))[-1]["problem"] == name
    assert json.loads(run(name, "--json"))[0]["score"] == 2
    (tmp_path / "own.py").unlink()
    assert name in run()


def test_names_and_origins_with_markup_or_control_characters_do_no_harm(run, tmp_path):
    store = Store.open(tmp_path / "records.sqlite")
    store.add(Problem(grid(2, 2), name="[red]a\x1b[2J\n"), (0,), {"how": "\x1b[31m[bold]"})
    shown = run()
    assert "\x1b" not in shown
    assert "[red]a" in shown
    assert "[bold]" in shown


def test_without_a_store_one_line_says_so(run, tmp_path):
    assert "no such file of records" in run(code=2)
    assert "other.sqlite: no such file" in run("--store", "other.sqlite", "--json", code=2)
    (tmp_path / "text").write_text("not a database " * 1000)
    assert "is not a SQLite database" in run("--store", "text", code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


# Verifying again


def test_all_records_are_verified_again(run, filled):
    assert "3 of 3 records" in run("isosceles", "--verify")
    assert all(item["verified"] for item in json.loads(run("isosceles:n=3", "--verify", "--json")))
    assert "1 of 1 records" in run("own.py", "--verify")
    assert [item["best_known"] for item in json.loads(run("isosceles", "--verify", "--json"))] == [2, 4, 4]


def test_records_of_ones_own_problem_are_verified_only_if_its_file_is_named(run, filled, tmp_path):
    """Else a store from somebody else could have any file run."""
    (tmp_path / "own.py").write_text("open('ran', 'w').close()\n" + OWN)
    assert "own:n=3 is not a built-in problem; name its file, such as own.py" in run("--verify", code=2)
    assert "name its file, such as own.py" in run("own:n=3", "--verify", code=2)
    told = json.loads(handloom("records", "--verify", "--json", cwd=tmp_path).stdout)
    assert [item["verified"] for item in told] == [True, True, True, False]
    assert not (tmp_path / "ran").exists()
    assert "1 of 1 records" in run("own.py", "--verify")
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("score = '5'", "its score is 4, not 5"),
        ("score = '4.0'", "its score is 4, not 4.0"),
        ("construction = '[[0, 0], [0, 1], [0, 2]]'", "is forbidden"),
        ("construction = '[[0, 7]]'", "is not an element here"),
        ("construction = '7'", "is not a construction"),
    ],
)
def test_a_record_that_was_changed_is_found_and_named(run, filled, tmp_path, change, reason):
    best = filled.best("isosceles:n=3")
    with sqlite3.connect(filled.place) as connection:
        connection.execute(f"UPDATE records SET {change} WHERE id = {best.id}")
    connection.close()
    done = handloom("records", "isosceles", "--verify", cwd=tmp_path)
    assert done.returncode == 1
    assert "2 of 3 records" in done.stdout
    assert f"WRONG: isosceles:n=3, record {best.id}: " in done.stderr
    assert reason in done.stderr
    done = handloom("records", "isosceles", "--verify", "--json", cwd=tmp_path)
    assert [item["id"] for item in json.loads(done.stdout) if not item["verified"]] == [best.id]
    assert done.returncode == 1


# Drawing


def test_records_are_drawn_to_a_file_or_a_folder(run, filled, tmp_path):
    pytest.importorskip("handloom.view.svg.constructions")
    run("isosceles:n=3", "--draw", "best.svg")
    assert "<svg" in (tmp_path / "best.svg").read_text()
    run("isosceles:n=3", "--draw", "best.png")
    assert (tmp_path / "best.png").read_bytes().startswith(b"\x89PNG")
    names = run("isosceles", "--draw", "pictures/new").splitlines()
    assert len(names) == 3
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names)
    assert "own.py" in run("--best", 1, "--draw", "others", code=2)
    assert not (tmp_path / "others").exists()
    assert "several problems" in run("--draw", "one.svg", code=2)
    assert "best.gif" in run("isosceles", "--draw", "best.gif", code=2)
    assert "no records to draw" in run("isosceles:n=9", "--draw", "none.svg", code=2)
    assert "cannot make the folder" in run("isosceles", "--draw", "best.svg/in", code=2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["isosceles:n=3", "--import", "found.txt", "--export", "a.json"], "--export: --import only imports"),
        (["isosceles:n=3", "--import", "found.txt", "--verify"], "--verify: --import only imports"),
        (["--all", "--best", 2], "--all: --best 2 limits what is listed"),
        (["isosceles", "--unproved", "--table", "a.csv"], "--unproved: it is for --table with a .b.txt file"),
        (["isosceles:n=3", "--draw", "a.svg", "--table", "b.txt"], "not a name for a table"),
    ],
    ids=str,
)
def test_options_without_an_effect_are_refused_before_anything_is_written(run, filled, tmp_path, words, told):
    before = sorted(tmp_path.iterdir())
    assert told in run(*words, code=2)
    assert sorted(tmp_path.iterdir()) == before


# Exporting and bringing in


@pytest.mark.parametrize("ending", [".json", ".txt"])
def test_what_is_exported_can_be_brought_into_another_store(run, filled, tmp_path, ending):
    run("isosceles", "--export", f"out{ending}")
    assert "kept 3" in run("--store", "new.sqlite", "--import", f"out{ending}")
    assert "nothing new; 3 there already" in run("--store", "new.sqlite", "--import", f"out{ending}")
    old, new = (
        [(r.problem, r.score, r.construction) for r in Store.open(s).records()] for s in (filled.place, "new.sqlite")
    )
    assert new == old[:3]
    assert json.loads(run("--store", "third.sqlite", "--import", f"out{ending}", "--json"))[0]["score"] == 2
    if ending == ".json":
        said = Store.open("new.sqlite").best("isosceles:n=3").origin["said"]
        assert said["origin"]["file"] == "found.txt"


def test_standard_output_gets_json(run, filled, tmp_path):
    assert json.loads(run("--all", "--export", "-")) == json.loads(run("--all", "--json"))
    assert len(json.loads(run("isosceles", "--verify", "--draw", "drawn", "--export", "-"))) == 3
    assert "out.csv" in run("--export", "out.csv", code=2)
    assert "there is no folder" in run("--export", "no/out.json", code=2)


def test_ones_own_problem_is_exported_without_its_file_and_brought_in_with_it(run, filled, tmp_path):
    (tmp_path / "own.py").rename(tmp_path / "away")
    for ending in (".json", ".txt"):
        run("--all", "--export", f"all{ending}")
        run(filled.problems()[-1], "--export", f"own{ending}")
    assert "name it" in run("--store", "new.sqlite", "--import", "all.json", code=2)
    assert not (tmp_path / "new.sqlite").exists()
    (tmp_path / "away").rename(tmp_path / "own.py")
    assert "kept 1" in run("own.py", "--store", "new.sqlite", "--import", "own.json")
    assert "1 there already" in run("own.py", "--store", "new.sqlite", "--import", "own.txt")


def test_a_file_of_ones_own_stands_for_all_its_sizes(run, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "a.txt").write_text("0 0\n")
    for size in ("", ":n=2", ":n=12"):
        run(f"own.py{size}", "--import", "a.txt")
    assert [item["problem"] for item in json.loads(run("own.py", "--json"))] == ["own:n=2", "own:n=3", "own:n=12"]
    assert "3 of 3 records" in run("own.py", "--verify")
    assert "1 of 1 records" in run("own.py:n=12", "--verify")
    run("own", "--export", "a.txt")
    assert "kept 3" in run("own.py", "--store", "new.sqlite", "--import", "a.txt")
    assert "records of own:n=2, not of own:n=12" in run("own.py:n=12", "--import", "a.txt", code=2)


def test_what_is_not_legal_is_refused_with_the_reason_and_the_rest_is_kept(run, tmp_path):
    (tmp_path / "line.txt").write_text("0 0\n0 1\n0 2\n")
    said = run("isosceles:n=3", "--import", "line.txt", code=2)
    assert "1 of 1 refused" in said
    assert "(0, 0), (0, 1), (0, 2) is forbidden" in said
    assert not (tmp_path / "records.sqlite").exists()
    (tmp_path / "mixed.txt").write_text(f"{picture(3, BEST[3])}\n\n# # #\n. . .\n. . .\n\n0 0\n")
    assert "1 of 3 refused; number 2" in run("isosceles:n=3", "--import", "mixed.txt", code=2)
    assert sorted(record.score for record in Store.open().records()) == [1, 4]


def test_a_store_with_records_of_another_problem_by_that_name_is_left_alone(run, tmp_path):
    Store.open().add(Problem(grid(5, 5), name="isosceles:n=3"), (0, 1, 2, 24), {})
    (tmp_path / "one.txt").write_text("0 0\n")
    assert "another problem called isosceles:n=3" in run("isosceles:n=3", "--import", "one.txt", code=2)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "", "is not JSON"),
        ("a.json", "[[0, 1", "is not JSON"),
        ("a.json", "[" * 100_000, "is not JSON"),
        ("a.json", "9" * 5000, "is not JSON"),
        ("a.json", "3", "is not a construction"),
        ("a.json", "null", "is not a construction"),
        ("a.json", '"010"', "is not a construction"),
        ("a.json", "[[0, 9]]", "[0, 9] is not an element"),
        ("a.json", "[[[[0]]]]", "not"),
        ("a.json", '[{"score": 3}]', "is not a record"),
        ("a.json", '[{"construction": [[0, 0]], "problem": 7}]', "it must be a name"),
        ("a.json", '[{"construction": [[0, 0]], "problem": "isosceles:n=4"}]', "records of isosceles:n=4"),
        ("a.json", '[{"construction": [[0, 0]]}, [[0, 0]]]', "is not a record"),
        ("a.txt", "", "there is no construction"),
        ("a.txt", "\n \n// by hand\n", "there is no construction"),
        ("a.txt", "0 0 0\n", "[0, 0, 0] is not an element"),
        ("a.txt", "# .\n. #\n", "expected 3 rows of 3 cells"),
        ("a.txt", "0 x\n", "'x' in the line '0 x' is not a whole number"),
        ("a.txt", "0 1 2\n0 1 0\n0 0 0", "is not an element"),
        ("a.txt", f"0 {'9' * 5000}", "is not a whole number"),
        ("a.txt", b"\xff\xfe", "UTF-8"),
        ("none.txt", None, "No such file"),
        (".", None, "directory"),
    ],
)
def test_files_that_cannot_be_read_keep_nothing(run, tmp_path, name, text, reason):
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert reason in run("isosceles:n=3", "--import", name, code=2)
    assert not (tmp_path / "records.sqlite").exists()


def test_a_file_that_names_no_problem_needs_one(run, tmp_path):
    (tmp_path / "a.txt").write_text("0 0\n")
    assert "names no problem" in run("--import", "a.txt", code=2)
    (tmp_path / "a.txt").write_text("// problem: isosceles:n=3\n0 0\n\n0 1\n// problem: isosceles:n=2\n# .\n. .\n")
    assert "kept 3" in run("--import", "a.txt")
    assert [record.problem[-1] for record in Store.open().records()] == ["2", "3", "3"]
    (tmp_path / "a.txt").write_text("// problem: evil.py\n0 0\n")
    (tmp_path / "evil.py").write_text("open('ran', 'w').close()\n" + OWN)
    assert "evil.py" in run("--import", "a.txt", code=2)
    assert not (tmp_path / "ran").exists()


def test_help_has_examples(run):
    assert "handloom records isosceles:n=16 --best 3 --draw best.svg" in run("--help")


def test_nothing_that_is_not_legal_is_ever_kept_whatever_is_brought_in(run, tmp_path):
    """Pictures and lists of random points, well formed or not."""
    chance = random.Random(3)
    for i in range(60):
        points = {(chance.randrange(3 + (i % 7 == 0)), chance.randrange(3)) for _ in range(chance.randrange(1, 6))}
        as_lines = "\n".join(f"{x} {y}" for x, y in points)
        (tmp_path / "a.txt").write_text(picture(3, points) if i % 2 else as_lines)
        done = handloom("records", "isosceles:n=3", "--import", "a.txt", cwd=tmp_path)
        assert done.returncode == 0 or done.stderr.count("\n") == 1
    kept = [frozenset(map(tuple, record.construction)) for record in Store.open().records()]
    assert len(kept) == len(set(kept)) > 10
    for points in kept:
        for p in points:
            distances = [(p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 for q in points]
            assert len(set(distances)) == len(distances)


def test_the_command_is_light_to_import():
    assert not {"numpy", "sqlite3", "handloom.core"} & modules_after("import handloom.cli.records")


def test_json_is_one_value_whatever_else_is_done(run, filled, tmp_path):
    for words in (["--draw", tmp_path / "a.PNG"], ["--export", tmp_path / "a.json"]):
        listed = json.loads(run("isosceles:n=3", "--json", *words))
        assert listed[0]["problem"] == "isosceles:n=3"
        assert words[1].exists()
