"""Lessons as the studio's page asks for them."""

from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.studio.desk import Studio
from handloom.studio.lessons.exported import lesson_page, packed
from handloom.studio.lessons.lesson import lesson
from handloom.studio.models import text_of


def opened(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """A lesson's text."""
    return lesson(text_of(body, "lesson")).to_json()


def model(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """A model of a lesson, as the loom takes it."""
    chosen, name = lesson(text_of(body, "lesson")), text_of(body, "model")
    models = chosen.models()
    if name not in models:
        raise HandloomError(f"{shown(name)} is no model of this lesson (expected one of {', '.join(models)})")
    return packed(name, models[name])


def page(studio: Studio, body: dict[str, Any]) -> dict[str, str]:
    """A lesson as one page, to be saved."""
    return {"html": lesson_page(text_of(body, "lesson")).html}
