"""Chapter 1, exercise 5: the transformer of examples/transformer.c against the reference."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from draws import random_model
from handloom.core import Config, reference
from handloom.tasks import task_of
from handloom.write import program

SOURCE = Path(__file__).parents[2] / "examples" / "transformer.c"


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("there is no C compiler")
    binary = tmp_path_factory.mktemp("c") / "transformer"
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", binary, SOURCE, "-lm"], check=True)

    def logits(model, tokens):
        c, p = model.config, model.params
        parts = [[c.vocab, c.block, c.d_model, c.layers, c.heads, c.d_head, c.d_ff, len(tokens), c.eps]]
        parts += [p["W_E"], p["W_pos"], p["W_E"] if c.tied else p["W_U"].T]
        for layer in p["layers"]:
            none = {"W_in": np.zeros(0), "b_in": np.zeros(c.d_ff), "W_out": np.zeros(0), "b_out": np.zeros(c.d_model)}
            full = none | dict(layer)
            parts += [full[name] for name in ("W_Q", "W_K", "W_V", "W_O", "W_in", "b_in", "W_out", "b_out")]
        given = np.concatenate([np.asarray(part, float).ravel() for part in [*parts, tokens]])
        done = subprocess.run([binary], input=given.tobytes(), capture_output=True, check=True)
        return np.frombuffer(done.stdout).reshape(len(tokens), c.vocab)

    return logits


@pytest.mark.parametrize("name", ["hello", "min", "search", "sort", "addition", "tiny-addition", "multiplication"])
def test_it_computes_what_the_reference_does(transformer, name):
    model = program(name)
    rng = np.random.default_rng(0)
    for _ in range(3):
        ids = task_of(model).draw(rng)
        wanted = reference.forward(model, ids)[0]
        assert np.abs(transformer(model, ids) - wanted).max() < 1e-6 * max(1.0, np.abs(wanted).max())


def test_on_random_models(transformer):
    rng = np.random.default_rng(1)
    for heads, d_head, d_ff, layers, tied in ((1, 3, 0, 1, True), (3, 2, 7, 2, False), (2, 5, 16, 3, True)):
        config = Config(vocab=9, block=8, d_model=6, layers=layers, heads=heads, d_head=d_head, d_ff=d_ff, tied=tied,
                        activation="relu", biases=("mlp",))  # fmt: skip
        model = random_model(config)
        flat = {name: np.ones_like(array) if "ln" in name else array for name, array in model.flat.items()}
        model = type(model)(config, flat, model.vocab)
        ids = rng.integers(0, 9, 8).tolist()
        assert np.allclose(transformer(model, ids), reference.forward(model, ids)[0], rtol=1e-9, atol=1e-9)
