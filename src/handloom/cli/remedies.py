"""What to type at the command line for what an error of the library recommends.

An error of the library serves Python callers too, so it names no command and no flag. It carries a `Remedy`, and the
command line adds the words.
"""

from pathlib import Path

from handloom.core.errors import HandloomError

WORDS = {
    "new folder": "--out FOLDER",
    "base model": "--start MODEL",
    "other engine": "--engine torch",
    "lower rate": "--rate X",
    "name task": "--task TASK",
    "keep models": "--keep 100",
    "judge samples": "handloom sample MODEL",
    "train": "handloom learn TASK",
    "discover": "handloom discover PROBLEM",
    "import": "handloom import CHECKPOINT -o MODEL",
}


def with_remedy(error: HandloomError) -> str:
    """The message of an error, and what to type."""
    if error.remedy is None:
        return str(error)
    what, subject = error.remedy
    return f"{error} ({resuming(Path(subject)) if what == 'resume' else WORDS[what]})"


def resuming(path: Path) -> str:
    """The command that resumes a run."""
    from handloom.runs.listing import read_run

    return f"handloom {'discover --resume' if read_run(path).kind == 'discover' else 'resume'} {path}"
