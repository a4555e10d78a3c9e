"""The metrics of a run as TensorBoard files, to watch many runs at once: `tensorboard --logdir runs`."""

from pathlib import Path

from handloom.core import HandloomError
from handloom.learn.training import Report, Watch


def board(folder: Path) -> Watch:
    """A function to call with every report; it writes evaluations."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise HandloomError(
            "TensorBoard files need tensorboard, which is not installed: pip install 'handloom[board]'"
        ) from error
    writer = SummaryWriter(str(folder))

    def write(report: Report) -> None:
        if report.evaluation is None:
            return
        scalars = {"loss/train": report.loss, "loss/held_out": report.held_out}
        for name, value in (scalars | report.evaluation.to_json()).items():
            if value is not None:  # None: no samples were new
                writer.add_scalar(name, value, report.step)
        writer.flush()

    return write
