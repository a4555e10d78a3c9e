"""Judges of backgammon that a user names: GNU Backgammon, a file of pubeval's weights, a network of an earlier run.

handloom lab backgammon --judge gnubg               # or the path of an unpacked program
handloom lab backgammon --judge pubeval.txt         # 2 × 122 numbers
handloom lab backgammon --judge backgammon.json     # the record of a full run
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.errors import one_line
from handloom.lab.games.gammon.gnubg import gnubg_player, program_path
from handloom.lab.games.gammon.kernels import INPUTS, OUTPUTS
from handloom.lab.games.gammon.matches import MatchScore, Player, network_player, paired_games, play_match, score_of
from handloom.lab.games.gammon.pubeval import pubeval_player, pubeval_weights

PROGRAMS = 8  # of GNU Backgammon side by side: each rests most of the time
DIGITS = 4  # of a weight in a record


def judge_name(judge: str) -> str:
    """What a judge is, by its name or file."""
    path = Path(judge)
    return "gnubg" if path.name == "gnubg" else "the network" if path.suffix == ".json" else "pubeval"


def check_judge(judge: str) -> None:
    """Raise an error before the games begin if the judge cannot be used."""
    find = {"gnubg": program_path, "the network": recorded_network, "pubeval": pubeval_weights}[judge_name(judge)]
    find(Path(judge))


def judged(player: Player, judge: str, games: int, seed: int) -> MatchScore:
    """What the player wins per game against the judge."""
    name = judge_name(judge)
    if name == "gnubg":
        return judged_by_programs(player, judge, games, seed)
    other = network_player(recorded_network(Path(judge))) if name == "the network" else pubeval_player(judge)
    return play_match(player, other, games, seed)


def judged_by_programs(player: Player, program: str, games: int, seed: int) -> MatchScore:
    def part(first: int) -> list[float]:
        with gnubg_player(program) as judge:
            return paired_games(player, judge, range(first, games // 2, PROGRAMS), seed)

    with ThreadPoolExecutor(PROGRAMS) as threads:
        return score_of([pair for found in threads.map(part, range(PROGRAMS)) for pair in found])


def as_record(weights: Array) -> list[float]:
    """The weights as they are kept in a record."""
    return [round(float(weight), DIGITS) for weight in weights]


def recorded_network(path: Path) -> Array:
    """The first list of weights, under the name "network", in the record of a run."""
    try:
        weights = first_network(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise HandloomError(
            f"{path.name}: {one_line(error)} (expected the record of a full run); give another"
        ) from error
    if not weights or (len(weights) - OUTPUTS) % (INPUTS + OUTPUTS):
        raise HandloomError(f"{path.name}: it has no network (expected the record of a full run); give another file")
    return np.array(weights, np.float32)


def first_network(record: Any) -> list[float] | None:
    """A list under the name "network", anywhere in JSON, that is not empty."""
    inside = list(record.values()) if isinstance(record, dict) else record if isinstance(record, list) else []
    own = record.get("network") if isinstance(record, dict) else None
    if own and isinstance(own, list):
        return own
    return next((found for part in inside if (found := first_network(part))), None)
