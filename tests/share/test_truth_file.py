"""truth.json beside exported weights, held against these weights."""

import json

import numpy as np
import pytest

import handloom as hl
from circuits import coefficients, listed
from handloom.core import reference
from handloom.read.compiled_truth import stated_edges
from handloom.write.compiler import compile
from handloom.write.standard import STANDARD, standard

pytest.importorskip("safetensors")


def exported(name, folder, disguised):
    model = compile(standard(name, **STANDARD[name].small))
    model = hl.transforms.disguise(model.astype(np.float64), 4) if disguised else model
    result = hl.export(model, folder, dtype="float64" if disguised else None)
    assert folder / "truth.json" in result.files
    assert str(folder / "truth.json") in result.to_json()["files"]
    return model, hl.load(folder), json.loads((folder / "truth.json").read_text())


@pytest.mark.parametrize("disguised", [False, True])
@pytest.mark.parametrize("name", ["induction", "sort"])
def test_the_truth_in_a_folder_is_that_of_its_weights(tmp_path, name, disguised):
    model, loaded, truth = exported(name, tmp_path / "model", disguised)
    real = {**truth, "nodes": [node for node in truth["nodes"] if "added" not in node]}
    assert coefficients(loaded, real, relative=1e-5) == listed(truth)
    rows = [[0, 1, 2, 1]]
    plain, other = (
        reference.forward(one.astype(np.float64), rows, ["1.resid_pre"])[1]["1.resid_pre"] for one in (model, loaded)
    )
    for before, after in zip(model.notes["truth"]["variables"], truth["variables"], strict=True):
        assert len(after["reads"]) == len(after["writes"]) == loaded.config.d_model
        assert np.allclose(plain @ np.array(before["reads"]), other @ np.array(after["reads"]), atol=1e-3)
        assert np.dot(after["reads"], after["writes"]) == pytest.approx(1)
    assert "truth.json" in (tmp_path / "model" / "README.md").read_text()


def test_a_model_without_truth_has_no_such_file_and_replaces_an_export_that_has(tmp_path):
    exported("induction", tmp_path / "model", False)
    result = hl.export("addition:digits=1", tmp_path / "model")
    assert not (tmp_path / "model" / "truth.json").exists()
    assert all(file.exists() for file in result.files)
    assert "truth.json" not in (tmp_path / "model" / "README.md").read_text()


def test_an_onnx_file_has_its_truth_beside_it(tmp_path):
    pytest.importorskip("onnx")
    model = compile(standard("induction:n=5,letters=3"))
    result = hl.export(model, tmp_path / "induction.onnx")
    assert result.files == (tmp_path / "induction.onnx", tmp_path / "induction.truth.json")
    assert json.loads((tmp_path / "induction.truth.json").read_text()) == model.notes["truth"]


def test_damaged_truth_raises_an_error_and_nothing_is_written(tmp_path):
    model = compile(standard("hello"))
    for truth in (3, {"variables": 5}, {"variables": [{"reads": "x"}]}):
        with pytest.raises(hl.HandloomError, match="damaged"):
            hl.export(model.with_(notes={**model.notes, "truth": truth}), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_folder_brings_its_truth_back(tmp_path):
    model = hl.program("compiled/reverse")
    hl.export(model, tmp_path / "folder")
    found = hl.read.circuit(str(tmp_path / "folder"), pairs=64)
    assert found.stated == stated_edges(model)
    assert not found.disagreements()[1]


def test_a_truth_that_is_no_json_is_refused_in_one_line(tmp_path):
    hl.export(hl.program("compiled/reverse"), tmp_path / "folder")
    (tmp_path / "folder" / "truth.json").write_text("[1, 2")
    with pytest.raises(hl.HandloomError, match=r"truth\.json"):
        hl.load(tmp_path / "folder")
