"""handloom write show: a model explained."""

from pathlib import Path
from typing import Annotated

import typer

from handloom.cli.options import JsonOption, ModelArgument, print_json


def show(
    model: ModelArgument,
    example: Annotated[
        str | None,
        typer.Option(help="The input to follow, alone or with a part of its answer; default: one of the task's."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="The task of the model, such as min:n=5; default: the one in its notes.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a page with pictures to this file (.html).")
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
    from handloom.view.pages.show import explanation_page

    if output:
        check_place(output)
        check_suffix(output, "a page", ".html", ".htm")
    chosen, folder = find(model)
    explanation = explain(model, chosen, example, task_named(task) if task else None, folder)
    if output:
        write_atomically(output, explanation_page(explanation).encode())
    if as_json:
        print_json(explanation.to_json())
    else:
        print(output if output else as_text(explanation))
