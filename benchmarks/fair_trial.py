"""The fair trials of docs/discover/fair-trial.md: does the transformer help?

python benchmarks/fair_trial.py short                   # all of its runs that are not in its file yet
python benchmarks/fair_trial.py long --only isosceles   # those of one problem
python benchmarks/fair_trial.py long --table            # the table of the page

`short` has four problems and takes 10 to 30 s of two cores per run; `long` has four harder ones, an hour of two cores
each, and two more arms with the model. Every run is added to the trial's file in docs/discover when it ends, so the
script may be stopped at any time. Its time is CPU time, so other programs may run beside it.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from handloom.discover.catalogue import problem_named
from handloom.discover.loop.compare import ARMS, Comparison, Trial, plan_of, trial
from handloom.discover.loop.plan import MODEL_ITSELF
from handloom.discover.loop.setup import ignore

HERE = Path(__file__).resolve().parents[1]
EXAMPLES = HERE / "examples" / "spaces"
SEEDS = 6
COMMON = {"learn": 300, "samples": 2000, "keep": 4000, "layers": 2, "width": 64}
FURTHER = {  # arms with the model that are given more
    "images": ("with the model, 8 images of each construction", {"augment": 8}),
    "reward": ("with the model, 20 batches of reward", {"reward": 20}),
}


@dataclass(frozen=True)
class Planned:
    """A problem of a trial: the seconds of two cores per run, how every arm searches it, and the further arms."""

    problem: str
    seconds: float
    choices: dict[str, Any] = field(default_factory=dict)
    further: tuple[str, ...] = ()

    @property
    def arms(self) -> list[str]:
        return [*ARMS, *self.further]


TRIALS = {
    "short": {
        "autocorrelation": Planned(f"{EXAMPLES}/low_autocorrelation.py:n=60", 10, {"attempts": 1000, "steps": 1000}),
        "isosceles": Planned(
            "isosceles:n=48", 12, {"attempts": 400, "steps": 1000, "symmetry": "diagonals", "tokens": "orbits"}
        ),
        "code": Planned(f"{EXAMPLES}/hamming.py:n=7,d=3,q=3", 15, {"attempts": 300, "steps": 1000, "symmetry": "none"}),
        "permanent": Planned("permanent-312:n=11", 30, {"attempts": 40, "steps": 4000}),
    },
    "long": {
        "isosceles": Planned(
            "isosceles:n=40", 85, {"attempts": 300, "steps": 1000, "symmetry": "none"}, ("images", "reward")
        ),
        "code": Planned(
            f"{EXAMPLES}/hamming.py:n=6,d=3,q=4",
            85,
            {"attempts": 300, "steps": 1000, "symmetry": "none"},
            ("images", "reward"),
        ),
        "autocorrelation": Planned(
            f"{EXAMPLES}/low_autocorrelation.py:n=60", 100, {"attempts": 1000, "steps": 1000}, ("reward",)
        ),
        "permanent": Planned("permanent-312:n=12", 85, {"attempts": 20, "steps": 4000}, ("images", "reward")),
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trial", choices=list(TRIALS))
    parser.add_argument("--only", choices=sorted({name for plan in TRIALS.values() for name in plan}))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    plan, file = TRIALS[given.trial], file_of(given.trial)
    if given.table:
        print(table(plan, json.loads(file.read_text())))
        return
    for name in [given.only] if given.only else plan:
        run(name, plan[name], file)


def file_of(name: str) -> Path:
    return HERE / "docs" / "discover" / ("fair-trial.json" if name == "short" else f"fair-trial-{name}.json")


def run(name: str, planned: Planned, file: Path) -> None:
    """The runs of a problem that the file has not yet, seed after seed, the arms in another order each time."""
    problem, arms = problem_named(planned.problem), planned.arms
    for seed in range(SEEDS):
        for arm in arms[seed % len(arms) :] + arms[: seed % len(arms)]:
            stored = json.loads(file.read_text()) if file.exists() else {}
            done = stored.setdefault(name, {"problem": str(problem), "seconds": planned.seconds, "trials": []})
            if any((one["seed"], one["arm"]) == (seed, arm) for one in done["trials"]):
                continue
            base, more = (MODEL_ITSELF, FURTHER[arm][1]) if arm in FURTHER else (arm, {})
            made = trial(problem, plan_of(base, seed, COMMON | planned.choices | more), planned.seconds, ignore)
            done["trials"].append(asdict(replace(made, arm=arm)))
            file.write_text(json.dumps(stored, indent=1) + "\n")
            print(name, arm, made, flush=True)


def comparison(planned: Planned, stored: dict[str, Any], model: str = MODEL_ITSELF) -> Comparison:
    """Of an arm with the model and those without, of the seeds for which all arms have run."""
    trials = [Trial(**one) for one in stored["trials"]]
    whole = [seed for seed in range(SEEDS) if sum(one.seed == seed for one in trials) == len(planned.arms)]
    nulls = [arm for arm in ARMS if arm != MODEL_ITSELF]
    kept = [replace(one, arm=MODEL_ITSELF) for one in trials if one.arm == model and one.seed in whole]
    kept += [one for one in trials if one.arm in nulls and one.seed in whole]
    kept.sort(key=lambda one: (one.seed, list(ARMS).index(one.arm)))
    return Comparison(stored["problem"], stored["seconds"], tuple(kept), problem_named(planned.problem).minimise)


def table(plan: dict[str, Planned], stored: dict[str, Any]) -> str:
    """The results as the page has them: a row per arm, a column per problem."""
    found = {name: comparison(plan[name], one) for name, one in stored.items()}
    rows = [["arm", *(f"`{one.problem}`" for one in found.values())], ["---"] * (len(found) + 1)]
    rows += [[words, *(cell(one, arm) for one in found.values())] for arm, words in ARMS.items()]
    for arm in FURTHER:
        if any(arm in plan[name].further for name in found):
            rows.append([FURTHER[arm][0], *(further_cell(plan[name], stored[name], arm) for name in found)])
    rows.append(["**does the model help?**", *(answer(plan[name], stored[name]) for name in found)])
    rows.append(["held-out loss, model and marginals, nats", *(losses(one) for one in found.values())])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cell(one: Comparison, arm: str) -> str:
    """The mean of an arm; and by how much the model is better, with how often by chance."""
    mean = statistics.fmean(one.bests(arm))
    against = next((other for other in one.against if other.arm == arm), None)
    return (
        f"{mean:.1f}"
        if against is None
        else f"{mean:.1f} ({against.mean:+.1f}, {against.chance:.0%})".replace("-", "−")
    )


def further_cell(planned: Planned, stored: dict[str, Any], arm: str) -> str:
    """The mean of a further arm, and the largest probability by chance of its differences from those without the
    model, which decides."""
    if arm not in planned.further:
        return "—"
    one = comparison(planned, stored, arm)
    return f"{statistics.fmean(one.bests(MODEL_ITSELF)):.1f} ({max(other.chance for other in one.against):.0%})"


def answer(planned: Planned, stored: dict[str, Any]) -> str:
    """Whether the model helps, by itself or as a further arm has it."""
    helping = helped(planned, stored)
    return f"yes ({', '.join(helping)})" if helping else "no"


def helped(planned: Planned, stored: dict[str, Any]) -> Sequence[str]:
    """The arms with the model that are better than all arms without."""
    return [arm for arm in (MODEL_ITSELF, *planned.further) if comparison(planned, stored, arm).helps]


def losses(one: Comparison) -> str:
    both = [(trial.held_out, trial.marginals) for trial in one.trials if trial.held_out and trial.marginals]
    return " and ".join(f"{statistics.fmean(values):.1f}" for values in zip(*both, strict=True)) or "—"


if __name__ == "__main__":
    main()
