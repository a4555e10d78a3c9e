"""The fair trial of docs/discover.md: does the transformer help? Four problems, five arms, six seeds.

python benchmarks/fair_trial.py                       # all trials that are not in the file yet
python benchmarks/fair_trial.py --only isosceles      # those of one problem
python benchmarks/fair_trial.py --longer 10           # each for ten times as long, in a file of its own
python benchmarks/fair_trial.py --table               # the table of the page

Every trial is added to docs/discover/fair-trial.json when it ends, so the script may be stopped at any time. Its time
is CPU time, so other programs may run beside it.
"""

import argparse
import json
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from handloom.discover.catalogue import problem_named
from handloom.discover.loop.compare import ARMS, Comparison, Trial, plan_of, trial
from handloom.discover.loop.setup import ignore

HERE = Path(__file__).resolve().parents[1]
SEEDS = 6
COMMON = {"learn": 300, "samples": 2000, "keep": 4000, "layers": 2, "width": 64}


@dataclass(frozen=True)
class Planned:
    """A problem of the trial: its seconds of two cores, and how it is searched by every arm."""

    problem: str
    seconds: float
    choices: dict[str, Any] = field(default_factory=dict)


EXAMPLES = HERE / "examples" / "spaces"
PLAN = {
    "autocorrelation": Planned(f"{EXAMPLES}/low_autocorrelation.py:n=60", 10, {"attempts": 1000, "steps": 1000}),
    "isosceles": Planned(
        "isosceles:n=48", 12, {"attempts": 400, "steps": 1000, "symmetry": "diagonals", "tokens": "orbits"}
    ),
    "code": Planned(f"{EXAMPLES}/hamming.py:n=7,d=3,q=3", 15, {"attempts": 300, "steps": 1000, "symmetry": "none"}),
    "permanent": Planned("permanent-312:n=11", 30, {"attempts": 40, "steps": 4000}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(PLAN))
    parser.add_argument("--longer", type=float, default=1.0, metavar="X")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    name = "fair-trial.json" if given.longer == 1.0 else f"fair-trial-{given.longer:g}.json"
    file = HERE / "docs" / "discover" / name
    names = [given.only] if given.only else list(PLAN)
    if given.table:
        print(table(json.loads(file.read_text())))
        return
    for name in names:
        run(name, PLAN[name].seconds * given.longer, file)


def run(name: str, seconds: float, file: Path) -> None:
    """The trials of a problem that the file has not yet, seed after seed, the arms in another order each time."""
    arms, planned = list(ARMS), PLAN[name]
    problem = problem_named(planned.problem)
    for seed in range(SEEDS):
        for arm in arms[seed % len(arms) :] + arms[: seed % len(arms)]:
            stored = json.loads(file.read_text()) if file.exists() else {}
            done = stored.setdefault(name, {"problem": str(problem), "seconds": seconds, "trials": []})
            if any((one["seed"], one["arm"]) == (seed, arm) for one in done["trials"]):
                continue
            made = trial(problem, plan_of(arm, seed, COMMON | planned.choices), seconds, ignore)
            done["trials"].append(asdict(made))
            file.write_text(json.dumps(stored, indent=1) + "\n")
            print(name, made, flush=True)


def comparison(stored: dict[str, Any]) -> Comparison:
    """Of the seeds for which all arms have run."""
    trials = [Trial(**one) for one in stored["trials"]]
    whole = [seed for seed in range(SEEDS) if sum(one.seed == seed for one in trials) == len(ARMS)]
    kept = sorted((one for one in trials if one.seed in whole), key=lambda one: (one.seed, list(ARMS).index(one.arm)))
    return Comparison(stored["problem"], stored["seconds"], tuple(kept), "autocorrelation" in stored["problem"])


def table(stored: dict[str, Any]) -> str:
    """The results as the page has them: a row per arm, with the mean and what the model's is above it."""
    found = [comparison(one) for one in stored.values()]
    head = ["arm", *(f"`{one.problem}`" for one in found)]
    rows = [[words, *(cell(one, arm) for one in found)] for arm, words in ARMS.items()]
    rows.append(["**does the model help?**", *("yes" if one.helps else "no" for one in found)])
    rows.append(["held-out loss, model and marginals, nats", *(losses(one) for one in found)])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def cell(one: Comparison, arm: str) -> str:
    """The mean of an arm; and by how much the model is better, with how often by chance."""
    mean = statistics.fmean(one.bests(arm))
    against = next((other for other in one.against if other.arm == arm), None)
    return (
        f"{mean:.1f}"
        if against is None
        else f"{mean:.1f} ({against.mean:+.1f}, {against.chance:.0%})".replace("-", "−")
    )


def losses(one: Comparison) -> str:
    both = [(trial.held_out, trial.marginals) for trial in one.trials if trial.held_out and trial.marginals]
    return " and ".join(f"{statistics.fmean(values):.1f}" for values in zip(*both, strict=True)) or "—"


if __name__ == "__main__":
    main()
