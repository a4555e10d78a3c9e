"""One table of all claims: `handloom lab` prints it, docs/lab.md is written from it.

    python -m handloom.lab.table     # after full runs: docs/lab.md, its pictures, src/handloom/lab/findings.json

`findings.json` is part of the package, so that the list needs no experiment to be loaded. Both files are generated; a
test fails if they are not what the claims and the records in docs/lab say.
"""

import json
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

VERDICTS = {  # of one claim, and of several
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "says nothing": ("has an experiment that says nothing", "have experiments that say nothing"),
    "open": ("is open", "are open"),
    "not run": ("has not been run in full", "have not been run in full"),
    "not testable": ("cannot be tested here", "cannot be tested here"),
}
TITLES = {
    "exact": "Exact: identities and simulations",
    "learned": "Learned: what small networks do when they are trained",
    "games": "Games",
    "repeated": "Repeated: the long runs of Wagner's talk",
    "not testable": "What cannot be tested here",
}


def stored_rows() -> list[dict[str, Any]]:
    """The table as it was last written."""
    found: list[dict[str, Any]] = json.loads((files("handloom.lab") / "findings.json").read_text("utf-8"))
    return found


def current_rows(records: Path) -> list[dict[str, Any]]:
    """The table as the claims and the records have it."""
    from handloom.lab.repeated import repeated_rows
    from handloom.lab.untestable import UNTESTABLE

    rows = [*experiment_rows(records), *repeated_rows(records.parent)]
    for one in UNTESTABLE:
        about = {"name": one.name, "group": "not testable", "claim": one.says, "seed": one.seed}
        rows.append(about | {"verdict": "not testable", "why": one.why, "instead": one.instead})
    return rows


def experiment_rows(records: Path) -> Iterator[dict[str, Any]]:
    from handloom.lab.catalogue import GROUPS, experiment, experiment_names
    from handloom.lab.experiment import found_in_words
    from handloom.lab.keeping import record_of

    for group in GROUPS:
        for name in experiment_names(group):
            claim = experiment(name).CLAIM
            record = record_of(name, records) or {"verdict": "not run", "seconds": 0, "checks": []}
            checks = record["checks"]
            yield {
                "name": name,
                "group": group,
                "claim": claim.says,
                "source": claim.source,
                "papers": list(claim.papers),
                "seed": claim.seed,
                "said": claim.number,
                "found": found_in_words(
                    [(one["name"], one["found"]) for one in record["checks"] if not one["control"]]
                ),
                "verdict": record["verdict"],
                "seconds": record["seconds"],
                "checks": [short(check) for check in checks],
                "models": record.get("models", []),
            }


def short(check: dict[str, Any]) -> dict[str, Any]:
    kept = {key: check[key] for key in ("name", "found", "bounds", "control", "good")}
    return kept | {"open": None in check["values"]}


def summary(rows: list[dict[str, Any]]) -> str:
    """How many hold, in a sentence."""
    counts = {name: sum(row["verdict"] == name for row in rows) for name in VERDICTS}
    parts = [f"{count} {VERDICTS[name][count > 1]}" for name, count in counts.items() if count]
    return f"Of {len(rows)} claims {', '.join(parts[:-1])} and {parts[-1]}." if len(parts) > 1 else f"{parts[0]}."


def picture_name(name: str) -> str:
    """The file of a claim's picture in docs/lab."""
    return f"{name.replace('/', '-')}.svg"


def as_json(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def main() -> int:
    """Write both files, in a checkout of the project, and draw all pictures again."""
    from handloom.core.files import write_atomically
    from handloom.lab.catalogue import experiment, experiment_names
    from handloom.lab.keeping import record_of
    from handloom.lab.lab_page import markdown
    from handloom.lab.repeated_pictures import repeated_panels
    from handloom.view.figures.panels import draw_panels

    docs = Path("docs")
    rows = current_rows(docs / "lab")
    for name in experiment_names():
        if record := record_of(name, docs / "lab"):
            draw_panels(experiment(name).picture(record["series"]), docs / "lab" / picture_name(name))
    for name, panels in repeated_panels(docs).items():
        draw_panels(panels, docs / "lab" / picture_name(name))
    write_atomically(docs / "lab.md", markdown(rows, docs / "lab").encode())
    write_atomically(Path(str(files("handloom.lab") / "findings.json")), as_json(rows).encode())
    print(summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
