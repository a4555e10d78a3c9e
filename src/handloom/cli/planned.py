"""Commands that are not there yet, answered with what to do instead."""

import typer

ANY = {"allow_extra_args": True, "ignore_unknown_options": True}


def export(context: typer.Context) -> None:
    """Not there yet. A model file is plain safetensors, which other tools read."""
    from handloom.core import HandloomError

    raise HandloomError(
        "export is not there yet; a model file is plain safetensors (safetensors.torch.load_file reads its arrays, "
        "docs/machine.md has their names), and handloom write build PROGRAM -o x.taotp writes weights as text"
    )


def compile(context: typer.Context) -> None:
    """Not there yet. A .taotp file has the weights of a transformer as text."""
    from handloom.core import HandloomError

    raise HandloomError(
        "compile is not there yet; write the weights as text in a .taotp file (docs/taotp.md), or as arrays in Python "
        "(hl.Config, hl.params.zeros, hl.Model, hl.save)"
    )
