"""What a run of discovery has found is its own: in a store that others write to, after a kill, and on its page. What it
cannot use it refuses, and of what never began nothing is left."""

import json
import sqlite3
import sys
import tempfile
from pathlib import Path

import pytest

import handloom as hl
from discoveries import CYCLES, FAST, OPTIONS, run_discover
from handloom.core import HandloomError
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.ledger import Ledger
from handloom.discover.loop.start import begin, discover, reopen
from handloom.discover.records.exchange import as_object
from handloom.discover.records.origin import started_from
from handloom.discover.records.store import Store
from handloom.discover.search.attempts import Attempt, Searches
from handloom.discover.search.symmetry import NONE
from handloom.learn import train


def test_a_construction_that_is_in_the_store_is_found_by_this_run_all_the_same(here):
    code, _, _ = run_discover(CYCLES, "--generations", 1, "--out", "a", *OPTIONS)
    store = Store.open("records.sqlite")
    best = store.best(CYCLES)
    with sqlite3.connect("records.sqlite") as connection:  # as if a model had found all of it, long ago
        connection.execute("UPDATE records SET origin = ?", [json.dumps(best.origin | {"how": "model", "run": "old"})])
    code, out, _ = run_discover(CYCLES, "--generations", 1, "--out", "b", "--no-model", "--json", *OPTIONS)
    assert code == 0
    origin = json.loads(out)["origin"]
    assert (origin["how"], origin["run"]) == ("search", "b")
    code, out, _ = run_discover("--resume", "b", "--generations", 1, "--json")
    assert json.loads(out)["origin"] == origin
    assert json.loads(out)["best"] == best.score


def test_a_run_says_what_the_store_has_from_before(here):
    run_discover(CYCLES, "--generations", 1, *OPTIONS)
    best = Store.open("records.sqlite").best(CYCLES).score
    _, out, _ = run_discover(CYCLES, "--seconds", 0, *OPTIONS)
    assert f"records.sqlite has {best} from before" in out


def test_a_record_that_was_tampered_with_is_not_taken_over(here):
    run_discover(CYCLES, "--generations", 1, *OPTIONS)
    with sqlite3.connect("records.sqlite") as connection:
        connection.execute("UPDATE records SET score = '99' WHERE id = (SELECT max(id) FROM records)")
    code, _, said = run_discover(CYCLES, "--generations", 1, *OPTIONS)
    assert code == 2
    assert "not 99" in said


def test_what_a_run_cannot_use_is_refused(here):
    run_discover(CYCLES, "--generations", 1, "--out", "a", *OPTIONS)
    for words in (
        ["--resume", "a", "--tokens", "bpe"],
        ["--resume", "a", "--seed", 0],
        ["--resume", "a", "--no-model"],
        ["--resume", "a", "--compare"],
        [CYCLES, "--compare", "--out", "b"],
        [CYCLES, "--compare", "--store", "b.sqlite"],
        [CYCLES, "--seeds", 3],
        [CYCLES, "--until", "nan"],
        ["--seconds", 3],
        ["--store", "b.sqlite"],
    ):
        code, _, said = run_discover(*words)
        assert code == 2
        assert len(said.strip().splitlines()) == 1
    code, _, said = run_discover(CYCLES, "--out", "a")
    assert code == 2
    assert "a exists already; name another folder, or resume the run in it" in said


def test_the_sooner_of_seconds_and_minutes_ends_a_run(here):
    code, out, _ = run_discover(CYCLES, "--seconds", 1, "--minutes", 9, "--json", *OPTIONS)
    assert code == 0
    assert json.loads(out)["seconds"] < 60


def test_of_a_run_that_never_began_nothing_is_left(here):
    Path("own.py").write_text("from handloom.discover import *\nproblem = Problem(word(3), score=lambda w: 1 / 0)")
    code, _, said = run_discover("own.py", "--seconds", 1)
    assert code == 2
    assert "<lambda>, line 2, raised ZeroDivisionError" in said
    assert not Path("runs").exists()
    Path("mine").mkdir()
    assert run_discover("own.py", "--seconds", 1, "--out", "mine")[0] == 2
    assert not list(Path("mine").iterdir())


def test_a_run_that_goes_on_with_another_store_takes_nothing_of_others(here):
    run_discover(CYCLES, "--generations", 1, "--out", "a", "--seed", 1, *OPTIONS)
    run_discover(CYCLES, "--generations", 1, "--out", "b", "--seed", 2, "--store", "b.sqlite", *OPTIONS)
    lines = Path("a/records.jsonl").read_text()
    both = {one.key for one in Store.open("records.sqlite").records()} & {
        one.key for one in Store.open("b.sqlite").records()
    }
    run = reopen("a", store="b.sqlite", generations=1)
    assert {record.key for record in run.records} == both
    assert Path("a/records.jsonl").read_text() == lines


@pytest.mark.parametrize("lost", ["last line", "file"])
def test_what_a_run_has_stored_is_its_own_though_it_was_killed_before_it_wrote_that_down(here, lost):
    run_discover(CYCLES, "--generations", 1, "--out", "a", *OPTIONS)
    lines = Path("a/records.jsonl").read_text().splitlines(keepends=True)
    before = {record.key for record in reopen("a").records}
    if lost == "file":
        Path("a/records.jsonl").unlink()
    else:
        Path("a/records.jsonl").write_text("".join(lines[:-1]) + lines[-1][:20])
    assert {record.key for record in reopen("a").records} == before
    assert len(before) == len(lines)


def test_the_page_has_the_origins_of_its_own_run(here):
    run_discover(CYCLES, "--generations", 1, *OPTIONS)
    with sqlite3.connect("records.sqlite") as connection:
        connection.execute("UPDATE records SET origin = json_set(origin, '$.generation', 77)")
    run_discover(CYCLES, "--generations", 1, "--out", "b", *OPTIONS)
    assert "generation 77" not in Path("b/page.html").read_text()


def test_scores_that_are_rounded_differently_for_mirror_images_are_no_reason_to_stop(here):
    Path("own.py").write_text(
        """
from math import sqrt
from handloom.discover import Problem, grid

def score(a):
    total = 0.0
    for i in range(16):
        for j in range(i):
            if a[i // 4, i % 4] and a[j // 4, j % 4]:
                total += sqrt((i // 4 - j // 4) ** 2 + (i % 4 - j % 4) ** 2) - 2.3
    return total

problem = Problem(grid(4, 4), score=score, symmetries={"mirror": lambda p: (3 - p[0], p[1])})
"""
    )
    for seed in range(4):
        code, _, said = run_discover("own.py", "--generations", 1, "--no-model", "--seed", seed, *OPTIONS)
        assert code == 0, said


def test_a_run_is_preparing_until_its_first_search_has_ended():
    stages = []
    with tempfile.TemporaryDirectory() as folder:
        run = begin(CYCLES, store=f"{folder}/r.sqlite", generations=2, **FAST)
        run.run(lambda progress: stages.append((progress.stage, progress.stage_done)))
    names = [name for name, _ in stages]
    assert names[0] == "preparing"
    assert "preparing" not in names[names.index("searching") :]
    assert dict(reversed(stages))["searching"] < 0.5


def test_a_run_of_learn_is_told_from_a_damaged_one(here):
    train("s[1]==s[2]", folder="a", steps=1, every=1, layers=1, heads=1, d_model=8, count=50, samples=5)
    code, _, said = run_discover("--resume", "a")
    assert code == 2
    assert "a is a run of learn (expected a run of discover); resume it with learn" in said


# Where a record comes from


def test_the_origin_of_a_record_is_the_search_that_found_it(tmp_path):
    """Repeated from what its origin says, with the start that it names, a search finds the record again."""
    how = FAST | {"attempts": 80, "steps": 60, "symmetry": NONE}
    run = discover("sidon:n=60", store=tmp_path / "s.sqlite", generations=4, model=False, **how)
    searches, space = Searches(run.problem, [NONE]), run.problem.space
    by_id = {record.id: record for record in run.records}
    found = [record for record in run.records if record.origin["how"] == "search"]
    for record in found:
        start = record.origin["start"]
        given = None if start is None else space.read(start["construction"])
        again = searches.attempt(
            Attempt(NONE, record.origin["search_seed"], record.origin["steps"], given), lambda: False
        )
        assert space.shown(again.result.construction) == record.construction
        assert (None if start is None else start["score"]) == again.before
        if record.parent is not None:
            assert run.state.ledger.pool.canonical(given) == tuple(space.read(json.loads(by_id[record.parent].key)))
    starts = [record.origin["start"] for record in found]
    assert None in starts
    assert any(start is not None for start in starts)
    assert all(record.parent is None for record in found if record.origin["start"] is None)


def test_a_record_that_the_model_led_to_names_its_sample(tmp_path):
    problem = problem_named(CYCLES)
    ledger = Ledger(problem, Store.open(tmp_path / "s.sqlite"), 10, 0)
    sample = (0, 13, 40)
    outcome = Searches(problem, [NONE]).attempt(Attempt(NONE, 1, 50, sample), lambda: False)
    ledger.add(outcome, Attempt("any", 1, 50, sample), "model", 3, 1.0)
    origin = Store.open(tmp_path / "s.sqlite").best(CYCLES).origin
    assert origin["start"] == {
        "from": "model",
        "score": outcome.before,
        "legal": outcome.legal,
        "construction": problem.space.shown(sample),
    }
    assert origin["parent"] is None
    assert started_from(origin) == f"from a sample of the model, {outcome.before} before the search"


def test_parents_that_earlier_versions_guessed_are_not_told(here):
    run_discover(CYCLES, "--generations", 1, "--out", "a", *OPTIONS)
    with sqlite3.connect("records.sqlite") as connection:
        connection.execute("UPDATE records SET origin = json_set(json_remove(origin, '$.start'), '$.parent', 1)")
        connection.execute("UPDATE records SET parent = 1 WHERE id > 1")
    Path("a/records.jsonl").unlink()
    kept = Store.open("records.sqlite").records(CYCLES)
    assert len(kept) > 1
    assert all(record.parent is None and "parent" not in record.origin for record in kept)
    assert all(as_object(record)["parent"] is None for record in kept)
    run_discover("--resume", "a", "--generations", 1)
    page = Path("a/page.html").read_text()
    assert "from a start that was not recorded" in page
    assert "from record" not in page
    assert "→" not in page


def test_a_run_that_goes_on_with_a_copy_of_its_records_finds_their_parents_by_what_they_are(tmp_path):
    problem = problem_named(CYCLES)
    run = begin(CYCLES, store=tmp_path / "a.sqlite", folder=tmp_path / "run", **FAST)
    search, ledger = Searches(problem, [NONE]), run.state.ledger
    first = search.attempt(Attempt(NONE, 1, 0, (0, 1, 2)), lambda: False)
    ledger.add(first, Attempt(NONE, 1, 0), "search", 0, 1.0)
    second = search.attempt(Attempt(NONE, 1, 500, first.result.construction), lambda: False)
    ledger.add(second, Attempt(NONE, 1, 500, first.result.construction), "search", 1, 1.0)
    one, two = run.records
    assert (one.parent, two.parent) == (None, one.id)
    run.setup.folder.release()
    other = Store.open(tmp_path / "b.sqlite")
    for record in (two, one):  # the other way round
        key = tuple(problem.space.read(json.loads(record.key)))
        other.add(problem, problem.space.read(record.construction), {"how": "import"}, key)
    again = {record.key: record for record in reopen(tmp_path / "run", store=tmp_path / "b.sqlite").records}
    assert again[two.key].parent == again[two.key].origin["parent"] == again[one.key].id == 2
    assert again[one.key].parent is None


def test_a_run_of_an_earlier_version_resumes(tmp_path):
    """Its state.json called the model's part by another name."""
    how = {"store": tmp_path / "s.sqlite", **FAST}
    discover(CYCLES, folder=tmp_path / "whole", generations=3, **how)
    discover(CYCLES, folder=tmp_path / "old", generations=2, **how)
    state = json.loads((tmp_path / "old" / "state.json").read_text())
    state["apprentice"] = state.pop("model")
    del state["sha256"]
    (tmp_path / "old" / "state.json").write_text(json.dumps(state))
    again = reopen(tmp_path / "old", generations=3).run()
    assert again.state.model.proposer.step == 2 * FAST["learn"]
    whole = json.loads((tmp_path / "whole" / "state.json").read_text())
    assert json.loads((tmp_path / "old" / "state.json").read_text())["ledger"] == whole["ledger"]


def test_in_python_a_run_can_take_the_next_free_folder(here):
    runs = [discover(CYCLES, folder=True, generations=1, model=False, **FAST) for _ in range(2)]
    assert [run.folder for run in runs] == [Path("runs/four-cycle-free-1"), Path("runs/four-cycle-free-2")]
    assert all((run.folder / "state.json").exists() for run in runs)


# The public names


def test_discover_is_a_package_and_can_be_called(here):
    run = hl.discover(CYCLES, generations=1, model=False, **FAST)
    assert run.best.score > 0
    assert hl.discover.grid(2, 3).sides == (2, 3)
    assert hl.discover is sys.modules["handloom.discover"]
    names = {}
    exec("from handloom.discover import *", names)
    assert {"Problem", "discover", "grid", "verdict"} <= set(names)
    with pytest.raises(AttributeError, match="has no attribute 'gird'; it has Problem"):
        hl.discover.gird  # noqa: B018


def test_records_come_best_first_or_newest_first(here):
    run = hl.discover(CYCLES, generations=2, model=False, store="s.sqlite", **FAST)
    hl.discover("sidon:n=20", generations=1, model=False, store="s.sqlite", **FAST)
    best = hl.records("s.sqlite", CYCLES)
    assert {record.id for record in best} == {record.id for record in run.records}
    assert [record.score for record in best] == sorted((record.score for record in best), reverse=True)
    assert hl.records("s.sqlite", problem_named(CYCLES), best=1) == best[:1]
    assert {record.problem for record in hl.records("s.sqlite")} == {CYCLES, "sidon:n=20"}
    newest = hl.records("s.sqlite", newest=True)
    assert newest[0].problem == "sidon:n=20"
    assert [record.id for record in newest] == sorted((record.id for record in newest), reverse=True)
    assert hl.records("s.sqlite", "four-cycle-free") == best
    assert hl.records("s.sqlite", "isosceles:n=5") == []
    with pytest.raises(HandloomError, match="did you mean isosceles"):
        hl.records("s.sqlite", "isoceles")
    with pytest.raises(HandloomError, match="no such file of records"):
        hl.records("other.sqlite")
    assert not Path("other.sqlite").exists()


def test_an_option_that_does_not_exist_is_named_and_a_run_prints_in_one_line(here):
    with pytest.raises(HandloomError, match="no option 'generation' "):
        hl.discover(CYCLES, generation=1)
    run = hl.discover(CYCLES, generations=1, **FAST)
    assert repr(run) == f"<Discovery: {run.setup.problem}, best {run.best.score}, 1 generation>"


def test_a_resumed_run_that_cannot_start_keeps_its_files(here, monkeypatch):
    run_discover(CYCLES, "--generations", 1, "--out", "a", *OPTIONS)
    for name in ("metrics.jsonl", "records.jsonl", "state.json"):  # as if killed before its first generation ended
        (here / "a" / name).unlink(missing_ok=True)
    run = reopen("a", store="other.sqlite", generations=1)

    def no_workers(*what):
        raise HandloomError("no workers")

    monkeypatch.setattr("handloom.discover.loop.loop.executor_for", no_workers)
    with pytest.raises(HandloomError, match="no workers"):
        run.run()
    assert (here / "a" / "run.json").exists()
