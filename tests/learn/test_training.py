"""Training: exact gradients, exact resumption, and the ways to begin and to end."""

import re
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from handloom.core import HandloomError, Vocab, load, torch_engine
from handloom.core import params as parameters
from handloom.lab.talk import EXPERIMENTS
from handloom.learn import stepper
from handloom.learn.api import prepare, resume, train
from handloom.learn.batches import hide, lanes_of, padded_batch
from handloom.learn.data import NOTHING, Strings, collect, rows_of_step
from handloom.learn.learner import Transformer, config_for
from handloom.learn.sampling import sample
from handloom.learn.settings import Settings
from handloom.learn.stepper import choose
from handloom.learn.torch_trainer import TorchTrainer
from handloom.learn.training import Training
from handloom.runs.folder import Folder
from handloom.tasks import Language
from handloom.tasks import task as task_named
from handloom.tasks.catalogue import TASKS
from training_runs import RULE, SMALL, wait_for


def some_strings(count=40, seed=0):
    return collect(task_named("strings:length=3-12"), count, seed)


def test_padding_keeps_every_token_and_asks_for_each_but_what_is_given():
    strings = Strings.of([([7], [1, 2, 7]), ([7, 3], [4])])
    batch = padded_batch(strings, np.array([1, 0]))
    assert batch.inputs.tolist() == [[7, 3, 4], [7, 1, 2]]
    assert batch.targets.tolist() == [[NOTHING, 4, NOTHING], [1, 2, 7]]
    assert batch.count == 4


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_lanes_hold_every_row_of_the_batch_once(lanes):
    strings = some_strings()
    rows, _ = rows_of_step(strings, 32, seed=1, step=5)
    dealt = lanes_of(strings, rows, lanes)
    assert len(dealt) == lanes
    found = sorted(tuple(row) for lane in dealt for b in lane for row in targets_of(b))
    assert found == sorted(tuple(strings.row(int(i))[1]) for i in rows)


def targets_of(batch):
    return [row[row != NOTHING].tolist() for row in batch.targets]


def test_a_step_in_lanes_has_the_gradient_of_the_whole_batch():
    """Against autograd on the padded batch in float64, with the reference's torch twin."""
    strings = some_strings()
    config = config_for(3, 13, {"layers": 2, "d_model": 16, "heads": 2})
    network = Transformer(config)
    arrays = network.start(0)
    rows, _ = rows_of_step(strings, 16, seed=0, step=0)
    for lanes in (1, 2):
        trainer = TorchTrainer(network, arrays, Settings(lanes=lanes, clip=0.0, rate=0.0))
        loss, count = trainer.step(strings, rows, None, 0.0)
        batch = padded_batch(strings, rows)
        p = {n: torch.tensor(a, dtype=torch.float64, requires_grad=True) for n, a in arrays.items()}
        logits, _ = torch_engine.compute(config, parameters.unflatten(config, dict(p)), batch.inputs)
        right = F.cross_entropy(logits.flatten(0, 1), torch.tensor(batch.targets).flatten(), ignore_index=NOTHING)
        right.backward()
        assert loss == pytest.approx(float(right.detach()), rel=1e-5)
        assert count == batch.count
        for name, slope in trainer.views(trainer.gradient).items():
            torch.testing.assert_close(slope.double(), p[name].grad, rtol=2e-4, atol=1e-6)


def test_a_step_is_that_of_torch_adamw_with_clipping_and_decay_of_matrices_alone():
    strings = some_strings()
    config = config_for(3, 13, {"layers": 1, "d_model": 8, "heads": 2})
    network = Transformer(config)
    arrays = network.start(0)
    settings = Settings(clip=0.1, decay=0.5, rate=0.01, lanes=1)
    trainer = TorchTrainer(network, arrays, settings)
    leaves = {n: torch.tensor(a, requires_grad=True) for n, a in arrays.items()}
    matrices = [t for n, t in leaves.items() if t.ndim > 1 and ".b_" not in n]
    others = [t for n, t in leaves.items() if not (t.ndim > 1 and ".b_" not in n)]
    adam = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.5}, {"params": others, "weight_decay": 0.0}], lr=0.01, betas=(0.9, 0.99)
    )
    for step in range(3):
        rows, _ = rows_of_step(strings, 8, seed=0, step=step)
        trainer.step(strings, rows, None, 0.01)
        batch = padded_batch(strings, rows)
        logits, _ = torch_engine.compute(config, parameters.unflatten(config, dict(leaves)), batch.inputs)
        loss = F.cross_entropy(logits.flatten(0, 1), torch.tensor(batch.targets).flatten(), ignore_index=NOTHING)
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(leaves.values(), 0.1)
        adam.step()
    for name, array in trainer.arrays().items():
        if not name.endswith("b_K"):  # has no effect: its gradient is rounding, and AdamW makes much of that
            np.testing.assert_allclose(array, leaves[name].detach().numpy(), rtol=1e-3, atol=2e-5)


def test_schedules():
    cosine = Settings(steps=110, warmup=10, schedule="cosine", rate=1.0)
    assert [cosine.rate_at(s) for s in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1.0])
    assert [cosine.rate_at(s) for s in (10, 60, 110)] == pytest.approx([1.0, 0.5, 0.0])
    linear = Settings(steps=100, schedule="linear", rate=1.0)
    assert linear.rate_at(25) == pytest.approx(0.75)
    assert Settings(rate=0.3).rate_at(9999) == 0.3


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_the_same_seed_gives_the_same_run(dropout):
    runs = [train(RULE, steps=12, every=6, dropout=dropout, lanes=2, **SMALL) for _ in range(2)]
    first, second = (run.trainer.arrays() for run in runs)
    assert all((first[name] == second[name]).all() for name in first)
    assert runs[0].evaluation == runs[1].evaluation
    other = train(RULE, steps=12, every=6, dropout=dropout, lanes=2, seed=1, **SMALL).trainer.arrays()
    assert any((first[name] != other[name]).any() for name in first)


def test_dropout_is_drawn_anew_at_every_step_and_not_when_measuring():
    training = prepare(RULE, dropout=0.5, lanes=1, rate=0.0, **SMALL)
    trainer, rows = training.trainer, np.arange(8)
    assert trainer.loss(training.held_out) == trainer.loss(training.held_out)
    assert trainer.step(training.strings, rows, None, 0.0) != trainer.step(training.strings, rows, None, 0.0)


def test_to_make_a_training_does_nothing_but_hold(tmp_path, monkeypatch):
    """No engine is chosen and no checkpoint read before `begin`, `restore` or `run`; the engine is chosen once."""
    chosen = []
    monkeypatch.setattr(stepper, "choose", lambda *given: chosen.append(1) or choose(*given))
    ready = prepare(RULE, steps=2, every=2, **SMALL)
    held = Training(ready.task, ready.data, ready.learner, ready.settings, Folder(tmp_path / "nowhere"), engine="fast")
    assert (held.stepper, held.where.step, chosen) == (None, 0, [1])
    with pytest.raises(HandloomError, match=r"has no weights yet; call begin\(\) or run\(\) first"):
        held.model()
    held.folder, held.engine = None, "auto"
    assert held.run().where.step == 2
    assert chosen == [1, 1]
    train(RULE, folder=tmp_path / "a", steps=2, every=2, **SMALL)
    resume(tmp_path / "a", steps=4)
    assert chosen == [1] * 4


def test_a_run_learns_its_rule(tmp_path):
    training = train(RULE, folder=tmp_path / "run", steps=400, every=100, **SMALL | {"count": 1000, "samples": 200})
    assert training.evaluation.success > 0.9 > 0.1 > training.evaluation.malformed
    lines = Folder.open(tmp_path / "run").lines()
    assert [line["step"] for line in lines] == [100, 200, 300, 400]
    assert lines[-1]["loss"] < lines[0]["loss"]
    model = load(tmp_path / "run" / "model.safetensors")
    assert model.notes["steps"] == 400
    text = model("", temperature=1.0, seed=3)
    assert set(text) <= {"0", "1"}
    assert 0 < len(text) <= 9


SCRIPT = """
import sys
from handloom.learn.api import resume, train
RULE, folder, what = sys.argv[1:]
choices = dict(layers=2, heads=2, d_model=16, count=200, samples=20, steps=600, every=50)
if what == "resume":
    resume(folder)
else:
    train(RULE, folder=folder, **choices)
"""


def start(folder, what="train"):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, RULE, str(folder), what])


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_and_resumed_ends_as_one_that_was_not(tmp_path, how):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    killed = start(cut)
    wait_for(lambda: (cut / "metrics.jsonl").exists() and len(Folder(cut).lines()) >= 2)
    killed.send_signal(how)
    killed.wait(60)
    assert Folder.open(cut).checkpoint()[1]["step"] < 600, "it was over before it was killed"
    assert start(cut, "resume").wait(120) == 0
    assert start(whole).wait(120) == 0
    first, second = load(whole / "model.safetensors"), load(cut / "model.safetensors")
    assert all((first.flat[name] == second.flat[name]).all() for name in first.flat)
    lines = [[line | {"seconds": 0} for line in Folder.open(f).lines()] for f in (whole, cut)]
    assert lines[0] == lines[1]


def test_a_finished_run_goes_on_with_more_steps(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=20, every=10, lanes=1, **SMALL)
    more = resume(tmp_path / "a", steps=30)
    whole = train(RULE, steps=30, every=10, lanes=1, **SMALL)
    assert all((more.trainer.arrays()[n] == a).all() for n, a in whole.trainer.arrays().items())
    assert [line["step"] for line in Folder.open(tmp_path / "a").lines()] == [10, 20, 30]


def test_two_processes_have_the_loss_of_one(tmp_path):
    """Started by torchrun, on two processes of one lane each; one process with two lanes makes the same sums."""
    code = SCRIPT.replace("steps=600, every=50", "steps=60, every=10, dropout=0.1, lanes=1")
    script = tmp_path / "script.py"
    script.write_text(code)
    both = tmp_path / "both"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launch, str(script), RULE, str(both), "train"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    one = train(RULE, folder=tmp_path / "one", steps=60, every=10, dropout=0.1, lanes=2, **SMALL)
    lines = [Folder.open(tmp_path / name).lines() for name in ("both", "one")]
    assert [line["loss"] for line in lines[0]] == pytest.approx([line["loss"] for line in lines[1]], rel=1e-6)
    model = load(both / "model.safetensors")
    for name, array in one.trainer.arrays().items():
        np.testing.assert_allclose(model.flat[name], array, rtol=1e-4, atol=1e-6)


def test_early_stopping_and_a_goal(tmp_path):
    until = train(RULE, steps=5000, every=50, until=0.8, **SMALL | {"samples": 100, "count": 1000})
    assert until.evaluation.success >= 0.8
    assert until.where.step < 5000
    patient = train(RULE, steps=5000, every=5, patience=2, rate=0.0, lanes=1, **SMALL)
    assert patient.where.step == 15  # better once (than nothing), then twice not


def test_models_are_kept_on_the_way(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=20, every=5, keep=10, **SMALL)
    kept = sorted(path.name for path in (tmp_path / "a").glob("model-*"))
    assert kept == ["model-10.safetensors", "model-20.safetensors"]
    assert load(tmp_path / "a" / "model-10.safetensors").notes["steps"] == 10
    assert (tmp_path / "a" / "best.safetensors").exists()


def test_fine_tuning_from_a_written_program():
    """The hand-written adder is right before, still right after small steps, and its model says what it was."""
    from handloom.write import program

    adder = program("addition", digits=1)
    task = task_named("addition:digits=1")
    before = train(task, start=adder, steps=0, count=100, samples=50)
    assert before.evaluation.success == 1.0
    after = train(task, start=adder, steps=3, every=3, rate=1e-6, count=100, samples=50)
    assert after.evaluation.success == 1.0
    notes = after.model().notes
    origin = {"made": "written", "program": "addition", "parameters": {"digits": 1}, "task": "addition:digits=1"}
    assert notes["from"] == origin
    assert "program" not in notes  # it may be anything by now


def test_lora_changes_matrices_by_low_rank_alone(tmp_path):
    start_from = train(RULE, steps=10, every=10, **SMALL).model()
    tuned = train(RULE, start=start_from, lora=1, steps=20, every=10, rate=1e-2, folder=tmp_path / "l", **BARE)
    model = tuned.model()
    for name, array in start_from.flat.items():
        change = model.flat[name] - array
        if array.ndim < 2 or ".b_" in name:
            assert not change.any(), name
        else:
            ranks = np.linalg.matrix_rank(change.reshape(-1, *change.shape[-2:]), tol=1e-5)
            assert ranks.max() == 1, name
    again = resume(tmp_path / "l", steps=25)
    whole = train(RULE, start=start_from, lora=1, steps=25, every=10, rate=1e-2, **BARE)
    assert all((again.trainer.arrays()[n] == a).all() for n, a in whole.trainer.arrays().items())


BARE = {"count": 200, "samples": 20, "lanes": 1}


def test_masked_training_tells_hidden_tokens_from_both_sides():
    """In strings of one letter repeated, a hidden token is told from any other."""
    same = Language("one letter", "ab", 6, lambda rng: "ab"[rng.integers(2)] * 6, lambda s: len(set(s)) == 1)
    training = train(same, causal=False, steps=400, every=400, rate=3e-3, **SMALL)
    assert training.learner.vocab.tokens[-1] == "<mask>"
    assert training.evaluation.success > 0.9
    assert training.held_out_loss < 0.2 < np.log(2)


def test_hiding_hides_at_least_one_token_a_row_and_none_that_is_given():
    strings = Strings.of([([3], [0, 1, 0, 3])] * 200)
    vocab = Vocab(("0", "1", "2", "<end>", "<mask>"), "")
    batch = hide(strings, np.arange(200), np.random.default_rng(0), vocab)
    chosen = batch.targets != NOTHING
    assert chosen.any(1).all()
    assert not chosen[:, 0].any()
    assert (batch.targets[chosen] == np.tile([3, 0, 1, 0, 3], (200, 1))[chosen]).all()
    assert (batch.inputs[~chosen] == np.tile([3, 0, 1, 0, 3], (200, 1))[~chosen]).all()
    assert 0.7 < (batch.inputs[chosen] == 4).mean() < 0.9


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"steps": -1}, "steps=-1"),
        ({"schedule": "often"}, "constant, cosine, linear"),
        ({"rate": float("nan")}, "rate=nan"),
        ({"dropout": 1.0}, "dropout=1.0"),
        ({"until": 2}, "from 0 to 1"),
        ({"lora": 2}, "lora needs a base model; give one as start"),
        ({"device": "tpu"}, "no device 'tpu'"),
        ({"speed": 3}, "no option 'speed'"),
        ({"kind": "cnn"}, "no kind of model 'cnn'"),
        ({"count": 3}, "count=3"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(choices, words):
    with pytest.raises(HandloomError, match=words) as error:
        train(RULE, **{"steps": 1} | choices)
    assert "\n" not in str(error.value)


def test_a_model_that_does_not_know_the_tokens_is_refused():
    model = train(RULE, steps=1, every=1, **SMALL).model()
    with pytest.raises(HandloomError, match="no '2'"):
        train("one-two", start=model, steps=1)
    with pytest.raises(HandloomError, match="block holds 10"):
        train("strings:length=20-30", start=model, steps=1)
    with pytest.raises(HandloomError, match="layers cannot be combined with start"):
        train(RULE, start=model, steps=1, layers=3)


def test_a_loss_that_is_not_a_number_ends_the_run_and_keeps_the_last_checkpoint(tmp_path):
    training = prepare(RULE, steps=50, every=5, lanes=1, **SMALL)
    from handloom.learn.api import describe

    describe(training, Folder.create(tmp_path / "a", "a"), RULE, {})
    step, calls = training.trainer.step, []
    training.trainer.step = lambda *given: step(*given) if calls.append(1) or len(calls) < 13 else (float("nan"), 0)
    with pytest.raises(HandloomError, match="not a number at step 12"):
        training.run()
    assert Folder.open(tmp_path / "a").checkpoint()[1]["step"] == 10


def test_a_folder_in_use_is_not_overwritten(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=1, every=1, **SMALL)
    with pytest.raises(HandloomError, match="exists already; name another folder, or resume the run in it"):
        train(RULE, folder=tmp_path / "a", steps=1, **SMALL)
    with pytest.raises(HandloomError, match="not the folder of a run"):
        resume(tmp_path)


def test_a_text_file_is_copied_so_that_the_run_does_not_depend_on_it(tmp_path):
    file = tmp_path / "names.txt"
    file.write_text("anna\nbob\n" * 20)
    training = train(str(file), folder=tmp_path / "a", steps=4, every=2, **SMALL | {"count": 0})
    file.unlink()
    assert len(training.strings) + len(training.held_out) == 40
    assert resume(tmp_path / "a", steps=6).where.step == 6


def test_a_file_of_words_stays_one_of_words(tmp_path):
    file = tmp_path / "poem.txt"
    file.write_text("the fox\nthe dog\n" * 20)
    train(f"{file}:tokens=words", folder=tmp_path / "a", steps=4, every=2, **SMALL | {"count": 0})
    file.unlink()
    assert resume(tmp_path / "a", steps=6).task.vocab.tokens == ("dog", "fox", "the", "<end>")
    assert all(text.startswith("the fox") for text in sample(tmp_path / "a", 5, "the fox").samples)


def test_a_damaged_run_is_refused_in_one_line(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=2, every=1, **SMALL)
    checkpoint = tmp_path / "a" / "checkpoint.safetensors"
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    with pytest.raises(HandloomError, match="damaged"):
        resume(tmp_path / "a")
    (tmp_path / "a" / "run.json").write_text("{")
    with pytest.raises(HandloomError, match="damaged"):
        resume(tmp_path / "a")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_can_be_made(name):
    """Its task draws what it calls right, and its choices are ones there are."""
    experiment = EXPERIMENTS[name]
    training = prepare(experiment.task, **experiment.choices | {"count": 50, "steps": 1})
    assert training.settings.batch == 32
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert training.task.verdict(*training.task.pair(rng)) == "right"


def test_the_two_fibonacci_models_have_the_sizes_that_the_talk_gives():
    for name, size in (("wagner/fibonacci-27k", 27_000), ("wagner/fibonacci-400k", 400_000)):
        experiment = EXPERIMENTS[name]
        training = prepare(experiment.task, **experiment.choices | {"count": 1000})
        assert sum(array.size for array in training.trainer.arrays().values()) == pytest.approx(size, rel=0.15)


def test_samples_have_the_form_that_is_asked_for(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=2, every=2, **SMALL)
    found = sample(tmp_path / "a", 30, "01", format="[01]{7,8}0", seed=3)
    assert all(re.fullmatch("01[01]{5,6}0", text) for text in found.samples)
    assert found == sample(tmp_path / "a", 30, "01", format="[01]{7,8}0", seed=3)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_can_be_learnt(name):
    """A step and an evaluation of each; nobody expects that it has learnt much."""
    training = train(name, steps=1, every=1, layers=1, heads=1, d_model=8, count=20, samples=5, lanes=1)
    assert np.isfinite(training.held_out_loss)
    assert len(training.evaluation.samples) == 5


def test_exchanged_symbols_make_the_same_run():
    """A token is a number to the model: the same strings in other symbols give the same weights, bit for bit."""
    plain, exchanged = (EXPERIMENTS[f"wagner/fibonacci-{kind}"].task for kind in ("27k", "exchanged"))
    runs = [train(task, steps=3, every=3, lanes=1, **SMALL) for task in (plain, exchanged)]
    first, second = (run.trainer.arrays() for run in runs)
    assert all((first[name] == second[name]).all() for name in first)
    assert runs[0].evaluation.samples != runs[1].evaluation.samples


@pytest.mark.parametrize(
    ("task", "choices", "said"),
    [
        (3, {}, "3 is not a task"),
        (RULE, {"start": 5}, "start=5 is not a model"),
        (RULE, {"betas": 3}, "two numbers"),
        (RULE, {"betas": (2, 5)}, "below 1"),
        (RULE, {"betas": (0.9, float("nan"))}, "below 1"),
    ],
)
def test_what_cannot_be_trained_is_told_in_python_too(task, choices, said):
    with pytest.raises(HandloomError, match=said):
        train(task, steps=1, **choices)


def test_samples_are_right_new_known_or_malformed():
    training = prepare(RULE, **SMALL)
    strings, vocab = training.strings, training.task.vocab
    known = vocab.decode(strings.row(0)[1])
    new = next(t for n in range(2**9) if (t := f"{n:09b}") not in learnt_of(training) and t[1] == t[4])
    wrong = new[:4] + str(1 - int(new[4])) + new[5:]
    said = [[*vocab.encode(text)[1:], vocab.id("<end>")] for text in (known, known, known, new, wrong, "0")]
    found = training.examiner.judge([([vocab.id("<end>")], [])] * 6, said)
    assert (found.success, found.known, found.malformed) == (4 / 6, 3 / 6, 1 / 6)
    assert found.new == (2 if wrong not in learnt_of(training) else 1) / 6
    assert str(found) == "66.7% right (50.0% of the new), 33.3% new, 50.0% known, 16.7% malformed"


def learnt_of(training):
    """The strings that a run learns from."""
    return {training.task.vocab.decode(training.strings.row(i)[1]) for i in range(len(training.strings))}


def test_the_longest_question_fits_also_if_it_was_not_drawn():
    training = prepare("gcd", count=100)
    assert training.learner.config.block >= len("+1000+1000=+1000")


def test_a_masked_model_is_not_told_how_many_tokens_to_say(tmp_path):
    train(RULE, folder=tmp_path / "a", causal=False, steps=1, every=1, **SMALL)
    with pytest.raises(HandloomError, match="takes a temperature only"):
        sample(tmp_path / "a", 5, steps=3)


def test_questions_are_answered_as_in_evaluations_and_strings_are_drawn(tmp_path):
    train("addition:digits=1", folder=tmp_path / "a", steps=2, every=2, **SMALL)
    assert sample(tmp_path / "a", 20, seed=1).samples == sample(tmp_path / "a", 20, seed=1, temperature=0.0).samples
    train(RULE, folder=tmp_path / "b", steps=2, every=2, **SMALL)
    assert sample(tmp_path / "b", 20, seed=1).samples == sample(tmp_path / "b", 20, seed=1, temperature=1.0).samples


def test_a_training_in_the_folder_of_a_run_that_has_begun_does_not_write_over_it(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=4, every=2, **SMALL)
    one = prepare(RULE, steps=4, every=2, **SMALL)
    other = Training(one.task, one.data, one.learner, one.settings, folder=Folder(tmp_path / "a"))
    with pytest.raises(HandloomError, match="holds a run that has begun; resume it"):
        other.run()
    assert Folder(tmp_path / "a").position()["step"] == 4
