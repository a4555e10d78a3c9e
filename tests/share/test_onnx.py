"""ONNX files: onnxruntime computes what the reference computes, in Python and in JavaScript."""

import json
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings

import handloom as hl
from command import modules_after
from draws import assert_close, models_and_tokens, not_least_squares, random_model, with_config
from handloom.core import Config, HandloomError, Model, Vocab, params, reference, sites
from handloom.share.onnx_check import check_onnx, differs, margins, rounding_of_logits
from handloom.share.onnx_file import onnx_bytes, write_onnx
from handloom.share.rows import Row, known_task_of, rows_for
from programs import CASES

EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx"
TOLERANCE = {"float32": 1e-4, "float64": 1e-9}
# Programs that float32 cannot hold, with their float32 certificates: right only in one order of summation, or wrong.
FLOAT64_ONLY = (
    "tiny-addition",
    "tiny-addition:digits=5",
    "book/search",
    "book/sort",
    "book/modular-sum",
    "book/addition",
    "exercise/sort-golden",
)


def session_of(model, want=()):
    return onnxruntime.InferenceSession(onnx_bytes(model, want), providers=["CPUExecutionProvider"])


def run(session, rows):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"tokens": np.array(rows, np.int64)}), strict=True))


@pytest.mark.parametrize("dtype", TOLERANCE)
@given(case=models_and_tokens().filter(not_least_squares))
@settings(max_examples=30)
def test_every_site_of_every_config_but_least_squares_is_as_in_a_trace(dtype, case):
    model, tokens = case
    model = model.astype(dtype)
    outputs = run(session_of(model, "*"), [tokens])
    expected, trace = reference.forward(model, tokens, want="*")
    assert set(outputs) == set(sites(model.config))
    for site, value in trace.items():
        assert outputs[site].dtype == dtype
        assert_close(outputs[site][0], value, TOLERANCE[dtype])
    assert_close(run(session_of(model), [tokens])["logits"][0], expected, TOLERANCE[dtype])


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (case.name, dtype)
        for case in CASES
        for dtype in TOLERANCE
        if dtype == "float64" or case.name not in FLOAT64_ONLY
    ],
)
def test_programs_predict_the_same_tokens(name, dtype):
    """Right answers always, and all other positions that rounding does not decide."""
    model, eps = hl.program(name), np.finfo(dtype).eps
    data = onnx_bytes(model.astype(dtype))
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    for row in rows_for(model, known_task_of(model, None), 100)[::40]:
        logits = run(session, [row.tokens])["logits"][0].astype(float)
        expected = reference.forward(model, row.tokens)[0]
        rounding = 100 * rounding_of_logits(model, row, expected, eps)
        same = logits.argmax(-1) == expected.argmax(-1)
        assert (same | (margins(expected) <= rounding)).all()
        right = expected.argmax(-1)[-len(row.answer) :] == row.answer
        assert (same[-len(row.answer) :] | ~right).all()
        allowed = np.maximum(rounding, TOLERANCE[dtype] * np.maximum(1.0, np.abs(expected).max(-1)))
        assert (np.abs(logits - expected).max(-1) <= allowed)[-len(row.answer) :].all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs_generate_their_outputs(case):
    """Greedy decoding with nothing but the file."""
    model = hl.program(case.name)
    session = session_of(model if case.name in FLOAT64_ONLY else model.astype("float32"))
    about = json.loads(session.get_modelmeta().custom_metadata_map["handloom"])
    vocab, block = Vocab.from_json(about["vocab"]), about["config"]["block"]
    start = vocab.encode(case.given)
    ids = list(start)
    for _ in range(len(vocab.encode(case.output)) - (vocab.bos is not None)):
        ids.append(int(run(session, [ids[-block:]])["logits"][0, -1].argmax()))
    assert vocab.decode(ids[len(start) :]) == case.output


@pytest.mark.parametrize("positions", ["table", "sinusoid", "rotary", "none"])
def test_one_session_runs_batches_of_every_length_up_to_the_block(positions):
    config = Config(vocab=9, block=6, d_model=8, layers=2, heads=2, d_head=4, d_ff=5, positions=positions, causal=False)
    model, rng = random_model(config), np.random.default_rng(0)
    session = session_of(model, "0.pattern")
    for B, T in ((1, 1), (3, 5), (2, 6), (1, 6), (4, 2)):
        rows = rng.integers(0, 9, (B, T))
        expected, trace = reference.forward(model, rows, want="0.pattern")
        outputs = run(session, rows)
        assert_close(outputs["logits"], expected, 1e-9)
        assert_close(outputs["0.pattern"], trace["0.pattern"], 1e-9)
    with pytest.raises(Exception, match=r"'at most 6 tokens'.*out of data bounds"):
        run(session, [[0] * 7])
    with pytest.raises(Exception, match="out of data bounds"):
        run(session, [[9]])


@pytest.mark.parametrize("kv_heads", [0, 1, 2])
def test_gated_mlps_and_shared_keys_and_values_are_written_too(kv_heads):
    config = Config(vocab=9, block=6, d_model=8, layers=2, heads=4, d_head=2, d_ff=5, norm="rms", activation="silu",
                    positions="rotary", gated=True, kv_heads=kv_heads)  # fmt: skip
    model = random_model(config)
    session = session_of(model, "*")
    keys = next(output for output in session.get_outputs() if output.name == "1.k")
    assert keys.shape == ["batch", kv_heads or 4, "length", 2]
    rows = [[3, 1, 4, 1], [5, 8, 2, 6]]
    outputs, (_, trace) = run(session, rows), reference.forward(model, rows, want="*")
    for site, value in trace.items():
        assert_close(outputs[site], value, 1e-9)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_eps_of_zero_never_divides_zero_by_zero(dtype):
    config = Config(vocab=3, block=4, d_model=4, layers=1, heads=1, d_head=2, d_ff=3, eps=0.0, positions="none")
    model = random_model(config).astype(dtype)
    model = model.with_(params=model.flat | {"W_E": np.zeros((3, 4), dtype)})
    expected = reference.forward(model, [0, 1])[0]
    assert_close(run(session_of(model), [[0, 1]])["logits"][0], expected, TOLERANCE[dtype])


def test_the_file_says_what_it_is(here):
    model = hl.program("addition:digits=2")
    assert write_onnx(model, "adder.onnx", want=["0.pattern", "*.z", "0.z"]) == 100
    proto = onnx.load("adder.onnx")
    assert [(opset.domain, opset.version) for opset in proto.opset_import] == [("", 13)]
    assert proto.ir_version == 7
    assert "task: addition:digits=2" in proto.doc_string
    session = onnxruntime.InferenceSession("adder.onnx")
    about = json.loads(session.get_modelmeta().custom_metadata_map["handloom"])
    assert Config.from_json(about["config"]) == model.config
    assert Vocab.from_json(about["vocab"]) == model.vocab
    assert about["notes"] == dict(model.notes)
    tokens, (logits, pattern, *zs) = session.get_inputs()[0], session.get_outputs()
    assert (tokens.name, tokens.type, tokens.shape) == ("tokens", "tensor(int64)", ["batch", "length"])
    assert (logits.name, logits.type, logits.shape) == ("logits", "tensor(float)", ["batch", "length", 12])
    assert (pattern.name, pattern.shape) == ("0.pattern", ["batch", 1, "length", "length"])
    assert [z.name for z in zs] == [f"{i}.z" for i in range(model.config.layers)]


def test_weights_and_sites_keep_their_names_in_the_graph():
    model = random_model(Config(vocab=5, block=4, d_model=6, layers=1, heads=2, d_head=3, d_ff=4, tied=False))
    graph = onnx.load_from_string(onnx_bytes(model)).graph
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for name, array in model.flat.items():
        assert np.array_equal(arrays[name], array)
    assert set(sites(model.config)) <= {name for node in graph.node for name in node.output}


def test_one_model_always_makes_the_same_bytes():
    assert onnx_bytes(hl.program("sum"), "*") == onnx_bytes(hl.program("sum"), "*")


def test_a_program_that_float32_cannot_hold_is_refused_and_nothing_is_written(here):
    with pytest.raises(
        HandloomError, match=r"^in float32 onnxruntime predicts .* 100 of 100 inputs; export it in float64$"
    ):
        write_onnx(hl.program("tiny-addition"), "tiny.onnx")
    assert not list(here.iterdir())
    assert write_onnx(hl.program("exercise/sort-golden"), "golden.onnx", dtype="float64") == 100
    assert onnxruntime.InferenceSession("golden.onnx").get_outputs()[0].type == "tensor(double)"


def test_a_changed_token_is_found_and_rounding_forgiven():
    model = random_model(Config(vocab=7, block=5, d_model=8, layers=1, heads=2, d_head=4, d_ff=8))
    tokens = [3, 1, 4, 1]
    logits = reference.forward(model, tokens)[0]
    best, eps = logits.argmax(-1), float(np.finfo("float32").eps)
    other = logits.copy()
    other[1, (best[1] + 1) % 7] = other[1].max() + 1e-9
    assert not differs(model, Row(tokens, 4), logits, eps)
    assert differs(model, Row(tokens, 4), other, eps)
    assert not differs(model, Row(tokens, 2, best[2:].tolist()), other, eps)  # before the answer
    assert differs(model, Row(tokens, 3, best[1:].tolist()), other, eps)
    tied = model.with_(params={name: np.zeros_like(array) for name, array in model.flat.items()})
    assert not differs(tied, Row(tokens, 4), other, eps)  # all logits are equal: rounding decides
    assert differs(tied, Row(tokens, 3, [0, 0, 0]), other, eps)  # and a right answer by luck must stay


def test_a_graph_that_is_not_the_models_is_refused():
    model = hl.program("min:n=5")
    swapped = model.with_(params=model.flat | {"W_E": model.flat["W_E"][::-1].copy()})

    with pytest.raises(HandloomError, match=r"predicts other tokens than the model on \d+ of 100 inputs"):
        check_onnx(onnx_bytes(swapped), model, np.dtype("float64"), hl.task_of(model))


def test_models_without_a_task_are_checked_on_random_tokens(here):
    config = Config(vocab=7, block=9, d_model=8, layers=2, heads=2, d_head=4, d_ff=16, norm="rms", positions="rotary")
    assert write_onnx(random_model(config), "m.onnx") == 100
    assert write_onnx(random_model(with_config(random_model(config), vocab=1)), "one.onnx") == 100


def test_large_models_are_checked_on_fewer_tokens():
    config = Config(vocab=50_000, block=1024, d_model=400)
    model = Model(config, params.zeros(config, "float32"), Vocab.numbers(50_000))
    assert sum(len(row.tokens) for row in rows_for(model, None)) <= 100


def test_writing_needs_no_torch(here):
    code = "import handloom as hl; from handloom.share.onnx_file import write_onnx; "
    loaded = modules_after(code + "write_onnx(hl.program('addition'), 'adder.onnx')")
    assert "onnxruntime" in loaded
    assert "torch" not in loaded


def test_without_onnxruntime_nothing_is_checked(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert write_onnx(hl.program("sum"), "sum.onnx") == 0
    onnx.checker.check_model("sum.onnx")


def test_without_onnx_an_error_says_what_to_install(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "handloom.share.onnx_graph", raising=False)
    with pytest.raises(HandloomError, match=r"needs onnx, which is not installed: pip install 'handloom\[share\]'"):
        write_onnx(hl.program("sum"), "sum.onnx")


@pytest.mark.parametrize(
    ("path", "how", "complaint"),
    [
        ("adder.txt", {}, r"an ONNX file ends in \.onnx; name it adder\.onnx"),
        ("no/adder.onnx", {}, "there is no folder no"),
        ("adder.onnx", {"dtype": "float16"}, "dtype is float32 or float64, not 'float16'"),
        ("adder.onnx", {"want": ["0.paterns"]}, "no site '0.paterns' in this model; its sites are embed"),
        (7, {}, "expected the name of a file, not 7"),
    ],
)
def test_bad_input_gets_one_line_and_nothing_is_written(here, path, how, complaint):
    with pytest.raises(HandloomError, match=complaint) as refusal:
        write_onnx(hl.program("sum"), path, **how)
    assert "\n" not in str(refusal.value)
    assert not list(here.iterdir())


def test_weights_beyond_what_a_file_holds_are_refused(here, monkeypatch):
    monkeypatch.setattr("handloom.share.onnx_file.MOST_BYTES", 1000)
    with pytest.raises(
        HandloomError, match=r"the weights take 0\.0 GiB \(expected up to 2, the most that an ONNX file holds"
    ):
        write_onnx(hl.program("addition"), "adder.onnx")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A copy of the example with onnxruntime-web from npm, and two models."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("there is no node or no npm")
    folder = tmp_path_factory.mktemp("example") / "onnx"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("node_modules", "*.onnx"))
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    if subprocess.run(install, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("npm cannot install onnxruntime-web here")
    write_onnx(hl.program("addition:digits=3"), folder / "adder.onnx", want="*.pattern")
    write_onnx(hl.program("exercise/sort-golden"), folder / "golden.onnx", dtype="float64")
    return folder


def node(*words, cwd):
    return subprocess.run(["node", "add.mjs", *words], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_node_generates_what_handloom_does(example):
    questions = ["123+456=", "999+001=", "000+000=", "847+395="]
    answers = hl.program("addition:digits=3")(questions)
    expected = [question + answer for question, answer in zip(questions, answers, strict=True)]
    assert node(*questions, cwd=example).stdout.splitlines() == expected
    assert node("--model", "golden.onnx", "24 13 18 31 0", cwd=example).stdout == "24 13 18 31 0 13 18 24 31\n"
    refused = node("12x", cwd=example)
    assert refused.returncode == 2
    assert refused.stderr == '"x" is not a token; the tokens are 0 1 2 3 4 5 6 7 8 9 + =\n'


@pytest.mark.slow
def test_the_page_shows_the_answer_and_what_heads_attend_to(example, tmp_path):
    if not (chromium := shutil.which("chromium")):
        pytest.skip("there is no chromium")
    serve = partial(QuietHandler, directory=example)
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{server.server_port}/index.html?text=123%2B456="
        flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
        flags += f" --user-data-dir={tmp_path} --virtual-time-budget=30000 --dump-dom"
        command = [chromium, *flags.split(), page]
        dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
        server.shutdown()
    assert "123+456=0579" in dom
    assert dom.count("<figcaption>") == 4
    assert "3.pattern, head 0" in dom


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass
