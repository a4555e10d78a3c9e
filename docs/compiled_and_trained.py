"""Three tasks, each computed by a compiled model and learned by trained ones: docs/compiled-and-trained.md has them.

    nice -n 19 python docs/compiled_and_trained.py            # all, about 8 minutes on two cores
    nice -n 19 python docs/compiled_and_trained.py reverse    # one task; the others stay as they are

A model is trained twice over: in the shape of the compiled one, and in a usual shape (2 layers of 4 heads, 64 wide).
Of each there are three, from seeds 0, 1 and 2. All are run on the same inputs as the compiled model. Results, with the
attention patterns on one input, go into docs/language/compiled-and-trained.json, from which the pictures are drawn.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import handloom as hl
from handloom.core import trace

FILE = Path(__file__).parent / "language" / "compiled-and-trained.json"
TASKS = {  # name → the task, what is run to its end and shown, and how many strings are drawn to train on
    "reverse": ("compiled/reverse:n=5,letters=4", "abcd>", 10_000),
    "sort": ("compiled/sort:n=5,digits=4", "3021>", 10_000),
    "induction": ("compiled/induction:n=31,letters=10", "abcdefgcad", 100_000),
}
SEEDS = (0, 1, 2)
SAMPLES = 20_000  # inputs, where there are too many to run all
USUAL = {"layers": 2, "heads": 4, "d_model": 64}
SHAPE = ("layers", "heads", "d_model", "d_head", "d_ff", "activation", "biases", "tied")
SCHEDULE: dict[str, Any] = {"schedule": "cosine", "warmup": 500, "every": 1_000, "samples": 200}
SETTINGS = {
    "same shape": {"steps": 60_000, "rate": 3e-3, "decay": 0.0} | SCHEDULE,
    "usual shape": {"steps": 20_000, "rate": 1e-3} | SCHEDULE,
}


def measured(model: hl.Model, task: str) -> dict[str, Any]:
    """Its sizes, and the certificate on all inputs, or on a sample of them."""
    few = (hl.task(task).count or SAMPLES + 1) <= SAMPLES
    certificate = hl.certify(model, task, **({"everything": True} if few else {"samples": SAMPLES}))
    return {
        "parameters": hl.count(model).total,
        "nonzero": hl.count(model).nonzero,
        "shape": [getattr(model.config, key) for key in ("layers", "d_model", "heads", "d_head", "d_ff")],
        "certificate": certificate.to_json(),
        "told": str(certificate),
    }


def patterns(model: hl.Model, text: str, answer: str) -> dict[str, Any]:
    """What is at each position, and every head's pattern there, to three digits."""
    ids = model.vocab.encode(text + answer)
    seen = trace(model, ids, want="*.pattern")
    layers = [np.round(np.asarray(seen[f"{i}.pattern"], float), 3).tolist() for i in range(model.config.layers)]
    return {"tokens": [model.vocab.tokens[i] for i in ids], "layers": layers}


def trained(task: str, shape: dict[str, Any], settings: dict[str, Any], count: int, seed: int) -> tuple[hl.Model, Any]:
    begin = perf_counter()
    curve: list[tuple[int, float]] = []

    def watch(report: Any) -> None:
        if report.evaluation is not None:
            curve.append((report.step, round(report.evaluation.success, 4)))

    training = hl.train(task, count=count, seed=seed, watch=watch, **settings, **shape)
    about = {"seed": seed, "steps": training.where.step, "seconds": round(perf_counter() - begin, 1)}
    return training.model(), about | {"data": str(training.data), "curve": curve}


def side_by_side(name: str) -> dict[str, Any]:
    task, text, count = TASKS[name]
    begin = perf_counter()
    model = hl.program(task)
    seconds = round(perf_counter() - begin, 2)
    answer = model(text)
    found: dict[str, Any] = {"task": task, "text": text, "answer": answer, "models": {}}
    shown = answer if name != "induction" else ""  # one token, which is not fed back
    found["models"]["compiled"] = [measured(model, task) | {"seconds": seconds} | patterns(model, text, shown)]
    config = asdict(model.config)
    shapes = {"same shape": {key: config[key] for key in SHAPE}, "usual shape": USUAL}
    for kind, shape in shapes.items():
        runs = found["models"][kind] = []
        for seed in SEEDS:
            learned, about = trained(task, shape, SETTINGS[kind], count, seed)
            runs.append(about | measured(learned, task) | patterns(learned, text, shown))
            print(name, kind, {key: about[key] for key in ("seed", "steps", "seconds")}, runs[-1]["told"], flush=True)
    return found


if __name__ == "__main__":
    for name in sys.argv[1:] or TASKS:
        results = json.loads(FILE.read_text()) if FILE.exists() else {}
        results[name] = side_by_side(name)
        FILE.write_text(
            json.dumps({key: results[key] for key in TASKS if key in results}, separators=(",", ":")) + "\n"
        )
