"""A hook of mkdocs: formulas in LaTeX become MathML when the site is built, so that pages need no script and no font.

`$…$` in a line and `$$…$$` around lines of their own; GitHub typesets both by itself.
"""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(html: str, **_: Any) -> str:
    return FORMULA.sub(lambda found: typeset(unescape(found[2]), found[1] == "div"), html)


def typeset(latex: str, block: bool) -> str:
    formula = convert(latex, display="block" if block else "inline")
    return f'<div class="formula">{formula}</div>' if block else formula
