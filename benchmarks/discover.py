"""How soon discovery reaches what is known: each bar is a command, run as a user would, until its score or its time.

    python benchmarks/discover.py                    those of at most two minutes, some ten minutes in all
    python benchmarks/discover.py --most 3600        all of them, if need be for hours
    python benchmarks/discover.py --only isosceles --no-model

The time is that of the whole command, with Python's start and the compiling of the rules. What Numba compiles of
handloom itself is kept on disk, and was compiled before. `--compare` measures the transformer's part instead.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="problems whose name begins so")
    parser.add_argument("--most", type=int, default=120, help="only bars of at most so many seconds")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--no-model", action="store_true")
    parser.add_argument("--compare", action="store_true", help="with and without the model, 5 seeds each")
    parser.add_argument("--seconds", default="20", help="of each run of --compare")
    options = parser.parse_args()
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
