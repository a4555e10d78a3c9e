r"""Text for LaTeX: what is special there, escaped.

>>> print(latex("a_1 & 50%"))
a\_1 \& 50\%
"""

SPECIAL = {**{c: f"\\{c}" for c in "&%$#_{}"}, "\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}
SPECIAL |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "×": r"$\times$"}


def latex(text: str) -> str:
    """The text with each special letter escaped, on one line."""
    return "".join(SPECIAL.get(letter, letter) for letter in " ".join(text.split()))
