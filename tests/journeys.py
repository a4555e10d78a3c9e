"""The journeys of a user's word through the code: which files of handloom have a function called on the way.

python tests/journeys.py          # prints the files of each journey, and how many they are
"""

import sys
import tempfile
import textwrap
import threading
from contextlib import contextmanager
from pathlib import Path

import handloom as hl
from command import handloom

SOURCE = Path(hl.__file__).parent


@contextmanager
def files_called():
    """The files whose functions are called, in any thread, in the order of the first call."""
    files: dict[str, None] = {}

    def note(frame, event, arg):
        if event == "call":
            files.setdefault(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def journey(take):
    """The files of handloom on the way, once everything is imported. (Files that only hold names have no function.)"""
    take()
    with files_called() as files:
        take()
    paths = [Path(file) for file in files if file.startswith(str(SOURCE))]
    return [str(path.relative_to(SOURCE)) for path in paths if path.parent != SOURCE]


def command(*words):
    def take():
        with tempfile.TemporaryDirectory() as folder:
            done = handloom(*words, cwd=folder)
            assert done.returncode == 0, done.stderr

    return take


HELLO = hl.program("hello")
LEARN = ["--steps", 2, "--every", 1, "--samples", 5, "--count", 100, "--layers", 1, "--heads", 1, "--width", 8]
DISCOVER = ["--generations", 2, "--attempts", 40, "--learn", 2, "--samples", 10, "--layers", 1, "--width", 16]
JOURNEYS = {
    "run": command("run", "addition", "045+978="),
    "learn": command("learn", "s[2]==s[5]", *LEARN),
    "discover": command("discover", "isosceles:n=8", *DISCOVER),
    "trace": lambda: hl.trace(HELLO, "H"),
}


OWN_ROOMS = {"run": "cli write", "learn": "cli learn", "discover": "cli discover", "trace": "core"}


def own_files(name, files):
    """Those in the rooms that the journey is about; the others, such as core and tasks, serve every verb."""
    return [file for file in files if file.partition("/")[0] in OWN_ROOMS[name].split()]


def by_room(files):
    """The files as docs/ARCHITECTURE.md lists them: one line per room, in the order of the first call."""
    rooms = {}
    for file in files:
        room, _, name = file.removesuffix(".py").partition("/")
        rooms.setdefault(room, []).append(name)
    return "\n".join(
        textwrap.fill(f"{room:<9} {' '.join(names)}", 118, subsequent_indent=" " * 10) for room, names in rooms.items()
    )


if __name__ == "__main__":
    for name, take in JOURNEYS.items():
        files = journey(take)
        own = f"{len(own_files(name, files))} of them in {' and '.join(OWN_ROOMS[name].split())}"
        print(f"{name}: {len(files)} files, {own}\n{by_room(files)}\n")
