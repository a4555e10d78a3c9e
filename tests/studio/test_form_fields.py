"""What a form asks is what the run takes: every field, every default, every choice."""

import json

import pytest

from handloom.discover.catalogue import problem_named
from handloom.discover.loop.plan import Plan
from handloom.learn.learner import config_for
from handloom.learn.settings import Settings
from handloom.studio.form_fields import discover_form, learn_form
from handloom.tasks.catalogue import task

LEARN, DISCOVER = learn_form(), discover_form()


def defaults(form, known=None):
    return {one["name"]: one["default"] for one in form["settings"] if known is None or one["name"] in known}


def test_forms_are_json():
    assert json.loads(json.dumps([LEARN, DISCOVER])) is not None


def test_the_defaults_are_those_of_the_settings():
    assert Settings(**defaults(LEARN, vars(Settings()))) == Settings()
    assert Plan(**defaults(DISCOVER)) == Plan()


def test_a_field_says_its_limits_and_its_help():
    fraction = next(one for one in LEARN["settings"] if one["name"] == "fraction")
    assert (fraction["least"], fraction["most"], fraction["kind"]) == (0, 1, "float")
    assert "fraction of all inputs" in fraction["about"]
    batch = next(one for one in LEARN["settings"] if one["name"] == "batch")
    assert (batch["least"], batch["most"], batch["kind"], batch["first"]) == (1, None, "int", True)


@pytest.mark.parametrize("one", [one for one in LEARN["settings"] if one["choices"]], ids=lambda one: one["name"])
def test_every_choice_is_taken(one):
    assert one["default"] in one["choices"]
    for choice in one["choices"]:
        chosen = {one["name"]: choice}
        made = Settings(**chosen) if hasattr(Settings(), one["name"]) else config_for(3, 4, chosen)
        assert getattr(made, one["name"]) == choice


def test_every_task_and_problem_is_found_as_it_is_written():
    for one in LEARN["tasks"]:
        assert task(one["written"]).vocab
    for one in DISCOVER["problems"]:
        assert problem_named(one["written"]).about
    for one in LEARN["experiments"]:
        assert task(one["task"]).about
        assert one["about"]
