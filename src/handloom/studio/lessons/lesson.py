"""Lessons by name, each with its text as a tree, and the state that the loom beside it begins with.

    handloom page lesson/addition -o addition.html      # exported.py

A lesson begins with its title and a few lines about it:

    # Addition, and why proofs matter
    about: One sentence.
    minutes: 8
    start: #model=addition&in=865+230=

A link is `#model=NAME&in=INPUT&at=POSITION,STAGE,PART&edits=…`, as the address of a page has it; without a model it is
about the one of the link before it, without an input about the one that is there.
"""

from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.core.finding import load, nearest
from handloom.studio.lessons.markdown import links, parsed_blocks

ORDER = ("hello", "choosing", "search", "addition", "rule")
SAFE = "/:=,;[]."  # characters that a link may have as they are
LEARNED = "learned/"  # in front of the name of a lesson's trained model


@dataclass(frozen=True)
class Lesson:
    """A lesson: `start` is the state to begin with, `blocks` the text."""

    name: str
    title: str
    about: str
    minutes: int
    start: str
    blocks: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def card(self) -> dict[str, Any]:
        """What a list of lessons shows."""
        return {"name": self.name, "title": self.title, "about": self.about, "minutes": self.minutes}

    def models(self) -> dict[str, str | None]:
        """The models it shows by name, each with the first input it is shown on."""
        found: dict[str, str | None] = {}
        name = ""
        for link in [self.start, *links(self.blocks)]:
            fields = fields_of(link)
            name = fields.get("model", name)
            if found.get(name) is None:
                found[name] = fields.get("in")
        return found


def fields_of(link: str) -> dict[str, str]:
    """The fields of a link, #name=value&name=value."""
    pairs = (pair.partition("=") for pair in link.removeprefix("#").split("&"))
    return {name: unquote(value) for name, _, value in pairs}


def complete(tree: Any, before: dict[str, str]) -> dict[str, str]:
    """Have each link name its model and its input, by the one before it, so that links can be followed in any order.
    Returns the fields of the last one."""
    for one in tree if isinstance(tree, list) else []:
        if not isinstance(one, dict):
            before = complete(one, before)
        elif one.get("kind") == "link":
            fields = fields_of(one["to"])
            kept = ("model",) if fields.get("model", before["model"]) != before["model"] else ("model", "in")
            before = {name: before[name] for name in kept if name in before} | fields
            one["to"] = "#" + "&".join(f"{name}={quote(value, safe=SAFE)}" for name, value in before.items())
            before = {name: before[name] for name in ("model", "in") if name in before}
        else:
            before = complete(one.get("parts", one.get("items")), before)
    return before


def lessons() -> list[Lesson]:
    """All lessons, in the order in which they are best read."""
    return [lesson(name) for name in ORDER]


@cache
def lesson(name: str) -> Lesson:
    """The lesson of that name."""
    if name not in ORDER:
        near = nearest(name, ORDER)
        hint = f"did you mean {near}?" if near else f"choose one of {', '.join(ORDER)}"
        raise HandloomError(f"there is no lesson {shown(name)}; {hint}")
    head, _, text = (place() / f"{name}.md").read_text("utf-8").partition("\n\n")
    title, *facts = head.splitlines()
    about = dict(fact.split(": ", 1) for fact in facts)
    tree = parsed_blocks(text)
    complete(tree, fields_of(about["start"]))
    return Lesson(name, title.removeprefix("# "), about["about"], int(about["minutes"]), about["start"], tree)


def picture(name: str) -> str:
    """The little picture of a lesson, in SVG."""
    return (place() / f"{lesson(name).name}.svg").read_text("utf-8")


def learned_model(name: str) -> Model:
    """A trained model of a lesson, as learned/induction."""
    names = learned_names()
    if name not in names:
        raise HandloomError(f"there is no model {shown(name)} (expected one of {', '.join(names)})")
    return load(Path(str(place() / f"{name}.safetensors")))


@cache
def learned_names() -> tuple[str, ...]:
    found = (one.name for one in (place() / "learned").iterdir() if one.name.endswith(".safetensors"))
    return tuple(sorted(LEARNED + name.removesuffix(".safetensors") for name in found))


def place() -> Traversable:
    return files(__package__)
