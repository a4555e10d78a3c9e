"""handloom tour: what handloom can do, shown."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.options import JsonOption, print_json


def tour(
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("tour.html"),
    as_json: JsonOption = False,
) -> None:
    """Show what handloom can do, stop by stop, and write it all to one page. It takes some seconds.

    \b
    handloom tour -o tour.html
    """
    from rich.console import Console
    from rich.syntax import Syntax

    from handloom.core.files import check_place, check_suffix, write_atomically
    from handloom.view.pages.tour import take_tour, tour_page

    check_place(output)
    check_suffix(output, "a page", ".html", ".htm")
    console = Console(highlight=False, quiet=as_json)
    shown = []
    for number, s in enumerate(take_tour(), 1):
        shown.append(s)
        console.rule(f"[bold]{number}. {s.stop.title}", align="left")
        console.print(s.stop.words, markup=False)
        console.print(
            Syntax(s.stop.code.strip(), "python", theme="ansi_dark", background_color="default", word_wrap=True)
        )
        console.print(s.output + "\n", style="green", markup=False)
    write_atomically(output, tour_page(shown).encode())
    if as_json:
        stops = [{"title": s.stop.title, "code": s.stop.code.strip(), "output": s.output} for s in shown]
        print_json({"page": str(output), "stops": stops})
    else:
        console.print(f"All of it, with pictures: [bold]{output}[/]")
