"""Several processes that train one model together, started by torchrun. Without torchrun there is one process, and this
does nothing.

    torchrun --nproc-per-node 2 -m handloom learn strings --steps 1000

Each process works on some of the lanes of every batch. Gradients are added up, so that all processes make the same step
and have the loss that one process alone would have. The first process evaluates and writes.
"""

import atexit
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import one_line

LAST_WORK = 0.2  # seconds, a thousand times what it takes
PATIENCE = timedelta(days=30)  # how long a process waits for another, which may evaluate or search meanwhile


class Processes:
    """This process's place among those of a run."""

    def __init__(self) -> None:
        self.rank, self.count = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        self.first = self.rank == 0
        self.share = self.add_up if self.count > 1 else None
        if self.count > 1:
            import torch
            import torch.distributed as dist

            if not dist.is_initialized():
                cuda = torch.cuda.is_available()
                if cuda:
                    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
                dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=PATIENCE)
                atexit.register(leave)

    def add_up(self, tensor: Any) -> None:
        """Replace a tensor by its sum over all processes."""
        import torch.distributed as dist

        with together():
            dist.all_reduce(tensor)

    def any_of_us(self, flag: bool, device: str = "cpu") -> bool:
        """Whether the flag is set in one of the processes: a step is made by all or by none."""
        if not self.share:
            return flag
        import torch

        votes = torch.tensor([float(flag)], device=device)
        self.share(votes)
        return bool(votes[0] > 0)

    def told(self, message: Any) -> Any:
        """The message of the first process, in all of them."""
        if self.count == 1:
            return message
        import torch.distributed as dist

        messages = [message]
        with together():
            dist.broadcast_object_list(messages)
        return messages[0]

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Around what only the first process does: an error there is raised in all processes."""
        try:
            yield
        except HandloomError as error:
            if self.first:
                self.told(error)
            raise
        if problem := self.told(None):
            raise problem


def leave() -> None:
    """Leave the group of processes. Its threads may still be giving back the tensors of the last message, for which
    they need Python: if that has ended, they abort the process."""
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()
        time.sleep(LAST_WORK)


@contextmanager
def together() -> Iterator[None]:
    """Around what all processes do: if another has ended, that one has printed why."""
    try:
        yield
    except RuntimeError as error:
        raise HandloomError(f"another of the processes has ended: {one_line(error)}") from error
