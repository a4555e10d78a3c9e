"""handloom write: the transformers programmed by hand."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.arguments import JsonOption, ModelArgument, print_json
from handloom.cli.lookup import ngrams, precision

write = typer.Typer(
    name="write",
    help="Transformers programmed by hand: list them, explain them, build model files. Begin with: handloom write list",
    no_args_is_help=True,
)
write.command()(precision)
write.command()(ngrams)
SIZES = ("total", "nonzero", "unique")


@write.command("list")
def list_programs(as_json: JsonOption = False) -> None:
    """Show the programs with their sizes.

    \b
    handloom write list
    """
    from rich.console import Console
    from rich.table import Table

    from handloom.core import count
    from handloom.write import PROGRAMS, program

    rows = [{"name": name, "about": p.about, **asdict(count(program(name)))} for name, p in PROGRAMS.items()]
    if as_json:
        print_json(rows)
        return
    table = Table("program", "about", box=None)
    for size in SIZES:
        table.add_column(size, justify="right")
    for row in rows:
        table.add_row(str(row["name"]), str(row["about"]), *(f"{row[size]:,}" for size in SIZES))
    Console().print(table)


@write.command()
def show(
    model: ModelArgument,
    example: Annotated[
        str | None,
        typer.Option(help="The input to follow, perhaps with the beginning of its answer; default: one of the task's."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="What a model of your own is for, such as min:n=5; default: what its notes say.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a page with pictures here (.html), instead of text.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a model: its weights, what each head and MLP does, an example token by token, the certificate.

    \b
    handloom write show min
    handloom write show addition --example "995+007=10"
    handloom write show search --example "1 2 3 4 1 2 3" -o search.html
    handloom write show my.taotp --task min:n=5
    """
    from handloom.core.files import check_place, check_suffix, write_atomically
    from handloom.core.finding import find
    from handloom.read import explain
    from handloom.tasks import task as task_named
    from handloom.view.explanation_text import as_text
    from handloom.view.pages.show import as_page

    if output:
        check_place(output)
        check_suffix(output, "a page", ".html", ".htm")
    chosen, folder = find(model)
    explanation = explain(model, chosen, example, task_named(task) if task else None, folder)
    if output:
        write_atomically(output, as_page(explanation).encode())
    if as_json:
        print_json(explanation.to_json())
    else:
        print(output if output else as_text(explanation))


@write.command()
def build(
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="A name with parameters.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The model file, .safetensors or .taotp; default: NAME.safetensors."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a program's model file, or its weights as text that can be edited (.taotp).

    \b
    handloom write build hello -o hello.safetensors
    handloom write build min:n=5 -o min.taotp
    """
    from handloom.core import save
    from handloom.core.files import MODEL_FILE, check_place, check_suffix
    from handloom.write import program as written
    from handloom.write.taotp import save_taotp

    path = output or Path(program.partition(":")[0].replace("/", "-") + MODEL_FILE)
    if output:
        check_place(path)
        check_suffix(path, "a model file", MODEL_FILE, ".taotp")
    model = written(program)
    if path.suffix == ".taotp":
        save_taotp(model, path)
    else:
        save(model, path)
    if as_json:
        print_json({"file": str(path)})
    else:
        print(f"{path}: {model}")


@write.command()
def encodings(
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for the pictures.")] = Path("encodings"),
    as_json: JsonOption = False,
) -> None:
    """Draw the figures of the book's chapter 7 on encodings, and hold its numbers against what is measured.

    \b
    handloom write encodings -o pictures
    """
    from rich.console import Console
    from rich.table import Table

    from handloom.cli.live.progress import Slowly
    from handloom.lab.encodings_figures import figures

    with Slowly("figures drawn") as progress:
        findings = figures(output, progress)
    if as_json:
        print_json([asdict(finding) for finding in findings])
        return
    table = Table("where", "the book", "measured", "holds", box=None)
    for finding in findings:
        table.add_row(finding.figure, finding.book, finding.measured, "yes" if finding.holds else "NO")
    Console().print(table)
    print(f"The pictures are in {output}")
