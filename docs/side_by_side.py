"""Written, compiled and trained models of one task in the same views: sections of docs/compiled-and-trained.md.

    nice -n 19 python docs/side_by_side.py              # all, a few minutes; the models come from docs/read_models.py
    python docs/side_by_side.py --page                  # the page again, from docs/read/side-by-side.json

For each model: its size, whether it is right, its heads by name, and its true circuit. For each pair: which heads do
the same. And models that are trained further from written weights, at several rates: what is left of their circuits.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import handloom as hl
from handloom import read
from handloom.view.svg.circuit_graph import circuit_drawing
from handloom.view.svg.drawing import as_svg, beside

HERE = Path(__file__).parent
DATA, PAGE, MODELS = HERE / "read" / "side-by-side.json", HERE / "compiled-and-trained.md", HERE / "read" / "models"
TASKS = {  # task → models by name
    "induction": {
        "compiled": "compiled/induction:n=31,letters=10",
        **{f"trained, seed {seed}": f"induction-{seed}" for seed in range(5)},
        "trained, one layer": "induction-one-layer",
    },
    "sort": {
        "compiled": "compiled/sort:n=5,digits=4",
        **{f"trained, seed {seed}": f"sort-{seed}" for seed in range(2)},
    },
    "addition of two digits": {
        "written": "addition:digits=2",
        **{f"trained, seed {seed}": f"addition-{seed}" for seed in range(2)},
    },
    "addition modulo 10": {
        "written": "sum",
        "written, the book's": "book/sum",
        **{f"trained, seed {seed}": f"sum-{seed}" for seed in range(2)},
    },
}
FURTHER = ("compiled/induction:n=31,letters=10", "compiled/reverse", "compiled/sort:n=5,digits=4", "search")
RATES = (1e-6, 1e-5, 1e-4, 1e-3)
STEPS = 2_000
START, END = "<!-- side by side -->\n", "<!-- end of side by side -->"


def model_of(name: str) -> hl.Model:
    return hl.load(MODELS / f"{name}.safetensors") if (MODELS / f"{name}.safetensors").exists() else hl.program(name)


def facts(model: hl.Model) -> dict[str, Any]:
    certificate = hl.certify(model, samples=2_000)
    found = read.circuit(model)
    return {
        "parameters": hl.count(model).total,
        "right": 1 - certificate.wrong / certificate.inputs,
        "heads": {one.head: f"{one.name} {one.score:.2f}" for one in read.heads(model)},
        "edges": len(found.edges),
        "real": len(found.real),
        "kept": found.kept,
        "circuit": sorted(map(list, found.real)),
    }


def compared(models: dict[str, str]) -> dict[str, Any]:
    """Facts of each model, and which heads of the others do what the first one's do."""
    first = model_of(next(iter(models.values())))
    rows: dict[str, Any] = {}
    for name, one in models.items():
        model = model_of(one)
        rows[name] = facts(model)
        if len(rows) > 1:
            rows[name]["matches"] = read.match_heads(first, model).to_json()
        print(one, rows[name]["real"], rows[name]["right"], flush=True)
    return rows


def trained_further(name: str, rate: float) -> dict[str, Any]:
    """A program trained further: what is right, and how much of its circuit is left."""
    before = read.circuit(name)
    settings: dict[str, Any] = {"steps": STEPS, "every": STEPS, "samples": 100, "decay": 0.1, "seed": 0}
    model = hl.train(name, start=name, count=20_000, rate=rate, **settings).model()
    certificate, after = hl.certify(model, samples=2_000), read.circuit(model)
    print(name, rate, certificate, flush=True)
    return {
        "rate": rate,
        "right": 1 - certificate.wrong / certificate.inputs,
        "before": len(before.real),
        "after": len(after.real),
        "both": len(before.real & after.real),
        "kept": after.kept,
    }


def measure() -> dict[str, Any]:
    return {
        "models": {task: compared(models) for task, models in TASKS.items()},
        "further": {name: [trained_further(name, rate) for rate in RATES] for name in FURTHER},
    }


def tables(found: dict[str, Any]) -> str:
    lines = [
        "| task | model | parameters | right | circuit | kept | heads |",
        "| --- | --- | --: | --: | --: | --: | --- |",
    ]
    for task, models in found["models"].items():
        for i, (name, one) in enumerate(models.items()):
            heads = ", ".join(f"{head} {words}" for head, words in one["heads"].items())
            cells = (f"{one['parameters']:,}", f"{one['right']:.1%}", f"{one['real']} of {one['edges']}")
            lines.append(f"| {task if i == 0 else ''} | {name} | {' | '.join(cells)} | {one['kept']:.1%} | {heads} |")
    lines += ["", "| trained further | rate | right | real before | after | in both | kept |"]
    lines += ["| --- | --: | --: | --: | --: | --: | --: |"]
    for name, rows in found["further"].items():
        for i, one in enumerate(rows):
            numbers = f"{one['right']:.1%} | {one['before']} | {one['after']} | {one['both']} | {one['kept']:.1%}"
            lines.append(f"| {name if i == 0 else ''} | {one['rate']:g} | {numbers} |")
    return "\n".join(lines)


def pictures() -> None:
    """The circuit of search; those of induction, compiled and trained, side by side."""
    alone = as_svg(circuit_drawing(read.circuit("search")), "The circuit of search")
    (HERE / "read" / "search-circuit.svg").write_text(alone + "\n", "utf-8")
    drawings = [
        circuit_drawing(read.circuit(model_of(name))) for name in (TASKS["induction"]["compiled"], "induction-1")
    ]
    picture = as_svg(beside(*drawings), "Induction: the circuit of the compiled model, and of a trained one")
    (HERE / "read" / "induction-circuits.svg").write_text(picture + "\n", "utf-8")


def write_page(found: dict[str, Any]) -> None:
    text = PAGE.read_text("utf-8")
    PAGE.write_text(
        re.sub(f"{START}.*{END}", lambda _: f"{START}{tables(found)}\n{END}", text, flags=re.DOTALL), "utf-8"
    )


if __name__ == "__main__":
    if "--page" not in sys.argv:
        DATA.write_text(json.dumps(measure(), indent=0) + "\n", "utf-8")
        pictures()
    write_page(json.loads(DATA.read_text("utf-8")))
