"""One process at a time trains a run: a lock on its folder, which is gone with its process, however that ends."""

import fcntl
import os
from pathlib import Path

from handloom.core import HandloomError

LOCK = ".lock"


class Lock:
    """On the run in a folder, from when it is made until it is released or forgotten. The file stays, and says nothing;
    what counts is who holds it, and the system knows that."""

    def __init__(self, folder: Path) -> None:
        self.handle = -1
        try:
            self.handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise HandloomError(
                f"{folder} is in use: another process is at work on this run; wait until it ends, or stop it"
            ) from None
        except OSError as error:
            if self.handle < 0:
                raise HandloomError(f"cannot write {folder / LOCK}: {error.strerror}") from error
            # otherwise it is a file system that knows no locks, and whoever uses it must know what runs there

    def release(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    __del__ = release
