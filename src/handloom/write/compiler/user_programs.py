"""Programs in a user's Python file, by name: `FILE.py:NAME`, or `FILE.py` if the file has only one."""

import os
import re
from pathlib import Path

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.finding import nearest
from handloom.tasks.user_file import run_file
from handloom.write.compiler.source import TokenProgram


def find_program(name: str) -> TokenProgram:
    """The program of that name. The file is run."""
    found = re.fullmatch(r"(.+?\.py)(?::(.*))?", name, re.DOTALL)
    if not found:
        raise HandloomError(f"{shown(name)} is not FILE.py or FILE.py:NAME; name a Python file with a program in it")
    path, wanted = Path(found[1]), found[2]
    if not os.path.isfile(path):
        raise HandloomError(f"{path}: no such file; name a Python file with a program in it")
    programs = {key: one for key, one in run_file(path).items() if isinstance(one, TokenProgram)}
    if not programs:
        raise HandloomError(f"{path}: there is no program in it; write @program(asks=…) in front of a function")
    if wanted is None:
        if len({id(one) for one in programs.values()}) > 1:
            raise HandloomError(
                f"{path} has the programs {', '.join(programs)}; name one, as in {path}:{min(programs)}"
            )
        return next(iter(programs.values()))
    key = wanted.replace("-", "_")
    if key not in programs:
        near = nearest(key, programs)
        hint = f"did you mean {near}?" if near else f"it has {', '.join(programs)}"
        raise HandloomError(f"{path}: there is no program {shown(wanted)} in it; {hint}")
    return programs[key]
