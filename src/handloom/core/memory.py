"""Memory that is used again and again should not come fresh from the system each time."""

import numpy as np


def keep_freed_memory() -> None:
    """glibc gives large blocks back to the system when they are freed, and the next one is made of fresh pages, which
    takes time (docs/LOG.md has the numbers). Once a block was freed it keeps those of up to that size, of which 32 MiB
    is the most, and twice as much in all (mallopt(3), M_MMAP_THRESHOLD). So one is freed. Elsewhere it does nothing."""
    np.empty(2**25 - 2**16, np.uint8)
