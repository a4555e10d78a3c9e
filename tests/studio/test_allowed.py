"""Which Python files a job may run: named ones and their copies. A name that leads to another file is refused before
the file is looked at."""

import json

import pytest

import handloom as hl
from handloom.learn.api import prepare, train
from handloom.studio.allowed import check_file, check_noted, check_problem, check_run, check_task

MINE = "from handloom.tasks.extremes import minimum\n\n\ndef task(n: int = 3):\n    return minimum(n)\n"
SMALL = {"layers": 1, "heads": 1, "width": 4, "count": 20, "samples": 2, "lanes": 1, "steps": 1}


@pytest.fixture
def mine(here):
    (here / "mine.py").write_text(MINE)
    return here / "mine.py"


def refused():
    return pytest.raises(hl.HandloomError, match=r"\.py: a Python file that the studio may not run \(expected")


@pytest.mark.parametrize("name", ["mine.py", "mine.py:n=4", "./mine.py", "sub/../mine.py:n=4"])
def test_a_python_file_is_a_task_or_a_problem_only_if_it_was_named(mine, name):
    (mine.parent / "sub").mkdir()
    for check in (check_task, check_problem):
        check(name, [str(mine)])
        with refused():
            check(name, [])
        with refused():
            check(name, [str(mine.parent / "other.py")])


def test_names_rules_and_files_of_strings_need_no_leave(here):
    (here / "words.txt").write_text("one\ntwo\n")
    (here / "min").write_text("a file with the name of a task")
    for name in ("s[13]==s[22]", "addition:digits=2", "words.txt", "min", "book/sort:n=5", "nothing of the kind"):
        check_task(name, [])
    for name in ("isosceles:n=6", "nothing"):
        check_problem(name, [])


def test_a_link_to_a_named_file_is_that_file_and_one_to_another_is_not(mine):
    (mine.parent / "link.py").symlink_to(mine)
    (mine.parent / "evil.py").write_text("1/0")
    (mine.parent / "other.py").symlink_to("evil.py")
    check_file(mine.parent / "link.py", [str(mine)])
    with refused():
        check_file(mine.parent / "other.py", [str(mine)])


def test_the_copy_that_a_run_keeps_is_run_until_it_is_changed(mine):
    train(str(mine), folder="run", **SMALL)
    run = mine.parent / "run"
    assert check_run(run, [str(mine)])["task"] == "task.py"
    with refused():
        check_run(run, [])
    (run / "extra.py").write_text("")
    (run / "task.py").write_text("import extra\n" + MINE)
    about = json.loads((run / "run.json").read_text())
    del about["sha256"]
    (run / "run.json").write_text(json.dumps(about))
    with refused():
        check_run(run, [str(mine)])


def test_a_copy_that_imports_another_file_than_the_original_is_refused(mine):
    copy = mine.parent / "copy"
    copy.mkdir()
    mine.write_text("import beside\n" + MINE)
    (mine.parent / "beside.py").write_text("x = 1")
    (copy / "task.py").write_bytes(mine.read_bytes())
    (copy / "beside.py").write_text("x = 1")
    check_file(copy / "task.py", [str(mine)])
    (copy / "beside.py").write_text("1/0")
    with refused():
        check_file(copy / "task.py", [str(mine)])


def test_the_notes_of_a_model_lead_to_no_python_file(mine):
    prepare(str(mine), **SMALL)  # it works, when it is allowed
    check_noted("mine.py:n=3", mine.parent, [str(mine)])
    with refused():
        check_noted("mine.py:n=3", mine.parent, [])
    for name in (None, 3, "addition:digits=2", "s[1]==s[2]", "discover/isosceles:n=6"):
        check_noted(name, mine.parent, [])
