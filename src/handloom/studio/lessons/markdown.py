"""A little Markdown, read into plain JSON values, of which a page makes elements: no markup ever passes.

    parsed_blocks("# Two\n\nA *word* and [a link](#edits=2.z[0]=0).")

A block is {kind: heading | paragraph | list | code, …}; what is written in it are `parts`, each a text or {kind: strong
| em | code | link, parts}. Headings, paragraphs, lists of one level, blocks of code, emphasis, code and links: that is
all. A link leads to a state of the page, which begins with #; of any other the words are shown and the address is not
followed.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

FENCE = "```"
HEADING = re.compile(r"(#{1,3}) (.*)")
ITEM = re.compile(r"(-|\d+\.) (.*)")
PART = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\[(?P<words>(?:[^\[\]]|\[[^\[\]]*\])+)\]\((?P<to>(?:[^()\s]|\([^()\s]*\))+)\)"
    r"|\*\*(?P<strong>[^*]+)\*\*"
    r"|\*(?P<em>[^*]+)\*"
)


def parsed_blocks(text: str) -> list[dict[str, Any]]:
    """The blocks of a text."""
    return list(read_blocks(text.splitlines()))


def read_blocks(lines: list[str]) -> Iterator[dict[str, Any]]:
    code: list[str] | None = None
    waiting: list[str] = []
    for line in lines:
        if line.startswith(FENCE):
            yield from plain_blocks(waiting)
            if code is not None:
                yield {"kind": "code", "text": "\n".join(code)}
            code, waiting = [] if code is None else None, []
        elif code is not None:
            code.append(line)
        else:
            waiting.append(line)
    yield from plain_blocks([*waiting, *(code or [])])


def plain_blocks(lines: list[str]) -> Iterator[dict[str, Any]]:
    """The blocks of lines without code: they stand between empty lines."""
    for filled, group in groupby(lines, key=lambda line: bool(line.strip())):
        if filled:
            yield block(list(group))


def block(lines: list[str]) -> dict[str, Any]:
    if heading := HEADING.fullmatch(lines[0]):
        return {"kind": "heading", "level": len(heading[1]), "parts": parts(" ".join([heading[2], *lines[1:]]))}
    if first := ITEM.fullmatch(lines[0]):
        return {"kind": "list", "numbered": first[1] != "-", "items": [parts(item) for item in items(lines)]}
    return {"kind": "paragraph", "parts": parts(joined(lines))}


def items(lines: list[str]) -> list[str]:
    """The items of a list; a line that begins none belongs to the one before."""
    found: list[list[str]] = []
    for line in lines:
        if item := ITEM.fullmatch(line):
            found.append([item[2]])
        else:
            found[-1].append(line)
    return [joined(item) for item in found]


def joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines)


def parts(text: str) -> list[Any]:
    """The parts of a text: what is between marks as {kind, parts}, the rest as it is."""
    found: list[Any] = []
    at = 0
    for mark in PART.finditer(text):
        found += [text[at : mark.start()], part(mark)]
        at = mark.end()
    return [one for one in [*found, text[at:]] if one]


def part(mark: re.Match[str]) -> dict[str, Any]:
    if mark["code"]:
        return {"kind": "code", "parts": [mark["code"]]}
    if mark["to"] is None:
        kind = "strong" if mark["strong"] else "em"
        return {"kind": kind, "parts": parts(mark[kind])}
    if mark["to"].startswith("#"):
        return {"kind": "link", "to": mark["to"], "parts": parts(mark["words"])}
    return {"kind": "words", "parts": [*parts(mark["words"]), f" ({mark['to']})"]}


def links(tree: Any) -> Iterator[str]:
    """Where the links of blocks or parts lead, in their order."""
    if isinstance(tree, dict):
        if tree.get("kind") == "link":
            yield tree["to"]
        for name in ("parts", "items"):
            yield from links(tree.get(name))
    elif isinstance(tree, list):
        for one in tree:
            yield from links(one)
