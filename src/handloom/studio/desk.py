"""What a studio knows: the folder it works in, what it was opened with, its key, and its jobs.

Paths that a page asks for are below the start folder, with symbolic links followed, or were named on the command line.
A Python file is code: it is run only if the command line named it.
"""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.studio.certificates import Certificates
from handloom.studio.events import Events
from handloom.studio.jobs import Jobs


@dataclass(frozen=True)
class Studio:
    """One studio. `given` are the names on the command line, in their order; `files` the files and folders among
    them."""

    folder: Path
    given: tuple[str, ...] = ()
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    events: Events = field(default_factory=Events)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.folder.resolve())
        object.__setattr__(self, "certificates", Certificates(self.events))
        object.__setattr__(self, "jobs", Jobs(self.events, files=self.files, folder=self.folder))

    jobs: Jobs = field(init=False)
    certificates: Certificates = field(init=False)

    @property
    def files(self) -> list[Path]:
        """The files and folders that the command line named; of problem.py:n=12 the file."""
        names = (name if Path(name).exists() else name.rpartition(".py:")[0] + ".py" for name in self.given)
        return [Path(name).resolve() for name in names if Path(name).exists()]

    def place(self, name: str) -> Path:
        """A path that a page asks for. Raises an error for one that is neither below the start folder nor named on the
        command line."""
        try:
            path = (self.folder / name).resolve()
        except (OSError, ValueError, RuntimeError):
            raise HandloomError(f"{shown(name)} is no path; choose a file below {self.folder.name}") from None
        named = any(path == one or one in path.parents for one in self.files)
        if not (named or path == self.folder or self.folder in path.parents):
            raise HandloomError(
                f"{shown(name)} is not below the folder that the studio was started in; start it there, or name it on "
                "the command line"
            )
        return path

    def runs_python(self, path: Path) -> bool:
        """Whether a Python file may be run: the command line named it, or the folder of the run that has it."""
        path = path.resolve()
        return any(path == one or one == path.parent for one in self.files)

    def shown(self, path: Path) -> str:
        """A path as the page shows and asks for it: from the start folder on, if it is below it."""
        path = path.resolve()
        return str(path.relative_to(self.folder)) if self.folder in path.parents else str(path)
