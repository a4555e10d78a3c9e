"""Random models of the GPT-2 layout: every common site equals that of TransformerLens and of transformers within 1e-12.
benchmarks/read.py does the same for 50."""

import sys
from pathlib import Path

import numpy as np
import pytest

import handloom as hl

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from read import bridge_difference, drawn_model, gpt2_difference


@pytest.mark.parametrize("seed", range(100, 106))
def test_every_common_site_is_equal_in_float64(seed, tmp_path):
    hl.export(drawn_model(seed), tmp_path / "model", dtype="float64")
    model = hl.load(tmp_path / "model")
    ids = np.random.default_rng(seed).integers(0, model.config.vocab - 1, model.config.block).tolist()
    found = bridge_difference(tmp_path / "model", model, ids)
    assert len(found) == 23
    assert max(found.values()) <= 1e-12
    assert gpt2_difference(tmp_path / "model", model, ids) <= 1e-12
