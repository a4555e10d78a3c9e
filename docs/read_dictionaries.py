"""Sparse autoencoders on written and compiled models: how many of the known directions do they find?

    nice -n 19 python docs/read_dictionaries.py        # about 8 minutes; writes the JSON, prints the table

Every model at the end of its stream, four recipes, three seeds each. A row of the table is the mean over the seeds.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import handloom as hl
from handloom.read import dictionary

FILE = Path(__file__).parent / "read" / "dictionaries.json"
WRITTEN = ("tiny-addition", "addition", "search", "sort", "multiplication", "unpadded-addition")
COMPILED = ("reverse", "induction", "histogram", "sort", "addition", "dyck-2")
MODELS = (*WRITTEN, *(f"compiled/{name}" for name in COMPILED))
RECIPES: tuple[dict[str, Any], ...] = (
    {"kind": "topk", "k": 2},
    {"kind": "topk", "k": 4},
    {"kind": "relu", "l1": 0.1},
    {"kind": "relu", "l1": 0.5},
)
SEEDS = (0, 1, 2)
SITE = "resid_final"
SHOWN = ("active", "dead", "explained", "recovered", "same", "matched", "chance", "components", "seconds")


def measured(name: str, recipe: dict[str, Any]) -> dict[str, Any]:
    model = hl.program(name)
    found = [dictionary(model, SITE, seed=seed, **recipe).to_json() for seed in SEEDS]
    means = {key: round(float(np.mean([one[key] for one in found])), 3) for key in SHOWN}
    each = [round(one["matched"], 3) for one in found]
    sizes = {"directions": len(found[0]["cosines"]), "width": model.config.d_model, "features": found[0]["features"]}
    return {"model": name, "recipe": recipe, **sizes, **means, "matched_by_seed": each}


def table(rows: list[dict[str, Any]]) -> str:
    head = "| model | directions in dimensions | recipe | active | dead | explained | recovered | same output "
    head += "| matched | random | components |"
    lines = [head, "| --- " * 11 + "|"]
    for row in rows:
        recipe = " ".join(str(value) if key == "kind" else f"{key}={value}" for key, value in row["recipe"].items())
        shares = [f"{row[key]:.0%}" for key in ("explained", "recovered", "same", "matched", "chance", "components")]
        sizes = [f"{row['directions']} in {row['width']}", recipe, f"{row['active']:.1f}", f"{row['dead']:.0f}"]
        lines.append(f"| {' | '.join([row['model'], *sizes, *shares])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    rows = [measured(name, recipe) for name in MODELS for recipe in RECIPES]
    FILE.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))
