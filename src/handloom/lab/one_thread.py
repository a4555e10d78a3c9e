"""What a new process does before it loads NumPy: allow matrix products one thread. (So this file imports no NumPy.)"""

import os

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def use_one_thread() -> None:
    """NumPy's libraries read these once, when they are loaded."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
