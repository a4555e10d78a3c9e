"""Records of full runs: NAME.json with all numbers, NAME.svg with the picture, and the models that were trained.

A record has what `handloom lab NAME --json` prints, and the series that the picture is drawn from, so that it can be
drawn again. `read` has its test beds among the models.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import handloom
from handloom.core import HandloomError, save
from handloom.core.files import write_atomically
from handloom.lab.experiment import SEEDS, Conclusion, Finding
from handloom.view.figures.panels import Panel, draw_panels

DIGITS = 6  # of a number in a series


def keep(conclusion: Conclusion, panels: "list[Panel]", first: Finding, folder: Path) -> Path:
    """Write the record of a full run; the models are those of the first seed."""
    if len(conclusion.seeds) < SEEDS:
        raise HandloomError(f"a record has {SEEDS} seeds or more, not {len(conclusion.seeds)}; run more")
    folder.mkdir(parents=True, exist_ok=True)
    name = conclusion.claim.name
    draw_panels(panels, folder / f"{name}.svg")
    for which, model in first.models.items():
        save(model, folder / f"{name}-{which}.safetensors")
    path = folder / f"{name}.json"
    values = conclusion.to_json() | {
        "versions": {"handloom": handloom.__version__, "numpy": np.__version__},
        "models": sorted(first.models),
        "series": [rounded(one) for one in conclusion.series],
    }
    write_atomically(path, (json.dumps(values, ensure_ascii=False) + "\n").encode())
    return path


def rounded(value: Any) -> Any:
    """A JSON value whose numbers have a few digits."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.{DIGITS}g}") if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def record_of(name: str, folder: Path) -> dict[str, Any] | None:
    """The record of an experiment; None if there is none."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found
