"""Random Configs and Models for the property tests: small, but of every kind the machine has."""

import dataclasses

import numpy as np
from hypothesis import strategies as st

from handloom.core import Config, Model, Vocab, params
from handloom.core.config import CHOICES

SKIPS = {"skips": ("attn", "mlp")}  # every sublayer adds to the stream
STANDARD = {
    "attention": "softmax",
    "parallel": False,
    "experts": 0,
    **SKIPS,
}  # the family that other formats and engines have
EXPERTS = ((0, 2), (0, 2), (0, 2), (1, 1), (3, 1), (3, 2), (4, 4))  # and how many are used
BIASES = ("attn", "mlp", "norm", "unembed")
LETTERS = Vocab.of("01", bos="<end>", eos="<end>")


@st.composite
def configs(draw, **fixed):
    positions = fixed.get("positions", draw(st.sampled_from(CHOICES["positions"])))
    heads = fixed.get("heads", draw(st.integers(0, 4)))
    d_head = draw(st.sampled_from([2, 4] if positions == "rotary" else [1, 2, 3, 4]))
    values = {
        "vocab": draw(st.integers(1, 7)),
        "block": draw(st.integers(1, 6)),
        "d_model": draw(st.integers(1, 8)),
        "layers": draw(st.integers(0, 3)),
        "heads": heads,
        "d_head": d_head,
        "d_ff": draw(st.sampled_from([0, 1, 3, 8])),
        "norm": draw(st.sampled_from(CHOICES["norm"])),
        "place": draw(st.sampled_from(CHOICES["place"])),
        "eps": draw(st.sampled_from([1e-5, 1e-10, 0.1])),
        "activation": draw(st.sampled_from(CHOICES["activation"])),
        "positions": positions,
        "rotary_base": draw(st.sampled_from([10_000.0, 7.0])),
        "causal": draw(st.booleans()),
        "tied": draw(st.booleans()),
        "biases": tuple(draw(st.sets(st.sampled_from(BIASES)))),
        "gated": draw(st.booleans()),
        "kv_heads": draw(kv_heads(heads)),
        "attention": draw(st.sampled_from(CHOICES["attention"])),
        "ridge": draw(st.sampled_from([1.0, 0.1])),
        "parallel": draw(st.booleans()),
        "skips": draw(st.sampled_from([("attn", "mlp"), ("attn",), ("mlp",), ()])),
    }
    values |= dict(zip(("experts", "top"), draw(st.sampled_from(EXPERTS)), strict=True))
    values |= fixed
    if "parallel" not in fixed and (values["place"] == "post" or len(values["skips"]) == 1):
        values["parallel"] = False
    if "experts" not in fixed and (values["gated"] or not values["d_ff"]):
        values["experts"] = 0
    return Config(**values)


def not_least_squares(drawn):
    """Of a Config, a model, or a model and tokens."""
    one = drawn[0] if isinstance(drawn, tuple) else drawn
    return getattr(one, "config", one).attention != "least-squares"


def kv_heads(heads):
    """Numbers of heads with keys and values that this many heads can share."""
    return st.sampled_from([0, *(n for n in range(1, heads) if heads % n == 0)])


def random_model(config, seed=0, scale=0.7):
    """A model whose every array is random, gains and biases too."""
    rng = np.random.default_rng(seed)

    def make(name, shape):
        return rng.normal(0, scale, shape) + (1.0 if params.is_gain(name) else 0.0)

    return Model(config, params.build(config, make), Vocab.numbers(config.vocab), {"seed": seed})


@st.composite
def models(draw, **fixed):
    return random_model(draw(configs(**fixed)), draw(st.integers(0, 2**32 - 1)))


@st.composite
def models_and_tokens(draw, **fixed):
    model = draw(models(**fixed))
    length = draw(st.integers(1, model.config.block))
    tokens = st.integers(0, model.config.vocab - 1)
    return model, draw(st.lists(tokens, min_size=length, max_size=length))


def trained_like(block=13, **fields):
    """A model as training leaves one."""
    sizes = {"d_model": 8, "layers": 2, "heads": 2, "d_head": 4} | fields
    return random_model(Config(vocab=3, block=block, **sizes)).with_(vocab=LETTERS, notes={"steps": 1500})


def with_config(model, **fields):
    return dataclasses.replace(model.config, **fields)


def shape_of(letters, config, T):
    """The letters of a site as numbers."""
    sizes = {"T": T, "S": T, "D": config.d_model, "H": config.heads, "G": config.groups, "K": config.d_head}
    sizes |= {"F": config.neurons, "E": config.experts, "V": config.vocab}
    return tuple(sizes[letter] for letter in letters)


def assert_close(a, b, tolerance):
    """Equal to within the tolerance, relative to the largest number there is."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    assert a.shape == b.shape
    assert np.isfinite(b).all()
    largest = max(1.0, float(np.abs(b).max(initial=0.0)))
    difference = float(np.abs(a - b).max(initial=0.0))
    assert difference <= tolerance * largest, f"{difference} with numbers up to {largest}"


def question_and_output(data, task, ids):
    """A question of a task and an output: the answer or any ids, perhaps with one token changed."""
    question, answer = task.pair(np.random.default_rng(data.draw(st.integers(0, 1000))))
    output = data.draw(ids | st.just(answer).map(list))
    if output and data.draw(st.booleans()):
        output[data.draw(st.integers(0, len(output) - 1))] = data.draw(st.integers(0, len(task.vocab) - 1))
    return question, output
