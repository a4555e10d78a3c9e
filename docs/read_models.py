"""The trained models that docs/read.md takes apart, and from which its scores come.

    nice -n 19 python docs/read_models.py               # those that are not there yet, into docs/read/models/
    nice -n 19 python docs/read_models.py induction-0   # one of them, again

Induction is trained with two layers of two heads and no MLP, from five seeds, and with one layer, which cannot do it.
Sorting and addition have MLPs. Each file's notes have its task and its training.
"""

import sys
from pathlib import Path
from typing import Any

import handloom as hl

FOLDER = Path(__file__).parent / "read" / "models"
SETTINGS: dict[str, Any] = {"schedule": "cosine", "warmup": 500, "every": 5_000, "samples": 200, "rate": 3e-3}
INDUCTION: dict[str, Any] = {"count": 100_000, "heads": 2, "d_model": 32, "d_ff": 0, "steps": 15_000}
SORT: dict[str, Any] = {"count": 10_000, "layers": 2, "heads": 2, "d_model": 32, "d_ff": 64, "steps": 15_000}
SUM: dict[str, Any] = {"count": 10_000, "layers": 1, "heads": 4, "d_model": 64, "steps": 5_000}
ADDITION: dict[str, Any] = {"count": 10_000, "layers": 2, "heads": 4, "d_model": 64, "steps": 20_000}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"induction-{seed}": ("compiled/induction:n=31,letters=10", {**INDUCTION, "layers": 2, "seed": seed})
        for seed in range(5)
    },
    "induction-one-layer": ("compiled/induction:n=31,letters=10", {**INDUCTION, "layers": 1, "seed": 0}),
    **{f"sort-{seed}": ("compiled/sort:n=5,digits=4", {**SORT, "seed": seed}) for seed in range(2)},
    **{f"sum-{seed}": ("sum", {**SUM, "seed": seed}) for seed in range(2)},
    **{f"addition-{seed}": ("addition:digits=2", {**ADDITION, "seed": seed}) for seed in range(2)},
}


def train(name: str) -> None:
    task, settings = MODELS[name]
    model = hl.train(task, **SETTINGS, **settings).model()
    hl.save(model, FOLDER / f"{name}.safetensors")
    print(name, hl.certify(model, samples=2_000), flush=True)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for one in sys.argv[1:] or [name for name in MODELS if not (FOLDER / f"{name}.safetensors").exists()]:
        train(one)
