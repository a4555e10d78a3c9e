"""The table of docs/read.md: methods that look for circuits, scored against the truth.

    nice -n 19 python docs/read_scores.py               # all models and methods; rewrites the table in docs/read.md
    python docs/read_scores.py --page                   # the table again, from docs/read/scores.json

Written and compiled programs are by name, trained models from docs/read/models/ (read_models.py makes them), and
disguises are made here: `hl.transforms.disguise` for compiled models; the others turned, reordered or padded.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import handloom as hl
from handloom.read.finders import METHODS
from handloom.read.truth_scores import score_methods

HERE = Path(__file__).parent
DATA, PAGE, MODELS = HERE / "read" / "scores.json", HERE / "read.md", HERE / "read" / "models"
WRITTEN = (
    "min",
    "sum",
    "tiny-addition",
    "search",
    "lookup",
    "modular-sum",
    "addition:digits=2",
    "exercise/search-lean",
)
COMPILED = (
    *("reverse", "copy", "shift", "induction:n=15,letters=5", "2-hop:n=12,letters=4", "histogram:n=4,letters=3"),
    *("sort:n=5,digits=4", "most-frequent:n=5,letters=3", "parity:n=8", "dyck-1:n=8", "addition:digits=2"),
)
TRAINED = (*(f"induction-{seed}" for seed in range(5)), "sort-0", "sort-1", "addition-0", "addition-1")
DISGUISED = ("compiled/reverse", "compiled/induction:n=15,letters=5", "compiled/sort:n=5,digits=4")
START, END = "<!-- scores -->\n", "<!-- end of scores -->"
COLUMNS = ("exact", "acdc", "eap", "eap-ig", "weights", "shares", "flow")


def groups() -> dict[str, dict[str, Any]]:
    """Models by kind and name."""
    search = hl.program("search")
    turned = hl.transforms.rotate(
        hl.transforms.layer_to_rms(search), hl.transforms.random_rotation(search.config.d_model, seed=0)
    )
    disguises = {f"{name}, disguised": hl.transforms.disguise(hl.program(name), seed=0) for name in DISGUISED}
    return {
        "written": {name: name for name in WRITTEN},
        "compiled": {f"compiled/{name}": f"compiled/{name}" for name in COMPILED},
        "trained": {name: str(MODELS / f"{name}.safetensors") for name in TRAINED},
        "disguised": {"search, turned": turned, **disguises},
    }


def measure() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for kind, models in groups().items():
        for name, model in models.items():
            table = score_methods(list(METHODS), {name: model}, pairs=256)
            print(kind, str(table).splitlines()[1], flush=True)
            rows += [{"kind": kind, **row} for row in table.to_json()]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """AUROC of every model and method, the means, and the other measures."""
    lines = [
        f"| model | edges | real | {' | '.join(COLUMNS)} |",
        f"| --- | --: | --: | {' | '.join(['--:'] * len(COLUMNS))} |",
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        for name in dict.fromkeys(row["model"] for row in own):
            found = {row["method"]: row for row in own if row["model"] == name}
            first = next(iter(found.values()))
            mark = "" if first["certified"] else " *"
            cells = [f"{found[method]['auroc']:.2f}" for method in COLUMNS]
            lines.append(f"| {name}{mark} | {first['edges']} | {first['real']} | {' | '.join(cells)} |")
        lines.append(f"| **mean, {kind}** | | | {' | '.join(f'**{mean(own, m):.3f}**' for m in COLUMNS)} |")
    return "\n".join(lines)


def others(rows: list[dict[str, Any]]) -> str:
    """Means over all models of what else is measured."""
    names = {"average_precision": "average precision", "precision": "precision at k", "cpr": "CPR", "cmd": "CMD"}
    lines = [f"| mean of all | {' | '.join(COLUMNS)} |", f"| --- | {' | '.join(['--:'] * len(COLUMNS))} |"]
    for key, name in names.items():
        lines.append(f"| {name} | {' | '.join(f'{mean(rows, method, key):.2f}' for method in COLUMNS)} |")
    seconds = " | ".join(f"{mean(rows, method, 'seconds'):.2g}" for method in COLUMNS)
    return "\n".join([*lines, f"| seconds | {seconds} |"])


def mean(rows: list[dict[str, Any]], method: str, key: str = "auroc") -> float:
    return float(np.nanmean([row[key] for row in rows if row["method"] == method]))


def write_page(rows: list[dict[str, Any]]) -> None:
    text = PAGE.read_text("utf-8")
    new = f"{START}{table(rows)}\n\n{others(rows)}\n{END}"
    PAGE.write_text(re.sub(f"{START}.*{END}", lambda _: new, text, flags=re.DOTALL), "utf-8")


if __name__ == "__main__":
    if "--page" not in sys.argv:
        DATA.write_text(json.dumps(measure(), indent=0) + "\n", "utf-8")
    write_page(json.loads(DATA.read_text("utf-8")))
