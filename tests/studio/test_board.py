"""The board of Discover without a browser: what is drawn, what it is worth, and what is kept."""

from itertools import combinations
from pathlib import Path

import pytest

from handloom.core import HandloomError
from handloom.discover.catalogue import problem_named
from handloom.discover.problem import verdict
from handloom.discover.records.store import Store
from handloom.studio import Studio
from handloom.studio.board import keep, open_problem, own_problems, score

OWN = """
from handloom.discover import Problem, subsets

def problem(n: int = 4):
    return Problem(subsets(range(n)), forbidden=[(0, 1), (1, 2, 3)], about="own")
"""


@pytest.fixture
def studio(here):
    return Studio(here)


@pytest.mark.parametrize(
    "name", ["isosceles:n=5", "four-cycle-free:n=6", "cap-set:d=3", "sidon:n=12", "words:length=9", "permanent-312:n=4"]
)
def test_a_board_has_a_place_for_each_element_and_its_constructions_read_back(studio, name):
    shown = open_problem(studio, {"problem": name})
    space = problem_named(name).space
    assert len(shown["space"]["elements"]) == len(space.elements)
    assert [space.index_of(one) for one in shown["space"]["elements"]] == [*range(len(space.elements))]
    if "places" in shown["space"]:
        rows, columns = shown["space"]["size"]
        places = {tuple(place) for place in shown["space"]["places"]}
        assert len(places) == len(space.elements)
        assert all(0 <= row <= rows - 1 and 0 <= column <= columns - 1 for row, column in places)


def test_a_score_is_the_verifiers_and_what_offends_is_all_that_a_rule_forbids(studio):
    problem = problem_named("isosceles:n=4")
    points = [[0, 0], [0, 2], [2, 0], [3, 1]]
    found = score(studio, {"problem": "isosceles:n=4", "construction": points})
    indices = problem.space.read(points)
    bad = {some for some in combinations(indices, 3) if verdict(problem, some).score is None}
    assert found["score"] is None
    assert not found["legal"]
    assert found["reason"] == verdict(problem, indices).reason
    assert {tuple(some) for some in found["offending"]} == bad
    assert bad
    for i in range(4):
        rest = points[:i] + points[i + 1 :]
        found = score(studio, {"problem": "isosceles:n=4", "construction": rest})
        assert found["score"] == verdict(problem, problem.space.read(rest)).score


def test_a_word_has_a_score_for_each_letter(studio):
    asked = {"problem": "words:length=8,pattern=xx,letters=3"}
    assert [score(studio, asked | {"construction": word})["score"] for word in ("abacabab", "aaaaaaaa")] == [7, 1]


def test_of_many_forbidden_sets_some_are_shown(studio):
    every = [[x, y] for x in range(5) for y in range(5)]
    found = score(studio, {"problem": "isosceles:n=5", "construction": every})
    assert len(found["offending"]) == 12
    assert found["more"]


def test_what_is_kept_is_verified_and_kept_once(studio):
    asked = {"problem": "isosceles:n=4", "construction": [[0, 0], [1, 2]]}
    made = keep(studio, asked)
    assert made["record"]["score"] == 2
    assert [one["record"] for one in made["records"]] == [1]
    with pytest.raises(HandloomError, match=r"isosceles:n=4: the construction is record 1 already; change it"):
        keep(studio, asked)
    with pytest.raises(HandloomError, match="record 1 already, which is the same up to symmetry"):
        keep(studio, asked | {"construction": [[3, 3], [2, 1]]})
    with pytest.raises(HandloomError, match="is not legal and was not stored"):
        keep(studio, asked | {"construction": [[0, 0], [0, 1], [0, 2]]})
    (record,) = Store.open(studio.folder / "records.sqlite").records("isosceles:n=4")
    assert record.origin["how"] == "import"
    assert record.origin["file"] == "the studio's board"


@pytest.mark.parametrize(
    ("construction", "why"),
    [([[9, 9]], "is not an element here"), ("0 0", "is not a construction"), (None, "is not a construction"),
     ([[True, 0]], "is not an element here")],
)  # fmt: skip
def test_what_is_no_construction_is_refused_in_one_line(studio, construction, why):
    with pytest.raises(HandloomError, match=why) as error:
        score(studio, {"problem": "isosceles:n=4", "construction": construction})
    assert "\n" not in str(error.value)


def test_a_python_file_runs_only_if_the_command_line_named_it(here):
    Path("own.py").write_text(OWN)
    asked = {"problem": "own.py:n=5", "construction": [0, 1, 2, 3]}
    with pytest.raises(HandloomError, match="a Python file that the command line did not name"):
        score(Studio(here), asked)
    named = Studio(here, ("own.py:n=5",))
    assert score(named, asked)["offending"] == [[0, 1], [1, 2, 3]]
    assert open_problem(named, {"problem": "own.py:n=5"})["problem"] == "own:n=5"
    Path("own.py").write_text(OWN.replace("(0, 1), ", ""))
    assert score(named, asked)["offending"] == [[1, 2, 3]]


def test_the_form_asks_for_the_parameters_of_own_problems_and_not_of_tasks(here):
    Path("own.py").write_text(OWN)
    Path("other.py").write_text("task = 3")
    found = own_problems(Studio(here, ("own.py:n=5", "other.py", "addition")))
    fields = [{"name": "n", "kind": "int", "default": 4}]
    assert found == [{"name": "own.py", "about": "your own", "parameters": fields}]


def test_a_space_that_is_too_large_to_draw_has_no_board(studio):
    shown = open_problem(studio, {"problem": "isosceles:n=200"})
    assert shown["space"]["elements"] is None
