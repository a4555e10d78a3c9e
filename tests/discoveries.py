"""What tests of discovery share: the command, a small run, what its result promises, and made-up lines of a run."""

import json
import random
from collections import Counter

from command import handloom
from handloom.discover import verdict

FAST = {"attempts": 40, "steps": 500, "learn": 20, "samples": 20, "layers": 1, "width": 16}
OPTIONS = [word for name, value in FAST.items() for word in (f"--{name}", str(value))]
CYCLES = "four-cycle-free:n=12"  # its sets are listed: nothing of it needs to be compiled


def run_discover(*words):
    """`handloom discover` in the current folder: exit code, standard output, standard error."""
    done = handloom("discover", *words, cwd=".")
    return done.returncode, done.stdout, done.stderr


def stats(*scores):
    ordered = sorted(scores)
    fifth = ordered[-max(1, len(scores) // 5) :]
    found = {"count": len(scores), "mean": sum(scores) / len(scores), "median": ordered[len(scores) // 2]}
    found |= {"top_fifth": sum(fifth) / len(fifth), "max": ordered[-1]}
    return found | {"histogram": {str(score): count for score, count in Counter(scores).items()}}


def metrics(generations, model=True):
    """Lines as a run writes them."""
    rng = random.Random(generations)
    for g in range(generations):
        told = model and g > 0
        yield {
            "generation": g,
            "seconds": 2.5 * g + 1,
            "best": 7 + min(g, 3),
            "temperature": 1.0 if told else None,
            "loss": 1 / (g + 1) if told else None,
            "sampled": 40 if told else 0,
            "illegal": 0.25 if told else None,
            "duplicates": 0.5 if told else None,
            "before": stats(*(rng.randint(2, 8) for _ in range(30))) if told else None,
            "after": stats(*(rng.randint(5, 10) for _ in range(30))) if told else None,
            "searched": stats(*(rng.randint(4, 7) for _ in range(50))),
        }


def check_result(problem, result):
    """What --json promises, and that it is true."""
    assert {"best", "verified", "seconds", "construction"} <= set(result)
    assert result["verified"] is True
    assert verdict(problem, problem.space.read(result["construction"])) == (result["best"], None)


def generations_done(folder):
    path = folder / "state.json"
    return json.loads(path.read_text())["generation"] if path.exists() else 0
