"""Shared by all figures: Matplotlib, loaded when it is needed; the file formats; equal figures make equal files."""

import io
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.files import write_atomically

FORMATS = (".png", ".svg", ".pdf")
STYLE = {"svg.hashsalt": "handloom", "svg.fonttype": "path", "pdf.fonttype": 42, "text.parse_math": False}


def check_format(path: Path) -> None:
    if path.suffix.lower() not in FORMATS:
        raise HandloomError(f"{path} is not a kind of picture that can be drawn; name it {', '.join(FORMATS)}")


def matplotlib_parts() -> tuple[Any, Any]:
    """Its Figure, which needs no screen, and its context for styles; imported only here, for it is slow to load."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise HandloomError(
            "a figure needs Matplotlib, which is not installed: pip install 'handloom[view]'"
        ) from error
    return Figure, rc_context


def write_figure(figure: Any, path: Path) -> Path:
    """Write it, all or nothing."""
    write_atomically(path, figure_bytes(figure, path.suffix.lower()))
    return path


def figure_bytes(figure: Any, ending: str) -> bytes:
    """The figure as a file of that ending, without a date."""
    buffer = io.BytesIO()
    dates: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    figure.savefig(buffer, format=ending[1:], dpi=160, metadata=dates.get(ending))
    return buffer.getvalue()


def tidy(axis: Any) -> None:
    """A light grid and no frame."""
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
