"""Training from the command line: what users type, see, and find afterwards."""

import json
import os
import re
import resource
import signal
import subprocess

import pytest

from command import PROCESS, handloom, handloom_process
from handloom.cli.live.training import TrainingView
from handloom.core import Model, load, save
from handloom.learn import train
from handloom.learn.training import Report
from handloom.runs.folder import Folder
from training_runs import OWN, RULE, SMALL, TINY, by_hand, wait_for


def test_the_time_that_is_left_follows_from_what_this_run_has_seen(capsys):
    view = TrainingView("runs/x", "native", "100 strings")
    for step, seconds in ((5_001, 600.0), (5_011, 605.0)):  # resumed: what came before does not count
        view.next = 0.0
        view(Report(step, 5_211, seconds, 0.5))
    first, second = capsys.readouterr().err.splitlines()
    assert first == "step 5,001 of 5,211, loss 0.5000"
    assert second == "step 5,011 of 5,211, loss 0.5000, 2.0 per second, 2 min left"


def test_three_commands_from_a_text_file_to_samples(tmp_path):
    (tmp_path / "words.txt").write_text("\n".join(["hello", "help", "held", "hers", "heat"] * 8))
    learnt = handloom("learn", "words.txt", "--steps", 10, "--json", *TINY, "--count", 30, cwd=tmp_path)
    assert learnt.returncode == 0, learnt.stderr
    result = json.loads(learnt.stdout)
    assert result["run"] == os.path.join("runs", "words-1")
    assert result["steps"] == 10
    assert {"loss", "success"} <= set(result)
    sampled = json.loads(handloom("sample", "runs/words-1", "-n", 7, "--json", cwd=tmp_path).stdout)
    assert len(sampled["samples"]) == 7
    assert {"success", "new", "malformed"} <= set(sampled)
    prompted = json.loads(handloom("sample", "runs/words-1", "--prompt", "he", "--json", cwd=tmp_path).stdout)
    assert all(text.startswith("he") for text in prompted["samples"])
    resumed = handloom("resume", "runs/words-1", "--steps", 15, "--json", cwd=tmp_path)
    assert json.loads(resumed.stdout)["steps"] == 15
    assert handloom("info", "runs/words-1", "--json", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("empty.txt", "empty"),
        ("strings:rule=s[300]==s[1],length=30-40", "300"),
        ("strings:rule=s[1]!=s[1]", "s[1]!=s[1]"),
        ("nonsense", "nonsense"),
        ("s[13]=", "s[13]="),
    ],
)
def test_bad_tasks_get_one_line_and_leave_nothing_behind(tmp_path, task, words):
    (tmp_path / "empty.txt").write_text("\n\n")
    done = handloom("learn", task, "--steps", 5, *TINY, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path):
    command = [*PROCESS, "learn", RULE, "--steps", "100000", *TINY, "--every", "3"]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: len(Folder(tmp_path / "runs/strings-1").lines()) >= 2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    stopped = int(re.search(r"stopped at step ([\d,]+); handloom resume runs/strings-1", said)[1].replace(",", ""))
    assert Folder(tmp_path / "runs/strings-1").checkpoint()[1]["step"] == stopped
    done = json.loads(handloom("sample", "runs/strings-1", "--json", cwd=tmp_path).stdout)
    assert len(done["samples"]) == 20


def test_a_written_model_file_can_be_trained_on_from_the_command_line(tmp_path):
    base = train(RULE, steps=2, every=2, **SMALL).model()
    save(base, tmp_path / "base.safetensors")
    done = handloom(
        "learn", RULE, "--start", "base.safetensors", "--lora", 2, "--steps", 4, *TINY[6:], "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert isinstance(load(tmp_path / "runs/strings-1/model.safetensors"), Model)


def test_tensorboard_files_hold_the_metrics(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    done = handloom("learn", RULE, "--steps", 10, "--tensorboard", "--json", *TINY, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    events = EventAccumulator(str(tmp_path / "runs/strings-1"))
    events.Reload()
    lines = Folder.open(tmp_path / "runs/strings-1").lines()
    held_out = [scalar.value for scalar in events.Scalars("loss/held_out")]
    assert held_out == pytest.approx([line["held_out"] for line in lines], rel=1e-6)


def test_a_run_that_cannot_begin_leaves_no_folder(tmp_path):
    """Here because TensorBoard is not there: a module of that name that cannot be imported stands in its place."""
    (tmp_path / "tensorboard.py").write_text("raise ImportError")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = handloom_process("learn", RULE, "--tensorboard", *TINY, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path})
    assert done.returncode == 2
    assert "handloom[board]" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("kind", ["bigram", "lstm", pytest.param("mlp", marks=pytest.mark.slow)])
def test_other_kinds_are_trained_sampled_and_resumed_from_the_command_line(tmp_path, kind):
    words = ["learn", RULE, "--kind", kind, "--steps", 10, "--count", 100, "--samples", 10, "--every", 5, "--json"]
    done = handloom(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(handloom("resume", "runs/strings-1", "--steps", 12, "--json", cwd=tmp_path).stdout)["steps"] == 12
    sampled = json.loads(handloom("sample", "runs/strings-1", "--json", cwd=tmp_path).stdout)
    assert len(sampled["samples"]) == 20
    info = handloom("info", "runs/strings-1", cwd=tmp_path)
    assert (info.returncode, "; sample from the run that made it" in info.stderr) == (
        (0, False) if kind == "bigram" else (2, True)
    )


def test_a_full_disk_is_said_in_one_line_and_nothing_is_left(tmp_path):
    """A disk is full for whoever may not write more than so much."""
    done = handloom_process(
        "learn",
        RULE,
        "--steps",
        5,
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9999, 9999)),
    )
    assert done.returncode == 2
    *shown, said = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in shown] == ["data", "engine"]
    assert "cannot write" in said
    assert not (tmp_path / "runs").exists()


def test_the_tasks_are_listed_with_their_parameters(tmp_path):
    listed = {line["name"]: line["about"] for line in json.loads(handloom("tasks", "--json", cwd=tmp_path).stdout)}
    assert "grid:side=8,distances=4,5" in listed
    assert "99.7 %" in listed["wagner/13-22"]
    assert handloom("learn", "wagner/14-22", cwd=tmp_path).returncode == 2


def test_a_run_that_cannot_go_on_keeps_all_it_has(tmp_path):
    assert handloom("learn", RULE, "--steps", 5, "--out", "a", *TINY, cwd=tmp_path).returncode == 0
    (tmp_path / "tensorboard.py").write_text("raise ImportError")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    before = {file.name: file.read_bytes() for file in (tmp_path / "a").iterdir()}
    words = ["resume", "a", "--steps", 10, "--tensorboard"]
    assert handloom_process(*words, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}).returncode == 2
    (tmp_path / "a/checkpoint.safetensors").unlink()
    done = handloom("resume", "a", "--steps", 10, cwd=tmp_path)
    assert done.returncode == 2
    assert "has no checkpoint.safetensors to resume from, but models" in done.stderr
    del before["checkpoint.safetensors"], before["run.json"]  # in which there is how many steps there are to be
    assert all((tmp_path / "a" / name).read_bytes() == data for name, data in before.items())


def test_a_run_that_stopped_early_goes_on_when_asked_for_more_steps(tmp_path):
    words = ["learn", "s[1]==s[1]", "--out", "a", "--until", "0.01", "--steps", 100, *TINY]
    done = handloom(*words, "--json", cwd=tmp_path)
    stopped = json.loads(done.stdout)["steps"]
    assert stopped < 100
    assert "by --until or --patience; handloom resume --steps N trains more" in done.stderr
    assert json.loads(handloom("resume", "a", "--steps", 60, "--json", cwd=tmp_path).stdout)["steps"] == 60
    less = handloom("resume", "a", "--steps", 20, cwd=tmp_path)
    assert less.returncode == 2
    assert "is at step 60 already" in less.stderr
    assert json.loads((tmp_path / "a/run.json").read_text())["settings"]["steps"] == 60


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("run.json", ('"network": {', '"network": null, "old": {')),
        ("run.json", ('"heads"', '"tails"')),
        ("run.json", ('"frozen": []', '"frozen": 3')),
        ("run.json", ('"betas": [', '"betas": "x", "b": [')),
        ("metrics.jsonl", ('{"step"', '3\n{"step"')),
        ("metrics.jsonl", ('{"step"', '{"no": "step"}\n{"step"')),
    ],
)
def test_a_damaged_run_is_told_in_one_line(tmp_path, file, change):
    train(RULE, folder=tmp_path / "a", steps=5, every=5, **SMALL)
    by_hand(tmp_path / "a" / file, *change)
    done = handloom("resume", "a", "--steps", 10, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_files_of_several_runs_in_one_folder_are_told(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=2, every=2, **SMALL)
    train(RULE, folder=tmp_path / "b", steps=2, every=2, **SMALL | {"d_model": 24})
    (tmp_path / "b/checkpoint.safetensors").replace(tmp_path / "a/checkpoint.safetensors")
    done = handloom("resume", "a", "--steps", 10, cwd=tmp_path)
    assert done.returncode == 2
    assert "(are its files damaged, or from several runs?)" in done.stderr


@pytest.mark.parametrize(
    ("draw", "right", "said"),
    [
        ("1 / 0", "True", "could not draw an example: <lambda>, line 5, raised ZeroDivisionError"),
        ("'2'", "True", "drew an invalid example"),
        ("'0' * 9", "True", "drew a string of 9 tokens (expected up to 4)"),
        ("'01'", "1 / 0", "could not judge a string that it drew: <lambda>, line 5"),
        ("'01'", "text == '01' or 1 / 0", "could not judge a sample: <lambda>, line 5"),
    ],
)
def test_what_goes_wrong_in_a_task_of_ones_own_is_told_in_one_line(tmp_path, draw, right, said):
    (tmp_path / "own.py").write_text(OWN.format(draw=draw, right=right))
    done = handloom("learn", "own.py", "--steps", 5, *TINY, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "runs").exists() == ("judge a sample" in said)  # it was trained by then


def test_a_task_of_ones_own_with_parameters_is_copied_into_the_run(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN.format(draw="'01' * (n // 2)", right="len(text) == n"))
    assert handloom("learn", "own.py:n=6", "--steps", 5, "--out", "a", *TINY, cwd=tmp_path).returncode == 0
    (tmp_path / "own.py").unlink()
    assert json.loads((tmp_path / "a/run.json").read_text())["task"] == "task.py:n=6"
    assert handloom("resume", "a", "--steps", 10, cwd=tmp_path).returncode == 0
    assert handloom("sample", "a", cwd=tmp_path).returncode == 0


def test_a_model_without_an_mlp_or_without_heads_is_trained_by_default(tmp_path):
    for words in (["--d-ff", 0], ["--heads", 0]):
        done = handloom("learn", RULE, "--steps", 2, "--count", 50, "--samples", 5, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("rule", ['count("1")%2==0', "n==35", "sum(s)>=3"])
def test_a_rule_alone_is_a_task(tmp_path, rule):
    done = handloom("learn", rule, "--steps", 1, "--json", *TINY, cwd=tmp_path)
    assert json.loads(done.stdout)["run"] == os.path.join("runs", "strings-1"), done.stderr


def test_a_model_is_kept_at_the_steps_asked_for_whenever_it_is_evaluated(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=10, every=4, keep=3, **SMALL)
    assert sorted(file.name for file in (tmp_path / "a").glob("model-*")) == [
        "model-3.safetensors",
        "model-6.safetensors",
        "model-9.safetensors",
    ]
    assert [line["step"] for line in Folder(tmp_path / "a").lines()] == [4, 8, 10]


def test_a_masked_model_goes_on_from_a_prompt_to_lengths_that_were_learnt(tmp_path):
    task = "strings:length=6-9"
    done = handloom("learn", task, "--masked", "--steps", 2, "--out", "a", *TINY, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    texts = json.loads(handloom("sample", "a", "--prompt", "01", "--json", cwd=tmp_path).stdout)["samples"]
    assert all(text.startswith("01") for text in texts)
    assert all(len(text.replace("<end>", "")) <= 9 for text in texts)
    long = handloom("sample", "a", "--prompt", "0" * 10, cwd=tmp_path)
    assert long.returncode == 2
    assert "shorten it" in long.stderr
    assert handloom("sample", "a", "--engine", "native", cwd=tmp_path).returncode == 2


def test_errors_about_masked_models_name_what_the_user_has_typed(tmp_path):
    done = handloom("learn", RULE, "--masked", "--kind", "gru", cwd=tmp_path)
    assert done.returncode == 2
    assert "masked" in done.stderr


def test_a_run_that_fails_keeps_what_it_has_saved(tmp_path):
    (tmp_path / "own.py").write_text(OWN.format(draw="'01'", right="text == '01' or 1 / 0"))
    words = ["learn", "own.py", "--steps", 9, "--keep", 3, "--out", "a", *TINY]
    done = handloom(*words, "--every", 9, cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "a/model-3.safetensors").exists()


def test_a_run_that_has_reached_its_goal_is_over_when_it_is_resumed(tmp_path):
    words = ["learn", "s[1]==s[1]", "--out", "a", "--until", "0.01", "--steps", 100, "--json", *TINY]
    steps = json.loads(handloom(*words, cwd=tmp_path).stdout)["steps"]
    assert json.loads(handloom("resume", "a", "--json", cwd=tmp_path).stdout)["steps"] == steps


def test_answers_without_an_end_are_as_long_as_in_evaluations(tmp_path):
    train("sort:n=4,length=3", folder=tmp_path / "a", steps=1, every=1, **SMALL)
    texts = json.loads(handloom("sample", "a", "-n", 50, "--json", cwd=tmp_path).stdout)["samples"]
    asked = [text.replace("=", "0").split(" 0 ") for text in texts]
    assert all(len(question.split()) == len(answer.split()) for question, answer in asked)
    assert handloom("sample", "a", "--top-k", 2, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("change", [('"network": {', '"network": null, "old": {'), ('"task": ', '"task": 3, "old": ')])
def test_sampling_from_a_damaged_run_is_told_in_one_line(tmp_path, change):
    train(RULE, folder=tmp_path / "a", steps=1, every=1, **SMALL)
    by_hand(tmp_path / "a/run.json", *change)
    for command in ("sample", "resume"):
        done = handloom(command, "a", cwd=tmp_path)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
