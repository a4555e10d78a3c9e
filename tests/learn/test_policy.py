"""Policy gradient: exact gradients on bandits, the known optimum, and what must not move."""

from itertools import product

import numpy as np
import pytest
import torch

from handloom.core import Config, HandloomError, Model, Vocab
from handloom.core import params as parameters
from handloom.learn.batches import padded_batch
from handloom.learn.data import Strings
from handloom.learn.fresh import learner_of
from handloom.learn.policy import Policy, PolicySettings, improve, ppo_loss

BANDIT = Config(vocab=3, block=1, d_model=1, norm="none", positions="none", tied=False, biases=("unembed",))
START = np.array([0.5, 0.25, 0.25])
REWARDS = np.array([0.0, 1.0, -2.0])


def bandit(p=START):
    flat = parameters.flatten(parameters.zeros(BANDIT, np.float32))
    return Model(BANDIT, flat | {"b_U": np.log(p).astype(np.float32)}, Vocab.numbers(3))


def pull(rng):
    return [[0]] * 256


def pay(strings):
    return REWARDS[[strings.row(i)[1][0] for i in range(len(strings))]]


def probabilities(model):
    p = np.exp(model.flat["b_U"].astype(float))
    return p / p.sum()


@pytest.mark.parametrize("per", ["string", "token"])
def test_the_expected_gradient_on_a_bandit_is_the_analytic_one(per):
    """By enumeration: the four strings hold each token as often as its probability says."""
    start, beta = np.array([0.2, 0.3, 0.5]), 0.7
    settings = PolicySettings(kl=beta, per=per, advantage="centred")
    logits = torch.tensor(np.log(START), requires_grad=True)
    new = logits.log_softmax(-1).expand(4, 1, 3)
    targets = torch.tensor([[0], [0], [1], [2]])
    tilt = np.log(START / start)
    gained = REWARDS - (beta * tilt if per == "string" else 0.0)
    advantages = torch.tensor((gained - START @ gained)[[0, 0, 1, 2]])
    old, reference = new.detach().gather(-1, targets[..., None])[..., 0], torch.tensor(np.log(start)).expand(4, 1, 3)
    loss, clipped = ppo_loss(new, old, reference, targets, advantages, settings)
    loss.backward()
    objective = REWARDS - beta * tilt
    np.testing.assert_allclose(-logits.grad.numpy(), START * (objective - START @ objective), atol=1e-12)
    assert clipped == 0.0


def test_the_gradient_of_sampled_strings_is_the_analytic_one_within_sampling_error():
    count = 20_000
    settings = PolicySettings(steps=1, epochs=1, kl=0.0, advantage="reward", longest=1)
    step = next(improve(bandit(), pay, settings, prompts=lambda rng: [[0]] * count))
    found = -step.policy.weights["b_U"].grad.numpy()
    expected = START * (REWARDS - START @ REWARDS)
    assert np.abs(found - expected).max() < 5 * np.abs(REWARDS).max() / np.sqrt(count)
    assert step.reward == pytest.approx(START @ REWARDS, abs=5 * REWARDS.std() / np.sqrt(count))


def test_the_gradient_of_strings_of_several_tokens_is_that_of_the_expected_reward():
    """All strings of three tokens, each weighted by its probability, against autograd of the sum over all strings."""
    config = Config(vocab=3, block=3, d_model=8, layers=1, heads=2, d_head=4, d_ff=8)
    model = Model(config, parameters.random(config, 1, 0.5), Vocab.numbers(3))
    policy = Policy(learner_of(model, None, (), None), PolicySettings())
    weights = {name: t.detach().double().requires_grad_() for name, t in policy.weights.items()}
    batch = padded_batch(Strings.of([([0], list(answer)) for answer in product(range(3), repeat=3)]), np.arange(27))
    inputs, targets = torch.tensor(batch.inputs), torch.tensor(batch.targets)
    rewards = torch.tensor(np.random.default_rng(0).normal(size=27))
    names = sorted(weights)

    def told():
        new = policy.log_probabilities(weights, inputs)
        return new, new.gather(-1, targets[..., None])[..., 0]

    expected = (told()[1].sum(-1).exp() * rewards).sum()
    right = torch.autograd.grad(expected, [weights[name] for name in names], allow_unused=True)
    new, old = told()
    shares = 27 * old.detach().sum(-1).exp() * rewards
    loss, _ = ppo_loss(new, old.detach(), new.detach(), targets, shares, PolicySettings(kl=0.0))
    found = torch.autograd.grad(-loss, [weights[name] for name in names], allow_unused=True)
    for name, one, other in zip(names, found, right, strict=True):
        assert (one is None) == (other is None), name
        if one is not None:
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("advantage", ["centred", "whitened"])
def test_a_constant_reward_changes_nothing(advantage):
    settings = PolicySettings(steps=3, kl=0.0, advantage=advantage, longest=1)
    *_, step = improve(bandit(), lambda strings: np.full(len(strings), 0.1), settings, prompts=pull)
    np.testing.assert_allclose(probabilities(step.model()), START, atol=1e-6)
    assert step.kl == pytest.approx(0.0, abs=1e-6)


def test_a_constant_reward_has_no_gradient_in_expectation_even_without_a_baseline():
    logits = torch.tensor(np.log(START), requires_grad=True)
    new, targets = logits.log_softmax(-1).expand(4, 1, 3), torch.tensor([[0], [0], [1], [2]])
    old = new.detach().gather(-1, targets[..., None])[..., 0]
    ppo_loss(new, old, new.detach(), targets, torch.full((4,), 5.0), PolicySettings(kl=0.0))[0].backward()
    np.testing.assert_allclose(logits.grad.numpy(), 0.0, atol=1e-12)


@pytest.mark.parametrize("per", ["string", "token"])
def test_the_policy_goes_to_the_starts_probability_times_the_exponential_of_the_reward(per):
    settings = PolicySettings(steps=150, rate=1e-2, kl=1.0, per=per, advantage="centred", epochs=2, longest=1)
    *_, step = improve(bandit(), pay, settings, prompts=pull)
    best = START * np.exp(REWARDS)
    best /= best.sum()
    np.testing.assert_allclose(probabilities(step.model()), best, atol=0.04)
    assert step.kl == pytest.approx(best @ np.log(best / START), abs=0.1)


@pytest.mark.parametrize("per", ["string", "token"])
def test_with_a_huge_weight_of_the_divergence_nothing_moves(per):
    def far(kl):
        settings = PolicySettings(steps=40, rate=3e-3, kl=kl, per=per, advantage="centred", longest=1)
        *_, step = improve(bandit(), pay, settings, prompts=pull)
        return np.abs(probabilities(step.model()) - START).max()

    assert far(0.0) > 0.05
    assert far(1e4) < 0.01


def test_clipping_stops_what_a_batch_can_change():
    how = {"steps": 1, "epochs": 40, "rate": 3e-2, "kl": 0.0, "longest": 1}
    changes = []
    for clip in (0.1, 10.0):
        step = next(improve(bandit(), pay, PolicySettings(clip=clip, **how), prompts=pull))
        changes.append(np.abs(probabilities(step.model()) / START - 1.0).max())
        assert (step.clipped > 0.1) == (clip == 0.1)
    assert 2 * changes[0] < changes[1], changes


@pytest.mark.parametrize("per", ["string", "token"])
def test_a_transformer_learns_to_generate_what_is_rewarded_and_the_same_seed_gives_the_same_run(per):
    config = Config(vocab=4, block=6, d_model=16, layers=1, heads=2, d_head=8, d_ff=32)
    vocab = Vocab(("a", "b", "c", "."), separator="", bos=".", eos=".")
    model = Model(config, parameters.random(config, 0, 0.1), vocab)

    def share_of_b(strings):
        return [np.mean(np.array(strings.row(i)[1]) == 1) for i in range(len(strings))]

    settings = PolicySettings(steps=30, batch=64, rate=1e-2, kl=0.01, per=per)
    runs = [list(improve(model, share_of_b, settings)) for _ in range(2)]
    assert runs[0][0].reward < 0.4
    assert runs[0][-1].reward > 0.9
    assert runs[0][-1].kl > 1.0
    assert [step.reward for step in runs[0]] == [step.reward for step in runs[1]]
    with pytest.raises(HandloomError, match="step 1 is over, training is at 30"):
        runs[0][0].model()


def test_frozen_weights_stay():
    config = Config(vocab=3, block=3, d_model=8, layers=1, heads=2, d_head=4, d_ff=8)
    model = Model(config, parameters.random(config, 1, 0.5), Vocab.numbers(3))
    settings = PolicySettings(steps=2, longest=2)
    *_, step = improve(
        model, lambda strings: strings.lengths * 0.0 + strings.ids[1::3], settings, prompts=pull, frozen=["W_E"]
    )
    now = step.model()
    assert (now.flat["W_E"] == model.flat["W_E"].astype(np.float32)).all()
    assert not (now.flat["W_pos"] == model.flat["W_pos"].astype(np.float32)).all()


@pytest.mark.parametrize(
    ("reward", "said"), [(lambda s: [1.0], "expected one number per string"), (lambda s: [np.nan] * 256, "not finite")]
)
def test_a_reward_that_is_not_one_number_per_string_is_refused(reward, said):
    with pytest.raises(HandloomError, match=said):
        next(improve(bandit(), reward, PolicySettings(longest=1), prompts=pull))


def test_settings_that_do_not_exist_are_refused():
    with pytest.raises(HandloomError, match="per='word' must be one of string, token"):
        PolicySettings(per="word")
