"""GNU Backgammon as a player, where it is installed. It runs as a process of its own, and nothing here needs it.

    with gnubg_player("gnubg") as judge:        # or the path of an unpacked program
        play_match(network_player(weights), judge, games=100, seed=0)

The program runs a short script in its own Python, which reads a board and a roll per line and writes the best move. It
looks no ply ahead (its 0-ply: the value after its own move), counts gammons and has no cube. It rests for 10 ms after
each question, so that several of them side by side are faster.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.errors import shown
from handloom.lab.games.gammon.kernels import BAR, OFF
from handloom.lab.games.gammon.matches import Player, Turn

BEST = "best move: "  # before each answer, since the program prints other lines too
SCRIPT = f"""
import gnubg, json, os
cube = gnubg.cubeinfo(1, -1, 1, 0, (0, 0), 0)
cube.update(jacoby=0, gammonprice=((1.0, 1.0), (1.0, 1.0)))
context = gnubg.evalcontext()
context.update(cubeful=0, plies=0, noise=0.0)
for line in os.fdopen(0):
    boards, dice = json.loads(line)
    print({BEST!r} + json.dumps(gnubg.findbestmove(tuple(map(tuple, boards)), cube, context, tuple(dice))), flush=True)
"""
ELSEWHERE = "/usr/games"  # where Debian puts it, which is not on every PATH


@contextmanager
def gnubg_player(program: str) -> Iterator[Player]:
    """A player that asks GNU Backgammon, as long as the context lasts."""
    path = program_path(Path(program))
    data = path.parent.parent / "share" / "gnubg"
    where = ["-D", str(data), "-P", str(data)] if data.is_dir() else []
    with TemporaryDirectory() as home:
        script = Path(home, "script.py")
        script.write_text(SCRIPT, "utf-8")
        process = subprocess.Popen(
            [path, "-t", "-q", "-r", *where, "-p", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": home},
            text=True,
        )
        with process:
            try:
                yield lambda turn: index_of(turn, after_moves(turn.board, asked(process, turn)))
            finally:
                process.kill()


def program_path(program: Path) -> Path:
    """The program of this name or path."""
    found = shutil.which(program) or shutil.which(program, path=ELSEWHERE)
    if not found:
        raise HandloomError(
            f"{shown(str(program))}: no such program (expected GNU Backgammon); install gnubg, or give its path"
        )
    return Path(found)


def asked(process: "subprocess.Popen[str]", turn: Turn) -> list[int]:
    """The best move of a turn: from and to, from and to, … The program wants the other side's board first."""
    boards = [turn.board[side, 1:].tolist() for side in (1, 0)]
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):  # if it has ended, there is no answer
        print(json.dumps([boards, turn.dice]), file=process.stdin, flush=True)
    for line in process.stdout:
        if line.startswith(BEST):
            return json.loads(line.removeprefix(BEST))
    raise HandloomError("GNU Backgammon: it ended without an answer (expected a best move); try it by itself, gnubg -t")


def after_moves(board: Array, moves: Sequence[int]) -> Array:
    """The board after moves from and to points, as GNU Backgammon gives them."""
    after = board.copy()
    for point, target in zip(moves[::2], moves[1::2], strict=True):
        after[0, point] -= 1
        after[0, max(target, OFF)] += 1
        if target > OFF and after[1, 25 - target] == 1:
            after[1, 25 - target] = 0
            after[1, BAR] += 1
    return after


def index_of(turn: Turn, after: Array) -> int:
    """Which of the legal plays leads to this board."""
    found = np.flatnonzero((turn.plays == after).all((1, 2)))
    if len(found) != 1:
        raise HandloomError(f"GNU Backgammon: its play of {turn.dice} is not legal on {turn.board.tolist()}")
    return int(found[0])
