"""Runs of discovery, in Python and from the command line: repeated, resumed, killed, cut short, and given nonsense."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import PROCESS
from discoveries import CYCLES, FAST, OPTIONS, check_result, generations_done, run_discover
from handloom.core import HandloomError
from handloom.discover import Problem, graph, grid, subsets, verdict
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.ledger import Pool
from handloom.discover.loop.plan import Plan
from handloom.discover.loop.schedule import next_attempt
from handloom.discover.loop.setup import Setup
from handloom.discover.loop.start import begin, discover, reopen
from handloom.discover.loop.state import State
from handloom.discover.records.store import Store
from handloom.discover.search.greedy import greedy

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "problem.py")


def command(*words):
    return [*PROCESS, "discover", *map(str, words)]


def lines_of(folder):
    """metrics.jsonl, without what depends on the clock."""
    lines = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key not in ("seconds", "sha256")} for line in lines]


def state_of(folder):
    """Where a run stands, without what depends on the clock."""
    state = json.loads((Path(folder) / "state.json").read_text())
    del state["seconds"], state["sha256"]
    return state


# The same again


@pytest.mark.parametrize("more", [[], ["--no-model"], ["--smaller", "1", "--feedback", "1"]], ids=" ".join)
def test_two_runs_with_the_same_seed_are_the_same(here, more):
    results = []
    for name in ("a", "b"):
        words = [CYCLES, "--generations", 2, "--seed", 5, "--out", name, "--store", f"{name}.sqlite", "--json"]
        code, out, _ = run_discover(*words, *OPTIONS, *more)
        assert code == 0
        results.append(json.loads(out))
        check_result(problem_named(CYCLES), results[-1])
    assert results[0]["best"] == results[1]["best"]
    assert results[0]["construction"] == results[1]["construction"]
    assert results[0]["steps"] == results[1]["steps"]
    assert lines_of("a") == lines_of("b")
    assert [line["generation"] for line in lines_of("a")] == [0, 1]
    assert state_of("a") == state_of("b")


def test_runs_with_other_seeds_differ(tmp_path):
    for seed in (1, 2):
        discover(CYCLES, store=tmp_path / "s", folder=tmp_path / str(seed), seed=seed, generations=1, **FAST)
    assert state_of(tmp_path / "1")["ledger"] != state_of(tmp_path / "2")["ledger"]


@pytest.mark.parametrize("model", [False, True])
def test_a_run_that_is_resumed_reaches_the_state_of_one_that_never_stopped(tmp_path, model):
    how = {**FAST, "keep": 12, "model": model}  # so few that the pool drops some in every generation
    discover(CYCLES, store=tmp_path / "a.sqlite", folder=tmp_path / "a", generations=4, **how)
    discover(CYCLES, store=tmp_path / "b.sqlite", folder=tmp_path / "b", generations=2, **how)
    for generations in (3, 4):
        reopen(tmp_path / "b", generations=generations).run()
    assert state_of(tmp_path / "b") == state_of(tmp_path / "a")
    assert lines_of(tmp_path / "b") == lines_of(tmp_path / "a")
    best = [Store.open(tmp_path / name).best(CYCLES) for name in ("a.sqlite", "b.sqlite")]
    assert best[0].construction == best[1].construction


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(0, 4)), max_size=30), st.integers(1, 8))
def test_a_pool_that_was_saved_goes_on_as_the_pool_itself(drawn, keep):
    pool, again = Pool(keep, tuple), Pool(keep, tuple)
    for number, score, generation in drawn:
        pool.add((number,), score, generation)
    pool.trim()
    again.restore(json.loads(json.dumps(pool.to_json())))
    assert again.best() == pool.best()
    assert len(pool.members) <= keep
    for one in (pool, again):
        one.add((99,), 2, 5)
        one.trim()
    assert again.best() == pool.best()


def test_every_symmetry_has_its_turn(tmp_path):
    setup, state = begun(tmp_path)
    assert len(setup.symmetries) == 8
    for leader in setup.symmetries:
        state.ledger.best_under = dict.fromkeys(setup.symmetries, 19) | {leader: 20}
        for from_pool in (False, True):
            if from_pool:
                state.ledger.pool.add((0,), 1, 0)
            drawn = [next_attempt(setup, state, from_pool) for _ in range(320)]
            asked = Counter(attempt.symmetry for attempt in drawn if attempt.start is None)
            assert set(asked) == set(setup.symmetries), (leader, asked)
            assert asked[leader] > max(asked[name] for name in setup.symmetries if name != leader)


def begun(folder):
    """A run of search alone before its first generation."""
    plan, store = Plan(model=False), Store.open(folder / "s")
    setup = Setup(problem=problem_named("isosceles:n=4"), plan=plan, store=store)
    return setup, State.new(setup)


def test_symmetries_that_lag_behind_are_tried_a_few_times_and_the_best_take_turns(tmp_path):
    setup, state = begun(tmp_path)
    first = Counter(next_attempt(setup, state, False).symmetry for _ in range(40))
    assert set(first) == set(setup.symmetries)  # nothing is known yet
    state.ledger.best_under = dict.fromkeys(setup.symmetries, 10) | {"mirror": 20, "diagonal": 20, "none": 18}
    state.turns["mirrors"] = 0
    asked = Counter(next_attempt(setup, state, False).symmetry for _ in range(400))
    assert set(asked) == {"mirror", "diagonal", "none", "mirrors"}
    assert asked["mirrors"] < 8
    assert asked["mirror"] > 2 * asked["none"] < 2 * asked["diagonal"]


def test_smaller_sizes_of_a_list_are_known_again_when_a_run_is_resumed(tmp_path):
    build = [lambda k=k: in_a_row(k) for k in (11, 10)]
    problem = Problem(in_a_row(12).space, forbidden=in_a_row(12).sets, name="row", smaller=tuple(build))
    (tmp_path / "row.py").write_text(
        "from handloom.discover import Problem, subsets\n"
        "def problem(n: int = 12):\n"
        "    sets = [(a, a + d, a + 2 * d) for a in range(n) for d in range(1, n) if a + 2 * d < n]\n"
        "    return Problem(subsets(range(n)), forbidden=sets)\n"
    )
    how = {**FAST, "smaller": 2, "store": tmp_path / "s.sqlite", "folder": tmp_path / "run"}
    begun = discover(f"{tmp_path}/row.py", generations=2, **how)
    again = reopen(tmp_path / "run", generations=3)
    assert [(len(space.elements), one) for space, one in again.state.model.smaller] == [
        (len(space.elements), one) for space, one in begun.state.model.smaller
    ]
    assert {len(space.elements) for space, _ in again.state.model.smaller} == {11, 10}
    again.run()
    assert again.best.score == begun.best.score == max_without_progression(problem)


def in_a_row(n):
    """Numbers below n without three in progression, as listed sets."""
    sets = [(a, a + d, a + 2 * d) for a in range(n) for d in range(1, n) if a + 2 * d < n]
    return Problem(subsets(range(n)), forbidden=sets, name=f"row {n}")


def max_without_progression(problem):
    sets = [sum(1 << i for i in some) for some in problem.sets]
    return max(m.bit_count() for m in range(1 << len(problem.space.elements)) if all(m & s != s for s in sets))


@pytest.mark.parametrize("vertex", [0, 5])
def test_a_graph_whose_vertices_are_not_alike_keeps_legal_constructions(tmp_path, vertex):
    """One vertex may have one edge at most: to number the vertices anew would break that."""
    edges = [edge for edge in graph(6).elements if vertex in edge]
    problem = Problem(graph(6), forbidden=list(combinations(edges, 2)), name="one edge at a vertex")
    run = discover(problem, store=tmp_path / "s.sqlite", generations=1, model=False, **FAST | {"steps": 8})
    assert run.best.score <= 11  # all ten among the others, and one
    for member in run.state.ledger.pool.best():
        assert verdict(problem, member.construction) == (member.score, None)


# Killed, stopped, out of time


def wait_for(condition, process, seconds=60):
    ends = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.02)


def started(tmp_path, *words):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
    return subprocess.Popen(command(*words), **pipes)


def test_a_run_that_is_killed_goes_on_from_its_last_whole_generation(tmp_path):
    process = started(tmp_path, CYCLES, "--out", "run", *OPTIONS)
    try:
        wait_for(lambda: generations_done(tmp_path / "run") >= 2, process)
    finally:
        process.kill()
        process.communicate()
    store, problem = Store.open(tmp_path / "records.sqlite"), problem_named(CYCLES)
    store.check_whole()
    kept = {record.id: record for record in store.records(CYCLES)}
    assert kept
    done, before = generations_done(tmp_path / "run"), lines_of(tmp_path / "run")
    again = reopen(tmp_path / "run", generations=done + 1).run()
    assert again.generation == done + 1
    after = lines_of(tmp_path / "run")
    assert [line["generation"] for line in after] == list(range(done + 1))
    assert after[:done] == before[:done]
    assert {record.id: record for record in store.records(CYCLES)}.items() >= kept.items()
    assert again.best.score >= max(record.score for record in kept.values())
    assert verdict(problem, problem.space.read(again.best.construction)).score == again.best.score


def test_ctrl_c_saves_and_the_run_can_be_resumed(tmp_path, here):
    process = started(tmp_path, CYCLES, "--out", "run", *OPTIONS, "--json")
    wait_for(lambda: generations_done(tmp_path / "run") >= 1, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    check_result(problem_named(CYCLES), json.loads(out))
    assert err.strip().splitlines()[-1] == "stopped; handloom discover --resume run continues"
    assert "Traceback" not in err
    done = generations_done(tmp_path / "run")
    code, out, _ = run_discover("--resume", "run", "--generations", done + 1, "--json")
    assert code == 0
    assert json.loads(out)["generations"] == done + 1
    assert [line["generation"] for line in lines_of(tmp_path / "run")] == list(range(done + 1))


def test_a_first_generation_that_was_cut_short_is_made_again(tmp_path):
    clock = iter(range(10**9))
    how = {"store": tmp_path / "s.sqlite", "folder": tmp_path / "run", "seconds": 200, **FAST}
    cut = with_clock(begin(CYCLES, **how | {"attempts": 4_000}), clock).run()
    assert not (tmp_path / "run" / "state.json").exists()
    best = cut.best.score
    again = reopen(tmp_path / "run", generations=1)
    assert again.settings.attempts == 4_000
    again.setup = replace(again.setup, plan=Plan(**FAST))
    again.run()
    assert [line["generation"] for line in lines_of(tmp_path / "run")] == [0]
    assert again.best.score >= best


def with_clock(run, clock):
    """A run with another clock, which has just begun."""
    run.setup = replace(run.setup, now=lambda: float(next(clock)), began=0.0)
    run.state.clock.now = run.setup.now
    return run


def test_a_time_limit_ends_a_run_without_any_other_limit(tmp_path):
    words = ["isosceles:n=20", "--seconds", 1, "--json"]
    done = subprocess.run(command(*words), cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    check_result(problem_named("isosceles:n=20"), said)
    assert said["seconds"] >= 1
    assert said["only_greedy"] == (said["steps"] == 0)


def test_a_run_that_ends_while_it_is_preparing_says_that_it_is_only_greedy(here):
    code, out, said = run_discover("isosceles:n=9", "--seconds", 0)
    assert code == 0
    assert "found by greedy" in out
    assert "no search was made, so this is only greedy; give it more time or more --attempts" in said
    assert "what it has is only greedy" in Path("runs/isosceles-1/page.html").read_text()
    assert json.loads(run_discover("isosceles:n=9", "--seconds", 0, "--json")[1])["only_greedy"] is True
    code, out, said = run_discover(CYCLES, "--generations", 1, "--json", *OPTIONS)
    assert json.loads(out)["only_greedy"] is False


def test_a_greedy_construction_does_not_depend_on_the_clock(monkeypatch):
    problem = problem_named("isosceles:n=16")
    expected = greedy(problem, 3)
    clock = iter(range(0, 10**9, 100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    assert greedy(problem, 3) == expected
    assert verdict(problem, expected).score == len(expected)
    for new in set(range(256)) - set(expected):  # nothing fits beside it
        assert verdict(problem, tuple(sorted((*expected, new)))).score is None


def test_a_limit_of_time_cuts_the_sequence_of_searches_that_a_seed_gives(tmp_path):
    how = {**FAST, "steps": 499, "model": False}
    whole = discover(CYCLES, store=tmp_path / "a.sqlite", generations=2, **how)
    clock = iter(range(10**9))
    cut = with_clock(begin(CYCLES, store=tmp_path / "b.sqlite", seconds=150, **how), clock).run()
    found = [(one.origin.get("search_seed"), one.construction) for one in whole.records]
    made = [one for one in cut.records if one.origin.get("steps", 0) % 499 == 0]  # others were cut short themselves
    assert [(one.origin.get("search_seed"), one.construction) for one in made] == found[: len(made)]
    assert cut.state.number <= whole.state.number


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-cycle-free:n=50", "cap-set:d=8", "isosceles:n=100", "no-five-on-a-sphere:n=9"])
def test_a_time_limit_holds_for_large_problems(tmp_path, name):
    began = time.process_time(), time.monotonic()
    run = discover(name, seconds=3, store=tmp_path / "s.sqlite", model=False)
    assert run.elapsed() < 5
    assert time.monotonic() - began[1] < 8
    assert run.best.score > 0


@pytest.mark.slow
def test_a_limit_of_time_ends_training_too(tmp_path):
    began = time.monotonic()
    run = discover(CYCLES, store=tmp_path / "s.sqlite", seconds=3.0, **FAST | {"learn": 10**7})
    assert 3 <= time.monotonic() - began < 5
    assert 0 < run.state.model.proposer.step < 10**7


def test_a_score_to_reach_ends_the_run(here):
    code, out, _ = run_discover(CYCLES, "--until", 17, "--no-model", "--json", *OPTIONS)
    assert code == 0
    assert json.loads(out)["best"] >= 17
    assert json.loads(out)["generations"] <= 1
    code, out, _ = run_discover("--resume", "runs/four-cycle-free-1", "--until", 19, "--json")
    assert code == 0
    assert json.loads(out)["best"] >= 19


# What one can ask for


@pytest.mark.parametrize(
    "words",
    [
        [CYCLES, "--tokens", "cells"],
        [CYCLES, "--tokens", "sparse", "--feedback", "1"],
        [CYCLES, "--tokens", "bpe"],
        [CYCLES, "--smaller", "2", "--temperature", "1.5"],
        [CYCLES, "--no-model", "--symmetry", "turn-3"],
        ["words:length=20"],
        pytest.param(["permanent-312:n=4"], marks=pytest.mark.slow),
        [f"{EXAMPLE}:n=20", "--smaller", "1"],
    ],
    ids=lambda words: " ".join(words[-3:]).replace(EXAMPLE, "example"),
)
def test_json_is_all_there_is_on_standard_output_and_it_is_verified(here, words):
    code, out, err = run_discover(*words, "--generations", 2, "--json", *OPTIONS)
    assert code == 0, err
    result = json.loads(out)
    problem = problem_named(words[0])
    check_result(problem, result)
    assert result["generations"] == 2
    assert result["best_known"] is None or result["best"] <= result["best_known"]
    (folder,) = Path("runs").iterdir()
    lines = lines_of(folder)
    assert [line["generation"] for line in lines] == [0, 1]
    for line in lines:
        assert {"best", "temperature", "loss", "sampled", "illegal", "duplicates", "repaired"} <= set(line)
        assert {"before", "after", "searched"} <= set(line)
        assert line["searched"] is None or sum(line["searched"]["histogram"].values()) == line["searched"]["count"]
    if "--no-model" not in words and lines[1]["sampled"]:
        assert lines[1]["sampled"] == 15  # three quarters of 20; the other searches begin from nothing
        assert all(0 <= lines[1][share] <= 1 for share in ("illegal", "duplicates", "repaired"))
    assert (folder / "page.html").exists()


def test_a_problem_of_python_needs_no_folder(tmp_path):
    run = discover(in_a_row(14), store=tmp_path / "s.sqlite", generations=2, **FAST)
    assert run.best.score == max_without_progression(in_a_row(14)) == 8
    assert os.listdir(tmp_path) == ["s.sqlite"]
    assert Store.open(tmp_path / "s.sqlite").best("row 14").score == 8


def test_a_symmetry_under_which_nothing_can_be_chosen_is_no_reason_to_fail(tmp_path):
    sets = [[(x, y), (1 - x, y)] for x in (0, 1) for y in (0, 1)]
    sets += [[(x, 0), (x, 1)] for x in (0, 1)]
    problem = Problem(grid(2, 2), forbidden=sets, name="apart")
    run = discover(problem, store=tmp_path / "s", generations=3, model=False, symmetry="rotation-90", **FAST)
    assert run.best.score == 2


# Bad input


FILES = {
    "import.py": "raise RuntimeError('boom')",
    "syntax.py": "def problem(:",
    "function.py": "def problem(n: int = 4):\n    raise RuntimeError('boom')",
    "nothing.py": "x = 1",
    "number.py": "problem = 3",
    "rule.py": "from handloom.discover import *\ndef bad(a, b):\n    raise RuntimeError('boom')\n"
    "problem = Problem(subsets(range(9)), forbidden=bad)",
    "rule_of_grid.py": "from handloom.discover import *\ndef bad(a, b):\n    raise RuntimeError('boom')\n"
    "problem = Problem(grid(4, 4), forbidden=bad)",
    "late_rule.py": "from handloom.discover import *\ndef bad(a, b):\n    if a + b == 15:\n"
    "        raise RuntimeError('boom')\n    return False\nproblem = Problem(subsets(range(9)), forbidden=bad)",
    "score.py": "from handloom.discover import *\ndef bad(w):\n    raise RuntimeError('boom')\n"
    "problem = Problem(word(8), score=bad)",
    "no_number.py": "from handloom.discover import *\ndef bad(w):\n    return 'much'\n"
    "problem = Problem(word(8), score=bad)",
    "not_a_number.py": "from handloom.discover import *\ndef bad(w):\n    return float('nan')\n"
    "problem = Problem(word(8), score=bad)",
    "outside.py": "from handloom.discover import *\nproblem = Problem(subsets(range(9)), forbidden=[[1, 9]])",
    "empty_set.py": "from handloom.discover import *\nproblem = Problem(subsets(range(9)), forbidden=[[1, 2], []])",
    "symmetry.py": "from handloom.discover import *\n"
    "problem = Problem(subsets(range(9)), forbidden=[[0, 1]], symmetries={'odd': (lambda x: x + 1,)})",
    "raising_symmetry.py": "from handloom.discover import *\n"
    "problem = Problem(subsets(range(9)), forbidden=[[0, 1]], symmetries={'odd': (lambda x: x[0],)})",
}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        *[([name], r"boom|line 1|problem|not a number|\b9\b|odd|forbidden") for name in FILES],
        (["isosceles:n=0"], "n=0 must be a whole number from 1 to 300"),
        (["isosceles:n=1000"], "n=1000 must be"),
        (["isosceles:m=3"], "m"),
        (["isoceles:n=4"], "did you mean isosceles"),
        (["missing.py"], "missing.py"),
        ([CYCLES, "--symmetry", "nope"], "no symmetry 'nope'; it has .*turn-2"),
        ([CYCLES, "--seconds", "-1"], "--seconds"),
        ([CYCLES, "--generations", "0"], "--generations"),
        ([CYCLES, "--tokens", "nope"], "nope"),
        ([CYCLES, "--temperature", "nan"], "temperature"),
        ([CYCLES, "--on", "nope"], "threads and ray"),
        ([CYCLES, "--store", "text.sqlite"], "not a SQLite database"),
        ([CYCLES, "--store", "foreign.sqlite"], "database of something else"),
        ([CYCLES, "--store", "no/folder/s.sqlite"], "no/folder"),
        ([CYCLES, "--store", "other.sqlite"], "records of another problem called four-cycle-free:n=12"),
        ([CYCLES, "--out", "full"], "full exists already"),
        ([CYCLES, "--resume", "full"], "resume"),
        (["--resume", "full"], "full is not the folder of a run"),
        (["--resume", "missing"], "missing"),
        ([CYCLES, "--compare", "--seeds", "1"], "--seeds"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_gets_one_line_and_leaves_nothing_behind(here, words, says):
    for name, text in FILES.items():
        Path(name).write_text(text + "\n")
    Path("full").mkdir()
    Path("full/notes").write_text("mine")
    Path("text.sqlite").write_text("not a database at all, but long enough to look into " * 40)
    sqlite3.connect("foreign.sqlite").execute("CREATE TABLE t (x)").connection.close()
    other = Problem(graph(12), name=CYCLES)  # all edges are allowed in this one
    Store.open("other.sqlite").add(other, tuple(range(66)), {"how": "import"})
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    ends = [] if "--generations" in words else ["--generations", 2]
    code, out, err = run_discover(*words, *([] if "--resume" in words[:1] else [*OPTIONS, *ends]))
    assert "Traceback" not in err
    assert err.startswith("handloom: "), err
    assert len(err.splitlines()) == 1, err
    assert re.search(says, err), err
    assert code == 2
    assert out == ""
    left = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert left == before
    assert not list(Path().glob("runs/*"))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("state.json", "{"),
        ("state.json", "[]"),
        ("state.json", '{"generation": 1, "ledger": {}, "model": {}}'),
        ("run.json", '{"problem": 1, "asked": 1, "settings": {}, "store": "s"}'),
        (
            "run.json",
            '{"problem": "isosceles:n=4", "asked": "isosceles:n=4", "settings": {"x": 1}, "store": "s.sqlite"}',
        ),
    ],
)
def test_a_run_that_was_damaged_is_refused_in_one_line(tmp_path, monkeypatch, file, text):
    monkeypatch.chdir(tmp_path)
    discover(CYCLES, store="s.sqlite", folder="run", generations=1, **FAST)
    Path("run", file).write_text(text)
    with pytest.raises(HandloomError) as error:
        reopen("run", generations=2)
    assert "\n" not in str(error.value)
