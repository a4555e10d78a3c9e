"""The lab on paper: docs/lab.md from the table, and a page of one or several conclusions."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from handloom.lab.experiment import Conclusion
from handloom.lab.table import TITLES, picture_name, summary
from handloom.view.figures.panels import Panel, panels_file
from handloom.view.pages.skeleton import line, skeleton, table

INTRODUCTION = """\
Four sets of slides and a book, from which this project began, name these claims about transformers and about learning.
Each that can be tested is an experiment here that can fail: `handloom lab` lists them, `handloom lab NAME` runs one in
seconds, with `--full` in minutes. The bounds of a check stand in the experiment's file before it runs. Some sizes,
controls and checks were changed after a pilot or a first run; the file says which. The verdict follows from the bounds
by rule, over three seeds or more; over one seed for the long runs under *Repeated*. *Holds*: every check is within its
bounds with every seed. *Holds in part*: some are. *Does not hold*: none is. *Says nothing*: a control, a set-up in
which the claim must fail, passes as well. *Open*: a check could not be made in the time it had.

Sizes are scaled down to what two cores do in minutes, so a claim that fails here fails at this size, and the
experiment's file says what was scaled. Times are CPU seconds, all seeds together. This page is written by
`make lab-table` from the records in `docs/lab/`.
"""

ERRATA = """\
## Errata of the slides

Found by running them:

- Bukatin prints least-squares attention as Q[KKᵀ + αI]⁻¹KᵀV. With tokens as rows that does not multiply, unless there
  are as many tokens as dimensions, and then it is another function; it must be KᵀK (`intention-limit`).
- Mehlig exchanges a double sum of temporal differences and prints the inner sum from t = τ to T − 1. It must run from 0
  to τ (`td`).
- Mehlig has TD(0) correspond to O(s) ← O(s) + η δ. With the linear O of his slides the output changes by η δ |s|², so
  the two are equal for states of length 1, as those of a table are, and differ for others (`td`).
- Mehlig calls Q-learning an approximation to SARSA. Where both explore, SARSA is the one that falls short: its values
  are those of a player who errs now and then, and after 60,000 games of tic-tac-toe it still loses endings, where
  Q-learning loses none (`tic-tac-toe`).
- The gated recurrent unit on Mehlig's slides is Cho's, with the reset gate inside the matrix product; PyTorch's `GRU`
  has it outside (`vanishing` uses the slides' one where it clamps a gate).
- The book's figure 7.9 has a random rotation above 0.99 from about 10 dimensions on; of the sizes tried, 28 is the
  first that does (`encodings`). The book's other errata are in [their own list](book/errata.md).
"""


def markdown(rows: Sequence[dict[str, Any]], records: Path) -> str:
    """docs/lab.md."""
    parts = ["# What the literature claims", fill(summary(list(rows)), 120), INTRODUCTION, overview_table(rows)]
    for group, title in TITLES.items():
        mine = [row for row in rows if row["group"] == group]
        if mine:
            parts += [f"## {title}", *(part for row in mine for part in section(row, records))]
    return "\n\n".join(part.strip("\n") for part in [*parts, ERRATA]) + "\n"


def overview_table(rows: Sequence[dict[str, Any]]) -> str:
    """Every claim in a line."""
    head = ["| experiment | said | verdict | seconds |", "| --- | --- | --- | --: |"]
    tested = [row for row in rows if row["verdict"] != "not testable"]
    lines = [f"| {linked(row)} | {cell(row['said'])} | {row['verdict']} | {row['seconds']:.0f} |" for row in tested]
    return "\n".join([*head, *lines])


def linked(row: dict[str, Any]) -> str:
    return f"[{row['name']}](#{row['name'].replace('/', '')})"


def section(row: dict[str, Any], records: Path) -> Iterator[str]:
    """Three lines, the checks, and a picture."""
    yield f"### {row['name']}"
    if row["verdict"] == "not testable":
        instead = f" In its place: {row['instead']}." if row["instead"] else ""
        yield fill(f"{sentence(row['claim'])} Not testable: {row['why']}.{instead}", 120)
        return
    papers = "".join(f", [arXiv {one}](https://arxiv.org/abs/{one})" for one in row["papers"])
    source = f"{row['source']}{papers}; {named_in(row['seed'])}"
    said = f"*Source*: {source}." if row["claim"].endswith(row["said"]) else f"*Said*: {row['said']} ({source})."
    yield fill(f"{sentence(row['claim'])} {said}", 120, break_long_words=False, break_on_hyphens=False)
    yield f"**{row['verdict'].capitalize()}.**"
    if row["checks"]:
        head = ["| check | found | bounds | |", "| --- | --- | --- | --- |"]
        yield "\n".join([*head, *map(check_line, row["checks"])])
    yield from kept(row, records)
    picture = picture_name(row["name"])
    if (records / picture).exists():
        yield f"![{row['claim']}](lab/{picture})"


def kept(row: dict[str, Any], records: Path) -> Iterator[str]:
    """The models of a full run, and what judges found of them."""
    if row.get("models"):
        files = [f"{row['name']}-{which}.safetensors" for which in row["models"]]
        told = f"Trained with the first seed, for `handloom read`: {', '.join(f'[{one}](lab/{one})' for one in files)}."
        yield fill(told, 120, break_long_words=False, break_on_hyphens=False)
    if (records / "judges" / f"{row['name']}.json").exists():
        from handloom.lab.games.gammon.judged_record import judged_in_words

        if found := judged_in_words(records / f"{row['name']}.json"):
            yield fill(found.replace("-0.", "−0."), 120)


def named_in(seed: str) -> str:
    return f"in {seed}" if seed == "the book" else f"on {seed}'s slides"


def sentence(claim: str) -> str:
    first = claim[0].upper() if claim[0].isascii() else claim[0]  # not a capital alpha
    return first + claim[1:] + "."


def check_line(check: dict[str, Any]) -> str:
    passed = "yes" if check["good"] else "no"
    if check["open"]:
        passed = "open"
    elif check["control"]:
        passed = "fails, as it must" if check["good"] else "passes, and must not"
    kind = "control: not " if check["control"] else ""
    return f"| {cell(check['name'])} | {check['found']} | {kind}{check['bounds']} | {passed} |"


def cell(text: str) -> str:
    """Text in a table, where a bar would begin the next cell."""
    return text.replace("|", "\\|")


def conclusions_page(found: Sequence[tuple[Conclusion, Sequence[Panel]]]) -> str:
    """A page with the checks and the picture of each conclusion, in HTML."""
    title = found[0][0].claim.name if len(found) == 1 else "The lab"
    return skeleton(f"handloom lab: {title}", "\n".join(conclusion_html(*one) for one in found), wide=True)


def conclusion_html(conclusion: Conclusion, panels: Sequence[Panel]) -> str:
    claim = conclusion.claim
    rows = [
        (
            one.name,
            one.found,
            f"{'control: not ' if one.control else ''}{one.bounds}",
            "open" if one.open else "yes" if one.good else "no",
        )
        for one in conclusion.results
    ]
    return (
        f"<h1>{line(claim.name)}: {line(conclusion.verdict)}</h1><p>{line(sentence(claim.says))}</p>"
        f"<p>Said: {line(claim.number)} ({line(claim.source)}). {line(conclusion.how)}.</p>"
        f"{table([('check', 'found', 'bounds', 'as claimed'), *rows])}"
        f"<figure class='broad'>{svg_of(panels)}</figure>"
    )


def svg_of(panels: Sequence[Panel]) -> str:
    """The picture as an element of a page."""
    text = panels_file(panels, ".svg").decode()
    return text[text.index("<svg") :]
