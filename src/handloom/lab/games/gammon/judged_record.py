"""The network of a full run against judges that are not shipped, kept in docs/lab/judges for docs/lab.md.

    python -m handloom.lab.games.gammon.judged_record docs/lab/backgammon.json gnubg pubeval.txt

A judge is named as in `handloom lab backgammon --judge`. What is kept tells whose network it is of, so that the page
leaves it out once there is another record.
"""

import json
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from handloom.core.files import write_atomically
from handloom.lab.games.gammon.judges import check_judge, judge_name, judged, recorded_network
from handloom.lab.games.gammon.matches import network_player

GAMES = {"gnubg": 1_000, "pubeval": 4_000}
TITLES = {"gnubg": "GNU Backgammon at 0 plies", "pubeval": "pubeval"}


def judge_record(record: Path, judges: Sequence[str]) -> Path:
    """Write what the network of a record wins per game against each of these judges."""
    for judge in judges:
        check_judge(judge)
    weights = recorded_network(record)
    player, scores = network_player(weights), []
    for judge in judges:
        name = judge_name(judge)
        games = GAMES.get(name, 1_000)
        score = judged(player, judge, games, seed=0)
        title = TITLES.get(name, name)
        scores.append({"judge": title, "games": games, "mean": round(score.mean, 4), "error": round(score.error, 4)})
    path = record.parent / "judges" / record.name
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, (json.dumps({"network": fingerprint(weights), "scores": scores}) + "\n").encode())
    return path


def fingerprint(weights: Any) -> int:
    """A number that another network has not."""
    return zlib.crc32(weights.tobytes())


def judged_in_words(record: Path) -> str | None:
    """What the network of a record was found to win, as a sentence; None if this network has not been judged."""
    path = record.parent / "judges" / record.name
    if not path.exists():
        return None
    found = json.loads(path.read_text("utf-8"))
    if found["network"] != fingerprint(recorded_network(record)):
        return None
    parts = [f"{one['mean']:+.3f} ± {one['error']:.3f} against {one['judge']}" for one in found["scores"]]
    games = " and ".join(f"{one['games']:,}" for one in found["scores"])
    return (
        f"Points per game of the first seed's network, with a standard error: {', '.join(parts)} ({games} games). "
        "These judges are not shipped; `--judge` takes the user's."
    )


if __name__ == "__main__":
    print(judge_record(Path(sys.argv[1]), sys.argv[2:]))
