"""Labels at every place, and training step by step on fresh data."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from command import output
from handloom.core import Config, HandloomError, Model, native, reference, torch_engine
from handloom.core import params as parameters
from handloom.learn import Settings, resume, steps, train
from handloom.learn.api import prepare
from handloom.learn.batches import masked_lanes_of, padded_batch
from handloom.learn.cells import Cells
from handloom.learn.data import NOTHING, Data, Strings, fresh_strings, keys
from handloom.learn.learner import Transformer
from handloom.learn.sampling import sample
from handloom.learn.torch_trainer import TorchTrainer
from handloom.tasks import task as task_named
from training_runs import RULE, SMALL, TINY

CONFIG = Config(vocab=5, block=9, d_model=16, layers=2, heads=2, d_head=8, d_ff=20)
SHORT = Settings(steps=12, rate=1e-2, lanes=2)


def before(rng, rows=8):
    """After each token the one before it."""
    inputs = rng.integers(0, 5, (rows, 9))
    return inputs, np.concatenate([np.full((rows, 1), NOTHING), inputs[:, :-1]], 1)


def ragged(rng):
    lengths = rng.integers(1, 10, 8)
    strings = Strings.of([([], rng.integers(0, 5, n).tolist()) for n in lengths])
    targets = rng.integers(-1, 5, len(strings.ids))
    targets[0] = 1
    return replace(strings, targets=targets)


def last(iterator):
    """The last step's loss and weights."""
    for step in iterator:
        found = step.loss, step.arrays()
    return found


def test_padding_keeps_every_token_with_its_target():
    strings = replace(Strings.of([([], [1, 2, 3]), ([], [4])]), targets=np.array([0, NOTHING, 2, 3]))
    batch = padded_batch(strings, np.array([1, 0]))
    assert batch.inputs.tolist() == [[4, 0, 0], [1, 2, 3]]
    assert batch.targets.tolist() == [[3, NOTHING, NOTHING], [0, NOTHING, 2]]
    assert batch.count == strings.predicted(np.array([1, 0])) == 3
    part = strings.part([1, 0, 1])
    assert (part.ids.tolist(), part.targets.tolist()) == ([4, 1, 2, 3, 4], [3, 0, NOTHING, 2, 3])
    assert part.starts.tolist() == [0, 1, 4, 5]


@pytest.mark.parametrize("causal", [True, False])
def test_a_step_with_targets_has_the_gradient_of_autograd(causal):
    config = replace(CONFIG, causal=causal)
    strings = ragged(np.random.default_rng(0))
    arrays, rows = Transformer(config).start(0), np.arange(8)
    trainer = TorchTrainer(
        Transformer(config), arrays, Settings(lanes=2, clip=0.0), masked=None if causal else object()
    )
    loss, count = trainer.step(strings, rows, None, 0.0)
    p = {n: torch.tensor(a, dtype=torch.float64, requires_grad=True) for n, a in arrays.items()}
    wanted = 0.0
    for i in rows:  # row by row, so that nothing is padded
        at = slice(strings.starts[i], strings.starts[i + 1])
        logits, _ = torch_engine.compute(config, parameters.unflatten(config, dict(p)), strings.ids[None, at])
        targets = torch.tensor(strings.targets[at])
        wanted = wanted + F.cross_entropy(logits[0], targets, ignore_index=NOTHING, reduction="sum")
    wanted = wanted / count
    wanted.backward()
    assert count == (strings.targets != NOTHING).sum()
    assert loss == pytest.approx(float(wanted.detach()), rel=1e-5)
    for name, slope in trainer.views(trainer.gradient).items():
        torch.testing.assert_close(slope.double(), p[name].grad, rtol=2e-4, atol=1e-6)


def test_of_a_model_that_sees_both_ways_nothing_is_hidden_if_there_are_targets():
    strings = ragged(np.random.default_rng(1))
    batches = [batch for lane in masked_lanes_of(strings, np.arange(8), 2, None, None) for batch in lane]
    assert sorted(row.tolist() for b in batches for row in b.inputs) == sorted(strings.row(i)[1] for i in range(8))


@pytest.mark.skipif(native.library() is None, reason="native and torch are compared")
@pytest.mark.parametrize("draw", [before, ragged])
def test_both_engines_have_the_same_losses(draw):
    by_engine = [[step.loss for step in steps(CONFIG, draw, SHORT, engine=engine)] for engine in ("native", "torch")]
    np.testing.assert_allclose(*by_engine, rtol=2e-4)
    assert next(steps(CONFIG, draw, SHORT)).stepper.choice.name == "native"


@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_steps_resume_as_if_never_stopped(engine):
    loss, weights = last(steps(CONFIG, before, SHORT, engine=engine))
    for step in steps(CONFIG, before, SHORT, engine=engine):
        if step.number == 5:
            saved = step.saved()
            break
    again = steps(CONFIG, before, SHORT, engine=engine, saved=saved)
    first = next(again)
    assert first.number == 6
    assert last(again)[0] == loss
    assert all(
        (last(steps(CONFIG, before, SHORT, engine=engine, saved=saved))[1][n] == a).all() for n, a in weights.items()
    )


def test_the_model_of_a_step_has_the_loss_that_the_next_step_begins_with():
    drawn = []

    def remembered(rng):
        drawn.append(before(rng))
        return drawn[-1]

    model = None
    for step in steps(CONFIG, remembered, SHORT):
        if model is not None:
            inputs, targets = drawn[-1]
            logits = reference.forward(model.astype(np.float64), inputs)[0]
            logp = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            chosen = np.take_along_axis(logp, np.maximum(targets, 0)[..., None], -1)[..., 0]
            assert step.loss == pytest.approx(-chosen[targets != NOTHING].mean(), rel=1e-4)
        model = step.model()
    assert model.notes["steps"] == 12


def test_steps_learn_to_look_back():
    *_, step = steps(CONFIG, lambda rng: before(rng, 32), Settings(steps=150, rate=1e-2))
    assert step.loss < 0.1


def test_a_model_is_trained_further_and_frozen_weights_stay():
    model = next(steps(CONFIG, before, SHORT)).model()
    *_, step = steps(model, before, SHORT, frozen=["*.W_Q", "W_E"])
    now = step.model()
    assert step.stepper.choice.name == "torch"
    stayed = {name for name, array in model.flat.items() if (now.flat[name] == array).all()}
    assert stayed >= {"W_E", "layers.0.W_Q", "layers.1.W_Q"}
    assert not stayed & {"W_U", "W_pos", "layers.0.W_K", "layers.1.W_V", "layers.0.b_Q"}
    assert isinstance(now, Model)
    assert now.vocab == model.vocab


def test_any_network_can_be_trained():
    network = Cells.of("gru", 5, {"d_model": 8, "d_ff": 8})
    *_, step = steps(network, before, Settings(steps=60, rate=3e-2))
    assert step.loss < np.log(5)
    assert "cell.weight_ih_l0" in step.arrays()
    with pytest.raises(HandloomError, match="a Cells is no transformer"):
        step.model()


def test_a_step_that_is_over_is_refused():
    run = steps(CONFIG, before, SHORT)
    first, _ = next(run), next(run)
    with pytest.raises(HandloomError, match="step 1 is over, training is at 2"):
        first.model()


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        ((np.zeros((2, 3)), np.zeros((2, 4))), r"inputs have shape .2, 3. and targets .2, 4."),
        ((np.full((2, 3), 5), np.zeros((2, 3))), "not in the vocabulary of 5"),
        ((np.zeros((2, 3)), np.full((2, 3), -2)), "not in the vocabulary of 5"),
        ((np.zeros((2, 3)), np.full((2, 3), NOTHING)), "no token of this batch is predicted"),
        ((np.zeros((2, 10)), np.zeros((2, 10))), "up to 10 tokens and the model's block holds 9"),
    ],
)
def test_a_batch_that_cannot_be_trained_on_is_refused(drawn, said):
    with pytest.raises(HandloomError, match=said):
        next(steps(CONFIG, lambda rng: drawn, SHORT))


def test_frozen_weights_that_do_not_exist_are_refused():
    with pytest.raises(HandloomError, match="no weights are called 'W_Z'"):
        steps(CONFIG, before, SHORT, frozen=["W_Z"])


# fresh batches of a task


@pytest.mark.parametrize("task", ["strings:length=1-6", "addition:digits=1"])
def test_a_fresh_batch_holds_nothing_that_is_held_out(task):
    data = Data.of(task_named(task), Settings(count=100, fresh=True))
    assert len(data.held_out)
    rng = np.random.default_rng(0)
    strings = fresh_strings(task_named(task), data, 2000, rng)
    drawn = set(keys(strings, data.asks))
    assert not drawn & data.unseen
    assert drawn - set(keys(data.strings, data.asks))  # what the stored set does not have
    assert strings.lengths.max() <= data.strings.lengths.max()


@pytest.mark.parametrize("choices", [{}, {"causal": False}], ids=["native", "masked"])
def test_a_run_on_fresh_batches_resumes_as_if_never_stopped(choices, tmp_path):
    how = {"fresh": True, "every": 10} | SMALL | choices
    train(RULE, folder=tmp_path / "a", steps=15, **how)
    more, whole = resume(tmp_path / "a", steps=30), train(RULE, steps=30, **how)
    assert all((more.trainer.arrays()[name] == array).all() for name, array in whole.trainer.arrays().items())
    assert all((more.trainer.moments()[name] == array).all() for name, array in whole.trainer.moments().items())
    assert more.held_out_loss == whole.held_out_loss
    stored = train(RULE, steps=30, **how | {"fresh": False})
    assert not (stored.trainer.arrays()["W_E"] == whole.trainer.arrays()["W_E"]).all()
    assert stored.data.held_out.ids.tolist() == whole.data.held_out.ids.tolist()


def test_every_step_has_a_batch_of_its_own():
    training = prepare(RULE, fresh=True, **SMALL)
    first, again, other = (training.batch(step)[0].ids.tolist() for step in (0, 0, 1))
    assert first == again != other


def test_what_is_new_is_not_told_if_every_batch_is_drawn_anew(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=5, every=5, fresh=True, **SMALL)
    found = sample(tmp_path / "a", 10)
    assert found.success is not None
    assert found.new is found.known is None


def test_fresh_from_the_command_line(tmp_path):
    output("learn", RULE, "--fresh", "--steps", 5, *TINY, "--out", "a", cwd=tmp_path)
    assert '"fresh": true' in (tmp_path / "a/run.json").read_text()
    (tmp_path / "few.txt").write_text("a\nb\n" * 10)
    assert "fresh: a text file" in output("learn", "few.txt", "--fresh", *TINY, cwd=tmp_path, code=2)


def test_fresh_and_fraction_are_refused():
    with pytest.raises(HandloomError, match=r"fresh and fraction=0.5"):
        Settings(fresh=True, fraction=0.5)
