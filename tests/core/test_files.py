"""Model files: what is saved comes back, and whatever else a file may hold gets one line."""

import json
import os
import pickle
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import models, random_model
from handloom.core import Config, HandloomError, Model, Vocab, files, load, params, save
from handloom.core.files import entry_of, safetensors_parts
from handloom.tasks.textfile import text_file
from handloom.write import program
from handloom.write.taotp import load_taotp

CONFIG = Config(vocab=4, block=3, d_model=4, layers=1, heads=1, d_head=2, d_ff=3)
VOCAB = Vocab(("a", "b", "é", "<eos>"), separator="", eos="<eos>")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)


def good_model():
    return Model(CONFIG, random_model(CONFIG, seed=2).params, VOCAB, {"made": "for a test", "steps": 3})


def same(a, b):
    return (
        a.config == b.config
        and a.vocab == b.vocab
        and a.notes == b.notes
        and a.dtype == b.dtype
        and a.flat.keys() == b.flat.keys()
        and all(np.array_equal(array, b.flat[name]) for name, array in a.flat.items())
    )


def refused(path):
    """Load a file that must be refused; the one line."""
    with pytest.raises(HandloomError) as refusal:
        load(path)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@given(models(), st.dictionaries(st.text(), JSON), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=40)
def test_what_is_saved_comes_back(tmp_path_factory, model, notes, dtype):
    path = tmp_path_factory.getbasetemp() / "model.safetensors"
    try:
        model = model.astype(dtype).with_(notes=notes)
    except HandloomError:
        return
    save(model, path)
    assert same(load(path), model)


def test_any_tool_can_open_a_file(tmp_path):
    path = tmp_path / "m.safetensors"
    save(good_model(), path)
    arrays = safetensors.numpy.load_file(path)
    assert np.array_equal(arrays["layers.0.W_Q"], good_model().params["layers"][0]["W_Q"])


@settings(max_examples=30)
@given(models(), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_the_bytes_of_a_file_are_those_that_the_library_writes(model, note):
    arrays = {**model.flat, f"other {note}": np.zeros((0, 2), np.float32), "half": np.float32(2.5)[None]}
    assert b"".join(safetensors_parts(arrays, {"x": note})) == safetensors.numpy.save(arrays, {"x": note})


def test_saving_twice_gives_the_same_bytes(tmp_path):
    for name in ("a.safetensors", "b.SafeTensors"):
        save(good_model(), tmp_path / name)
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.SafeTensors").read_bytes()


@pytest.mark.parametrize("name", ["z.pt", "x.onnx", "m.safetensors.gz", "m.taotp", "m", ".safetensors", "m."])
def test_a_name_that_does_not_end_in_safetensors_is_refused(tmp_path, name):
    with pytest.raises(HandloomError, match=r": a model file ends in \.safetensors; name it .*\.safetensors$"):
        save(good_model(), tmp_path / name)
    assert not os.listdir(tmp_path)


def mutate(data, rng):
    """A few bytes changed, inserted, removed, moved, or the end cut off."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(data)) if rng.random() < 0.5 else rng.randrange(min(len(data), 1200))
        kind = rng.randrange(6)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice(b'\x00\xff"{}[],:0129aN-')
        elif kind == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
        elif kind == 3:
            del data[at : at + rng.randrange(1, 9)]
        elif kind == 4:
            del data[at:]
        else:
            data[at : at + 8] = data[:8]
        if not data:
            break
    return bytes(data)


def test_a_file_with_changed_bytes_is_refused_or_is_the_same_model(tmp_path):
    """Three thousand times. A change that leaves the meaning as it was (a space in the header) may load."""
    model, path = good_model(), tmp_path / "m.safetensors"
    save(model, path)
    good, rng = path.read_bytes(), random.Random(0)
    loaded = 0
    for _ in range(3000):
        path.write_bytes(mutate(good, rng))
        try:
            again = load(path)
        except HandloomError as error:
            assert "\n" not in str(error)
            assert str(error).startswith(f"{path} is not a model that can be loaded: ")
        else:
            assert same(again, model)
            loaded += 1
    assert loaded < 300


def forged(texts, arrays):
    """A file whose metadata says whatever one likes, with a digest that fits if it is JSON at all."""
    said = "{" + ", ".join(f'"{name}": {text}' for name, text in texts.items())
    try:
        seal = files.digest(json.loads(said + "}"), arrays)
    except (ValueError, RecursionError):
        seal = "none"
    return safetensors.numpy.save(arrays, {"handloom": f'{said}, "sha256": "{seal}"}}'})


def texts_of(model):
    about = {"version": 1, "config": model.config.to_json(), "vocab": model.vocab.to_json(), "notes": dict(model.notes)}
    return {name: json.dumps(value) for name, value in about.items()}


def test_a_forged_file_is_refused_or_is_a_sound_model(tmp_path):
    """The digest is right and the contents are not: the checks behind it must hold alone."""
    model, path, rng = good_model(), tmp_path / "m.safetensors", random.Random(1)
    sound = 0
    for _ in range(2000):
        texts, arrays = texts_of(model), dict(model.flat)
        name = rng.choice(["config", "vocab", "notes", "arrays"])
        if name == "arrays":
            array = rng.choice(list(arrays))
            arrays[array] = forge(arrays[array], rng)
            if rng.random() < 0.3:
                arrays[rng.choice(["W_X", "layers.7.W_Q", "layers.x", "a.b.c", "layers", ""])] = arrays.pop(array)
        else:
            texts[name] = mutate(texts[name].encode(), rng).decode(errors="ignore")
        path.write_bytes(forged(texts, arrays))
        try:
            again = load(path)
        except HandloomError as error:
            assert "\n" not in str(error)
        else:
            sound += 1
            assert {name: array.shape for name, array in again.flat.items()} == dict(params.shapes(again.config))
            assert all(np.isfinite(array).all() for array in again.flat.values())
            again.vocab.decode(list(range(len(again.vocab))))
    assert 0 < sound < 1000


def forge(array, rng):
    kind = rng.randrange(6)
    if kind == 0:
        return array.astype(rng.choice([np.float16, np.int64, np.float32, np.uint8]))
    if kind == 1:
        return np.full_like(array, rng.choice([np.nan, np.inf, -np.inf]))
    if kind == 2:
        return np.ascontiguousarray(array.T) if array.ndim > 1 else np.append(array, 1.0)
    if kind == 3:
        return array.reshape(-1)
    if kind == 4:
        return np.zeros((0, *array.shape))
    return array * 2


FORGERIES = [
    ("config", '{"vocab": 4, "block": 3, "d_model": 4, "layers": 1000000000}', r"layers\.\d+\.W_Q is missing"),
    ("config", '{"vocab": 4, "block": 3, "d_model": 4, "layers": %s}' % ("9" * 5000), "its metadata is not JSON"),
    ("config", '{"vocab": 4000000000, "block": 3, "d_model": 4}', "is not one that the Config has"),
    ("config", '{"vocab": 4, "block": 1e999, "d_model": 4}', "block=inf must be a whole number"),
    ("config", '{"vocab": 4, "block": 3, "d_model": 4, "eps": NaN}', "eps=nan must be a finite number"),
    ("config", "[" * 100_000, "its metadata is not JSON"),
    ("config", "null", "expected an object of fields"),
    ("vocab", '{"tokens": ["a", "a", "b", "c"]}', "occurs twice"),
    ("vocab", '{"tokens": ["a", 1, "b", "c"]}', "1 cannot be a token"),
    ("vocab", '{"tokens": ["a", "\\ud800", "b", "c"]}', "cannot be a token"),
    ("vocab", '{"tokens": ["a", "b", "c", "d"], "separator": 3}', "separator=3 must be"),
    ("vocab", '{"tokens": ["a", "b", "c", "d"], "eos": ["a"]}', r"eos=\['a'\] is not one of the tokens"),
    ("vocab", '{"tokens": "abcd"}', "expected an object with tokens"),
    ("notes", '{"x": ' + "[" * 990 + "]" * 990 + "}", "its metadata is not JSON"),
    ("config", '{"vocab": ' + "[" * 900 + "]" * 900 + "}", "d_model is missing|block is missing"),
    ("notes", "3", "its notes are not an object"),
    ("notes", '{"x": NaN}', "notes must be plain JSON"),
    ("extra", "2", "its metadata must be version, config, vocab, notes and sha256"),
    ("version", "2", "its format is 2, and this version of handloom reads 1"),
]


@pytest.mark.parametrize(("name", "text", "complaint"), FORGERIES, ids=range(len(FORGERIES)))
def test_hostile_metadata_gets_one_line(tmp_path, name, text, complaint):
    path = tmp_path / "m.safetensors"
    path.write_bytes(forged(texts_of(good_model()) | {name: text}, good_model().flat))
    with pytest.raises(HandloomError, match=complaint):
        load(path)
    refused(path)


def header(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


HOSTILE = {
    "empty": b"",
    "short": b"\x01\x02",
    "text": b"This is a poem, and not a model.",
    "endless header": struct.pack("<Q", 2**63) + b"{}",
    "no header": header(""),
    "header of nothing": header("{}"),
    "not an object": header("[]"),
    "not text": struct.pack("<Q", 4) + b"\xff\xfe\xfd\xfc",
    "nested": header("[" * 100_000),
    "offsets beyond the end": header('{"a": {"dtype": "F64", "shape": [4], "data_offsets": [0, 32]}}'),
    "offsets backwards": header('{"a": {"dtype": "F64", "shape": [1], "data_offsets": [8, 0]}}') + bytes(8),
    "a shape that overflows": header(
        '{"a": {"dtype": "F64", "shape": [9223372036854775807, 9223372036854775807], "data_offsets": [0, 8]}}'
    )
    + bytes(8),
    "unknown dtype": header('{"a": {"dtype": "F65", "shape": [1], "data_offsets": [0, 8]}}') + bytes(8),
    "bfloat16 of another program": header('{"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}') + bytes(2),
    "metadata of numbers": header('{"__metadata__": {"handloom": 1}}'),
    "a pickle": pickle.dumps({"a": 1}),
    "a zip": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_and_foreign_files_get_one_line(tmp_path, name):
    path = tmp_path / "m.safetensors"
    path.write_bytes(HOSTILE[name])
    assert "is not a model that can be loaded: it is" in refused(path)


def test_a_safetensors_file_of_another_program_says_so(tmp_path):
    path = tmp_path / "m.safetensors"
    safetensors.numpy.save_file({"weight": np.zeros(3)}, path, {"format": "pt"})
    assert "it is a safetensors file, but handloom did not write it" in refused(path)


class Trap:
    def __reduce__(self):
        return os.system, ("touch /tmp/handloom_was_fooled",)


def test_nothing_in_a_file_can_run_code(tmp_path):
    """A pickle that would run a command, as a file and as text inside one."""
    trap = pickle.dumps(Trap())
    Path("/tmp/handloom_was_fooled").unlink(missing_ok=True)
    (tmp_path / "a").write_bytes(trap)
    refused(tmp_path / "a")
    notes = {"code": "__import__('os').system('touch /tmp/handloom_was_fooled')", "p": trap.hex()}
    save(good_model().with_(notes=notes), tmp_path / "b.safetensors")
    assert load(tmp_path / "b.safetensors").notes == notes
    assert not Path("/tmp/handloom_was_fooled").exists()


def test_a_file_that_claims_more_than_memory_holds_is_refused_unread(tmp_path):
    """A sparse file of eight terabytes: what it says of itself is wrong before anything is read."""
    path = tmp_path / "m.safetensors"
    size = 8 * 2**40
    about = json.dumps(
        json.dumps({name: json.loads(text) for name, text in texts_of(good_model()).items()} | {"sha256": ""})
    )
    shape = f'{{"dtype": "F64", "shape": [{size // 8}], "data_offsets": [0, {size}]}}'
    path.write_bytes(header(f'{{"__metadata__": {{"handloom": {about}}}, "W_E": {shape}}}'))
    os.truncate(path, path.stat().st_size + size)
    assert "parameter W_pos is missing" in refused(path)


def test_a_name_with_a_line_break_stays_one_line(tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(forged(texts_of(good_model()), good_model().flat | {"a\nb": np.zeros(2)}))
    assert "parameter 'a\\nb' is not one that the Config has" in refused(path)


def test_links_are_followed_and_pipes_and_devices_stay_what_they_are(tmp_path):
    real, link, pipe = tmp_path / "real.safetensors", tmp_path / "link.safetensors", tmp_path / "pipe"
    save(good_model(), real)
    link.symlink_to(real)
    save(program("hello"), link)
    assert link.is_symlink()
    assert load(real)() == "Hello World!"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    save(program("hello"), pipe)
    assert reader.communicate()[0] == real.read_bytes()
    assert pipe.is_fifo()
    save(program("hello"), "/dev/null")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("read", [load, load_taotp, entry_of])
def test_a_pipe_or_a_device_is_not_read(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(HandloomError, match=r"is a pipe or a device \(expected a file\); copy its contents"):
            read(path)


def test_a_device_is_no_text_to_train_on():
    """A pipe is: it is read once, and kept with the run."""
    with pytest.raises(HandloomError, match=r"/dev/zero is a device \(expected a text file\); copy its contents"):
        text_file("/dev/zero")


def test_an_existing_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "private.safetensors"
    save(good_model(), path)
    path.chmod(0o600)
    save(program("hello"), path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("path", [None, 5, b"x"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(HandloomError, match="expected the name of a file"):
        load(path)
    with pytest.raises(HandloomError, match="expected the name of a file"):
        save(good_model(), path)


@pytest.mark.parametrize("path", ["x" * 300, "a\0b"])
def test_names_that_no_file_can_have_are_refused(path):
    with pytest.raises(HandloomError, match=r"cannot|no such file"):
        load(path)
    with pytest.raises(HandloomError, match="cannot"):
        save(good_model(), path)


@pytest.mark.slow
def test_a_file_with_changed_bytes_forty_thousand_times(tmp_path):
    model, path = good_model(), tmp_path / "m.safetensors"
    save(model, path)
    good, rng = path.read_bytes(), random.Random(7)
    for _ in range(40_000):
        path.write_bytes(mutate(good, rng))
        try:
            assert same(load(path), model)
        except HandloomError as error:
            assert "\n" not in str(error)


def test_missing_files_and_folders_are_named(tmp_path):
    assert refused(tmp_path / "none.safetensors") == f"{tmp_path}/none.safetensors: no such file"
    assert "is a folder without a model.safetensors in it" in refused(tmp_path)
    with pytest.raises(HandloomError, match="is a folder; give the name of a file in it"):
        save(good_model(), tmp_path)
    with pytest.raises(HandloomError, match=r"cannot write .*there is no folder"):
        save(good_model(), tmp_path / "no" / "folder" / "m.safetensors")


def test_a_save_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "m.safetensors"
    save(good_model(), path)
    before = path.read_bytes()
    for name, error in (("replace", OSError(28, "No space left on device")), ("fsync", KeyboardInterrupt())):

        def fail(*args, error=error):
            raise error

        monkeypatch.setattr(files.os, name, fail)
        with pytest.raises((HandloomError, KeyboardInterrupt)):
            save(program("hello"), path)
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["m.safetensors"]


def test_a_killed_save_leaves_a_whole_file(tmp_path):
    """A process that saves one model after another is killed at some moment: what is there loads."""
    path = tmp_path / "m.safetensors"
    code = f"""
from handloom.core import *
configs = [Config(vocab=3, block=block, d_model=50) for block in (2, 400)]
models = [Model(config, params.random(config, 0), Vocab.numbers(3)) for config in configs]
save(models[0], {str(path)!r}); print("ready", flush=True)
while True:
    for model in models: save(model, {str(path)!r})
"""
    for delay in (0.0, 0.003, 0.011):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(delay)
        process.kill()
        process.communicate()
        assert load(path).config.block in (2, 400)


def test_a_model_file_has_ordinary_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    save(good_model(), tmp_path / "m.safetensors")
    assert os.stat(tmp_path / "m.safetensors").st_mode == os.stat(tmp_path / "plain").st_mode
