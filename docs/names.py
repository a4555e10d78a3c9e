"""A hook of mkdocs: `::: handloom:Config` on the page on Python becomes the place where this public name is defined,
which mkdocstrings needs, under the heading `hl.Config`.
"""

import re
from pkgutil import resolve_name
from typing import Any

NAME = re.compile(r"^::: ([\w.]+:(\w+))$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    return NAME.sub(
        lambda found: f'::: {place(resolve_name(found[1]))}\n    options: {{heading: "{title(found[1])}"}}', markdown
    )


def place(thing: Any) -> str:
    """Of a module its name; of a class or a function where it was defined."""
    return f"{thing.__module__}.{thing.__qualname__}" if hasattr(thing, "__qualname__") else thing.__name__


def title(name: str) -> str:
    return name.replace("handloom:", "hl.").replace(":", ".")
