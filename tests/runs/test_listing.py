"""Which runs there are; several seeds of one experiment; their curves."""

import json
import re
import signal
import subprocess

import pytest

from command import PROCESS, handloom
from handloom.cli.curves import curves_in
from handloom.core import HandloomError
from handloom.learn.api import train
from handloom.runs.folder import Folder
from handloom.runs.listing import Run, Spread, read_run, runs_in
from handloom.view.figures.curves import draw_curves, values_at
from training_runs import RULE, SMALL, TINY, wait_for


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with runs of every sort: trained, of a text file, of discover, two seeds, and damaged in three ways."""
    folder = tmp_path_factory.mktemp("listing")
    (folder / "names.txt").write_text("anna\nbob\n" * 10)
    choices = {"steps": 5, "every": 2, **SMALL}
    train(RULE, folder=folder / "runs/strings-10", **choices)
    train(str(folder / "names.txt"), folder=folder / "runs/names-1", **choices | {"count": 0})
    for seed in (0, 1):
        train(RULE, folder=folder / f"runs/strings-2/seed-{seed}", seed=seed, **choices)
    found = folder / "runs/isosceles-1"
    found.mkdir()
    (found / "run.json").write_text(json.dumps({"problem": "isosceles:n=5", "asked": None, "settings": {}}))
    (found / "metrics.jsonl").write_text(json.dumps({"generation": 3, "best": 9, "loss": None}) + "\n")
    for name, text in {"cut": "{", "empty": "{}"}.items():
        (folder / "runs" / name).mkdir()
        (folder / "runs" / name / "run.json").write_text(text)
    train(RULE, folder=folder / "runs/short", **choices)
    checkpoint = folder / "runs/short/checkpoint.safetensors"
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    (folder / "runs/notes").mkdir()
    return folder


def test_every_run_is_listed_with_its_task_steps_loss_and_success(runs):
    found = {str(run.path.relative_to(runs / "runs")): run for run in runs_in(runs / "runs")}
    names = ["cut", "empty", "isosceles-1", "names-1", "short", "strings-2/seed-0", "strings-2/seed-1", "strings-10"]
    assert list(found) == names
    last = Folder.open(runs / "runs/strings-10").lines()[-1]
    assert found["strings-10"] == Run(
        runs / "runs/strings-10", "learn", RULE, 5, 5, last["held_out"], last["success"], None, None
    )
    names, discovery = found["names-1"], found["isosceles-1"]
    assert (names.task, names.success) == (str(runs / "names.txt"), None)
    assert names.loss == Folder.open(names.path).lines()[-1]["trained_on"]  # two names: none is held out
    assert (discovery.kind, discovery.task, discovery.steps, discovery.best) == ("discover", "isosceles:n=5", 4, 9.0)
    assert {name for name, run in found.items() if run.damaged} == {"cut", "empty", "short"}
    with pytest.raises(HandloomError, match="nowhere is not a folder of runs"):
        runs_in(runs / "nowhere")


def test_the_steps_are_those_of_the_checkpoint_and_a_line_that_was_cut_off_is_left_out(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=5, every=2, **SMALL)
    metrics = tmp_path / "a/metrics.jsonl"
    lines = metrics.read_text().splitlines()
    metrics.write_text("\n".join([*lines[:2], lines[2][:20]]))
    run = read_run(tmp_path / "a")
    assert (run.steps, run.loss) == (5, json.loads(lines[1])["held_out"])
    metrics.write_text("3\n")
    assert "metrics.jsonl, its last line, is damaged: it must be a JSON object" in read_run(tmp_path / "a").damaged


def test_a_run_whose_last_line_is_damaged_is_listed_with_the_line_before_and_what_is_wrong(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=4, every=2, **SMALL)
    metrics = tmp_path / "a/metrics.jsonl"
    first = metrics.read_text().splitlines()[0]
    metrics.write_text(f'{first}\n{{"step": 4, "held_out"\n')
    run = read_run(tmp_path / "a")
    assert (run.steps, run.loss) == (4, json.loads(first)["held_out"])
    assert run.damaged.startswith("metrics.jsonl, its last line, is damaged")
    row, note = handloom("runs", "a", cwd=tmp_path).stdout.splitlines()[1:]
    assert f"{run.loss:.4f}" in row
    assert note.startswith("a: metrics.jsonl, its last line, is damaged")


def test_the_command_lists_them_one_per_line(runs):
    said = handloom("runs", cwd=runs).stdout.splitlines()
    assert len(said) == 9
    assert re.fullmatch(r" runs/isosceles-1 +discover +isosceles:n=5 +4 +best 9 *", said[1])
    assert [line.split(":")[0] for line in said[-3:]] == ["runs/cut", "runs/empty", "runs/short"]
    listed = json.loads(handloom("runs", "runs/strings-2", "--json", cwd=runs).stdout)
    assert [(run["run"], run["steps"]) for run in listed] == [(f"runs/strings-2/seed-{i}", 5) for i in (0, 1)]


def test_mean_and_spread_are_those_of_the_values():
    spread = Spread.of([0.5, 0.7, 0.9])
    assert (spread.mean, spread.deviation) == (pytest.approx(0.7), pytest.approx(0.2))
    assert spread.text(".0%") == "70% ± 20% (50% to 90%)"
    assert Spread.of([0.5]).text(".2f") == "0.50 (0.50 to 0.50)"


def test_several_seeds_are_trained_and_told_of_together(tmp_path):
    words = ["learn", RULE, "--seed", 3, "--seeds", 2, "--steps", 6, "--out", "many", *TINY, "--json"]
    done = handloom(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [run["run"] for run in found["runs"]] == ["many/seed-3", "many/seed-4"]
    losses = [run["loss"] for run in found["runs"]]
    assert losses[0] != losses[1]
    assert found["loss"] == pytest.approx(sum(losses) / 2)
    assert found["spread"]["loss"]["deviation"] == pytest.approx(abs(losses[0] - losses[1]) / 2**0.5)
    alone = train(RULE, seed=4, steps=6, every=5, layers=1, heads=1, width=8, count=100, samples=10)
    assert alone.held_out_loss == losses[1]
    again = handloom("resume", "many", "--steps", 8, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "many: mean ± standard deviation of 2 runs" in again.stdout
    assert [read_run(tmp_path / f"many/seed-{seed}").steps for seed in (3, 4)] == [8, 8]


def test_seeds_that_are_interrupted_are_all_there_to_be_resumed(tmp_path):
    command = [*PROCESS, "learn", RULE, "--seeds", "3", "--steps", "9999", "--out", "a", *TINY]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(Folder(tmp_path / "a/seed-0").lines()) >= 2)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=60)[1]
    assert running.returncode == 130
    assert "handloom resume a resumes all unfinished runs" in said
    assert [run.path.name for run in runs_in(tmp_path / "a")] == ["seed-0", "seed-1", "seed-2"]
    stopped = read_run(tmp_path / "a/seed-0").steps
    assert handloom("resume", "a", "--steps", stopped + 5, cwd=tmp_path).returncode == 0
    assert {run.steps for run in runs_in(tmp_path / "a")} == {stopped + 5}


def test_seeds_that_cannot_begin_leave_nothing(tmp_path):
    done = handloom("learn", "s[1]==", "--seeds", 2, *TINY, cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    (tmp_path / "a").mkdir()
    (tmp_path / "a/mine").write_text("")
    assert "name another folder" in handloom("learn", RULE, "--seeds", 2, "--out", "a", *TINY, cwd=tmp_path).stderr
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["mine"]


def test_curves_of_a_folder_are_one_for_each_run_and_one_for_all_seeds(runs, capsys):
    found = dict(curves_in(runs / "runs"))
    folder = str(runs / "runs")
    assert {name.removeprefix(folder): len(several) for name, several in found.items()} == {
        "/names-1": 1,
        "/strings-2": 2,
        "/strings-10": 1,
    }
    said = capsys.readouterr().err
    assert said.count("left out: ") == 4
    assert "isosceles-1: it is a run of discover" in said
    assert draw_curves(found, runs / "curves.svg").read_text().startswith("<?xml")
    done = handloom("curves", "runs/notes", cwd=runs)
    assert (done.returncode, "no run that has been evaluated" in done.stderr) == (2, True)


def test_the_mean_of_seeds_is_one_over_all_of_them_also_after_one_has_ended():
    long = [{"step": 10, "loss": 4.0}, {"step": 20, "loss": 2.0}, {"step": 30, "loss": None}]
    short = [{"step": 10, "loss": 2.0}]
    assert list(values_at([long, short], "loss")) == [(10, [4.0, 2.0]), (20, [2.0, 2.0])]
    assert list(values_at([long, short], "held_out")) == []


def test_a_run_whose_settings_were_changed_by_chance_is_listed_as_damaged(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=2, every=2, **SMALL)
    file = tmp_path / "a/run.json"
    file.write_text(file.read_text().replace('"steps": 2', '"steps": 3'))
    assert "sha256 does not match" in read_run(tmp_path / "a").damaged
    file.write_text(json.dumps({"task": 5, "network": {}, "settings": {}}))
    assert read_run(tmp_path / "a").damaged
