"""A limit of time holds whatever a user's code does, and the process that holds it is not noticed otherwise."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from handloom.cli import time_limit
from handloom.cli.time_limit import frames_in, users_function

SOON = "import handloom.cli as c, handloom.cli.time_limit as t; t.GRACE, t.ENOUGH, t.TICK = 0.3, 0.1, 0.1; c.main()"
ENDLESS = {
    "load": "while True:\n    x = 0\n",
    "library": "from itertools import repeat\n"  # Python cannot be interrupted here,
    "from handloom.discover import Problem, word\n"
    "problem = Problem(word(9), score=lambda w: sum(repeat(0)))\n",
    "compiled": "from numba import njit\n"  # nor here
    "from handloom.discover import Problem, subsets\n"
    "@njit\n"
    "def rule(a, b):\n"
    "    while a >= 0:\n"
    "        a = (a + 1) % 7\n"
    "    return False\n"
    "problem = Problem(subsets(range(9)), forbidden=rule)\n",
}
WRITES_ITS_NUMBER = "import os\nopen('pid', 'w').write(str(os.getpid()))\nwhile True:\n    pass\n"


def started(folder, *words):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": folder}
    return subprocess.Popen([sys.executable, "-c", SOON, "discover", *map(str, words)], **pipes)


def wait_for(condition):
    ends = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.05)


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_users_code_that_never_ends_is_killed_and_one_line_says_where_it_was(tmp_path):
    running, named = {}, []
    for name, text in ENDLESS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(text)
        running[name] = started(tmp_path / name, f"{name}.py", "--seconds", 0.1)
    for name, process in running.items():
        out, err = process.communicate(timeout=240)
        lines = [line for line in err.splitlines() if line.startswith("handloom: ")]
        assert process.returncode == 2, err
        assert (out, len(lines)) == ("", 1), err
        assert "Traceback" not in err
        stopped = re.fullmatch(
            r"handloom: (.+): still running \d+ s after the limit of 0.1 s, so it was stopped", lines[0]
        )
        assert stopped, lines
        where = rf".*{name}\.py, line \d+(, in .+)?|a function of the problem"
        named.append(bool(re.fullmatch(where, stopped[1])))
        assert [path.name for path in (tmp_path / name).iterdir() if path.suffix != ".pyc"] == [f"{name}.py"]
    assert named.count(False) <= 1  # a busy machine may still have been loading


def test_ctrl_c_sent_to_the_command_saves_as_ever(tmp_path):
    process = started(tmp_path, "four-cycle-free:n=12", "--seconds", 600, "--no-model", "--steps", 50, "--json")
    wait_for(lambda: list(tmp_path.glob("runs/*/state.json")))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert json.loads(out)["verified"] is True
    assert err.splitlines()[-1] == "stopped; handloom discover --resume runs/four-cycle-free-1 continues"


def test_a_second_ctrl_c_ends_what_the_first_could_not(tmp_path):
    (tmp_path / "own.py").write_text(
        "import signal\nsignal.signal(signal.SIGTERM, lambda *given: open('told', 'w'))\n" + WRITES_ITS_NUMBER
    )
    process = started(tmp_path, "own.py", "--seconds", 600)
    wait_for((tmp_path / "pid").exists)
    process.send_signal(signal.SIGINT)
    wait_for((tmp_path / "told").exists)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a child that its parent is gone")
def test_nothing_goes_on_when_the_command_is_killed(tmp_path):
    (tmp_path / "own.py").write_text(WRITES_ITS_NUMBER)
    process = started(tmp_path, "own.py", "--seconds", 600)
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    process.kill()
    process.communicate()
    wait_for(lambda: not is_there(int((tmp_path / "pid").read_text())))


def test_a_run_that_dies_says_how_it_is_resumed(tmp_path):
    (tmp_path / "own.py").write_text(
        "import os, signal\n"
        "from handloom.discover import Problem, subsets\n"
        "def check(numbers):\n"
        "    if os.path.exists('runs/own-1/state.json'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "sets = [(a, a + d, a + 2 * d) for a in range(30) for d in range(1, 15) if a + 2 * d < 30]\n"
        "problem = Problem(subsets(range(30)), forbidden=sets, check=check)\n"
    )
    process = started(tmp_path, "own.py", "--seconds", 600, "--no-model", "--attempts", 2, "--steps", 1)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 2
    assert err.splitlines()[-1] == (
        "handloom: the run was lost (SIGKILL); handloom discover --resume runs/own-1 resumes it"
    )


def test_a_stack_is_the_users_if_a_frame_of_it_is():
    def stack(*files):
        frames = "".join(f'  File "{file}", line {i + 1} in f{i}\n' for i, file in enumerate(files))
        return users_function(frames_in(f"Stack (most recent call first):\n{frames}"))

    ours, numpy = Path(time_limit.__file__).parent.parent, Path(pytest.__file__)
    command = f"{ours}/cli/discover.py", f"{ours}/cli/__init__.py", "/usr/bin/handloom"
    assert stack("own.py", f"{ours}/discover/problem.py", *command) == "own.py, line 1, in f0"
    assert stack(numpy, "own.py", f"{ours}/tasks/user_file.py", *command) == "own.py, line 2, in f1"
    assert (
        stack(f"{ours}/discover/problem.py", f"{ours}/discover/search/greedy.py", *command)
        == "a function of the problem"
    )
    assert stack(numpy, "<frozen importlib>", f"{ours}/discover/loop/loop.py", *command) is None
    assert stack(*command) is None
    assert stack() is None
