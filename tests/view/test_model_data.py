"""What a page carries of a model: every number exactly, in few bytes, and no way out of its script element."""

import json
from base64 import b64decode

import numpy as np
import pytest

import handloom as hl
from draws import random_model
from handloom.core import Config, Vocab, reference
from handloom.view.pages.model_data import MOST, model_json, packed, packed_model
from handloom.view.pages.skeleton import skeleton
from parsed import Balanced


def unpacked(one):
    kind = {"f4": "<f4", "f8": "<f8"}[one["type"]]
    numbers = np.frombuffer(b64decode(one["data"]), kind).astype(np.float64)
    if "at" not in one:
        return numbers.reshape(one["shape"])
    full = np.zeros(one["shape"])
    full.ravel()[np.frombuffer(b64decode(one["at"]), "<u4")] = numbers
    return full


@pytest.mark.parametrize("name", ["hello", "addition", "unpadded-addition", "book/addition"])
def test_every_number_comes_back(name):
    model = hl.program(name)
    data = json.loads(model_json(model))
    assert list(data["arrays"]) == list(model.flat)
    for array, one in zip(model.flat.values(), data["arrays"].values(), strict=True):
        back = unpacked(one)
        assert np.array_equal(back, array)
        assert np.array_equal(np.signbit(back), np.signbit(array))
    assert data["notes"] == dict(model.notes)


def test_arrays_take_few_bytes():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=300)
    assert (packed(dense)["type"], packed(dense.astype(np.float32))["type"], packed(np.round(dense))["type"]) == (
        "f8",
        "f4",
        "f4",
    )
    assert packed(np.full(3, 1e300))["type"] == "f8"  # beyond float32
    assert "at" not in packed(dense)
    sparse = np.where(rng.random(3000) < 0.01, 0.1, -0.0)
    assert "at" not in packed(sparse)  # -0 is a number
    assert len(json.dumps(packed(np.abs(sparse)))) < 1000
    assert np.array_equal(unpacked(packed(np.abs(sparse))), np.abs(sparse))
    assert unpacked(packed(np.zeros((2, 0, 3)))).shape == (2, 0, 3)


def test_logits_are_stored_where_predictions_count():
    model = hl.program("addition")
    for one in packed_model(model)["stored"]:
        assert model.vocab.decode(one["ids"])[7] == "="
        assert np.array_equal(unpacked(one["logits"]), reference.forward(model, one["ids"])[0][7:])
    sizes = {"d_model": 2, "block": 9}
    large = random_model(Config(vocab=MOST + 1, **sizes))
    assert [one["logits"]["shape"] for one in packed_model(large)["stored"]] == 3 * [[1, MOST + 1]]
    assert packed_model(large, [[5, 6]])["stored"][0]["ids"] == [5, 6]


HOSTILE = ("</script><img src=x onerror=alert(1)>", "<!--<script>", "]]>&amp;", "\u2028\u2029", "</SCRIPT >", '"\\')


def test_no_text_of_a_model_ends_the_script_or_begins_a_tag():
    config = Config(vocab=len(HOSTILE), block=2, d_model=1)
    model = random_model(config).with_(vocab=Vocab(HOSTILE, separator=""), notes={"task": HOSTILE[0], HOSTILE[1]: 0})
    text = model_json(model)
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text)["vocab"]["tokens"] == [*HOSTILE]
    assert json.loads(text)["notes"] == dict(model.notes)
    parsed = Balanced(skeleton("x", f'<script type="application/json" id="model">{text}</script>'))
    assert (parsed.tags["script"], parsed.tags["img"]) == (1, 0)


def test_a_tokenizer_stays_out_of_the_page():
    tokenizer = json.dumps({"huge": "x" * 10_000})
    model = random_model(Config(vocab=2, block=2, d_model=1))
    model = model.with_(vocab=Vocab(("a", "b"), separator="", tokenizer=tokenizer))
    assert packed_model(model, [[0]])["vocab"]["tokenizer"] is True
