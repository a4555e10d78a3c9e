"""Sparse autoencoders on written and compiled models: how many of the known directions do they find?

    nice -n 19 python docs/read_dictionaries.py        # about 8 minutes; writes the JSON, prints the table

Every model in front of its last layer, where most of its numbers stand; four recipes, three seeds each. A row of the
table is the mean over the seeds.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import handloom as hl
from handloom.read import dictionary

FILE = Path(__file__).parent / "read" / "dictionaries.json"
WRITTEN = ("addition", "search", "sort", "multiplication", "unpadded-addition", "exercise/sort-digits")
COMPILED = ("reverse", "induction", "histogram", "sort", "addition", "dyck-2")
MODELS = (*WRITTEN, *(f"compiled/{name}" for name in COMPILED))
RECIPES: tuple[dict[str, Any], ...] = (
    {"kind": "topk", "k": 2},
    {"kind": "topk", "k": 4},
    {"kind": "relu", "l1": 0.1},
    {"kind": "relu", "l1": 0.5},
)
SEEDS = (0, 1, 2)
HEAD = "| model | directions in dimensions | recipe | active | dead | explained | recovered | same output | matched "
HEAD += "| random | components |"
SHOWN = ("active", "dead", "explained", "recovered", "same", "matched", "chance", "components", "seconds")


def measured(name: str, recipe: dict[str, Any]) -> dict[str, Any]:
    model = hl.program(name)
    site = f"{model.config.layers - 1}.resid_pre"
    found = [dictionary(model, site, seed=seed, **recipe).to_json() for seed in SEEDS]
    means = {key: round(float(np.mean([one[key] for one in found])), 3) for key in SHOWN}
    each = [round(one["matched"], 3) for one in found]
    sizes = {"directions": len(found[0]["cosines"]), "width": model.config.d_model, "features": found[0]["features"]}
    return {"model": name, "site": site, "recipe": recipe, **sizes, **means, "matched_by_seed": each}


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    recipe = " ".join(str(value) if key == "kind" else f"{key}={value}" for key, value in row["recipe"].items())
    shares = [f"{row[key]:.0%}" for key in ("explained", "recovered", "same", "matched", "chance", "components")]
    sizes = [f"{row['directions']} in {row['width']}", recipe, f"{row['active']:.1f}", f"{row['dead']:.0f}"]
    return f"| {' | '.join([row['model'], *sizes, *shares])} |"


if __name__ == "__main__":
    print(HEAD, "| --- " * HEAD.count(" | ") + "| --- |", sep="\n", flush=True)
    rows = []
    for name in MODELS:
        for recipe in RECIPES:
            rows.append(measured(name, recipe))
            print(line(rows[-1]), flush=True)
    FILE.write_text(json.dumps(rows, indent=1) + "\n")
