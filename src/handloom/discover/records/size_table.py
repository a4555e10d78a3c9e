r"""The best records of several sizes as a table: CSV, LaTeX, and the b-file of an OEIS sequence.

    rows = table_rows(store, "isosceles:n=6..16")
    write_table(rows, "table.tex")

    >>> from dataclasses import replace
    >>> three = SizeRow("p:n=3", {"n": "3"}, 4, 4, None, "search", 1)
    >>> one, two = (replace(three, parameters={"n": n}, best=b, bound=5) for n, b in (("1", 5), ("2", 4)))
    >>> print(as_b_file([one, two, three]), end="")  # doctest: +ELLIPSIS
    # p: n, and the best score for it; by handloom ...
    # A line with # in front is not proved, and no term yet.
    1 5
    # 2 4 (proved: at most 5)
    # 3 4
    >>> print(as_csv([one, two, three]).splitlines()[1])
    p:n=3,1,5,4,5,optimal,search,1

A b-file has the terms of a sequence: values at consecutive sizes that are proved, as `handloom prove` does. Others are
comments in it, unless asked for.
"""

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handloom import __version__
from handloom.core import HandloomError
from handloom.core.files import as_path, write_atomically
from handloom.core.latex import latex
from handloom.discover.problem import Number
from handloom.discover.records.exporting import best_known_of
from handloom.discover.records.origin import came_from
from handloom.discover.records.proofs import proof_of
from handloom.discover.records.selection import Asked, select
from handloom.discover.records.store import Store
from handloom.discover.size_ranges import parameters_in

B_FILE, ENDINGS = ".b.txt", (".csv", ".tex", ".b.txt")
LEAST_SIZE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class SizeRow:
    """One size: the best record of the store, and what is known and proved of it."""

    problem: str
    parameters: dict[str, str]
    best: Number
    best_known: Number | None
    bound: Number | None  # proved
    how: str  # it was found
    record: int

    @property
    def status(self) -> str:
        """What is proved, in a word or three."""
        if self.bound is None:
            return ""
        return "optimal" if self.bound == self.best else f"{self.side} {self.bound}"

    @property
    def side(self) -> str:
        return "at most" if self.bound is not None and self.bound > self.best else "at least"

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"status": self.status}


def table_rows(store: Store, asked: Asked = None) -> list[SizeRow]:
    """The best record of each problem asked for, in natural order."""
    records = select(store, asked, best=1)
    known = best_known_of(store, records, asked)
    proofs = {name: proof_of(store, name) for name in known}
    rows = []
    for one in records:
        proof, name = proofs[one.problem], one.problem
        bound = proof["bound"] if proof else None
        rows.append(SizeRow(name, parameters_of(name), one.score, known[name], bound, came_from(one.origin), one.id))
    return rows


def parameters_of(name: str) -> dict[str, str]:
    """The parameters in a full name.

    >>> parameters_of("words:length=50,pattern=xx,yy,letters=3")
    {'length': '50', 'pattern': 'xx,yy', 'letters': '3'}
    """
    pieces = [piece.partition("=") for piece in re.split(r",(?=\w+=)", parameters_in(name)) if "=" in piece]
    return {key: value for key, _, value in pieces}


def varying(rows: Sequence[SizeRow]) -> list[str]:
    """The parameters in which the rows differ; of a single row its first. Empty if the rows are of several problems."""
    names = list(rows[0].parameters) if rows else []
    if any(list(row.parameters) != names or base(row) != base(rows[0]) for row in rows):
        return []
    return names[:1] if len(rows) == 1 else [n for n in names if len({row.parameters[n] for row in rows}) > 1]


def base(row: SizeRow) -> str:
    return row.problem.partition(":")[0]


def what_of(rows: Sequence[SizeRow]) -> str:
    """What the table is about: the problem, with those parameters that are the same in all rows."""
    fixed = ",".join(f"{key}={value}" for key, value in rows[0].parameters.items() if key not in varying(rows))
    return base(rows[0]) + (f":{fixed}" if fixed else "")


def headings(rows: Sequence[SizeRow]) -> list[str]:
    """What stands over the columns that tell a row's problem."""
    return varying(rows) or ["problem"]


def names_of(rows: Sequence[SizeRow], row: SizeRow) -> list[str]:
    """What these columns have for a row."""
    return [row.parameters[name] for name in varying(rows)] or [row.problem]


def as_csv(rows: Sequence[SizeRow]) -> str:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["problem", *varying(rows), "best", "best_known", "bound", "status", "how_found", "record"])
    for row in rows:
        values = [row.best, row.best_known, row.bound, row.status, row.how, row.record]
        own = [row.parameters[name] for name in varying(rows)]
        out.writerow([row.problem, *own, *("" if value is None else value for value in values)])
    return text.getvalue()


def as_latex(rows: Sequence[SizeRow]) -> str:
    """A tabular that needs no package; what is optimal is said in its last column."""
    heads = [f"${name}$" if len(name) == 1 else latex(name) for name in headings(rows)]
    columns = ("r" if varying(rows) else "l") * len(heads)
    lines = [
        f"% {' '.join(what_of(rows).split()) if varying(rows) else 'records'}, verified by handloom {__version__}",
        rf"\begin{{tabular}}{{{columns}rrl}}",
        r"\hline",
        " & ".join([*heads, "best", "best known", "proved"]) + r" \\",
        r"\hline",
        *(" & ".join([*map(latex, names_of(rows, row)), *latex_values(row)]) + r" \\" for row in rows),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def latex_values(row: SizeRow) -> list[str]:
    known = "" if row.best_known is None else f"${row.best_known}$"
    sign = r"\le" if row.side == "at most" else r"\ge"
    proof = f"${sign} {row.bound}$" if row.bound is not None and row.status != "optimal" else row.status
    return [f"${row.best}$", known, proof]


def as_b_file(rows: Sequence[SizeRow], unproved: bool = False) -> str:
    """Lines of a size and a value; one that is not proved, or no neighbour of the terms before it, is a comment."""
    terms = terms_of(rows, unproved)
    told = (
        "Values are the best found, not all proved."
        if unproved
        else ("A line with # in front is not proved, and no term yet.")
    )
    size = varying(rows)[0]
    lines = [f"# {what_of(rows)}: {size}, and the best score for it; by handloom {__version__}", f"# {told}"]
    for row in rows:
        at = int(row.parameters[size])
        about = f" (proved: {row.status})" if row.status and at not in terms else ""
        lines.append(f"{'' if at in terms else '# '}{at} {row.best}{about}")
    return "\n".join(lines) + "\n"


def terms_of(rows: Sequence[SizeRow], unproved: bool = False) -> list[int]:
    """The consecutive sizes whose values are terms: from the first one that is proved, as far as they are proved."""
    names = varying(rows)
    if len(names) != 1 or any(not LEAST_SIZE.fullmatch(row.parameters[names[0]]) for row in rows):
        found = f"{', '.join(names)} vary" if names else "several problems"
        raise HandloomError(f"a b-file has one whole number that varies (found: {found}); name a problem as p:n=6..16")
    if bad := next((row for row in rows if not isinstance(row.best, int)), None):
        raise HandloomError(f"a b-file has whole numbers, and {bad.problem} has {bad.best}; write a .csv instead")
    sure = [int(row.parameters[names[0]]) for row in rows if unproved or row.status == "optimal"]
    return [size for i, size in enumerate(sure) if size == sure[0] + i]


def as_table(rows: Sequence[SizeRow], name: str, unproved: bool = False) -> str:
    """The table in the format that the name of a file asks for."""
    if not rows:
        raise HandloomError(f"there are no records for the table {name}; find some first", ("discover", ""))
    if name.lower().endswith(B_FILE):
        return as_b_file(rows, unproved)
    return as_csv(rows) if name.lower().endswith(".csv") else as_latex(rows)


def check_table_name(path: Path) -> None:
    """Raise an error if the name has no ending of a table."""
    if not path.name.lower().endswith(ENDINGS):
        raise HandloomError(f"{path}: not a name for a table (expected {', '.join(ENDINGS)}); choose another")


def write_table(rows: Sequence[SizeRow], path: str | os.PathLike[str], unproved: bool = False) -> Path:
    """Write a table to a .csv, a .tex or a .b.txt file."""
    path = as_path(path)
    check_table_name(path)
    write_atomically(path, as_table(rows, path.name, unproved).encode())
    return path
