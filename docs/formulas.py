"""A hook of mkdocs: formulas in LaTeX become MathML when the site is built, so that pages need no script for them.

`$…$` in a line and `$$…$$` around lines of their own; GitHub typesets both by itself.
"""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
FUNCTION = r"<mi>[a-z]{2,}</mi>"  # sin, log: a thin space separates it from what stands before and after
THIN = '<mspace width="0.17em"/>'


def on_page_content(html: str, **_: Any) -> str:
    return FORMULA.sub(lambda found: typeset(unescape(found[2]), found[1] == "div"), html)


def typeset(latex: str, block: bool) -> str:
    formula = convert(latex, display="block" if block else "inline")
    formula = re.sub(f"({FUNCTION})(?=<m[in]>)", rf"\1{THIN}", formula)
    formula = re.sub(f"(</m[in]>)(?={FUNCTION})", rf"\1{THIN}", formula)
    return f'<div class="formula">{formula}</div>' if block else formula
