"""Lessons as the studio's page asks for them."""

from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.studio.desk import Studio
from handloom.studio.lessons.exported import certified, lesson_page, packed
from handloom.studio.lessons.lesson import lesson
from handloom.studio.models import text_of


def opened(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """A lesson's text."""
    return lesson(text_of(body, "lesson")).to_json()


def model(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """A model of a lesson, as the loom takes it."""
    name, on = chosen_model(body)
    return packed(name, on)


def certificate(studio: Studio, body: dict[str, Any]) -> dict[str, str] | None:
    """What is known of a lesson's model, found while the page shows it already."""
    found = certified(chosen_model(body)[0])
    return None if found is None else {"text": str(found), "method": found.method}


def chosen_model(body: dict[str, Any]) -> tuple[str, str | None]:
    """A model of the lesson that is named, and its first input; no other model."""
    models, name = lesson(text_of(body, "lesson")).models(), text_of(body, "model")
    if name not in models:
        raise HandloomError(f"{shown(name)} is no model of this lesson (expected one of {', '.join(models)})")
    return name, models[name]


def page(studio: Studio, body: dict[str, Any]) -> dict[str, str]:
    """A lesson as one page, to be saved."""
    return {"html": lesson_page(text_of(body, "lesson")).html}
