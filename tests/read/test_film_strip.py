"""Film strips: the patterns of every model that a run kept, on the same rows."""

import json

import numpy as np
import pytest

import handloom as hl
from handloom.core import HandloomError
from handloom.read import film_strip, mean_attention
from training_runs import RULE, SMALL


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "strings-1"
    hl.train(RULE, folder=folder, steps=25, keep=10, every=25, **SMALL)
    return folder


def test_every_kept_model_is_a_frame_and_the_last_model_too(run):
    film = film_strip(run, "011010")
    assert film.steps == (10, 20, 25)
    assert film.patterns.shape == (3, 2, 2, 7, 7)
    assert film.tokens == ("<end>", *"011010")
    for frame, name in zip(film.patterns, ("model-10", "model-20", "model"), strict=True):
        model = hl.load(run / f"{name}.safetensors")
        assert np.allclose(frame, mean_attention(model, [model.vocab.encode("011010")]))
    assert film.changes()[0] == 0.0
    assert 0 < film.changes()[1] < 1


def test_without_rows_all_frames_see_the_same_inputs_of_the_task(run):
    film = film_strip(run)
    assert film.rows == 64
    assert film.tokens is None
    assert np.allclose(film.patterns, film_strip(run).patterns)
    values = json.loads(json.dumps(film.to_json()))
    assert values["steps"] == [10, 20, 25]
    assert "      20  0." in str(film)


def test_a_run_that_kept_nothing_says_how_to_keep(tmp_path):
    folder = tmp_path / "run"
    hl.train(RULE, folder=folder, steps=5, every=5, **SMALL)
    with pytest.raises(HandloomError, match=r"a run that kept no models .*; train with keep=100"):
        film_strip(folder)
    with pytest.raises(HandloomError, match="is not the folder of a run"):
        film_strip(tmp_path)
