"""handloom write encodings: the book's figures on encodings, drawn and measured."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, print_json


def encodings(
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for the pictures.")] = Path("encodings"),
    as_json: JsonOption = False,
) -> None:
    """Draw the figures of the book's chapter 7 on encodings, and compare its numbers with measured ones.

    \b
    handloom write encodings -o pictures
    """
    from rich.console import Console
    from rich.table import Table

    from handloom.lab.encodings_figures import figures

    with SlowProgress("figures drawn") as progress:
        findings = figures(output, progress)
    if as_json:
        print_json([asdict(finding) for finding in findings])
        return
    table = Table("where", "the book", "measured", "holds", box=None)
    for finding in findings:
        table.add_row(finding.figure, finding.book, finding.measured, "yes" if finding.holds else "NO")
    Console().print(table)
    print(f"The pictures are in {output}")
