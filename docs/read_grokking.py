"""Grokking on addition modulo 59: the run of docs/read/grokking.json, and the pictures drawn from it.

    nice -n 19 python docs/read_grokking.py train      # trains and measures, about 10 minutes on two cores
    python docs/read_grokking.py                       # draws docs/read/*.svg from the JSON

Nanda et al.'s settings (2023), with a smaller group: one layer, 4 heads, 128 wide, 512 ReLU neurons, no norm, AdamW
at 1e-3 with weight decay 1, trained on a fixed 40 % of all pairs. The last model is docs/read/grokked.safetensors.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import handloom as hl
from handloom.read import Periodic, periodic
from handloom.view.periodic_card import loss_curves, share_bars
from handloom.view.svg.drawing import as_svg

HERE = Path(__file__).parent / "read"
FILE = HERE / "grokking.json"
TASK = "modular-addition:modulus=59"
SHAPE: dict[str, Any] = {"layers": 1, "heads": 4, "width": 128, "d_ff": 512, "norm": "none", "activation": "relu"}
SETTINGS: dict[str, Any] = {"steps": 25_000, "batch": 1044, "rate": 1e-3, "warmup": 10, "decay": 1.0}
SETTINGS |= {"betas": (0.9, 0.98), "fraction": 0.4, "every": 250, "keep": 250, "samples": 100}


def train() -> None:
    """Train into a folder that is thrown away; the last model and what was measured stay."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        hl.train(TASK, folder=run, **SHAPE, **SETTINGS)
        FILE.write_text(json.dumps(rounded(periodic(run).to_json())) + "\n")
        shutil.copy(run / "model.safetensors", HERE / "grokked.safetensors")


def rounded(value: Any) -> Any:
    """Four digits are enough for a picture."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def draw() -> None:
    found = Periodic.from_json(json.loads(FILE.read_text()))
    pictures = {
        "logits": ("Logits: share of the variance by frequency", share_bars(found.logits, found.frequencies)),
        "embedding": ("Embedding: share of the variance by frequency", share_bars(found.embedding, found.frequencies)),
        "losses": ("Addition modulo 59: losses in nats", loss_curves(found.checkpoints)),
    }
    for name, (title, drawing) in pictures.items():
        (HERE / f"grokking-{name}.svg").write_text(as_svg(drawing, title) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["train"]:
        train()
    draw()
