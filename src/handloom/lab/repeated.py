"""Claims whose experiments take hours, and so have been run once: the verdicts on Wagner's talk, from stored curves.

    rows = repeated_rows(Path("docs"))

Each is a command, `handloom learn wagner/rule-2`, whose curve is in docs/talk; docs/talk.md tells what was seen. Where
a claim is about a heatmap, docs/talk/measured.json has what the models of these runs show. The rule of the
verdict is that of all experiments, with one seed. The control is strings of the task with random digits in place of
theirs, which the rule must not call right as often as the claim has it. A claim about more steps than were run is open.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from handloom.lab.experiment import Check, Finding, found_in_words, results_of, verdict_of
from handloom.lab.talk import EXPERIMENTS
from handloom.tasks import task

SOURCE = "Wagner, Transformers and Makemore, 2023"
TRIED = 300  # strings of the control


@dataclass(frozen=True)
class Stored:
    """A part of a claim: the share of right samples after so many steps of a stored curve, and its bounds."""

    curve: str
    steps: int
    least: float | None = None
    most: float | None = None
    said: float | None = None


@dataclass(frozen=True)
class Seen:
    """A part of a claim without a number, mostly about a heatmap: a share of docs/talk/measured.json, as a multiple of
    another one if given, and the least that would show it, which is ours."""

    name: str
    share: str = "found"
    by: str | None = "even"
    least: float = 2.0


CLEARER = 1.1  # times the attention, at least, if a pattern becomes clearer


LONG = 150_000
SEEN: dict[str, tuple[Seen, ...]] = {
    "wagner/13-22": (
        Seen(
            "attention from digit 22 to 13 after 45,000 steps, times that after 15,000",
            "after 45,000 steps",
            "after 15,000 steps",
            CLEARER,
        ),
        Seen(
            "the same without decay",
            "without decay, after 45,000 steps",
            "without decay, after 15,000 steps",
            CLEARER,
        ),
    ),
    "wagner/one-two": (Seen("attention to the 2 after it, least of the heads of layer 0, times an even share"),),
    "wagner/two-twos": (Seen("attention to the 2s after both, head 2 of layer 1, times an even share"),),
    "wagner/board": (Seen("attention to distances 4 and 5, head 2 of layer 1, times an even share"),),
    "wagner/fibonacci-27k": (Seen("terms within 5 % of the sum of the two before", by=None, least=0.5),),
}
CLAIMS: dict[str, tuple[Stored, ...]] = {
    "wagner/13-22": (
        Stored("13-22", 15_000, least=0.99, said=0.997),
        Stored("13-22-decay-0", 15_000, least=0.99, said=0.997),
    ),
    "wagner/rule-1": (Stored("rule-1", 15_000, least=0.985, said=0.99),),
    "wagner/rule-2": (
        Stored("rule-2", 15_000, least=0.49, most=0.59, said=0.54),
        Stored("rule-2-steps-90000", LONG, least=0.99, said=0.99),
    ),
    "wagner/rule-3": (
        Stored("rule-3", 15_000, least=0.85, most=0.95, said=0.90),
        Stored("rule-3-steps-30000", 30_000, least=0.99, said=0.99),
    ),
    "wagner/rule-4": (Stored("rule-4", 15_000, least=0.985, said=0.99),),
    "wagner/rule-5": (
        Stored("rule-5", 15_000, least=0.46, most=0.56, said=0.51),
        Stored("rule-5-steps-45000", LONG, least=0.99, said=0.99),
    ),
    "wagner/one-two": (Stored("one-two", 8_000, least=0.99),),
    "wagner/two-twos": (Stored("two-twos", 5_000, least=0.99),),
    "wagner/board": (Stored("board", 5_000, least=0.95),),
    "wagner/fibonacci-27k": (Stored("fibonacci-27k", 6_000, most=0.05),),
    "wagner/fibonacci-400k": (Stored("fibonacci-400k", LONG, least=0.99, said=1.0),),
    "wagner/mangled": (Stored("mangled-steps-150000", LONG, least=0.99, said=1.0),),
}


def repeated_rows(docs: Path) -> Iterator[dict[str, Any]]:
    """The rows of the table, from the curves in docs/talk and the samples in docs/discover."""
    for name, parts in CLAIMS.items():
        lines = {part.curve: curve(docs / "talk" / f"{part.curve}.jsonl") for part in parts}
        checks = [*seen_checks(name, docs), *(check_of(part, lines[part.curve]) for part in parts)]
        seconds = sum(found[-1]["seconds"] for found in lines.values() if found)
        says = f"trained on {EXPERIMENTS[name].task}: {EXPERIMENTS[name].claim}"
        row = row_of(name, says, EXPERIMENTS[name].claim, [*checks, control_of(name, checks[-1], docs)], seconds)
        yield row | {"found": row["found"] + so_far(lines)}
    yield exchanged_row()
    yield isosceles_row(docs / "discover")


def row_of(name: str, says: str, said: str, checks: list[Check], seconds: float) -> dict[str, Any]:
    """A row of the table: one seed, and the verdict by the rule of all experiments."""
    finding = Finding(checks)
    results = results_of([finding])
    return {
        "name": name,
        "group": "repeated",
        "claim": says,
        "source": SOURCE,
        "papers": [],
        "seed": "Wagner",
        "said": said,
        "found": found_in_words([(one.name, one.found) for one in results if not one.control]),
        "verdict": verdict_of([finding]),
        "seconds": round(seconds),
        "checks": [
            {key: getattr(one, key) for key in ("name", "found", "bounds", "control", "good", "open")}
            for one in results
        ],
    }


def exchanged_row() -> dict[str, Any]:
    """Other symbols for the digits: the same numbers of tokens, so the same run, bit for bit."""
    name = "wagner/fibonacci-exchanged"
    checks = [
        Check("strings that become others, as numbers of tokens", differing(EXPERIMENTS[name].task), most=0.0),
        Check("mangled strings that do", differing("mangled"), most=0.0, control=True),
    ]
    return row_of(name, EXPERIMENTS[name].claim, EXPERIMENTS[name].claim, checks, 0)


def differing(other: str) -> float:
    """The share of strings that this task and fibonacci draw differently from one seed."""
    drawn = []
    for name in ("fibonacci", other):
        made, rng = task(name), np.random.default_rng(0)
        drawn.append([made.pair(rng) for _ in range(TRIED)])
    return float(np.mean([one != two for one, two in zip(*drawn, strict=True)]))


def isosceles_row(folder: Path) -> dict[str, Any]:
    """The largest legal part of a generated string, over all runs; docs/discover/wagner.md tells what was done."""
    best = best_generated(folder)
    checks = [
        Check("best of the generated", best["alone"], least=24, said=24, form=".0f"),
        Check("best with smaller n added", best["with smaller"], least=25, said=25, form=".0f"),
        Check("best of random points", best["random"], least=24, control=True, form=".0f"),
    ]
    says = "trained on attempts at isosceles:n=16 of up to 23 points, a transformer generates better ones"
    seconds = sum(run["training_seconds"] for run in isosceles_runs(folder))
    return row_of("isosceles", says, "24 points after 23; 25 with smaller n added", checks, seconds)


def isosceles_runs(folder: Path) -> list[dict[str, Any]]:
    return [run for name in ("wagner", "wagner-100k") for run in json.loads((folder / f"{name}.json").read_text())]


def best_generated(folder: Path) -> dict[str, float]:
    """The most points that were legal, in strings of models trained without and with smaller n, and in random ones."""
    runs = isosceles_runs(folder)
    best = {
        name: max(run["sampled"]["scores"]["max"] for run in runs if run["settings"]["with_smaller"] is smaller)
        for name, smaller in (("alone", False), ("with smaller", True))
    }
    return best | {"random": max(run["by_chance"]["max"] for run in runs)}


def curve(path: Path) -> list[dict[str, Any]]:
    """The lines of a stored curve; none if it has not been run."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def check_of(part: Stored, lines: Sequence[Mapping[str, Any]]) -> Check:
    """The share of right samples at that step; no value if the curve does not reach it."""
    at = {line["step"]: line["success"] for line in lines}
    name = f"right after {part.steps:,} steps{' without decay' if 'decay-0' in part.curve else ''}"
    return Check(name, at.get(part.steps), part.least, part.most, part.said, form=".1%")


def seen_checks(name: str, docs: Path) -> Iterator[Check]:
    """What the models show, where a claim has no number."""
    shares = json.loads((docs / "talk" / "measured.json").read_text("utf-8")).get(name, {})
    for part in SEEN.get(name, ()):
        yield Check(part.name, shares[part.share] / shares.get(part.by, 1.0), least=part.least, form=".2f")


def so_far(curves: Mapping[str, list[dict[str, Any]]]) -> str:
    """The end of the longest curve."""
    last = max((lines[-1] for lines in curves.values() if lines), key=lambda line: line["step"])
    return f" (the longest run: {last['success']:.1%} after {last['step']:,})".replace("%", " %")


def control_of(name: str, check: Check, docs: Path) -> Check:
    """Where the claim must fail: random digits; or, where few are said to be right, the larger model."""
    if check.least is None:
        larger = curve(docs / "talk" / "fibonacci-400k.jsonl")[-1]["success"]
        return Check("right with 400,000 parameters", larger, most=check.most, control=True, form=".1%")
    return Check("right with random digits", by_chance(name), least=check.least, control=True, form=".1%")


def by_chance(name: str) -> float:
    """The share of strings of the task's lengths and tokens, otherwise at random, that the task calls right."""
    made, rng = task(EXPERIMENTS[name].task), np.random.default_rng(0)
    drawn = [made.pair(rng) for _ in range(TRIED)]
    alphabet = sorted({token for _, answer in drawn for token in answer[:-1]})
    right = 0
    for question, answer in drawn:
        body = rng.choice(alphabet, len(answer) - 1).tolist()
        right += made.verdict(question, [*body, answer[-1]]) == "right"
    return right / TRIED
