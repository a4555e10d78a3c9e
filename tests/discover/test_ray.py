"""Searching on the workers of Ray: the same as on threads, whoever is lost, and it ends when it is told to."""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

from command import PROCESS
from handloom.core import HandloomError
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.executors import Threads
from handloom.discover.loop.ray_executor import import_ray, on_ray
from handloom.discover.loop.start import discover, reopen
from handloom.discover.problem import Problem, verdict
from handloom.discover.search.attempts import Attempt, Searches
from handloom.discover.search.symmetry import NONE
from handloom.discover.spaces import subsets

ray = import_ray()


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two workers for all tests, since Ray takes some seconds to start."""
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def never():
    return False


def made(executor, attempts, stop=never):
    try:
        return list(executor.outcomes(attempts, stop))
    finally:
        executor.close()


def on_threads(problem, symmetries, attempts):
    return made(Threads(Searches(problem, symmetries), 2), attempts)


def no_progression(watched=lambda x: None):
    """Numbers up to 30, none of them half way between two others. `watched` is called for every number where the
    orbits are made, in the workers: a mirror is plain Python."""
    most = 30

    def between(a, b, c):
        return a + c == 2 * b

    def mirror(x):
        watched(x)
        return most + 1 - x

    return Problem(subsets(range(1, most + 1), {"mirror": (mirror,)}), forbidden=between, name="mine")


def searches(count, symmetries=(NONE, "mirror"), steps=300):
    return [Attempt(symmetries[i % len(symmetries)], i, steps) for i in range(count)]


def pids(path):
    return sorted({int(line) for line in path.read_text().split()}) if path.exists() else []


def noted(path):
    """A mirror's `watched` that writes down in which processes it was."""

    def note(x):
        with open(path, "a") as file:
            file.write(f"{os.getpid()}\n")

    return note


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_the_outcomes_are_those_of_threads_in_the_same_order():
    problem, symmetries = problem_named("isosceles:n=7"), [NONE, "mirror", "square"]
    attempts = [Attempt(symmetries[i % 3], i, 400 * (7 - i % 7)) for i in range(24)]
    starts = [(0, 1, 2, 3), (), (0, 6, 42, 48), tuple(range(49))]
    attempts += [Attempt("any", 100 + i, 200, start) for i, start in enumerate(starts)]
    expected = on_threads(problem, symmetries, attempts)
    assert None in expected  # nothing has all symmetries of the square
    assert len({outcome.result for outcome in expected if outcome}) > 10
    assert made(on_ray(problem, symmetries), attempts) == expected


def test_a_problem_of_closures_travels_and_what_is_found_is_legal():
    problem = no_progression()
    found = made(on_ray(problem, [NONE, "mirror"]), searches(8))
    assert found == on_threads(problem, [NONE, "mirror"], searches(8))
    assert [verdict(problem, one.result.construction).score for one in found] == [one.result.score for one in found]
    assert max(one.result.score for one in found) == 12  # A003002 of the OEIS


def test_a_problem_from_a_users_file_travels(tmp_path):
    file = tmp_path / "my_problem.py"
    file.write_text(
        "from handloom.discover.problem import Problem\n"
        "from handloom.discover.spaces import permutation\n"
        "def weight(i, n):\n    return i * n\n"
        "def problem(n: int = 5):\n"
        "    def score(p):\n        return sum(weight(i, n) * p[i] for i in range(n))\n"
        "    return Problem(permutation(n), score=score)\n"
    )
    best = sum(i * i * 6 for i in range(6))  # the rearrangement inequality: in order
    found = made(on_ray(problem_named(f"{file}:n=6"), [NONE]), searches(2, [NONE]))
    assert [(one.result.construction, one.result.score) for one in found] == [((0, 1, 2, 3, 4, 5), best)] * 2


@pytest.mark.slow
def test_workers_killed_in_the_middle_of_a_search_lose_nothing(tmp_path):
    attempts = searches(12, ["mirror"], steps=100_000)
    expected = on_threads(no_progression(), ["mirror"], attempts)
    executor, killed, seen = on_ray(no_progression(noted(tmp_path / "pids")), ["mirror"]), [], []
    for outcome in executor.outcomes(attempts, never):
        seen.append(outcome)
        alive = [pid for pid in pids(tmp_path / "pids") if pid not in killed and is_there(pid)]
        if alive and len(seen) >= (1, 4, 99)[len(killed)]:
            os.kill(alive[-1], signal.SIGKILL)
            killed.append(alive[-1])
    assert seen == expected
    assert len(set(killed)) == 2
    assert set(pids(tmp_path / "pids")) > set(killed)


@pytest.mark.slow
def test_a_search_that_kills_its_worker_once_is_made_again_and_one_that_always_does_is_told(tmp_path):
    def fatal(times):
        path = tmp_path / f"deaths-{times}"

        def die(x):
            with open(path, "a+") as file:
                file.write("x")
            if path.stat().st_size <= times:
                os.kill(os.getpid(), signal.SIGKILL)

        return die

    attempts = searches(1, ["mirror"])
    assert made(on_ray(no_progression(fatal(2)), ["mirror"]), attempts) == on_threads(
        no_progression(), ["mirror"], attempts
    )
    with pytest.raises(HandloomError, match=r"^3 workers of Ray were lost at one search .*$"):
        made(on_ray(no_progression(fatal(1000)), ["mirror"]), attempts)
    assert (tmp_path / "deaths-1000").stat().st_size == 3


@pytest.mark.slow
def test_told_to_stop_it_ends_within_two_seconds_and_so_do_the_workers(tmp_path):
    executor = on_ray(no_progression(noted(tmp_path / "pids")), ["mirror"])
    asked = []

    def stop():
        asked.append(time.monotonic())
        return bool(pids(tmp_path / "pids"))  # both compile, or search, for hours

    assert list(executor.outcomes(searches(10, ["mirror"], steps=10**12), stop)) == []
    assert time.monotonic() - asked[-1] < 2
    assert max(b - a for a, b in pairwise(asked)) < 0.5
    assert until(lambda: not any(map(is_there, pids(tmp_path / "pids"))), 2)
    attempts = searches(2, ["mirror"])
    assert made(executor, attempts) == on_threads(no_progression(), ["mirror"], attempts)


def test_told_to_stop_at_once_nothing_is_begun():
    assert made(on_ray(no_progression(), [NONE]), searches(3), lambda: True) == []


@pytest.mark.slow
def test_outcomes_not_waited_for_leave_the_workers_free():
    executor, end = on_ray(no_progression(), ["mirror"]), time.monotonic() + 60
    outcomes = executor.outcomes([*searches(1, ["mirror"]), *searches(4, ["mirror"], steps=10**12)], never)
    assert next(outcomes).result.steps == 300
    outcomes.close()
    assert len(made(executor, searches(2, ["mirror"]), lambda: time.monotonic() > end)) == 2


def test_an_error_in_a_users_function_is_told_in_one_line():
    class TwoWords(Exception):
        """One that pickle writes but cannot read."""

        def __init__(self, one, other):
            super().__init__(f"{one}\n{other}")

    def raises(x):
        raise TwoWords("no", "luck")

    def unknown(a, b):
        return no_such_name(a, b)  # noqa: F821

    with pytest.raises(HandloomError, match=r"^.*TwoWords.*no luck$"):
        made(on_ray(no_progression(raises), ["mirror"]), searches(1, ["mirror"]))
    with pytest.raises(HandloomError, match=r"^[^\n]*Numba cannot compile what is forbidden[^\n]*$"):
        made(on_ray(Problem(subsets(range(9)), forbidden=unknown), [NONE]), searches(2, [NONE]))


def test_a_problem_that_cannot_travel_is_told_in_one_line():
    lock = threading.Lock()

    def rule(a, b):
        return a + b == 7 and not lock

    with pytest.raises(HandloomError, match=r"^mine: its functions cannot be sent [^\n]*lock[^\n]*$"):
        on_ray(Problem(subsets(range(9)), forbidden=rule, name="mine"), [NONE])


def test_the_environment_is_as_before_once_the_workers_are_closed():
    before = dict(os.environ)
    executor = on_ray(no_progression(), [NONE])
    assert os.environ["RAY_IGNORE_UNHANDLED_ERRORS"] == "1"
    executor.close()
    assert dict(os.environ) == before


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(HandloomError, match=r"pip install 'handloom\[cluster\]'$"):
        on_ray(no_progression(), [NONE])


@pytest.mark.slow
def test_a_whole_run_keeps_the_records_that_threads_would_keep(tmp_path):
    def kept(on):
        run = discover("sidon:n=20", store=tmp_path / on, generations=2, on=on, model=False, attempts=40, steps=50)
        return [(record.score, record.construction, record.origin["generation"]) for record in run.records]

    assert kept("ray") == kept("threads")
    assert ray.is_initialized()  # it was there before, so the run leaves it


def ends_when(act, folder, **environment):
    """A run on Ray, to which something is done after its first generation: the exit code and the last
    line."""
    words = ["sidon:n=20", "--on", "ray", "--seconds", "300", "--no-model", "--steps", "50", "--out", "run"]
    process = subprocess.Popen(
        [*PROCESS, "discover", *words],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert until(lambda: (folder / "run" / "state.json").exists(), 240)
    act(process.pid)
    _, said = process.communicate(timeout=240)
    return process.returncode, said.splitlines()[-1]


def raylets_of(pid):
    """Of a process and all that come from it, those that are Ray's node."""
    children = [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    found = [child for one in children for child in raylets_of(one)]
    return found + [pid] * Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0].endswith("/raylet")


@pytest.mark.slow
def test_a_run_whose_node_is_lost_says_so_in_one_line_and_can_be_resumed(tmp_path):
    def kill_node(pid):
        for raylet in raylets_of(pid):
            os.kill(raylet, signal.SIGKILL)

    code, line = ends_when(kill_node, tmp_path)
    lost = "handloom: the run was lost (its Ray node was lost)"
    assert (code, line) == (2, f"{lost}; handloom discover --resume run resumes it")
    done = reopen(tmp_path / "run").generation
    assert reopen(tmp_path / "run", generations=done + 1).run().generation == done + 1


@pytest.mark.slow
def test_a_run_whose_workers_are_lost_with_their_node_says_so_in_one_line_and_can_be_resumed(tmp_path):
    script = (
        "import os\nfrom handloom.discover.loop.ray_executor import import_ray\nimport_ray()\n"
        "from ray.cluster_utils import Cluster\n"
        "cluster = Cluster(initialize_head=True, head_node_args={'num_cpus': 0, 'include_dashboard': False})\n"
        "node = cluster.add_node(num_cpus=1)\nprint(cluster.address, flush=True)\ninput()\n"
        "cluster.remove_node(node, allow_graceful=False)\nprint('gone', flush=True)\ninput()\ncluster.shutdown()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as nodes:
        address = nodes.stdout.readline().split()[-1]

        def remove_node(pid):
            print(file=nodes.stdin, flush=True)

        code, line = ends_when(remove_node, tmp_path, RAY_ADDRESS=address)
        print(file=nodes.stdin, flush=True)
    assert code == 2
    assert line.startswith("handloom: the cluster of Ray has no workers any more: their nodes are lost;")
    assert line.endswith("handloom discover --resume run resumes the run")
    done = reopen(tmp_path / "run").generation
    assert reopen(tmp_path / "run", generations=done + 1).run().generation == done + 1


@pytest.mark.slow
def test_a_node_that_is_lost_in_the_middle_of_its_searches_loses_nothing():
    """Two nodes of one worker each beside the head; one of them goes, and with it what it was doing."""
    script = """
        import time
        from handloom.discover.catalogue import problem_named
        from handloom.discover.loop.executors import Threads
        from handloom.discover.loop.ray_executor import import_ray, on_ray
        from handloom.discover.search.attempts import Attempt, Searches
        problem, attempts = problem_named("sidon:n=30"), [Attempt("none", seed, 20_000) for seed in range(16)]
        expected = list(Threads(Searches(problem, ["none"]), 2).outcomes(attempts, lambda: False))
        ray = import_ray()
        from ray.cluster_utils import Cluster
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
        seen, executor = [], on_ray(problem, ["none"])
        assert executor.workers == 2
        for outcome in executor.outcomes(attempts, lambda: False):
            seen.append(outcome)
            if len(seen) == 2:
                cluster.remove_node(nodes[0], allow_graceful=False)
        assert seen == expected
        while sum(node["Alive"] for node in ray.nodes()) > 2:  # the head hears of it after a while
            time.sleep(0.1)
        print("the same")
    """
    done = subprocess.run([sys.executable, "-c", dedent(script)], capture_output=True, text=True, timeout=300)
    assert done.stdout.endswith("the same\n"), done.stderr
