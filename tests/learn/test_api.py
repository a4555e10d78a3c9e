"""What a run's folder holds, and what is made of it: its task, its engine, its metrics; and models to begin with."""

import json
import os
import re
import runpy
import signal
import socket
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from command import PROCESS, handloom
from handloom import HandloomError
from handloom.core import Model, load, save, trace
from handloom.core.reference import softmax
from handloom.lab.talk import EXPERIMENTS
from handloom.learn.api import in_new_folder, prepare, resume, train
from handloom.learn.sampling import sample
from handloom.runs.folder import Folder
from handloom.tasks import Language
from training_runs import OWN, RULE, SMALL, TINY, by_hand, wait_for

ONE = {"steps": 2, "every": 2, **SMALL}


def about(folder):
    return json.loads((folder / "run.json").read_text())


# The task


def test_a_file_that_is_called_as_a_task_does_not_stand_in_for_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parity").write_text("abc\n" * 20)
    train("parity", folder=tmp_path / "a", **ONE)
    assert about(tmp_path / "a")["task"] == "parity"
    assert resume(tmp_path / "a", steps=4).where.step == 4


def test_a_rule_that_is_longer_than_a_file_name_may_be(tmp_path):
    rule = " and ".join(f"s[{i}]==s[{i + 40}]" for i in range(1, 25))
    assert len(rule) > 255
    train(f"strings:rule={rule},length=70-80", folder=tmp_path / "a", **ONE)
    done = handloom("learn", rule.replace("+", ""), "--steps", 1, *TINY, cwd=tmp_path)
    assert "File name too long" not in done.stderr
    assert done.returncode == 2  # strings of 30 to 40 have no digit 64
    assert handloom("heatmap", "a", cwd=tmp_path).returncode == 0


def test_a_pipe_can_be_learnt_from_and_gone_on_with(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, "anna\nbob\r\n\ufeffclara\n".encode() * 10)
    os.close(writing)
    train(f"/dev/fd/{reading}", folder=tmp_path / "a", **ONE | {"count": 0})
    os.close(reading)
    assert (tmp_path / "a/strings.txt").read_text() == "anna\nbob\nclara\n" * 10
    assert resume(tmp_path / "a", steps=4).where.step == 4


def test_of_a_text_file_so_many_lines_are_learnt_as_are_asked_for(tmp_path):
    (tmp_path / "names.txt").write_text("".join(f"{i}\n" for i in range(60)))
    few = train(str(tmp_path / "names.txt"), folder=tmp_path / "a", **ONE | {"count": 20})
    assert len(few.strings) + len(few.held_out) == 20
    again = resume(tmp_path / "a", steps=4)
    assert (again.strings.ids == few.strings.ids).all()
    with pytest.raises(HandloomError, match="count=61, but there are only 60 strings"):
        train(str(tmp_path / "names.txt"), **ONE | {"count": 61})


def test_the_task_of_a_run_is_its_own_wherever_it_is_looked_at(tmp_path):
    """Heatmaps mark the digits that the rule of the copied file names, and not of a task.py that is here."""
    made = "hl.task(f'strings:rule=s[1]==s[{n}],length=8-8')"
    own = f"import handloom as hl\ndef task(n: int = 4): return {made}"
    (tmp_path / "own.py").write_text(own)
    (tmp_path / "task.py").write_text("raise SystemExit('this is another task')")
    assert handloom("learn", "own.py:n=6", "--steps", 2, "--out", "a", *TINY, cwd=tmp_path).returncode == 0
    done = handloom("heatmap", "a", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["marks"] == [1, 6], done.stderr


def test_a_run_of_another_task_is_not_gone_on_with(tmp_path):
    train(RULE, folder=tmp_path / "a", **ONE)
    by_hand(tmp_path / "a/run.json", '"task": "', '"task": "one-two", "old": "')
    with pytest.raises(HandloomError, match=r"a run of another task: its tokens are .*, and those of the task 0 1 2"):
        resume(tmp_path / "a", steps=4)


def test_a_python_file_with_lines_stays_a_python_file(tmp_path):
    own = "from handloom import Language\nwords = ['ab', 'abab'] * 20\n"
    own += "task = Language('ab', 'abc', 6, lambda rng: 'ab', lambda text: 'c' not in text, lines=words)"
    (tmp_path / "own.py").write_text(own)
    train(str(tmp_path / "own.py"), folder=tmp_path / "a", **ONE | {"count": 0})
    again = resume(tmp_path / "a", steps=4)
    assert again.task.right("ab")
    assert not again.task.right("c")


def test_a_task_without_a_name_is_given_again(tmp_path):
    same = Language("one letter", "ab", 6, lambda rng: "ab"[rng.integers(2)] * 6, lambda s: len(set(s)) == 1)
    train(same, folder=tmp_path / "a", **ONE)
    with pytest.raises(HandloomError, match="resume and sample take it as task=…"):
        sample(tmp_path / "a")
    assert len(sample(tmp_path / "a", 5, task=same, steps=3).samples) == 5
    assert max(map(len, sample(tmp_path / "a", 5, task=same, steps=3).samples)) <= 3


# The engine, the metrics, the folder


@pytest.mark.parametrize("asked", ["auto", "torch", "native"])
def test_a_run_goes_on_with_the_engine_that_was_asked_for(tmp_path, asked):
    train(RULE, folder=tmp_path / "a", engine=asked, **ONE)
    again = resume(tmp_path / "a", steps=3)
    assert again.engine == ("auto" if asked == "native" else asked)
    assert about(tmp_path / "a")["asked"] == asked


def test_another_engine_is_for_this_time_only(tmp_path):
    train(RULE, folder=tmp_path / "a", engine="native", **ONE)
    assert resume(tmp_path / "a", steps=3, engine="torch").choice.name == "torch"
    assert [about(tmp_path / "a")[key] for key in ("asked", "engine")] == ["native", "torch"]
    assert resume(tmp_path / "a", steps=4).choice.name == "native"


def test_a_run_that_torch_must_train_is_evaluated_as_before_when_it_goes_on(tmp_path):
    train(RULE, folder=tmp_path / "a", dropout=0.1, **ONE)
    again = resume(tmp_path / "a", steps=4)
    assert (again.engine, again.choice.name, again.choice.reason) == ("auto", "torch", "it has no dropout")


def test_metrics_are_not_lost_if_one_line_is_damaged(tmp_path):
    train(RULE, folder=tmp_path / "a", **ONE | {"steps": 10})
    file = tmp_path / "a/metrics.jsonl"
    lines = file.read_text().splitlines()
    damaged = "\n".join([lines[0], lines[1][:9], *lines[2:]]) + "\n"
    file.write_text(damaged)
    with pytest.raises(HandloomError, match=r"metrics.jsonl, line 2, is damaged: .*; remove it"):
        resume(tmp_path / "a", steps=12)
    assert file.read_text() == damaged
    file.write_text("\n".join([*lines[:4], lines[4][:9]]))  # the last one was cut off when it was killed
    with pytest.raises(HandloomError, match="is at step 10 already"):
        resume(tmp_path / "a", steps=3)
    assert file.read_text() == "\n".join([*lines[:4], lines[4][:9]])
    assert resume(tmp_path / "a", steps=12).where.step == 12
    assert [line["step"] for line in Folder(tmp_path / "a").lines()] == [2, 4, 6, 8, 12]


def test_a_line_that_was_written_before_the_first_checkpoint_comes_again(tmp_path):
    """Killed between an evaluation and the checkpoint that follows it."""
    train(RULE, folder=tmp_path / "a", **ONE | {"steps": 0})
    (tmp_path / "a/metrics.jsonl").write_text('{"step": 2, "held_out": 0.7, "lo')
    by_hand(tmp_path / "a/run.json", '"steps": 0', '"steps": 4')
    resume(tmp_path / "a")
    assert [line["step"] for line in Folder(tmp_path / "a").lines()] == [2, 4]


def test_a_training_can_be_run_again(tmp_path):
    train(RULE, folder=tmp_path / "a", **ONE).run()
    resume(tmp_path / "a", steps=4).run()
    assert [line["step"] for line in Folder(tmp_path / "a").lines()] == [2, 4]


def test_of_a_run_that_never_began_nothing_is_left(tmp_path):
    (tmp_path / "mine").mkdir()
    for name in ("a", "mine", "x/y/z"):
        training = prepare(RULE, **ONE)
        with pytest.raises(HandloomError, match="no"), in_new_folder(training, tmp_path / name, RULE):
            raise HandloomError("no")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert not list((tmp_path / "mine").iterdir())


def test_what_others_have_put_into_the_folder_of_a_run_stays(tmp_path):
    def fails():
        (tmp_path / "a/notes").mkdir()
        (tmp_path / "a/log.txt").write_text("mine")
        raise HandloomError("no")

    with pytest.raises(HandloomError, match="no"), in_new_folder(prepare(RULE, **ONE), tmp_path / "a", RULE):
        fails()
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["log.txt", "notes"]


def test_a_colon_in_the_name_of_a_folder_or_of_a_file_is_part_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x:y.txt").write_text("anna\nbob\n" * 10)
    done = handloom("learn", "x:y.txt", "--steps", 1, *TINY, "--count", 20, cwd=tmp_path)
    assert os.path.join("runs", "x-y-1") in done.stdout, done.stderr
    train("x:y.txt:tokens=words", folder="sort:1", **ONE | {"count": 0})
    assert resume("sort:1", steps=4).task.vocab.tokens == ("anna", "bob", "<end>")
    with pytest.raises(HandloomError, match="tokens='a:b' must be characters or words"):
        train("x:y.txt:tokens=a:b", **ONE)


def test_runs_that_begin_at_the_same_time_have_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, gate = [], threading.Barrier(8)

    def begin():
        gate.wait()
        found.append(Folder.create(None, RULE).path)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, found)) == [f"runs/strings-{i}" for i in range(1, 9)]


def test_the_numbers_of_a_run_that_was_stopped_are_said_to_be_of_the_step_they_are_of(tmp_path):
    def stop(report):
        if report.step == 7:
            training.halt()

    training = prepare(RULE, **ONE | {"steps": 100, "every": 5})
    training.watch = stop
    with in_new_folder(training, tmp_path / "a", RULE):
        training.run()
    assert (training.where.step, training.measured) == (7, 5)
    assert training.stop


@pytest.mark.parametrize("choices", [{"dropout": 0.1}, {"kind": "gru"}])
def test_a_seed_may_be_any_number(choices):
    for seed in (10**12, 2**64 + 3):
        training = train(RULE, steps=2, every=2, count=50, samples=5, d_model=8, seed=seed, **choices)
        assert np.isfinite(training.held_out_loss)


def test_a_masked_run_goes_on_as_if_never_stopped(tmp_path):
    train(RULE, folder=tmp_path / "a", causal=False, lanes=2, **ONE)
    more = resume(tmp_path / "a", steps=4)
    whole = train(RULE, causal=False, lanes=2, **ONE | {"steps": 4})
    assert all((more.trainer.arrays()[name] == array).all() for name, array in whole.trainer.arrays().items())
    assert more.evaluation == whole.evaluation


def test_a_row_of_a_masked_model_does_not_depend_on_how_many_there_are(tmp_path):
    train(RULE, folder=tmp_path / "a", causal=False, **ONE)
    many, few = (sample(tmp_path / "a", count, seed=3).samples for count in (12, 4))
    assert many[:4] == few


def two_processes(folder, *words):
    """As torchrun starts them."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = str(server.getsockname()[1])
    command = [*PROCESS, *words]
    place = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    return [
        subprocess.Popen(command, cwd=folder, env=place | {"RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]


@pytest.mark.parametrize("told", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_of_several_processes_all_stop_when_one_is_told_to(tmp_path, told):
    """Ctrl-C reaches them at different times; here only one of them."""
    both = two_processes(tmp_path, "learn", RULE, "--steps", "1000000", "--out", "a", *TINY, "--every", "7")
    wait_for(lambda: len(Folder(tmp_path / "a").lines()) >= 2)
    both[told].send_signal(signal.SIGINT)
    said = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [130, 0], said
    stopped = int(re.search(r"stopped at step ([\d,]+);", said[0])[1].replace(",", ""))
    assert Folder(tmp_path / "a").checkpoint()[1]["step"] == stopped
    lines = Folder(tmp_path / "a").lines()
    assert lines[-1]["tokens"] > 7 * 32 * lines[-1]["step"]  # of both processes: strings have 6 digits or more


def test_what_goes_wrong_while_the_first_process_evaluates_is_known_to_all(tmp_path):
    (tmp_path / "own.py").write_text(OWN.format(draw="'01'", right="text == '01' or 1 / 0"))
    for process in two_processes(tmp_path, "learn", "own.py", "--steps", "5", "--out", "a", *TINY):
        said = process.communicate(timeout=300)[1]
        assert (process.returncode, "Traceback" in said) == (2, False), said
        assert "the task could not judge a sample" in said


@pytest.mark.slow
def test_what_goes_wrong_before_the_first_step_is_known_to_all(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/mine").write_text("")
    for process in two_processes(tmp_path, "learn", RULE, "--steps", "5", "--out", "a", *TINY):
        said = process.communicate(timeout=300)[1]
        assert (process.returncode, "Traceback" in said) == (2, False), said
        assert "a exists already; name another folder" in said


@pytest.mark.slow
def test_what_ends_the_first_process_alone_is_no_traceback_in_the_others(tmp_path):
    (tmp_path / "own.py").write_text(OWN.format(draw="'01'", right="text == '01' or exit(3)"))  # no error of the task's
    first, other = two_processes(tmp_path, "learn", "own.py", "--steps", "5", "--out", "a", *TINY)
    said = other.communicate(timeout=300)[1]
    assert (other.returncode, "Traceback" in said) == (2, False), said
    first.communicate(timeout=300)
    assert first.returncode == 3
    assert "another of the processes has ended" in said


# Models to begin with


def test_a_model_trained_on_from_a_program_answers_the_questions_of_its_run(tmp_path):
    words = ["learn", "addition:digits=2", "--start", "addition:digits=3", "--rate", "1e-6", "--steps", 2, "--out", "a"]
    done = handloom(*words, "--count", 50, "--samples", 5, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = load(tmp_path / "a/model.safetensors")
    assert model.notes["from"]["parameters"] == {"digits": 3}
    done = handloom("run", "a", "12+34=", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("begun", "task", "said"),
    [
        ("hops:symbols=4", "induction:symbols=4", "besides"),
        ("one-two", RULE, "it has '2' besides"),
        (RULE, "one-two", "it has no '2'"),
    ],
)
def test_a_model_whose_tokens_are_not_the_tasks_is_refused(begun, task, said):
    model = train(begun, **ONE).model()
    with pytest.raises(HandloomError, match=f"the model's tokens are not the task's: .*{said}"):
        train(task, start=model, steps=1)


def test_a_model_whose_strings_begin_or_end_otherwise_is_refused():
    from handloom.core import Vocab

    model = train(RULE, **ONE).model()
    endless = Model(model.config, model.params, Vocab(model.vocab.tokens, "", bos="<end>"), {})
    with pytest.raises(HandloomError, match="its eos is None and not '<end>'"):
        train(RULE, start=endless, steps=1)
    blind = train(RULE, causal=False, **ONE).model()
    bare = Vocab((*blind.vocab.tokens[:-1], "?"), "", bos="<end>", eos="<end>")
    with pytest.raises(HandloomError, match="it has no '<mask>'"):
        train(RULE, start=Model(blind.config, blind.params, bare, {}), steps=1)


def test_a_network_of_cells_is_trained_on_from_the_command_line(tmp_path):
    train(RULE, kind="gru", folder=tmp_path / "a", steps=2, every=2, count=50, samples=5)
    done = handloom("learn", RULE, "--start", "a", "--steps", 2, "--count", 50, "--out", "b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert about(tmp_path / "b")["network"]["kind"] == "gru"
    missing = handloom("learn", RULE, "--start", "nothing", cwd=tmp_path)
    assert (missing.returncode, "no such file" in missing.stderr) == (2, True)


def test_what_a_run_has_learnt_is_certified_against_its_task(tmp_path):
    train("min:n=3", folder=tmp_path / "a", steps=300, every=300, rate=3e-3, **SMALL | {"count": 500})
    done = handloom("certify", "a", cwd=tmp_path)
    assert "exhaustive" in done.stdout, done.stderr
    assert handloom("certify", "a", "--task", "min:n=3", cwd=tmp_path).stdout == done.stdout
    train(RULE, folder=tmp_path / "b", **ONE)
    strings = handloom("certify", "b", cwd=tmp_path)
    assert strings.returncode == 2
    assert "a task of strings has no questions with right answers" in strings.stderr
    save(load(tmp_path / "a").with_(notes={}), tmp_path / "alone.safetensors")
    (tmp_path / "run.json").write_text('{"x": 1}')  # what is beside a file need not be about it
    assert "name it, as in addition:digits=2" in handloom("certify", "alone.safetensors", cwd=tmp_path).stderr
    longer = handloom("certify", "a", "--task", "max:n=3", cwd=tmp_path)
    assert longer.returncode == 1  # the same tokens, and other answers


@pytest.mark.parametrize(
    ("oracle", "said"),
    [("1 / 0", "could not answer .*ZeroDivisionError"), ("[]", r"to its own input \[0\] the task gave \[\]")],
)
def test_a_task_of_ones_own_that_cannot_answer_is_told_in_one_line(oracle, said):
    from handloom import Task, Vocab, certify

    asks = Task("a", Vocab.of("ab"), lambda ids: eval(oracle), lambda rng: [0])
    model = train(Task("a", Vocab.of("ab"), lambda ids: ids, lambda rng: [0]), **ONE).model()
    with pytest.raises(HandloomError, match=said):
        certify(model, asks)


def test_a_model_that_is_too_short_for_a_task_is_told():
    from handloom import certify

    model = train("addition:digits=1", **ONE).model()
    with pytest.raises(HandloomError, match=r"block holds \d+ tokens, and a question of this task"):
        certify(model, "addition:digits=3", samples=10)


def test_the_talks_first_experiment_learns_its_rule(tmp_path):
    """A short run of wagner/13-22, as the command makes it."""
    words = ["learn", "wagner/13-22", "--until", "0.95", "--every", 250, "--steps", 3000, "--out", "a", "--json"]
    done = handloom(*words, cwd=tmp_path)
    assert json.loads(done.stdout)["success"] >= 0.95, done.stderr
    assert about(tmp_path / "a")["experiment"] == "wagner/13-22"
    assert about(tmp_path / "a")["claim"] == EXPERIMENTS["wagner/13-22"].claim


def test_the_example_on_rule_2_finds_the_head_that_looks_20_back_and_the_one_that_looks_at_digit_18(tmp_path):
    """Of a model that has learnt nothing: the one that happens to look there most."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "rule_2.py"))
    train(EXPERIMENTS["wagner/rule-2"].task, folder=tmp_path / "a", **ONE | {"count": 50, "samples": 1})
    model = load(tmp_path / "a/model.safetensors")
    texts, rows = ["01" * 30], np.arange(50, 61)
    found = example["most"](model, texts, lambda rows: rows - 20)
    pattern = [np.asarray(trace(model, texts[0])[f"{layer}.pattern"]) for layer in range(2)]
    share = np.array([[pattern[i][h][rows, rows - 20].mean() for h in range(2)] for i in range(2)])
    assert (share[found[:2]], found[2]) == (pytest.approx(share.max()), pytest.approx(share.max(), rel=1e-4))
    end = softmax(trace(model, texts[0])["logits"][rows])[:, model.vocab.id("<end>")]
    equal = np.array([texts[0][row - 21] == texts[0][17] for row in rows])
    assert example["ends"](model, texts) == pytest.approx((end[equal].mean(), end[~equal].mean()), rel=1e-4)
    assert example["ends"](model, texts, example["without"](0, 1)) != example["ends"](model, texts)
    strings = ["0" * 60, "0" * 39 + "1" + "0" * 20]  # the second has a 1 in place n - 20
    assert example["right_by_length"](model, strings, 0, 0, enough=0.0) == (1, 2, 0, 0)
    assert example["right_by_length"](model, strings, 0, 0, enough=1.1) == (0, 0, 1, 2)
