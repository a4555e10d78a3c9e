"""Several processes that train one model together, started by torchrun; without it there is one process, and this does
nothing.

    torchrun --nproc-per-node 2 -m handloom learn strings --steps 1000

Each process works on some of the lanes of every batch; gradients are added up, so that all make the same step and have
the loss that one process alone would have. The first process evaluates and writes.
"""

import os
from typing import Any


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
                dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")

    def add_up(self, tensor: Any) -> None:
        """The sum of this tensor over all processes, in its place."""
        import torch.distributed as dist

        dist.all_reduce(tensor)
