"""What a run's folder tells a page."""

from base64 import b64decode

import numpy as np
import pytest

import handloom as hl
from handloom.core import HandloomError
from handloom.core.files import load_file
from handloom.discover import discover
from handloom.studio import Studio
from handloom.studio.reading.analyses import ANALYSES, Question
from handloom.studio.reading.reading_process import ignore
from handloom.studio.run_log import film, open_run, runs

TINY = {"layers": 1, "heads": 2, "width": 8, "batch": 4, "samples": 4, "count": 50}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a run of learn that kept two steps."""
    place = tmp_path_factory.mktemp("runs")
    hl.train("parity:length=5", steps=8, every=4, keep=4, folder=place / "parity-1", **TINY)
    return place


def test_a_run_of_learn_has_its_curves_and_its_kept_models(folder):
    found = open_run(Studio(folder), {"run": "parity-1"})
    assert (found["kind"], found["step"], found["steps"]) == ("learn", 8, 8)
    assert [line["step"] for line in found["lines"]] == [4, 8]
    files = [f"parity-1/model-{step}.safetensors" for step in (4, 8)]
    assert found["kept"] == [{"step": step, "file": file} for step, file in zip((4, 8), files, strict=True)]
    assert found["named"]["model"] == "parity-1/model.safetensors"
    assert [run["run"] for run in runs(Studio(folder), {})] == ["parity-1"]


def test_the_film_of_kept_models_is_what_the_reference_attends_to(folder):
    frames = film(Studio(folder), {"run": "parity-1"})
    assert [frame["step"] for frame in frames] == [4, 8]
    assert frames[0]["tokens"] == frames[1]["tokens"]
    for frame in frames:
        model = load_file(folder / "parity-1" / f"model-{frame['step']}.safetensors")
        ids = [model.vocab.id(token) for token in frame["tokens"]]
        trace = hl.trace(model, ids)
        shares = np.frombuffer(b64decode(frame["data"]), np.uint8).reshape(1, 2, len(ids), len(ids)) / 255
        assert np.abs(shares[0] - trace["0.pattern"]).max() <= 0.51 / 255


def test_the_film_strip_is_described_without_the_place_of_its_folder(folder):
    asked = Question(load_file(folder / "parity-1" / "model.safetensors"), folder / "parity-1", None, {}, ignore)
    assert ANALYSES["film"].show(asked).words[0].startswith("2 checkpoints, 1 layers, 2 heads")


def test_a_run_of_discover_has_its_improvements(here):
    discover("isosceles:n=4", seconds=0.5, model=False, folder="found", store="records.sqlite")
    found = open_run(Studio(here), {"run": "found"})
    scores = [one["score"] for one in found["improved"]]
    assert found["problem"] == "isosceles:n=4"
    assert scores == sorted(set(scores))
    assert scores[-1] == max(line["best"] for line in found["lines"])


def test_a_folder_elsewhere_is_not_opened(folder):
    (folder / "inside").mkdir(exist_ok=True)
    with pytest.raises(HandloomError, match="is not below the folder"):
        open_run(Studio(folder / "inside"), {"run": "../parity-1"})
