"""Transformers that are trained in other parameters than their own, and merge into plain Models."""

import numpy as np
import pytest
import torch

from handloom.core import Config, HandloomError, reference
from handloom.learn import Settings, resume, steps, train
from handloom.learn.forms import IdentityValues, Looped, RowsAndColumns
from handloom.learn.learner import Transformer
from handloom.learn.lora import LowRank
from handloom.learn.reparametrised import Reparametrised
from training_runs import RULE, SMALL

CONFIG = Config(vocab=5, block=12, d_model=16, layers=3, heads=2, d_head=8, d_ff=20)
FORMS = [LowRank(2), RowsAndColumns(4), Looped(), Looped(2), IdentityValues()]
SHORT = Settings(steps=12, rate=1e-2, lanes=1)


def before(rng):
    inputs = rng.integers(0, 5, (8, 12))
    return inputs, np.concatenate([np.full((8, 1), -1), inputs[:, :-1]], 1)


def trained(form, count=12, **more):
    """The last step, and what it was of."""
    for step in steps(CONFIG, before, SHORT, form=form, **more):
        if step.number == count:
            return step
    raise AssertionError


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_merged_model_has_the_logits_of_the_network(form):
    step = trained(form)
    network, inputs = Reparametrised(Transformer(CONFIG), form), before(np.random.default_rng(1))[0]
    weights = {name: torch.tensor(array) for name, array in step.arrays().items()}
    logits = network.logits(weights, torch.tensor(inputs), None, 0.0, None)
    model = step.model()
    np.testing.assert_allclose(reference.forward(model.astype(np.float64), inputs)[0], logits.numpy(), atol=1e-4)
    assert model.config == CONFIG


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_gradients_are_those_of_the_whole_weights_by_the_chain_rule(form):
    """Along a random direction of the trained weights: the slope of the loss, and by differences in float64."""
    network = Reparametrised(Transformer(CONFIG), form)
    rng = np.random.default_rng(0)
    arrays = {n: a + 0.1 * rng.normal(size=a.shape) for n, a in network.start(0).items()}
    names = sorted(arrays.keys() - network.frozen)
    direction = {n: rng.normal(size=arrays[n].shape) for n in names}
    inputs, targets = (torch.tensor(array) for array in before(rng))

    def loss(by):
        weights = {n: torch.tensor(a + by * direction.get(n, 0.0), requires_grad=n in names) for n, a in arrays.items()}
        logits = network.logits(weights, inputs, None, 0.0, None)
        found = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
        return found, weights

    found, weights = loss(0.0)
    found.backward()
    slope = sum(float((weights[n].grad * torch.tensor(direction[n])).sum()) for n in names)
    differences = float((loss(1e-5)[0] - loss(-1e-5)[0]).detach()) / 2e-5
    assert slope == pytest.approx(differences, rel=1e-5)
    assert abs(slope) > 1e-3
    moved = [n for n in names if "b_K" not in n]  # b_K has no effect
    assert all(float(weights[n].grad.abs().max()) > 0 for n in moved)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_training_in_a_form_resumes_as_if_never_stopped(form):
    whole, saved = trained(form), trained(form, 5).saved()
    again = trained(form, saved=saved)
    assert again.loss == whole.loss
    assert all((again.arrays()[name] == array).all() for name, array in whole.arrays().items())
    assert whole.loss < trained(form, 1).loss


def test_a_board_has_a_vector_for_each_row_and_each_column():
    table = trained(RowsAndColumns(4)).model().flat["W_pos"].reshape(3, 4, 16)
    np.testing.assert_allclose(table[2, 3] - table[2, 1], table[0, 3] - table[0, 1], atol=1e-6)
    np.testing.assert_allclose(table[2, 3] - table[1, 3], table[2, 0] - table[1, 0], atol=1e-6)
    assert table.std() > 0.05


def test_looped_layers_are_equal():
    flat = trained(Looped(2)).model().flat
    assert (flat["layers.0.W_Q"] == flat["layers.2.W_Q"]).all()
    assert not (flat["layers.0.W_Q"] == flat["layers.1.W_Q"]).all()


def test_identity_values_move_the_stream_as_it_is():
    model = trained(IdentityValues()).model()
    for layer in range(3):
        W_V, W_O = (model.flat[f"layers.{layer}.{name}"] for name in ("W_V", "W_O"))
        np.testing.assert_array_equal(np.einsum("hdk,hke->de", W_V, W_O), np.eye(16))
        assert not model.flat[f"layers.{layer}.b_V"].any()


def test_a_model_of_the_form_is_trained_further_and_another_is_refused():
    model = trained(Looped()).model()
    step = next(steps(model, before, SHORT, form=Looped()))
    assert step.loss < np.log(5)
    other = next(steps(CONFIG, before, SHORT)).model()
    for form in (Looped(), RowsAndColumns(4), IdentityValues()):
        with pytest.raises(HandloomError, match="of the starting model is not of the form"):
            steps(other, before, SHORT, form=form)
    assert next(steps(other, before, SHORT, form=LowRank(1))).number == 1


@pytest.mark.parametrize("form", [RowsAndColumns(5), IdentityValues()], ids=str)
def test_a_form_that_does_not_fit_is_refused(form):
    narrow = Config(vocab=5, block=12, d_model=16, layers=1, heads=2, d_head=4)
    with pytest.raises(HandloomError, match="expected"):
        steps(narrow, before, SHORT, form=form)


def test_a_run_with_lora_resumes_as_if_never_stopped(tmp_path):
    start = train(RULE, steps=5, every=5, **SMALL).model()
    how = {"start": start, "lora": 2, "count": 200, "samples": 20, "every": 10}
    train(RULE, folder=tmp_path / "a", steps=15, **how)
    more, whole = resume(tmp_path / "a", steps=30), train(RULE, steps=30, **how)
    assert all((more.trainer.arrays()[name] == array).all() for name, array in whole.trainer.arrays().items())
    assert np.linalg.matrix_rank(whole.model().flat["W_U"] - start.flat["W_U"], tol=1e-5) == 2
