"""`hl.discover` as a user of Python has it: its help, its watcher, and where its records are."""

import inspect
from dataclasses import fields

import handloom as hl
from command import modules_after
from handloom.discover.loop.plan import Plan

TINY = {"generations": 1, "attempts": 4, "steps": 50, "model": False}


def test_help_lists_every_option_with_its_default():
    parameters = inspect.signature(hl.discover.discover).parameters
    for field in fields(Plan):
        assert parameters[field.name].default == field.default
        line = f"    {field.name}={field.default!r} "
        assert line in hl.discover.__doc__
        assert line in hl.discover.discover.__doc__
    assert {"seconds", "store", "folder", "watch"} <= set(parameters)


def test_a_watcher_is_called_with_reports_that_are_one_line_each(tmp_path):
    reports = []
    done = hl.discover("isosceles:n=4", store=tmp_path / "a.sqlite", watch=reports.append, **TINY)
    assert reports[-1].stage == "done"
    assert reports[-1].best == done.best.score
    assert f"generation 1, done, best {done.best.score} (best known: 6)" in str(reports[-1])
    assert "\n" not in "".join(map(str, reports))


def test_records_are_kept_in_the_current_folder_as_the_help_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = hl.discover("isosceles:n=4", **TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["records.sqlite"]
    assert hl.records(best=1)[0].score == done.best.score


def test_the_package_is_light_to_import():
    assert not {"numpy", "handloom.core"} & modules_after("import handloom.discover, handloom.learn")
