"""The dataset of a run: what is held out, what is said of it, and a task that contradicts itself."""

import inspect
import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

import handloom as hl
from handloom.core import HandloomError, reference
from handloom.core.reference import softmax
from handloom.learn.api import SETTINGS, prepare, resume, train
from handloom.learn.batches import padded_batch
from handloom.learn.data import NOTHING, Data, Strings, rows_of_step, split
from handloom.learn.evaluation import seed_at
from handloom.learn.learner import config_for
from handloom.learn.sampling import Sampling
from handloom.learn.settings import KINDS, SIZES, Settings
from handloom.runs.folder import Folder
from handloom.tasks import Language
from handloom.tasks import task as task_named
from training_runs import RULE, SMALL

FEW = "strings:length=1-5"  # 62 strings


def texts(task, strings):
    return [task.vocab.decode(strings.row(i)[1]) for i in range(len(strings))]


@pytest.mark.parametrize("seed", [0, 1])
def test_no_held_out_string_is_trained_on_however_often_it_was_drawn(seed):
    task = task_named(FEW)
    data = Data.of(task, Settings(count=1000, seed=seed))
    train, held_out = set(texts(task, data.train)), set(texts(task, data.held_out))
    assert not train & held_out
    assert 1 <= len(held_out) <= 6
    assert train | held_out == set(texts(task, data.strings))
    assert len(data.train) + len(data.held_out) == 1000


def test_no_held_out_question_is_trained_on():
    data = Data.of(task_named("addition:digits=1"), Settings(count=500))
    asked = [{tuple(part.row(i)[0]) for i in range(len(part))} for part in (data.train, data.held_out)]
    assert not asked[0] & asked[1]
    assert 1 <= len(asked[1]) <= len(asked[0] | asked[1]) // 10


@pytest.mark.parametrize("fraction", [0.3, 0.5, 1.0])
def test_with_a_fraction_that_part_of_all_inputs_is_trained_on_and_all_others_are_held_out(fraction):
    task = task_named("modular-addition:modulus=11")
    data = Data.of(task, Settings(seed=3, fraction=fraction))
    train, held_out = ([part.row(i) for i in range(len(part))] for part in (data.train, data.held_out))
    assert len(train) == int(fraction * 121)
    assert sorted(asked for asked, _ in train + held_out) == sorted(task.every())  # each of them once
    assert all(answer == [(a + b) % 11] for (a, b, _), answer in train + held_out)
    others = Data.of(task, Settings(seed=4, fraction=0.5)).train
    assert fraction == 1.0 or train != [others.row(i) for i in range(len(others))]


def test_a_run_with_a_fraction_measures_all_that_it_was_not_trained_on_and_resumes_with_it(tmp_path):
    sizes = {"layers": 1, "heads": 1, "width": 8, "fraction": 0.4, "every": 4, "seed": 5}
    train("modular-addition:modulus=7", folder=tmp_path / "a", steps=4, **sizes)
    resumed = resume(tmp_path / "a", steps=8)
    straight = train("modular-addition:modulus=7", folder=tmp_path / "b", steps=8, **sizes)
    assert (len(straight.strings), len(straight.held_out)) == (19, 30)
    assert resumed.held_out_loss == straight.held_out_loss
    known = Sampling.of(str(tmp_path / "b")).examiner.known
    assert known == {np.array(straight.strings.row(i)[0], np.int32).tobytes() for i in range(19)}


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("strings:length=3", {"fraction": 0.5}, "not all inputs of this task can be listed"),
        ("addition:digits=9", {"fraction": 0.5}, "not all inputs of this task can be listed"),
        ("modular-addition:modulus=3", {"fraction": 0.1}, "fraction=0.1 of 9 inputs is none; choose a larger"),
        ("modular-addition", {"fraction": 0.5, "count": 100}, "both choose the training set"),
        ("modular-addition", {"fraction": 1.5}, "fraction=1.5 must be a number from 0 to 1"),
    ],
)
def test_a_fraction_that_cannot_be_taken_is_an_error(task, options, said):
    with pytest.raises(HandloomError, match=said):
        prepare(task, steps=1, layers=1, **options)


def test_what_is_held_out_is_a_thousand_rows_and_a_tenth_of_all_at_most():
    often = [([9], [0, 9])] * 50_000
    rare = [([9], [1 + i % 7, 1 + i // 7 % 7, 1 + i // 49 % 7, 1 + i // 343, 9]) for i in range(2400)]
    train, held_out = split(Strings.of([*often, *rare, *rare, *rare, *rare, *rare]), 0)
    assert len(held_out) == 1000
    assert len(train) == 62_000 - 5 * 240  # what is held out beyond that is trained on neither
    train, held_out = split(Strings.of([([9], [i, 9]) for i in range(9)] * 100), 0)
    assert (len(train), len(held_out)) == (900, 0)


@pytest.mark.parametrize(
    ("task", "count", "said"),
    [
        (
            "strings:length=30-40",
            100,
            "100 strings (all distinct) of 30 to 40 tokens, alphabet 0 1; 10 distinct strings",
        ),
        ("strings:length=2", 50, "50 strings (4 distinct) of 2 tokens, alphabet 0 1; none held out: that takes 10"),
        ("addition:digits=1", 100, "100 questions (64 distinct) of 6 tokens with their answers, alphabet 0 1 2"),
    ],
)
def test_the_dataset_is_described(task, count, said):
    assert str(prepare(task, count=count, steps=1, layers=1).data).startswith(said)


def test_a_run_without_anything_held_out_is_measured_on_what_it_is_trained_on(tmp_path):
    training = train("strings:length=2", folder=tmp_path / "a", steps=4, every=2, **SMALL)
    assert len(training.held_out) == 0
    assert training.held_out_loss == training.trainer.loss(training.strings)
    assert [line["held_out"] for line in Folder(tmp_path / "a").lines()] == [None, None]
    assert (tmp_path / "a/best.safetensors").exists()
    assert resume(tmp_path / "a", steps=6).where.step == 6


def test_a_run_that_does_not_note_its_data_is_refused_in_one_line(tmp_path):
    """The first version split otherwise, and noted nothing."""
    train(FEW, folder=tmp_path / "a", steps=2, every=2, **SMALL)
    about = Folder(tmp_path / "a").about()
    assert about.pop("data") == Data.of(task_named(FEW), Settings(count=200)).to_json()
    (tmp_path / "a/run.json").write_text(json.dumps(about))
    with pytest.raises(HandloomError, match=r"run\.json is damaged: it has no data; start a new run"):
        resume(tmp_path / "a")


# Evaluations


def test_every_evaluation_draws_other_strings_and_a_resumed_run_the_same(tmp_path):
    seen = {}

    def watch(report):
        if report.evaluation:
            seen.setdefault(report.step, []).append(report.evaluation)

    train(RULE, folder=tmp_path / "a", steps=4, every=2, rate=0.0, watch=watch, **SMALL)
    resume(tmp_path / "a", steps=6, watch=watch)
    train(RULE, steps=6, every=2, rate=0.0, watch=watch, **SMALL)
    assert seen[2][0].samples != seen[4][0].samples  # though nothing has changed: the rate is 0
    assert all(first == second for first, second in seen.values())


def test_questions_too_are_asked_anew():
    examiner = prepare("addition:digits=2", count=50, steps=1, layers=1).examiner
    one, other = (examiner.questions(20, seed_at(0, step)) for step in (500, 1000))
    assert one != other
    assert one == examiner.questions(20, seed_at(0, 500))


def test_a_goal_is_reached_when_fresh_strings_reach_it():
    """A model that is right in 8 of 10 has at some evaluation 4 of 4; with the same draws every time it never would."""
    few_ones = Language("a bit", "01", 4, lambda rng: "0000", lambda text: text.count("1") < 3)
    training = train(few_ones, steps=400, every=1, samples=4, until=1.0, rate=0.0, count=20, layers=1, d_model=8)
    assert 1 < training.where.step < 400


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_the_loss_that_is_shown_is_that_of_the_reference_on_the_same_batches(tmp_path, engine):
    """In nats per token, averaged over the steps since the last evaluation; the rate is 0, so the model stays."""
    shown = []
    choices = SMALL | {"steps": 4, "every": 3, "rate": 0.0, "lanes": 3}
    training = train(RULE, folder=tmp_path / "a", engine=engine, watch=shown.append, **choices)
    losses = [loss_by_reference(training, step) for step in range(4)]
    means = [losses[0], np.mean(losses[:2]), np.mean(losses[:3]), np.mean(losses[:3]), losses[3], losses[3]]
    assert [report.loss for report in shown] == pytest.approx(means, rel=1e-4)
    assert [line["loss"] for line in Folder(tmp_path / "a").lines()] == pytest.approx([means[2], means[4]], rel=1e-4)


def loss_by_reference(training, step):
    rows, _ = rows_of_step(training.strings, training.settings.batch, training.settings.seed, step)
    batch = padded_batch(training.strings, rows)
    chances = softmax(reference.forward(training.model(), batch.inputs)[0])
    learned = batch.targets != NOTHING
    picked = np.take_along_axis(chances, np.where(learned, batch.targets, 0)[..., None], -1)[..., 0]
    return -np.log(picked[learned]).mean()


def test_of_a_text_file_it_is_not_said_that_all_is_right(tmp_path):
    (tmp_path / "names.txt").write_text("anna\nbob\nclara\n" * 4)
    choices = SMALL | {"steps": 1, "every": 1, "count": 0}
    found = train(str(tmp_path / "names.txt"), **choices).evaluation
    assert "right" not in str(found)
    assert "right" in str(replace(found, has_rule=True))
    with pytest.raises(HandloomError, match=r"until=0.5: .*has no rule.*patience"):
        train(str(tmp_path / "names.txt"), **choices, until=0.5)


def test_right_among_the_new_is_a_share_of_the_new():
    task = Language("no 11", "01", 6, lambda rng: "0101", lambda text: "11" not in text)
    examiner = prepare(task, count=20, steps=1, layers=1).examiner
    said = [[*task.vocab.encode(text)[1:], task.vocab.id("<end>")] for text in ("0101", "0101", "01", "011", "110")]
    found = examiner.judge([([2], [])] * 5, said)
    assert (found.success, found.new, found.known, found.right_of_new) == (3 / 5, 3 / 5, 2 / 5, 1 / 3)
    assert str(found) == "60.0% right (33.3% of the new), 60.0% new, 40.0% known, 0.0% malformed"
    assert examiner.judge([([2], [])], said[:1]).right_of_new is None


# Tasks that contradict themselves


def test_a_task_that_calls_wrong_what_it_draws_is_refused_before_training(tmp_path):
    task = Language("pairs", "01", 4, lambda rng: "01" if rng.random() < 0.9 else "00", lambda text: text == "01")
    with pytest.raises(HandloomError, match=r"the task draws '00' and calls it wrong \(expected right\)"):
        train(task, folder=tmp_path / "a", steps=1, **SMALL)
    malformed = replace(task, formed=lambda text: text != "00")
    with pytest.raises(HandloomError, match="calls it malformed"):
        train(malformed, steps=1, **SMALL)
    raises = replace(task, right=lambda text: 1 / 0)
    with pytest.raises(HandloomError, match="could not judge a string that it drew: <lambda>, line"):
        train(raises, steps=1, **SMALL)
    assert not (tmp_path / "a").exists()


# A task's file and what lies beside it

HELPED = """
from handloom import Language
import letters
from more.rules import palindrome

def task(n: int = 4):
    return Language("words", letters.LETTERS, n, lambda rng: letters.LETTERS[0] * n, palindrome)
"""


def write_helped(folder, letters="ab"):
    (folder / "more").mkdir(parents=True)
    (folder / "own.py").write_text(HELPED)
    (folder / "letters.py").write_text(f"LETTERS = '{letters}'")
    (folder / "more/__init__.py").write_text("")
    (folder / "more/rules.py").write_text(
        "import reverse\n\ndef palindrome(text): return reverse.reverse(text) == text"
    )
    (folder / "reverse.py").write_text("def reverse(text): return text[::-1]")
    (folder / "another.py").write_text("raise SystemExit('nobody imports this')")
    return folder / "own.py"


def test_a_task_file_may_import_files_beside_it_and_its_run_keeps_them(tmp_path):
    before = list(sys.path)
    own = write_helped(tmp_path / "mine")
    train(f"{own}:n=6", folder=tmp_path / "a", steps=1, every=1, **SMALL)
    shutil.rmtree(tmp_path / "mine")
    assert resume(tmp_path / "a", steps=2).task.tokens == "ab"
    assert len(Sampling.of(tmp_path / "a").draw(3).samples) == 3
    kept = {str(path.relative_to(tmp_path / "a")) for path in (tmp_path / "a").rglob("*.py")}
    assert kept == {"task.py", "letters.py", "reverse.py", "more/__init__.py", "more/rules.py"}
    assert not list((tmp_path / "a").rglob("__pycache__"))
    assert not {"letters", "reverse", "more"} & set(sys.modules)
    assert sys.path == before


def test_two_task_files_have_each_their_own_helper(tmp_path):
    one, other = (write_helped(tmp_path / name, name) for name in ("xy", "pq"))
    tasks = [task_named(str(file)) for file in (one, other, one)]
    assert [task.tokens for task in tasks] == ["xy", "pq", "xy"]


def test_a_file_that_does_not_work_in_its_runs_folder_is_refused_and_leaves_nothing(tmp_path):
    own = write_helped(tmp_path / "mine")
    own.write_text(
        own.read_text() + "\nfrom pathlib import Path\nWORDS = (Path(__file__).parent / 'w.txt').read_text()"
    )
    (own.parent / "w.txt").write_text("a b")
    with pytest.raises(HandloomError, match=r"own.py: its copy in the run's folder does not work \(.*task.py, line 10"):
        train(str(own), folder=tmp_path / "a", steps=1, **SMALL)
    own.write_text("import task\n" + HELPED)
    (own.parent / "task.py").write_text("")
    with pytest.raises(HandloomError, match=r"own.py imports task.py, which is the name of its own copy in a run"):
        train(str(own), folder=tmp_path / "a", steps=1, **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_what_goes_wrong_in_a_helper_is_told_at_the_line_that_imports_it(tmp_path):
    own = write_helped(tmp_path / "mine")
    (own.parent / "letters.py").write_text("1 / 0")
    with pytest.raises(HandloomError, match=r"own.py, line 3: ZeroDivisionError: division by zero"):
        task_named(str(own))


# Options


def test_width_is_d_model():
    assert prepare(RULE, width=24, **{"count": 50}).learner.config.d_model == 24
    with pytest.raises(HandloomError, match="width and d_model are two names for one size"):
        train(RULE, width=24, d_model=24)
    with pytest.raises(HandloomError, match="width: the kind bigram has no such size"):
        train(RULE, width=24, kind="bigram")


def test_help_lists_every_option_with_its_default():
    parameters = inspect.signature(hl.train).parameters
    names = {"width" if name == "d_model" else name for name in SETTINGS | SIZES}
    assert names <= set(parameters)
    assert all(f"\n    {name}=" in hl.train.__doc__ for name in names)
    assert Settings(**{name: parameters[name].default for name in SETTINGS}) == Settings()
    sizes = {name: parameters[name].default for name in KINDS["transformer"] - {"d_model", "d_head", "d_ff"}}
    given = config_for(5, 9, {**sizes, "d_model": parameters["width"].default})
    assert given == config_for(5, 9, {})
    assert (given.d_head, given.d_ff) == (given.d_model // given.heads, 4 * given.d_model)
