"""Runs: what every long job needs, whatever it computes. Public: `Folder`, where a run is kept and read from again;
`Run` and `runs_in`, the listing of runs; `interrupts`, `Clock` and `check_device`, for the job while it runs.
"""

from handloom.runs.folder import Folder
from handloom.runs.job import Clock, check_device, interrupts
from handloom.runs.listing import Run, runs_in

__all__ = ["Clock", "Folder", "Run", "check_device", "interrupts", "runs_in"]
