"""Disguises: the same function, and notes that hold for the new weights."""

import numpy as np
import pytest

import handloom as hl
from circuits import coefficients, listed
from handloom.core import Config, reference
from handloom.core.params import random
from handloom.write.compiler import compile
from handloom.write.standard import STANDARD, standard

SOME = ("hello", "copy", "induction", "histogram", "most-frequent", "rank", "sort", "contains-ab", "dyck-2", "parity",
        "increment", "addition")  # fmt: skip


def small(name: str):
    return standard(name, **STANDARD[name].small)


def logits_apart(model: hl.Model, other: hl.Model, tokens) -> float:
    """The greatest difference of logits in the model's dtype, as a part of the largest."""
    first, second = (reference.forward(one, tokens, dtype=model.dtype)[0] for one in (model, other))
    return float(abs(first - second).max() / abs(first).max())


def random_model(seed: int, **fields) -> hl.Model:
    sizes = {"vocab": 7, "block": 9, "d_model": 12, "layers": 2, "heads": 2, "d_head": 4, "d_ff": 16} | fields
    config = Config(**sizes)
    rng = np.random.default_rng(seed)
    flat = hl.Model(config, random(config, seed, scale=0.5), hl.Vocab.numbers(config.vocab)).flat
    if config.place == "pre":
        flat = {n: a + rng.normal(0, 0.3, a.shape) if n[-2:] in (".w", ".b") else a for n, a in flat.items()}
    return hl.Model(config, flat, hl.Vocab.numbers(config.vocab)).astype(np.float32)


@pytest.mark.parametrize("name", SOME)
def test_a_compiled_program_in_disguise_has_the_same_answers(name):
    program = small(name)
    model = compile(program)
    for seed in range(2):
        disguised = hl.transforms.disguise(model, seed)
        assert disguised.dtype == np.float32
        assert hl.certify(disguised, program.task, samples=200).right


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDARD)
def test_twenty_disguises_of_every_standard_program_have_the_same_answers(name):
    program = small(name)
    model = compile(program)
    assert all(hl.certify(hl.transforms.disguise(model, s), program.task, samples=300).right for s in range(20))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"norm": "rms", "biases": ()},
        {"norm": "none"},
        {"place": "post"},
        {"positions": "rotary"},
        {"positions": "sinusoid", "tied": False},
        {"gated": True, "kv_heads": 1},
        {"attention": "linear"},
        {"parallel": True},
        {"skips": (), "norm": "rms"},
        {"attention": "least-squares", "ridge": 0.5},
        {"attention": "hard"},
        {"heads": 0, "d_head": 0},
        {"layers": 0, "heads": 0, "d_head": 0, "d_ff": 0},
    ],
)
def test_a_random_model_in_disguise_has_the_same_logits(fields):
    model = random_model(1, **fields)
    tokens = np.random.default_rng(2).integers(7, size=(20, 9))
    for seed in range(3):
        assert logits_apart(model, hl.transforms.disguise(model, seed), tokens) < 1e-4


def test_the_written_adder_in_disguise_has_the_same_logits():
    model = hl.program("addition")
    tokens = [model.vocab.encode(text) for text in ("045+978=102", "999+001=100", "123+456=057")]
    for seed in range(3):
        disguised = hl.transforms.disguise(model, seed)
        assert logits_apart(model, disguised, tokens) < 1e-4
        assert disguised("045+978=") == "1023"


def test_dead_heads_write_nothing_and_distracting_ones_attend_and_cancel():
    model = compile(small("induction"))
    disguised = hl.transforms.disguise(model, 3, dead=2, distracting=4)
    assert disguised.config.heads == model.config.heads + 6
    text = np.array([[model.vocab.ids[token] for token in ["<>", *"abcab"]]])
    _, trace = reference.forward(disguised, text, ["0.result", "0.pattern"])
    numbers = {
        kind: [int(name.split(".")[2]) for name in names if name.startswith("0.")]
        for kind, names in disguised.notes["disguise"].items()
    }
    assert (len(numbers["dead"]), len(numbers["distracting"])) == (2, 4)
    assert not trace["0.result"][:, numbers["dead"]].any()
    written = trace["0.result"][:, numbers["distracting"]]
    assert abs(written).max() > 0.01
    assert abs(written.sum(1)).max() < 1e-5 * abs(written).max()
    uniform = 1 / np.arange(1, 7)[:, None]
    assert abs(trace["0.pattern"][:, numbers["distracting"]] - uniform * np.tri(6)).max() > 0.1


@pytest.mark.parametrize("name", ["induction", "sort", "contains-ab"])
def test_the_truth_holds_for_the_disguised_weights(name):
    model = compile(small(name)).astype(np.float64)
    disguised = hl.transforms.disguise(model, 5)
    truth = disguised.notes["truth"]
    real = {**truth, "nodes": [node for node in truth["nodes"] if "added" not in node]}
    assert len(truth["nodes"]) == len(real["nodes"]) + 3 * model.config.layers
    assert coefficients(disguised, real, relative=1e-5) == listed(truth)


def test_variables_readings_and_words_are_those_of_the_disguised_model():
    model = compile(small("induction")).astype(np.float64)
    disguised = hl.transforms.disguise(model, 6)
    tokens = [[0, 1, 2, 1]]
    plain, other = (reference.forward(one, tokens, ["1.resid_mid"])[1]["1.resid_mid"] for one in (model, disguised))
    for before, after in zip(model.notes["truth"]["variables"], disguised.notes["truth"]["variables"], strict=True):
        assert np.allclose(plain @ np.array(before["reads"]), other @ np.array(after["reads"]), atol=1e-6)
    for name, before in model.notes["readings"].items():
        after = disguised.notes["readings"][name]
        assert np.allclose(plain @ np.transpose(before["vectors"]), other @ np.transpose(after["vectors"]), atol=1e-6)
    nodes = {node["name"]: node for node in disguised.notes["truth"]["nodes"]}
    for place, words in disguised.notes["heads"].items():
        assert nodes[place.replace(".", ".head.")]["line"]["text"] in words
    assert "directions" not in disguised.notes


def test_what_cannot_be_disguised_raises_an_error():
    with pytest.raises(hl.HandloomError, match="pairs"):
        hl.transforms.disguise(random_model(0), 1, distracting=1)
    post = random_model(0, place="post")
    gains = post.flat | {"layers.0.ln1.w": np.arange(12, dtype=np.float32)}
    with pytest.raises(hl.HandloomError, match="post"):
        hl.transforms.disguise(post.with_(params=gains), 1)
    damaged = compile(small("hello")).with_(notes={"truth": {"nodes": 3}})
    with pytest.raises(hl.HandloomError, match="damaged"):
        hl.transforms.disguise(damaged, 1)
