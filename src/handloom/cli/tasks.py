"""handloom tasks: the tasks that a model can be trained on."""

from handloom.cli.options import JsonOption, print_json


def tasks(as_json: JsonOption = False) -> None:
    """List the tasks, with their parameters, and the experiments.

    \b
    handloom tasks
    """
    from rich.console import Console
    from rich.table import Column, Table

    from handloom.lab.talk import EXPERIMENTS
    from handloom.tasks.catalogue import TASKS
    from handloom.tasks.naming import usage

    lines = [(usage(name, entry.make), entry.about) for name, entry in TASKS.items()]
    lines += [(name, f"{experiment.task}; claimed: {experiment.claim}") for name, experiment in EXPERIMENTS.items()]
    if as_json:
        print_json([{"name": name, "about": about} for name, about in lines])
        return
    table = Table(Column("task", overflow="fold"), Column("what is learned", overflow="fold"), box=None)
    for name, about in lines:
        table.add_row(name, about)
    Console(highlight=False).print(table, markup=False)
