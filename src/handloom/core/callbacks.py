"""The types of callbacks that several rooms take."""

from collections.abc import Callable

Progress = Callable[[int, int], None]  # (done, total): how much of a job is done
