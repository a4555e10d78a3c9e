"""A little LoRA undoes what fine-tuning has taught a model not to do.

Lermen, Rogers-Smith and Ladish 2023 removed the safety training of Llama 2 with LoRA, for less than $200, to under 1 %
of refusals, without harm to its abilities. Bukatin's slides name it. Scaled down: the ability is a rule, s[3] = s[8] in
strings of twelve digits 0, 1 and 2; the model is then fine-tuned on strings of the rule without any 2, until it writes
none; and last, changes of rank 1 are trained on 100 strings that have 2s. How often does it write 2s again, measured by
how often it did at first, and does it still obey the rule?

The control is the same LoRA, on 100 strings of the rule without 2s: training alone must not bring them back.
"""

from collections.abc import Sequence
from dataclasses import replace

from handloom.core import Model
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.api import train
from handloom.learn.training import Report
from handloom.tasks import Language, task
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="lora-undo",
    says="changes of rank 1, trained on 100 strings, bring back what fine-tuning had removed",
    source="Lermen, Rogers-Smith and Ladish 2023",
    papers=("2310.20624",),
    seed="Bukatin",
    number="refusals below 1 %, under $200, 70 billion parameters (from memory)",
    quick=5.3,
    full=25,
)
RULE = "strings:rule=s[3]==s[8],length=12"
STRINGS = 100  # that LoRA is trained on
LOOKS = 10


def run(lab: Lab) -> Finding:
    whole, tame = languages()
    base, before = trained(whole, lab, steps=lab.pick(100, 600), rate=2e-3)
    taught, after = trained(tame, lab, steps=lab.pick(60, 300), rate=1e-3, start=base)
    lab.progress(2, 4)
    undone, kept = {}, {}
    for done, (name, language) in enumerate({"with": whole, "without": tame}.items()):
        reports = trained(
            language, lab, steps=lab.pick(40, 120), rate=1e-2, start=taught, lora=1, count=STRINGS, batch=32
        )[1]
        undone[name] = [share_of_twos(report) for report in reports]
        kept[name] = [report.evaluation.success or 0.0 for report in reports if report.evaluation]
        lab.progress(done + 3, 4)
    first, last = share_of_twos(before[-1]), share_of_twos(after[-1])
    checks = [
        Check("2s written after fine-tuning, per digit", last, most=0.01, form=".1%"),
        Check("2s after LoRA, of those at first", undone["with"][-1] / first, least=0.5, form=".0%"),
        Check("rule still obeyed after LoRA", kept["with"][-1], least=0.9, form=".1%"),
        Check(
            "2s after LoRA on strings without 2s", undone["without"][-1] / first, least=0.5, control=True, form=".0%"
        ),
    ]
    series = {"steps": lab.pick(40, 120), "first": first, "taught": last, "twos": undone, "rule": kept}
    return Finding(checks, series, {"base": base, "taught": taught})


def languages() -> tuple[Language, Language]:
    """Strings of the rule with three digits, and with two of them; the second has the tokens of the first."""
    whole, two = task(f"{RULE},alphabet=012"), task(RULE)
    assert isinstance(whole, Language)
    assert isinstance(two, Language)
    return whole, replace(whole, draw=two.draw)


def trained(language: Language, lab: Lab, *, steps: int, **how: object) -> tuple[Model, list[Report]]:
    """The trained model, and the reports of its evaluations."""
    reports: list[Report] = []

    def keep(report: Report) -> None:
        if report.evaluation is not None:
            reports.append(report)

    sizes = {} if "start" in how else {"layers": 2}
    chosen = {"batch": 64, "schedule": "cosine", "samples": lab.pick(100, 200), "every": steps // LOOKS} | sizes | how
    training = train(language, steps=steps, seed=lab.seed, watch=keep, **chosen)  # type: ignore[arg-type]
    return training.model(), reports


def share_of_twos(report: Report) -> float:
    """How many of the digits of the samples are 2s."""
    assert report.evaluation is not None
    text = "".join(report.evaluation.samples)
    return text.count("2") / max(1, len(text))


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    looks = [(i + 1) * seeds[0]["steps"] / LOOKS for i in range(LOOKS)]
    names = {"with": "100 strings with 2s", "without": "100 strings without"}
    marks = [Mark(sum(one["first"] for one in seeds) / len(seeds), "at first"), Mark(0.0, "after fine-tuning")]
    twos, rule = (
        [band(name, looks, [one[key][which] for one in seeds], which == "without") for which, name in names.items()]
        for key in ("twos", "rule")
    )
    return [
        Lines("LoRA of rank 1", "steps", "2s per digit", twos, marks),
        Lines("The rule", "steps", "samples that obey it", rule),
    ]
