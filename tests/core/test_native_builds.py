"""Each build of the native engine that this machine can run computes what the reference computes, and trains as torch
does."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from draws import STANDARD, assert_close, configs
from handloom.core import Config, HandloomError, Model, Vocab, generate, native, reference, torch_engine
from handloom.core import params as parameters
from handloom.core.native.library import builds, reason_missing
from handloom.learn import train
from handloom.learn.batches import padded_batch
from handloom.learn.data import NOTHING, Strings
from handloom.learn.learner import Transformer
from handloom.learn.native_trainer import NativeTrainer
from handloom.learn.settings import Settings
from handloom.learn.torch_trainer import TorchTrainer

RULE = "strings:rule=s[2]==s[5],length=6-9"
SMALL = {"layers": 2, "heads": 2, "d_model": 16, "count": 200, "samples": 20}


@pytest.fixture(
    params=builds() or [pytest.param("", marks=pytest.mark.skip(reason_missing()))], scope="module", autouse=True
)
def build(request):
    """Every test of this file runs once per build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDLOOM_NATIVE", request.param)
        assert native.library().path.name.startswith(f"_{request.param}.")
        yield request.param


@st.composite
def covered(draw, **fixed):
    """Configs of the standard family, with sizes on both sides of the vectors' and the tiles'."""
    sizes = st.one_of(st.integers(1, 9), st.sampled_from([12, 15, 16, 17, 31, 33, 40]))
    positions = draw(st.sampled_from(["table", "sinusoid", "none"]))
    config = draw(configs(causal=True, positions=positions, eps=1e-3, gated=False, kv_heads=0, **STANDARD))
    values = config.to_json() | {
        "vocab": draw(sizes),
        "block": draw(st.sampled_from([1, 2, 7, 13, 30, 61])),
        "d_model": draw(sizes),
        "d_head": draw(sizes),
        "d_ff": draw(st.one_of(st.just(0), sizes)),
    }
    return Config.from_json(values | fixed)


def weights_of(config, seed):
    """The weights that training starts from, with noise, so that none is zero or one."""
    rng = np.random.default_rng(seed)
    flat = Transformer(config).start(seed)
    return {name: (a + 0.1 * rng.normal(size=a.shape)).astype(np.float32) for name, a in flat.items()}


def strings_of(config, rng, count):
    rows = [rng.integers(0, config.vocab, rng.integers(2, config.block + 2)).tolist() for _ in range(count)]
    given = [int(rng.integers(0, len(row))) for row in rows]
    return Strings.of([(row[:n], row[n:]) for row, n in zip(rows, given, strict=True)])


def model_of(config, seed=0):
    return Model(config, weights_of(config, seed), Vocab.numbers(config.vocab))


def torch_gradient(config, arrays, strings, rows, dtype=torch.float64):
    """The mean loss per token and its gradient."""
    p = {name: torch.tensor(a, dtype=dtype, requires_grad=True) for name, a in arrays.items()}
    batch = padded_batch(strings, np.array(rows))
    logits = torch_engine.compute(config, parameters.unflatten(config, dict(p)), batch.inputs)[0]
    loss = F.cross_entropy(logits.flatten(0, 1), torch.tensor(batch.targets).flatten(), ignore_index=-1)
    loss.backward()
    return float(loss.detach()), {n: np.zeros(t.shape) if t.grad is None else t.grad.numpy() for n, t in p.items()}


def check_gradient(config, arrays, strings, rows, lanes):
    """Within 1e-5 of torch in float64. Where float32 cannot be that exact (a norm of one or two numbers, which removes
    nearly all of them), not much farther from it than torch in float32, which may be exact by luck."""
    trainer = NativeTrainer(config, arrays, Settings(lanes=lanes))
    loss, slopes = trainer.differentiate(strings, rows)
    right, expected = torch_gradient(config, arrays, strings, rows)
    assert loss == pytest.approx(right, rel=1e-5, abs=1e-6)
    assert list(slopes) == list(expected)
    if distance(slopes, expected) > 1e-5 * distance(expected):
        assert config.d_model <= 2, config
        rounded = distance(torch_gradient(config, arrays, strings, rows, torch.float32)[1], expected)
        assert distance(slopes, expected) < 50 * rounded + 1e-3 * distance(expected)
    return trainer, right


def distance(one, other=None):
    return np.linalg.norm(np.concatenate([(a - (other[name] if other else 0.0)).ravel() for name, a in one.items()]))


@given(covered(), st.integers(1, 12), st.integers(1, 9), st.integers(0, 999))
@settings(max_examples=50)
def test_gradients_are_those_of_torch_in_float64(config, count, lanes, seed):
    rng = np.random.default_rng(seed)
    arrays, strings, rows = weights_of(config, seed), strings_of(config, rng, count), np.arange(count)
    trainer, right = check_gradient(config, arrays, strings, rows, lanes)
    assert trainer.loss(strings) == pytest.approx(right, rel=1e-5, abs=1e-6)


def labelled_strings_of(config, rng, count):
    """Strings up to the whole block, in which about half of the tokens have a target."""
    rows = [rng.integers(0, config.vocab, rng.integers(1, config.block + 1)).tolist() for _ in range(count)]
    strings = Strings.of([([], row) for row in rows])
    targets = rng.integers(0, config.vocab, len(strings.ids))
    targets[rng.random(len(targets)) < 0.5] = NOTHING
    targets[0] = 0  # at least one
    return replace(strings, targets=targets)


@given(covered(), st.integers(1, 12), st.integers(1, 9), st.integers(0, 999))
@settings(max_examples=30)
def test_gradients_with_targets_are_those_of_torch_in_float64(config, count, lanes, seed):
    rng = np.random.default_rng(seed)
    arrays, strings = weights_of(config, seed), labelled_strings_of(config, rng, count)
    trainer, right = check_gradient(config, arrays, strings, np.arange(count), lanes)
    assert trainer.loss(strings) == pytest.approx(right, rel=1e-5, abs=1e-6)


@given(covered(), st.integers(0, 999))
@settings(max_examples=40)
def test_logits_are_the_references(config, seed):
    model = model_of(config, seed)
    ids = np.random.default_rng(seed).integers(0, config.vocab, (3, config.block))
    logits, trace = native.forward(model, ids)
    assert_close(logits, reference.forward(model, ids)[0], 1e-4)
    assert not trace
    assert_close(native.Decoder(model).rerun(ids, last=2), reference.forward(model, ids)[0][:, -2:], 1e-4)


@pytest.mark.parametrize(("place", "norm"), [("pre", "layer"), ("post", "rms")])
def test_a_hundred_steps_of_both_engines_stay_together(place, norm):
    """With clipping, decay and a schedule; what is compared is how far the weights moved."""
    how = {"steps": 100, "every": 100, "schedule": "cosine", "warmup": 10, "rate": 2e-3, "decay": 0.1, "lanes": 2}
    runs = [train(RULE, engine=engine, place=place, norm=norm, **how, **SMALL) for engine in ("native", "torch")]
    assert [run.choice.name for run in runs] == ["native", "torch"]
    assert isinstance(runs[0].trainer, NativeTrainer)
    assert isinstance(runs[1].trainer, TorchTrainer)
    start = Transformer(runs[0].learner.config).start(0)
    one, two = (
        np.concatenate([(run.trainer.arrays()[n] - a).ravel() for n, a in start.items() if not n.endswith("b_K")])
        for run in runs
    )  # b_K has no effect: its gradient is rounding error, which AdamW scales up
    assert np.linalg.norm(one) > 1.0
    assert np.linalg.norm(one - two) < 0.02 * np.linalg.norm(one)
    assert runs[0].held_out_loss == pytest.approx(runs[1].held_out_loss, rel=1e-3)
    assert runs[0].where.tokens == runs[1].where.tokens


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    runs = []
    for count in (1, 2, 3, 7):
        monkeypatch.setattr(native, "thread_count", lambda count=count: count)
        runs.append(train(RULE, steps=12, every=6, engine="native", **SMALL))
    first = runs[0].trainer.arrays()
    for run in runs[1:]:
        assert run.evaluation == runs[0].evaluation
        assert run.held_out_loss == runs[0].held_out_loss
        assert all((a == first[name]).all() for name, a in run.trainer.arrays().items())


# decoding


@given(covered(), st.integers(0, 99), st.data())
@settings(max_examples=20)
def test_greedy_decoding_outputs_what_the_reference_prefers(config, seed, data):
    """Also past the block, where the window slides, and with more rows than slots, of all lengths."""
    assume(config.vocab > 1)
    model = model_of(config, seed)
    rng = np.random.default_rng(seed)
    prompts = [rng.integers(0, config.vocab, rng.integers(1, config.block + 1)).tolist() for _ in range(30)]
    stop = [int(rng.integers(0, config.vocab))] if data.draw(st.booleans()) else []
    output = generate(model, prompts, steps=8, stop=stop, engine="native")
    for prompt, new in zip(prompts, output, strict=True):  # where two are close, either may be chosen
        assert len(new) == 8 or (new and new[-1] in stop)
        assert not set(new[:-1]) & set(stop)
        for n, token in enumerate(new):
            logits = reference.forward(model, [*prompt, *new[:n]][-config.block :])[0][-1]
            assert logits[token] >= logits.max() - 1e-4 * max(1.0, np.abs(logits).max())


@pytest.mark.parametrize(
    "how", [{}, {"top_k": 3}, {"top_p": 0.7}, {"top_k": 4, "top_p": 0.9, "temperature": 1.7}], ids=str
)
def test_samples_are_those_of_the_other_engines(how):
    """Every engine samples row i with the numbers of (seed, i)."""
    config = Config(vocab=9, block=12, d_model=16, layers=2, heads=2, d_head=8, d_ff=20)
    model, prompts = model_of(config), [[i % 9] * (1 + i % 5) for i in range(90)]
    how = {"temperature": 1.0, "seed": 5, "steps": 15} | how
    output = generate(model, prompts, engine="native", **how)
    same = [a == b for a, b in zip(output, generate(model, prompts, engine="reference", **how), strict=True)]
    assert same.count(False) <= 2  # a number may fall within rounding of the boundary between two tokens
    assert generate(model, prompts[:31], engine="native", **how) == output[:31]
    assert generate(model, prompts, engine="native", **how | {"seed": 6}) != output


def test_samples_have_the_models_distribution():
    config = Config(vocab=6, block=3, d_model=8, layers=1, heads=2, d_head=4, d_ff=8)
    model = model_of(config, 3)
    drawn = 40_000
    output = generate(model, [[2]] * drawn, steps=2, temperature=1.0, engine="native")
    first = reference.forward(model, [2])[0][-1]
    p = np.exp(first - first.max())
    p /= p.sum()
    for token in range(6):
        second = reference.forward(model, [2, token])[0][-1]
        q = np.exp(second - second.max())
        expected = drawn * p[token] * q / q.sum()
        seen = np.bincount([b for a, b in output if a == token], minlength=6)
        assert (np.abs(seen - expected) < 5 * np.sqrt(expected) + 1).all()


def test_formats_and_no_cache_give_what_the_reference_gives():
    config = Config(vocab=5, block=9, d_model=16, layers=2, heads=2, d_head=8, d_ff=20)
    model = Model(config, weights_of(config, 1), Vocab(("a", "b", "c", "d", "e"), separator=""))
    how = {"temperature": 1.0, "steps": 8}
    for more in ({"format": "a[bc]{2,4}(d|e)+"}, {"cache": False}):
        prompts = [[0]] * 40
        output = [generate(model, prompts, engine=engine, **how, **more) for engine in ("native", "reference")]
        assert [a == b for a, b in zip(*output, strict=True)].count(False) <= 2


# sizes at the edge


@pytest.mark.parametrize(
    "sizes",
    [
        {"vocab": 1, "block": 5, "d_model": 8, "layers": 1, "heads": 1, "d_head": 8, "d_ff": 8},
        {"vocab": 30_000, "block": 20, "d_model": 8, "layers": 1, "heads": 1, "d_head": 8, "d_ff": 8},
        {"vocab": 4, "block": 200, "d_model": 8, "layers": 2, "heads": 2, "d_head": 4, "d_ff": 8},
        {"vocab": 4, "block": 300, "d_model": 8, "layers": 2, "heads": 2, "d_head": 4, "d_ff": 8},
        {"vocab": 4, "block": 1_000, "d_model": 4, "layers": 1, "heads": 1, "d_head": 4, "d_ff": 4},
        {"vocab": 4, "block": 600, "d_model": 1, "layers": 3, "heads": 3, "d_head": 1, "d_ff": 1},
    ],
    ids=["one token", "many tokens", "kept patterns in blocks", "patterns computed again", "a long string", "narrow"],
)
@pytest.mark.parametrize("tied", [True, False])
def test_sizes_at_the_edge(sizes, tied):
    config = Config(tied=tied, positions="sinusoid", eps=1e-3, **sizes)
    rng = np.random.default_rng(0)
    arrays = weights_of(config, 0)
    rows = [rng.integers(0, config.vocab, n + 1).tolist() for n in (1, config.block, min(17, config.block))]
    strings = Strings.of([([], row) for row in rows])
    check_gradient(config, arrays, strings, np.arange(3), lanes=2)


@pytest.mark.slow
def test_a_string_of_twenty_thousand_tokens():
    config = Config(vocab=4, block=20_000, d_model=4, layers=1, heads=1, d_head=4, d_ff=4)
    ids = np.random.default_rng(0).integers(0, 4, 20_001)
    trainer = NativeTrainer(config, weights_of(config, 0), Settings(lanes=2))
    strings = Strings.of([([], ids.tolist())])
    logits = torch_engine.forward(model_of(config), ids[:-1])[0]
    assert trainer.loss(strings) == pytest.approx(float(F.cross_entropy(logits, torch.tensor(ids[1:]))), rel=1e-5)
    assert np.isfinite(distance(trainer.differentiate(strings, np.array([0]))[1]))


def test_one_string_one_token_and_nothing_at_all():
    config = Config(vocab=3, block=4, d_model=8, layers=1, heads=2, d_head=4, d_ff=8)
    arrays = weights_of(config, 0)
    trainer = NativeTrainer(config, arrays, Settings())
    strings = Strings.of([([], [1, 2]), ([1, 2], [])])
    loss, tokens = trainer.step(strings, np.array([0]), None, 1e-3)
    assert np.isfinite(loss)
    assert tokens == 1
    before = trainer.arrays()
    for rows in (np.array([], np.int64), np.array([1])):  # an empty batch, and one in which nothing is predicted
        loss, tokens = trainer.step(strings, rows, None, 1e-3)
        assert np.isnan(loss)
        assert tokens == 0
    assert all((a == before[name]).all() for name, a in trainer.arrays().items())
    assert trainer.steps == 1
    assert generate(model_of(config), [], engine="native") == []
    assert generate(model_of(config), [[1]], steps=0, engine="native") == [[]]


@pytest.mark.parametrize("name", ["W_E", "layers.0.W_V", "layers.0.W_in", "ln_final.w", "layers.1.W_Q", "W_U"])
def test_nan_is_reported_and_not_spread(name):
    config = Config(vocab=3, block=9, d_model=16, layers=2, heads=2, d_head=8, d_ff=8, tied=False)
    arrays = weights_of(config, 0)
    arrays[name][..., 0] = np.nan
    trainer = NativeTrainer(config, arrays, Settings(lanes=2))
    strings = strings_of(config, np.random.default_rng(0), 8)
    assert np.isnan(trainer.step(strings, np.arange(8), None, 1e-3)[0])
    for other, array in trainer.arrays().items():
        assert np.array_equal(array, arrays[other], equal_nan=True)
    with pytest.raises(HandloomError, match=f"{name} holds NaN"):
        Model(config, arrays, Vocab.numbers(3))


def test_logits_beyond_all_numbers_are_an_error():
    config = Config(vocab=3, block=4, d_model=2, norm="none", positions="none", tied=False)
    arrays = {"W_E": np.full((3, 2), 3e38, np.float32), "W_U": np.full((2, 3), 3e38, np.float32)}
    with pytest.raises(HandloomError, match="not finite"):
        generate(Model(config, arrays, Vocab.numbers(3)), [[1]], engine="native")
