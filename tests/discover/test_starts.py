"""Starting a search from a file, from records and from a smaller size: what is tried, and what is recorded."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import output
from discoveries import check_result
from handloom import HandloomError
from handloom.discover import Problem, discover, graph, grid, permutation, subsets, verdict, word
from handloom.discover.catalogue import problem_named
from handloom.discover.embedding import embedded
from handloom.discover.loop.start import begin, reopen
from handloom.discover.loop.starts import starts_from
from handloom.discover.loop.sweep import begin_sweep
from handloom.discover.records.origin import started_from

ONE = {"generations": 1, "attempts": 6, "steps": 1, "model": False}  # searches that hardly move
SOME = ONE | {"attempts": 40, "steps": 500}
STAR = "\n".join(f"0 {v}" for v in range(1, 8)) + "\n"  # of eight vertices: 7 edges, and no four-cycle


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found_from(run, where):
    return [record for record in run.records if (record.origin["start"] or {}).get("from") == where]


def test_a_legal_start_from_a_file_is_the_best_at_once_if_nothing_is_better(here):
    best = discover("four-cycle-free:n=14", store="other.sqlite", **SOME).best
    (here / "mine.json").write_text(json.dumps(best.construction))
    run = discover("four-cycle-free:n=14", start="mine.json", **ONE)
    assert run.best.score == best.score
    assert run.best.origin["how"] == "start"
    assert run.best.origin["start"] == {"from": "file", "file": "mine.json"}
    assert started_from(run.best.origin) == "from mine.json"


def test_what_is_found_from_a_start_says_so(here):
    (here / "star.txt").write_text(STAR)
    run = discover("four-cycle-free:n=8", start="star.txt", **SOME)
    itself, *found = found_from(run, "file")
    assert itself.origin["how"] == "start"
    assert found, "every other search starts from it"
    assert found[0].parent == itself.id
    start = found[0].origin["start"]
    assert start["file"] == "star.txt"
    assert start["score"] == 7
    assert start["construction"] == [[0, v] for v in range(1, 8)]
    assert found[0].score > 7


def test_a_start_that_is_not_legal_is_repaired(here):
    (here / "square.txt").write_text("0 1\n1 2\n2 3\n0 3\n")
    run = discover("four-cycle-free:n=4", start="square.txt", **ONE)
    assert all(verdict(run.problem, run.problem.space.read(one.construction)).score for one in run.records)
    assert [one for one in run.records if one.origin["how"] == "start"] == []


def test_the_search_starts_from_records_of_the_store(here):
    first = discover("four-cycle-free:n=14", **SOME)
    problem, store = first.problem, first.store
    assert {start.about["record"] for start in starts_from(problem, ["records"], store)} == {
        one.id for one in store.records(problem.name) if one.score == first.best.score
    }
    worst = store.records(problem.name)[-1]
    (one,) = starts_from(problem, [str(worst.id)], store)
    assert one.construction == problem.space.read(worst.construction)
    again = discover("four-cycle-free:n=14", start=["records"], seed=5, **ONE)
    assert again.best.score == first.best.score
    assert again.best.origin["start"]["from"] == "records"


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("99999", "no record 99999"),
        ("nofile.txt", "cannot be read"),
        ("empty.txt", "there is no construction in empty.txt"),
        ("odd.txt", "odd.txt, number 2: .1, 5. is not an element"),
        ("records", "no records of isosceles:n=5"),
        ("smaller", "no records of a smaller size of isosceles:n=5"),
    ],
)
def test_a_start_that_is_not_there_is_told_in_one_line(here, what, told):
    run = discover("four-cycle-free:n=5", **ONE)
    (here / "empty.txt").write_text("\n")
    (here / "odd.txt").write_text("0 0\n\n1,5\n")
    with pytest.raises(HandloomError, match=told):
        starts_from(problem_named("isosceles:n=5"), [what], run.store)


def test_a_larger_size_starts_from_the_best_of_a_smaller_one(here):
    small = discover("four-cycle-free:n=6", **SOME).best
    run = discover("four-cycle-free:n=8", start="smaller", **ONE)
    assert run.best.score >= small.score == 7
    starts = starts_from(run.problem, ["smaller"], run.store)
    assert all(start.about["problem"] == "four-cycle-free:n=6" for start in starts)
    assert {verdict(run.problem, start.construction).score for start in starts} == {small.score}


def test_in_a_sweep_each_size_starts_from_the_one_before(here):
    with begin_sweep("four-cycle-free:n=6..8", ONE | {"start": ["smaller"]}) as sweep:
        runs = list(sweep.runs())
    assert not runs[0].setup.starts
    assert runs[1].setup.starts[0].about["problem"] == "four-cycle-free:n=6"
    assert runs[2].setup.starts[0].about["problem"] == "four-cycle-free:n=7"
    assert runs[0].best.score <= runs[1].best.score <= runs[2].best.score


def test_a_resumed_sweep_still_starts_from_smaller_sizes(here):
    with begin_sweep("four-cycle-free:n=6..7", ONE | {"start": ["smaller"]}, folder="sweep"):
        pass
    output("discover", "--resume", "sweep", cwd=here)
    starts = [json.loads((here / f"sweep/n={n}/run.json").read_text()).get("starts", []) for n in (6, 7)]
    assert starts[0] == []
    assert starts[1][0][1]["problem"] == "four-cycle-free:n=6"


def test_a_resumed_run_has_the_starts_that_it_began_with(here):
    (here / "star.txt").write_text(STAR)
    run = begin("four-cycle-free:n=8", folder="run", start="star.txt", **SOME)
    run.setup.folder.release()
    (here / "star.txt").unlink()
    again = reopen("run", generations=1)
    assert again.setup.starts == run.setup.starts
    assert found_from(again.run(), "file")


def test_the_command_takes_starts(here):
    tell = partial(output, "discover", "four-cycle-free:n=8", cwd=here)
    (here / "star.txt").write_text(STAR)
    told = json.loads(tell("--from", "star.txt", "--generations", 1, "--attempts", 40, "--no-model", "--json"))
    check_result(problem_named("four-cycle-free:n=8"), told)
    assert "cannot be read" in tell("--from", "none.txt", "--seconds", 1, code=2)
    assert "no records of a smaller size" in tell("--from", "smaller", "--seconds", 1, code=2)
    assert not list(here.glob("runs/*-2")), "nothing is left of a run that never began"
    resumed = output("discover", "--resume", told["run"], "--from", "star.txt", cwd=here, code=2)
    assert "--from with --resume" in resumed


def test_a_problem_made_in_python_starts_from_a_file_too(here):
    (here / "two.txt").write_text("0 0\n1 1\n")
    problem = Problem(grid(3, 3), forbidden=[((0, 0), (0, 1))], name="pairs")
    run = discover(problem, start="two.txt", **ONE)
    assert run.setup.starts[0].construction == (0, 4)


# Embedding

PAIRS = [
    (grid(2, 3), grid(4, 4)),
    (grid(3, 3), grid(3, 3)),
    (grid(3, 3), grid(3, 3, 3)),
    (graph(4), graph(7)),
    (subsets(range(5)), subsets(range(9))),
    (word(3, "abc"), word(5, "abc")),
    (permutation(3), permutation(6)),
]


@given(st.sampled_from(PAIRS), st.integers(0, 10**6))
def test_what_is_embedded_is_in_the_larger_space_and_has_as_many_elements(pair, seed):
    small, large = pair
    if small.is_subset:
        construction = tuple(i for i in range(len(small.elements)) if seed >> i & 1)
    else:
        construction = small.read("bca") if small.kind == "word" else (2, 0, 1)
    found = embedded(small, construction, large)
    assert found
    assert len(set(found)) == len(found)
    for one in found:
        assert large.read(large.shown(one)) == one
        assert not small.is_subset or len(one) == len(construction)


@pytest.mark.parametrize(
    ("small", "large"),
    [(grid(3, 3), grid(2, 2)), (grid(2, 2), graph(3)), (word(4), word(3)), (word(2, "ab"), word(3, "cd"))],
)
def test_what_does_not_fit_is_not_embedded(small, large):
    assert embedded(small, tuple(range(small.length)) if small.kind == "grid" else (0,) * small.length, large) == []


def test_an_embedded_grid_keeps_the_distances_of_its_points():
    small, large = grid(3, 3), grid(6, 5)
    found = embedded(small, small.read([[0, 0], [1, 2], [2, 1]]), large)
    assert len(found) == 9
    for one in found:
        (a, b), *_ = points = [large.elements[i] for i in one]
        assert {(x - a, y - b) for x, y in points} == {(0, 0), (1, 2), (2, 1)}
