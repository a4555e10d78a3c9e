"""The loop under torchrun: one process searches and keeps, all of them learn."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from handloom.core import HandloomError, load
from handloom.discover import discover
from handloom.discover.loop.start import begin

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
SMALL = {"generations": 3, "learn": 10, "samples": 20, "attempts": 20, "steps": 200, "layers": 1, "width": 16}
WORDS = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]


def launched(where, *words):
    threads = os.environ | {"OMP_NUM_THREADS": "1"}  # torchrun would say that it has chosen it
    return subprocess.run([*TORCHRUN, *words], cwd=where, capture_output=True, text=True, timeout=300, env=threads)


@pytest.mark.slow
def test_two_processes_learn_together_and_one_of_them_keeps_what_is_found(tmp_path):
    done = launched(tmp_path, "-m", "handloom", "discover", "no-three-in-line:n=5", *WORDS, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["best"] == 10  # one value: the other process prints nothing
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records.sqlite", "runs"]
    (run,) = (tmp_path / "runs").iterdir()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["generation"] for line in lines] == [0, 1, 2]
    alone = discover("no-three-in-line:n=5", store=tmp_path / "alone.sqlite", folder=tmp_path / "alone", **SMALL)
    assert lines[1]["loss"] == pytest.approx(alone.lines[1]["loss"], rel=1e-4)
    model, other = (load(folder / "model.safetensors").flat for folder in (run, tmp_path / "alone"))
    assert max(np.abs(model[name] - other[name]).max() for name in model) < 5e-3  # each moves by up to 0.02


SEVERAL = """
from handloom.discover import discover

for seed in (1, 2):
    found = discover("no-three-in-line:n=4", seed=seed, generations=2, learn=3, samples=5, attempts=10, steps=50)
    print(found.best.score)
discover("no-three-in-line:n=4", generations=1, model=False, attempts=10)
"""


@pytest.mark.slow
def test_a_script_may_run_several_one_after_the_other(tmp_path):
    (tmp_path / "script.py").write_text(SEVERAL)
    done = launched(tmp_path, "script.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["8", "8"]


@pytest.mark.slow
def test_an_error_is_told_once_and_nobody_waits(tmp_path):
    done = launched(tmp_path, "-m", "handloom", "discover", "no-such-problem")
    assert done.returncode != 0
    assert done.stderr.count("handloom: ") == 1


def test_a_device_that_is_not_there_is_refused_before_anything_is_begun(tmp_path):
    with pytest.raises(HandloomError, match="no device 'nowhere' here"):
        begin("isosceles:n=5", device="nowhere", store=tmp_path / "records.sqlite")
    assert not list(tmp_path.iterdir())
