"""How soon discovery reaches what is known: each bar is a command, run as a user would, until its score or its time.

    python benchmarks/discover.py                    those of at most two minutes, some ten minutes in all
    python benchmarks/discover.py --most 3600        all of them, if need be for hours
    python benchmarks/discover.py --only isosceles --no-model
    python benchmarks/discover.py --rule             squares as a rule of four points, and as a list
    python benchmarks/discover.py --first            the first result of each built-in problem, cold and warm

The time is that of the whole command, with Python's start and the compiling of the rules. What Numba compiles of
handloom itself is kept on disk, and was compiled before. `--compare` measures the transformer's part instead.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple


class Bar(NamedTuple):
    problem: str
    score: int
    seconds: int


FOUR_CYCLES = [
    0,
    1,
    3,
    4,
    6,
    7,
    9,
    11,
    13,
    16,
    18,
    21,
    24,
    27,
    30,
    33,
    36,
    39,
    42,
    46,
    50,
    52,
    56,
    59,
    63,
]  # n = 1, 2, …
BARS = [
    Bar("isosceles:n=16", 28, 10),
    Bar("isosceles:n=21", 38, 60),
    Bar("isosceles:n=25", 44, 300),
    Bar("isosceles:n=27", 48, 300),
    Bar("isosceles:n=32", 56, 600),
    Bar("isosceles:n=64", 108, 3600),
    *[Bar(f"four-cycle-free:n={n}", FOUR_CYCLES[n - 1], 120) for n in range(4, 26)],
    Bar("four-cycle-free:n=28", 72, 120),
    Bar("four-cycle-free:n=30", 79, 120),
    *[Bar(f"no-three-in-line:n={n}", 2 * n, 60) for n in range(2, 21)],
    Bar("cap-set:d=6", 112, 300),
]
COMPARED = ("isosceles:n=16", "isosceles:n=24", "four-cycle-free:n=24", "no-three-in-line:n=16", "permanent-312:n=9")


def handloom(*words: str) -> dict[str, object]:
    """What a command prints as JSON, run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "handloom", *words, "--json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def reach(bar: Bar, more: list[str]) -> str:
    began = time.perf_counter()
    limits = ["--until", str(bar.score), "--seconds", str(bar.seconds)]
    found = handloom("discover", bar.problem, *limits, *more)
    seconds = time.perf_counter() - began
    met = "met   " if float(str(found["best"])) >= bar.score else "MISSED"
    return f"{bar.problem:24} {found['best']!s:>4} (bar {bar.score} in {bar.seconds} s)  {met} {seconds:7.1f} s"


SQUARES_FILE = """
from handloom.discover import Problem, grid

def square(a, b, c, d):
    closed = a[0] + d[0] == b[0] + c[0] and a[1] + d[1] == b[1] + c[1]
    u, v, x, y = b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]
    return closed and u * u + v * v == x * x + y * y and u * x + v * y == 0

def listed(n):
    return [
        ((x, y), (x + u, y + v), (x + u - v, y + v + u), (x - v, y + u))
        for x in range(n) for y in range(n) for u in range(1, n) for v in range(n)
        if x + u < n and y + v + u < n and x >= v
    ]

def problem(n: int = 12, rule: int = 1):
    return Problem(grid(n, n), forbidden=square if rule else listed(n), name=f"squares:n={n},rule={rule}")
"""
SQUARES = [f"squares.py:n={n},rule={rule}" for n in (12, 20, 40) for rule in (1, 0)]
BUILT_IN = [
    *("isosceles:n=16", "no-three-in-line:n=10", "four-cycle-free:n=20", "triangle-free:n=20", "cap-set:d=6"),
    *("sidon:n=100", "no-five-on-a-sphere:n=4", "words:length=50,pattern=xx,letters=3"),
    *("progressions:length=40,colours=2,terms=4", "permanent-312:n=10"),
]
FIRST = """
import sys, time
began = float(sys.argv[2])
from handloom.discover.loop.start import begin
seen = {}
def watch(report):
    if report.best is not None:
        seen.setdefault(report.best, time.time() - began)
begin(sys.argv[1], generations=1, attempts=20, steps=1000, model=False).run(watch)
print(*[f"{seconds:6.1f} s: {best:5}" for best, seconds in list(seen.items())[:2]])
"""


def print_first(problems: list[str], cold: bool) -> None:
    """Seconds to the greedy construction, and to the first better one; the first time, and then with kept code."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "squares.py").write_text(SQUARES_FILE)
        for problem in problems:
            shutil.rmtree(Path(folder) / "cache", ignore_errors=True)
            for when in ("first", "again"):
                command = [sys.executable, "-c", FIRST, problem, str(time.time())]
                where = os.environ | {"NUMBA_CACHE_DIR": f"{folder}/cache"} if cold else None
                done = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, check=True)
                print(f"{problem:44} {when}: greedy, then better {done.stdout.strip()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="problems whose name begins so")
    parser.add_argument("--most", type=int, default=120, help="only bars of at most so many seconds")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--no-model", action="store_true")
    parser.add_argument("--rule", action="store_true", help="squares as a rule of four points, and as a list")
    parser.add_argument("--first", action="store_true", help="seconds to the first result of a search, cold and warm")
    parser.add_argument("--compare", action="store_true", help="with and without the model, 5 seeds each")
    parser.add_argument("--seconds", default="20", help="of each run of --compare")
    options = parser.parse_args()
    if options.rule or options.first:
        print_first(SQUARES if options.rule else BUILT_IN, cold=options.first)
        return
    if options.compare:
        for problem in COMPARED:
            if problem.startswith(options.only):
                words = ["discover", problem, "--compare", "--seconds", options.seconds]
                result = handloom(*words)
                print({key: value for key, value in result.items() if key != "trials"}, flush=True)
        return
    more = ["--seed", options.seed, *(["--no-model"] if options.no_model else [])]
    handloom("discover", "isosceles:n=5", "--generations", "1", "--no-model")  # so that the kernels are compiled
    for bar in BARS:
        if bar.problem.startswith(options.only) and bar.seconds <= options.most:
            print(reach(bar, more), flush=True)


if __name__ == "__main__":
    main()
