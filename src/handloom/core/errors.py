"""HandloomError, the one error that users of handloom see, and the words in its messages.

A message is a single line: what was wrong, what was expected, what to do. The command line prints it and exits with
code 2; in Python it is a `ValueError`, so that code which catches those keeps working.
"""

import math
import site
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sysconfig import get_path
from typing import Literal

INSTALLED = {*map(get_path, ("stdlib", "purelib", "platlib")), *site.getsitepackages(), site.getusersitepackages()}
LIBRARIES = (Path(__file__).parent.parent, *map(Path, sorted(INSTALLED)))


Action = Literal[
    "resume",
    "new folder",
    "base model",
    "other engine",
    "lower rate",
    "name task",
    "keep models",
    "judge samples",
    "train",
    "discover",
    "import",
]
Remedy = tuple[Action, str]  # what to do, and with what: a path, or nothing


class HandloomError(ValueError):
    """Something given to handloom cannot be used as it is; the message says why, and what to do. If that is another
    command or an option, `remedy` says which and for what, and the command line adds what to type."""

    def __init__(self, message: str, remedy: Remedy | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy


@contextmanager
def in_users_code(subject: str) -> Iterator[None]:
    """Around a function that a user wrote: any error it raises becomes a HandloomError about the subject, in one line.
    A HandloomError passes unchanged."""
    try:
        yield
    except HandloomError:
        raise
    except Exception as error:
        raise HandloomError(f"{subject}: {told(error)}") from error


def told(error: BaseException) -> str:
    """What a user's function raised, and where, in one line: the last line that is not in a library."""
    frames = traceback.extract_tb(error.__traceback__)
    own = (one for one in reversed(frames) if not any(Path(one.filename).is_relative_to(path) for path in LIBRARIES))
    last = next(own, frames[-1])
    return f"{last.name}, line {last.lineno}, raised {type(error).__name__}: {' '.join(str(error).split())[:160]}"


def shown(value: object) -> str:
    """repr, shortened so that a message stays one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of more than 4,300 digits, lists in lists in lists
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def counted(number: int) -> str:
    """A whole number in a message: its digits, or its power of ten if they are too many to read."""
    return f"{number:,}" if abs(number) < 10**15 else f"about 10^{math.floor(math.log10(abs(number)))}"


def one_line(error: BaseException) -> str:
    """The text of another library's error, shortened so that a message stays one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 100 else text[:97] + "..."
