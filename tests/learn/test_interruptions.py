"""Runs that are killed, stopped, damaged, or begun twice at once: nothing trained is lost, and nothing is stuck."""

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
from itertools import cycle

import pytest

from command import PROCESS, handloom
from handloom import HandloomError
from handloom.core import files, load
from handloom.learn.api import in_new_folder, opened, prepare, resume, train
from handloom.runs.folder import CHECKPOINT, LOCK, Folder
from training_runs import OWN, RULE, SMALL, TINY, by_hand, wait_for

SHORT = {"steps": 6, "every": 3, "lanes": 1, **SMALL}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run, and the files it has."""
    folder = tmp_path_factory.mktemp("made") / "a"
    train(RULE, folder=folder, **SHORT)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def run(made, tmp_path):
    """A copy of it."""
    (tmp_path / "a").mkdir()
    for name, data in made.items():
        (tmp_path / "a" / name).write_bytes(data)
    return tmp_path / "a"


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def same_weights(one, other):
    return all((one.trainer.arrays()[name] == array).all() for name, array in other.trainer.arrays().items())


def steps_of(folder):
    return [line["step"] for line in Folder(folder).lines()]


# Damaged


def test_no_flipped_bit_of_a_checkpoint_is_resumed_from(run, made):
    data, rng = made[CHECKPOINT], random.Random(0)
    header = 8 * (8 + int.from_bytes(data[:8], "little"))  # its length, names, shapes, the step and the digest
    for bit in [
        *(rng.randrange(header) for _ in range(60)),
        *(rng.randrange(header, 8 * len(data)) for _ in range(20)),
    ]:
        (run / CHECKPOINT).write_bytes(flipped(data, bit))
        with pytest.raises(HandloomError, match=r"is damaged: .*; start a new run") as error:
            Folder(run).checkpoint()
        assert "\n" not in str(error.value)
    with pytest.raises(HandloomError, match="is damaged"):
        resume(run, steps=9)
    assert steps_of(run) == [3, 6]


def test_no_flipped_bit_of_the_settings_or_of_the_metrics_changes_a_run(run, made):
    about, lines, folder = Folder(run).about(), Folder(run).lines(), Folder(run)
    for name, read, before in (("run.json", folder.about, [about]), ("metrics.jsonl", folder.lines, lines)):
        for bit in range(0, 8 * len(made[name]), 23):
            (run / name).write_bytes(flipped(made[name], bit))
            try:
                after = read()
            except HandloomError as error:
                assert "\n" not in str(error)
                continue
            after = after if isinstance(after, list) else [after]  # of a flip in the word sha256 the values are whole
            assert all(one.items() >= old.items() for one, old in zip(after, before, strict=True)), bit
        (run / name).write_bytes(made[name])


def test_strings_that_were_changed_are_not_resumed_with(tmp_path):
    (tmp_path / "names.txt").write_text("anna\nbob\nclara\n" * 10)
    train(str(tmp_path / "names.txt"), folder=tmp_path / "a", **SHORT | {"count": 0})
    (tmp_path / "a/strings.txt").write_text("anna\nbob\nclarb\n" * 10)
    with pytest.raises(HandloomError, match=r"its sha256 does not match \(if you changed it, or the copy"):
        resume(tmp_path / "a", steps=9)


def test_runs_of_older_versions_which_have_no_digests_are_resumed(run, made):
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(run / CHECKPOINT, framework="numpy") as file:
        arrays, where = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()["where"]  # noqa: SIM118
    save_file(arrays, run / CHECKPOINT, {"where": where})
    for name in ("run.json", "metrics.jsonl"):
        by_hand(run / name, "", "")
    (run / LOCK).unlink()
    assert same_weights(resume(run, steps=9), train(RULE, **SHORT | {"steps": 9}))
    assert steps_of(run) == [3, 6, 9]


# What goes wrong after training


def test_what_was_trained_is_kept_if_the_first_evaluation_fails(tmp_path):
    """The task cannot judge what the model says. With its copy mended the run ends as if nothing had happened."""
    wrong, right = (OWN.format(draw="'01'", right=text) for text in ("text == '01' or 1 / 0", "text == '01'"))
    (tmp_path / "own.py").write_text(wrong)
    with pytest.raises(HandloomError, match="could not judge a sample"):
        train(str(tmp_path / "own.py"), folder=tmp_path / "a", **SHORT)
    assert Folder(tmp_path / "a").checkpoint()[1]["step"] == 3
    assert load(tmp_path / "a/model.safetensors").notes["steps"] == 3
    (tmp_path / "a/task.py").write_text(right)
    by_hand(tmp_path / "a/run.json", "", "")
    (tmp_path / "own.py").write_text(right)
    again, whole = resume(tmp_path / "a"), train(str(tmp_path / "own.py"), folder=tmp_path / "b", **SHORT)
    assert same_weights(again, whole)
    assert [line | {"seconds": 0} for line in Folder(tmp_path / "a").lines()] == [
        line | {"seconds": 0} for line in Folder(tmp_path / "b").lines()
    ]


@pytest.mark.parametrize("name", ["best.safetensors", "metrics.jsonl", "model-3.safetensors"])
def test_what_was_trained_is_kept_if_something_cannot_be_written(tmp_path, name):
    """As on a full disk; here because a folder is in the way."""

    def in_the_way(report):
        (tmp_path / "a" / name).mkdir(exist_ok=True)

    with pytest.raises(HandloomError):
        train(RULE, folder=tmp_path / "a", watch=in_the_way, **SHORT | {"keep": 3})
    assert Folder(tmp_path / "a").checkpoint()[1]["step"] == 3
    (tmp_path / "a" / name).rmdir()
    assert same_weights(resume(tmp_path / "a"), train(RULE, **SHORT))
    assert steps_of(tmp_path / "a") == [3, 6]
    assert load(tmp_path / "a/model-3.safetensors").notes["steps"] == 3


def test_what_was_trained_is_kept_if_whoever_watches_fails(tmp_path):
    def fails(report):
        if report.step == 2:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        train(RULE, folder=tmp_path / "a", watch=fails, **SHORT)
    assert Folder(tmp_path / "a").checkpoint()[1]["step"] == 2
    assert same_weights(resume(tmp_path / "a"), train(RULE, **SHORT))


def test_a_training_is_shown_in_one_line(tmp_path):
    training = prepare(RULE, **SHORT)
    assert repr(training) == "<Training: step 0 of 6>"
    with in_new_folder(training, tmp_path / "a", RULE):
        training.run()
    assert re.fullmatch(r"<Training: \S+/a, step 6 of 6, held-out loss \d\.\d{4}, .*% right.*>", repr(training))


# Two at once


def test_one_run_is_trained_by_one_process_at_a_time(tmp_path):
    """learn has it, so that resume is refused; killed, it has left no lock."""
    running = subprocess.Popen([*PROCESS, "learn", RULE, "--steps", "1000000", "--out", "a", *TINY], cwd=tmp_path)
    wait_for(lambda: len(steps_of(tmp_path / "a")) >= 2)
    second = handloom("resume", "a", "--steps", "7", cwd=tmp_path)
    running.kill()
    running.wait(60)
    assert second.returncode == 2
    assert second.stderr.startswith("handloom: a is in use: another process is at work on this run;")
    assert len(second.stderr.splitlines()) == 1
    assert json.loads((tmp_path / "a/run.json").read_text())["settings"]["steps"] == 1000000
    step = Folder(tmp_path / "a").checkpoint()[1]["step"]
    assert resume(tmp_path / "a", steps=step + 1).where.step == step + 1


def test_one_run_is_trained_by_one_thread_at_a_time(run):
    with opened(run, 9, "cpu", None) as training:
        with pytest.raises(HandloomError, match="is in use"):
            resume(run, steps=12)
        training.run()
    assert resume(run, steps=12).where.step == 12


def test_where_there_are_no_locks_a_run_is_trained_without(run, monkeypatch):
    def fail(*args):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", fail)
    assert resume(run, steps=9).where.step == 9


# Killed at once

AT_ONCE = """
import os, sys
from handloom.learn.api import in_new_folder, prepare, train
folder, begun = sys.argv[1:]
choices = dict(layers=2, heads=2, d_model=16, count=200, samples=20, steps=6, every=3, lanes=1)
if begun == "from a model":
    choices = dict(start=train({rule!r}, **choices).model(), count=200, samples=20, steps=6, every=3, lanes=1)
training = prepare({rule!r}, **choices)
if begun == "without run.json":
    import handloom.runs.folder as f
    f.Folder.write_about = lambda *given: os.kill(os.getpid(), 9)
with in_new_folder(training, folder, {rule!r}):
    os.kill(os.getpid(), 9)
"""


def killed_at_once(folder, begun):
    code = AT_ONCE.format(rule=RULE).replace(
        "in_new_folder(training, folder", "in_new_folder(training, __import__('pathlib').Path(folder)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder), begun], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert not (folder / CHECKPOINT).exists()


def test_a_run_that_was_killed_before_its_first_checkpoint_is_resumed_from_the_start(tmp_path):
    killed_at_once(tmp_path / "a", "from scratch")
    whole = train(RULE, **SHORT)
    assert same_weights(resume(tmp_path / "a"), whole)
    assert steps_of(tmp_path / "a") == [3, 6]


@pytest.mark.parametrize("begun", ["from scratch", "from a model", "without run.json"])
def test_a_run_that_was_killed_before_its_first_checkpoint_can_be_begun_again(tmp_path, begun):
    killed_at_once(tmp_path / "a", begun)
    if begun != "from scratch":
        with pytest.raises(HandloomError, match=r"start a new run|not the folder of a run"):
            resume(tmp_path / "a")
    assert train(RULE, folder=tmp_path / "a", **SHORT).where.step == 6
    assert resume(tmp_path / "a", steps=7).where.step == 7


def test_a_folder_with_something_of_the_users_is_not_taken_for_a_run_that_was_killed(tmp_path):
    for names in (["strings.txt"], [LOCK, "notes.txt"], [LOCK, "model.safetensors"]):
        folder = tmp_path / names[-1]
        folder.mkdir()
        for name in names:
            (folder / name).write_text("mine")
        with pytest.raises(HandloomError, match="exists already; name another folder"):
            train(RULE, folder=folder, **SHORT)
        assert all((folder / name).read_text() == "mine" for name in names)


def test_what_a_killed_process_was_writing_is_removed(run):
    code = f"""
import os
from pathlib import Path
from handloom.core.files import beside
with beside(Path({str(run)!r}) / "model.safetensors"), beside(Path({str(run)!r}) / "run.json"):
    os.kill(os.getpid(), 9)
"""
    before = set(os.listdir(run))
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    assert len(set(os.listdir(run)) - before) == 2
    (run / ".notes.of_mine1").write_text("")
    resume(run)
    assert set(os.listdir(run)) == before | {".notes.of_mine1"}


# Signals


def learning(tmp_path, *words, **how):
    """`handloom learn`, once it has been evaluated twice."""
    command = [*words, *PROCESS, "learn", RULE, "--steps", "1000000", "--out", "a", *TINY, "--every", "3"]
    running = subprocess.Popen(command, cwd=tmp_path, text=True, **how)
    wait_for(lambda: len(steps_of(tmp_path / "a")) >= 2)
    return running


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP])
def test_a_polite_kill_saves(tmp_path, kind):
    running = learning(tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    running.send_signal(kind)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    stopped = int(re.search(r"stopped at step ([\d,]+); handloom resume a", said)[1].replace(",", ""))
    assert Folder(tmp_path / "a").checkpoint()[1]["step"] == stopped


def test_a_terminal_that_is_closed_saves(tmp_path):
    """It sends SIGHUP, and from then on nothing can be written to it."""
    ours, theirs = pty.openpty()
    command = [
        "setsid",
        "--ctty",
        *PROCESS,
        "learn",
        RULE,
        "--out",
        "a",
        *TINY,
        "--every",
        "1000000",
        "--steps",
        "1000000",
    ]
    running = subprocess.Popen(command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    while b"step" not in os.read(ours, 1000):
        pass
    os.close(ours)
    running.wait(60)
    step = Folder(tmp_path / "a").checkpoint()[1]["step"]
    assert step > 0
    assert load(tmp_path / "a/model.safetensors").notes["steps"] == step
    assert resume(tmp_path / "a", steps=step + 1).where.step == step + 1


def test_under_nohup_a_run_goes_on_when_its_terminal_is_closed(tmp_path):
    running = learning(tmp_path, "nohup", stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    running.send_signal(signal.SIGHUP)
    seen = len(steps_of(tmp_path / "a"))
    wait_for(lambda: len(steps_of(tmp_path / "a")) >= seen + 3)
    assert running.poll() is None
    running.kill()
    running.wait(60)


@pytest.mark.parametrize("module", ["typer", "handloom.cli.live.training", "numpy", "handloom.learn.settings"])
def test_ctrl_c_while_it_loads_is_no_traceback(tmp_path, module):
    """Python tells which modules it has loaded; where the signal comes after that, hangs on the machine."""
    command = [sys.executable, "-X", "importtime", "-m", "handloom", "learn", RULE, "--steps", "1000000", *TINY]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in process.stderr:
        assert line.startswith("import time:"), line
        if line.split()[-1] == module:
            break
    process.send_signal(signal.SIGINT)
    said = [line for line in process.stderr if not line.startswith("import time:")]
    assert process.wait(60) in (130, -signal.SIGINT), said  # which are the same to a shell
    assert not any("Traceback" in line or "Error" in line for line in said), said
    process.stdout.close()
    process.stderr.close()


# Files


def test_to_write_a_file_does_not_touch_what_permissions_others_get(tmp_path, monkeypatch):
    """The umask is the process's, and so that of all its threads."""
    monkeypatch.setattr(files.os, "umask", lambda mask: pytest.fail("the umask was changed"))
    files.write_atomically(tmp_path / "a", b"x")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "a").chmod(0o600)
    files.write_atomically(tmp_path / "a", b"y")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


# Twenty kills

KINDS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def kill(tmp_path, words, delay, kind):
    """Run a command and end it after so many seconds; whether it ended by itself."""
    process = subprocess.Popen(
        [*PROCESS, *words], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        _, said = process.communicate(timeout=delay)
    except subprocess.TimeoutExpired:
        process.send_signal(kind)
        _, said = process.communicate(timeout=120)
        assert process.returncode in (0, 130, -kind), said
        assert "is in use" not in said
        return False
    assert process.returncode == 0, said
    return True


def killed_early(tmp_path, begin, resume, end):
    """Five runs, each killed at about the time when it has a folder and not yet a checkpoint: each can be resumed, or
    where there is nothing to resume begun again. Seconds until there is a folder."""
    began, rng, kinds = time.monotonic(), random.Random(0), cycle(KINDS)
    process = subprocess.Popen([*PROCESS, *begin, "--out", "timed"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_for(lambda: (tmp_path / "timed/run.json").exists())
    seconds = time.monotonic() - began
    process.kill()
    process.wait(60)
    for name in ("v", "w", "x", "y", "z"):
        kill(tmp_path, [*begin, "--out", name], rng.uniform(0.8, 1.1) * seconds, next(kinds))
        is_there = (tmp_path / name / "run.json").exists()
        done = handloom(*([*resume, name] if is_there else [*begin, "--out", name]), *end, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    return seconds


@pytest.mark.slow
def test_twenty_kills_of_learn_lose_nothing_and_nothing_is_stuck(tmp_path):
    rng, kinds, reached = random.Random(0), cycle(KINDS), 0
    begin = ["learn", RULE, *TINY, "--every", "200", "--steps", "1000000"]
    seconds = killed_early(tmp_path, begin, ["resume"], ["--steps", 1000])
    for _ in range(15):
        words = ["resume", "a"] if (tmp_path / "a").exists() else [*begin, "--out", "a"]
        assert not kill(tmp_path, words, seconds + rng.uniform(0.0, 2.0), next(kinds))
        step = Folder(tmp_path / "a").checkpoint()[1]["step"]
        assert step >= reached
        reached = step
    final = ["--steps", reached + 150]
    assert handloom("resume", "a", *final, cwd=tmp_path).returncode == 0
    assert handloom(*begin, "--out", "whole", *final, cwd=tmp_path).returncode == 0
    one, other = (load(tmp_path / name / "model.safetensors") for name in ("a", "whole"))
    assert all((one.flat[name] == other.flat[name]).all() for name in one.flat)
    lines = [[line | {"seconds": 0} for line in Folder(tmp_path / name).lines()] for name in ("a", "whole")]
    assert lines[0] == lines[1]
    assert not list((tmp_path / "a").glob(".*.????????"))


@pytest.mark.slow
def test_twenty_kills_of_discover_lose_nothing_and_nothing_is_stuck(tmp_path):
    from discoveries import CYCLES, OPTIONS, check_result, generations_done
    from handloom.discover.catalogue import problem_named
    from handloom.discover.records.store import Store

    rng, kinds, generations, records = random.Random(0), cycle(KINDS), 0, {}
    begin, again = ["discover", CYCLES, *OPTIONS], ["discover", "--resume"]
    seconds = killed_early(tmp_path, begin, again, ["--generations", 2])
    for _ in range(15):
        words = [*again, "a"] if (tmp_path / "a").exists() else [*begin, "--out", "a", "--store", "a.sqlite"]
        assert not kill(tmp_path, words, seconds + rng.uniform(0.0, 4.0), next(kinds))
        done = generations_done(tmp_path / "a")
        assert done >= generations
        generations = done
        now = {record.id: record for record in Store.open(tmp_path / "a.sqlite").records(CYCLES)}
        assert now.items() >= records.items()
        records = now
    done = handloom(*again, "a", "--generations", generations + 1, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    check_result(problem_named(CYCLES), result)
    assert result["generations"] == generations + 1
    assert result["best"] >= max(record.score for record in records.values())
    assert [line["generation"] for line in Folder(tmp_path / "a").lines()] == list(range(generations + 1))
    assert not list((tmp_path / "a").glob(".*.????????"))
