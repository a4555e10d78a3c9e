"""handloom write: the transformers programmed by hand."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.arguments import JsonOption, print_json

write = typer.Typer(
    name="write", help="Transformers programmed by hand: list them, build model files.", no_args_is_help=True
)


@write.command("list")
def list_programs(as_json: JsonOption = False) -> None:
    """Show the programs with their sizes."""
    from rich.console import Console
    from rich.table import Table

    from handloom.core import count
    from handloom.write import PROGRAMS, program

    rows = [{"name": name, **asdict(count(program(name)))} for name in PROGRAMS]
    if as_json:
        print_json(rows)
        return
    table = Table("program", "does", *("total", "nonzero", "unique"), box=None)
    for row in rows:
        sizes = [f"{row[key]:,}" for key in ("total", "nonzero", "unique")]
        table.add_row(str(row["name"]), PROGRAMS[str(row["name"])].about, *sizes)
    Console().print(table)


@write.command()
def build(
    program: Annotated[str, typer.Argument(help="A program's name with its parameters.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The model file; default: NAME.safetensors.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a program's model file.

    \b
    handloom write build hello -o hello.safetensors
    """
    from handloom.core import save
    from handloom.write import program as written

    model = written(program)
    path = output or Path(program.partition(":")[0].replace("/", "-") + ".safetensors")
    save(model, path)
    if as_json:
        print_json({"file": str(path)})
    else:
        print(f"{path}: {model}")
