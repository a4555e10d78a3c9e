"""A hook of mkdocs: the page of commands lists every command with its arguments and options, as they are when the site
is built. They stand where the page has `<!-- every command -->`.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

import typer

from handloom.cli import app

MARK = "<!-- every command -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    if MARK not in markdown:
        return markdown
    return markdown.replace(MARK, "\n".join(described("handloom", typer.main.get_command(app))))


def described(name: str, command: Any) -> Iterator[str]:
    """A command as Markdown; of a group, each of its commands."""
    if hasattr(command, "list_commands"):
        for each in command.list_commands(None):
            yield from described(f"{name} {each}", command.get_command(None, each))
        return
    command = command.whole()
    about, _, examples = (command.help or "").partition("\b\n")
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    yield f"## {name}\n\n{about.strip()}\n"
    yield f"```sh\n{examples.strip() or name}\n```\n"
    yield from table("argument", [(each.metavar or each.name.upper(), each.help) for each in arguments])
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    yield from table("option", [(" ".join(each.opts), each.help) for each in options])


def table(kind: str, rows: list[tuple[str, str | None]]) -> Iterator[str]:
    if rows:
        yield f"| {kind} | meaning |\n| --- | --- |"
        yield from (f"| `{name}` | {cell(words or '')} |" for name, words in rows)
        yield ""


def cell(words: str) -> str:
    """Help as a cell: without the backslashes that Rich needs, on one line."""
    plain = re.sub(r"\\(?=\[)", "", " ".join(words.split()))
    return escape(plain, quote=False).replace("|", "&#124;").replace("[", "&#91;").replace("*", "&#42;")
