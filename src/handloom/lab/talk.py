"""Named experiments: a claim, and a run that tests it.

    handloom learn wagner/13-22
    handloom learn wagner/rule-3 --steps 2000

These are the experiments of Wagner's talk "Transformers and Makemore" (2023), with his settings where he gives them:
makemore at its default size. docs/talk.md has the results.
"""

from dataclasses import dataclass
from typing import Any

from handloom.core import HandloomError
from handloom.learn.settings import with_width

SHORT, LONG = "length=30-40", "length=50-200"
SMALL = {"d_model": 24, "d_ff": 80}  # 27,000 parameters
LARGE = {"d_model": 88, "d_ff": 384}  # 400,000


@dataclass(frozen=True)
class Experiment:
    """A claim, its task, and the options of the run."""

    claim: str
    task: str
    choices: dict[str, Any]


def rule(text: str, claim: str) -> Experiment:
    return Experiment(claim, f"strings:rule={text},{LONG}", {"count": 100_000})


EXPERIMENTS = {
    "wagner/13-22": Experiment(
        "99.7 % after 15,000 steps, with no pattern in the heatmap; a pattern after more training, without decay too",
        f"strings:rule=s[13]==s[22],{SHORT}",
        {"count": 1000, "keep": 5000},
    ),
    "wagner/rule-1": rule("s[18]==s[47]", "99 % after 15,000 steps"),
    "wagner/rule-2": rule("s[18]==s[n-20]", "54 % after 15,000 steps, above 99 % after 150,000"),
    "wagner/rule-3": rule("s[-1]==s[-2]", "90 % after 15,000 steps, above 99 % after 150,000"),
    "wagner/rule-4": rule("s[18]==s[39] and s[31]==s[44] and s[4]==s[28]", "99 % after 15,000 steps"),
    "wagner/rule-5": rule(
        "s[18]==s[39] and s[31]==s[44] and s[4]==s[-28]", "51 % after 15,000 steps, above 99 % after 150,000"
    ),
    "wagner/one-two": Experiment(
        "positions after the 2 attend to it, those before it to nothing in particular", "one-two", {"count": 10_000}
    ),
    "wagner/two-twos": Experiment("the heatmap shows where the 2s are", "two-twos", {"count": 10_000}),
    "wagner/fibonacci-27k": Experiment(
        "27,000 parameters: looks vaguely like addition", "fibonacci", {"count": 100_000, **SMALL}
    ),
    "wagner/fibonacci-400k": Experiment(
        "400,000 parameters, one day: all correct", "fibonacci", {"count": 100_000, **LARGE}
    ),
    "wagner/fibonacci-exchanged": Experiment(
        "other symbols for the digits give the same result",
        "fibonacci:symbols=qwertyuiop;",
        {"count": 100_000, **SMALL},
    ),
    "wagner/mangled": Experiment("learned completely overnight", "mangled", {"count": 100_000, **LARGE}),
    "wagner/board": Experiment(
        "the heatmap shows the cells at distance 4 and 5, though nothing mentions a board",
        "grid",
        {"count": 100_000},
    ),
}


def look_up(name: str) -> Experiment | None:
    """The experiment of that name, None if the name is not one."""
    if name.startswith("wagner/") and name not in EXPERIMENTS:
        raise HandloomError(f"no experiment {name} (expected one of {', '.join(EXPERIMENTS)})")
    return EXPERIMENTS.get(name)


def run_of(name: str, choices: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """What a name of a task or an experiment stands for, with these options: the task, the options of its run, and what
    the run's folder says about the experiment."""
    if (experiment := look_up(name)) is None:
        return name, choices, {}
    about = {"experiment": name, "claim": experiment.claim}
    return experiment.task, experiment.choices | with_width(choices), about
