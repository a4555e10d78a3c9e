"""Live pages for tests, made as `handloom page` makes them."""

from handloom.core import Model
from handloom.view.pages import live


def live_page(model: Model, on: str, **more: object) -> str:
    return live.live_page(model, on=on, **more)
