"""handloom write list: the programs."""

from dataclasses import asdict

from handloom.cli.options import JsonOption, print_json

SIZES = ("total", "nonzero", "unique")


def list(as_json: JsonOption = False) -> None:
    """Show the programs with their sizes.

    \b
    handloom write list
    """
    from rich.console import Console
    from rich.table import Table

    from handloom.core import ParameterCount, count
    from handloom.write import PROGRAMS, program
    from handloom.write.catalogue import COMPILED
    from handloom.write.standard_sizes import SIZES as COMPILED_SIZES

    rows = [{"name": name, "about": p.about, **asdict(count(program(name)))} for name, p in PROGRAMS.items()]
    rows += [
        {
            "name": name,
            "about": p.about,
            **asdict(ParameterCount(*COMPILED_SIZES[p.writer], active=COMPILED_SIZES[p.writer][0])),
        }
        for name, p in COMPILED.items()
    ]
    if as_json:
        print_json(rows)
        return
    table = Table("program", "about", box=None)
    for size in SIZES:
        table.add_column(size, justify="right")
    for row in rows:
        table.add_row(str(row["name"]), str(row["about"]), *(f"{row[size]:,}" for size in SIZES))
    Console().print(table)
