"""Exporting without the libraries that read the result: the door, the folder, the card, the checks, bad input."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer

import handloom as hl
from command import COMMAND, handloom, modules_after, output
from draws import STANDARD, assert_close, models_and_tokens, random_model, trained_like, with_config
from handloom import Config, HandloomError, Vocab
from handloom.core import reference
from handloom.share import Exported, export
from handloom.share.agreement import check_agreement, stream_length
from handloom.share.fitting import add_unknown, fit_gpt2, gpt2_sizes
from handloom.share.gpt2 import gpt2_tensors
from handloom.share.gpt2_folder import FILES
from handloom.share.tokenizer import tokenizer_json
from handloom.share.truth_file import TRUTH
from handloom.write.taotp import load_taotp
from programs import CASES

ADDER = hl.program("addition:digits=2")


def content(folder, name):
    return json.loads((folder / name).read_text())


# The door


def test_an_export_lists_its_files_and_says_what_was_checked(tmp_path):
    done = export("addition:digits=2", tmp_path / "adder", to="gpt2")
    assert (
        {file.name for file in done.files}
        == set(FILES) - {TRUTH}
        == {path.name for path in (tmp_path / "adder").iterdir()}
    )
    assert done.checked > 100
    assert done.different == 0
    for part in ("model.safetensors", "right on", "AutoModelForCausalLM.from_pretrained"):
        assert part in str(done)


def test_the_command_prints_files_certificate_and_how_to_open_it(here):
    text = output("export", "min:n=5", "--to", "gpt2", "-o", "m/", cwd=here)
    assert re.search(r"^m/config.json +\d+ bytes$", text, re.MULTILINE)
    assert "checked: right on" in text
    assert 'AutoTokenizer.from_pretrained("m")' in text
    made = json.loads(output("export", "min:n=5", "-o", "m", "--json", cwd=here))
    assert set(made) == {"files", "checked", "different"}
    assert all((here / file).exists() for file in made["files"])


def test_the_name_of_the_output_tells_the_format(here):
    assert isinstance(export(ADDER, "a.taotp"), Exported)
    assert load_taotp(here / "a.taotp").vocab == ADDER.vocab
    export(ADDER, "folder")
    assert (here / "folder" / "config.json").exists()


def test_sites_that_are_wanted_become_outputs_of_an_onnx_file(here):
    import onnx

    export(ADDER, "a.onnx", want="0.pattern")
    output("export", "addition:digits=2", "-o", "b.onnx", "--want", "0.pattern", "--want", "*.z", cwd=here)
    outputs = [[value.name for value in onnx.load(name).graph.output] for name in ("a.onnx", "b.onnx")]
    assert outputs[0] == ["logits", "0.pattern"]
    assert outputs[1] == ["logits", "0.pattern", *(f"{i}.z" for i in range(ADDER.config.layers))]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("addition", "--to", "gguf", "-o", "x"), "no format 'gguf' to export to; the formats are gpt2, onnx, taotp"),
        (("addition", "--to", "gpt2", "-o", "x.onnx"), "x.onnx: its name is that of onnx (expected a folder)"),
        (("addition", "--to", "onnx", "-o", "x"), "expected a file that ends in .onnx); name it x.onnx"),
        (
            ("addition", "-o", "x.safetensors"),
            "x.safetensors: its name is that of a file (expected a folder, or a file",
        ),
        (("addition", "-o", "no/where"), "cannot write no/where: there is no folder no; make it first"),
        (("adition", "-o", "x"), "did you mean addition?"),
        (("addition", "-o", "taken"), "taken has mine.txt in it (expected a new or empty folder"),
        (("addition", "-o", "file"), "file is not a folder (expected a new or empty one)"),
        (("addition", "-o", "other"), "other is not an export of handloom"),
        (("addition", "-o", "x", "--dtype", "float16"), "dtype='float16' must be float32 or float64"),
        (("book/sort", "-o", "x"), "the GPT-2 layout would not do what the model does: in float64"),
        (("tiny-addition", "-o", "x", "--dtype", "float32"), "would not do what the model does: in float32"),
        (("addition", "-o", "x", "--want", "0.z"), "want=['0.z'] names outputs of an ONNX file, and this is gpt2"),
        (("addition",), "Missing option '-o'"),
    ],
)
def test_what_cannot_be_exported_is_one_line_and_leaves_nothing(here, words, complaint):
    (here / "taken").mkdir()
    (here / "taken" / "mine.txt").write_text("mine")
    (here / "other").mkdir()
    (here / "other" / "config.json").write_text('{"model_type": "gpt2"}')
    (here / "file").write_text("mine")
    before = {path: path.is_file() and path.read_text() for path in here.rglob("*")}
    message = output("export", *words, cwd=here, code=2)
    assert complaint in message
    assert message.count("\n") == 1
    assert {path: path.is_file() and path.read_text() for path in here.rglob("*")} == before


def test_an_earlier_export_and_an_empty_folder_are_replaced(here):
    (here / "a").mkdir()
    for name in ("min:n=4", "min:n=5"):
        export(name, "a")
        assert content(here / "a", "config.json")["vocab_size"] == int(name[-1]) + 1
    assert [path.name for path in here.iterdir()] == ["a"]


def test_a_failure_while_writing_leaves_the_earlier_export(here, monkeypatch):
    export("min:n=4", "a")
    before = {path.name: path.read_bytes() for path in (here / "a").iterdir()}

    def full(*words):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(HandloomError, match=r"cannot write .*: No space left on device"):
        export("min:n=5", "a")
    assert {path.name: path.read_bytes() for path in (here / "a").iterdir()} == before
    assert [path.name for path in here.iterdir()] == ["a"]


def test_exporting_loads_neither_torch_nor_the_libraries_that_read_it(here):
    loaded = modules_after(COMMAND.format(words="'export', 'addition', '-o', 'a'"))
    assert "safetensors" in loaded
    assert not {"torch", "transformers", "tokenizers", "onnx"} & loaded


# What the layout can hold


def test_the_layout_joins_queries_keys_and_values_head_by_head():
    model = fit_gpt2(random_model(Config(vocab=4, block=3, d_model=6, layers=1, heads=2, d_head=3, d_ff=5)), 0.0)
    tensors, layer = gpt2_tensors(model), model.params["layers"][0]
    joined = tensors["transformer.h.0.attn.c_attn.weight"]
    assert joined.shape == (6, 18)
    for i, name in enumerate(("W_Q", "W_K", "W_V")):
        for head in range(2):
            start = 6 * i + 3 * head
            assert np.array_equal(joined[:, start : start + 3], layer[name][head])
    assert np.array_equal(tensors["transformer.h.0.attn.c_proj.weight"][3:], layer["W_O"][1])


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"positions": "rotary"}, "rotary positions"),
        ({"place": "post"}, r"norms behind the sublayers \(place='post'\)"),
        ({"causal": False}, r"attention to later positions \(causal=False\)"),
        ({"gated": True, "d_ff": 3}, "gated=True"),
        ({"experts": 2, "d_ff": 3}, "experts=2"),
    ],
)
def test_what_the_layout_cannot_hold_is_refused_with_what_would_do(here, fields, what):
    model = random_model(Config(vocab=4, block=3, d_model=4, layers=1, heads=2, d_head=2, **fields))
    with pytest.raises(HandloomError, match=f"the model has {what}, which the GPT-2 layout cannot hold; keep the"):
        export(model, "x")
    assert not [*here.iterdir()]


@given(st.integers(1, 20), st.integers(0, 5), st.integers(1, 6))
def test_heads_fill_the_least_width_that_they_can(D, H, K):
    width, heads, d_head = gpt2_sizes(Config(vocab=2, block=2, d_model=D, layers=1, heads=H, d_head=K))
    assert width == heads * d_head >= D
    assert heads >= max(H, 1)
    assert d_head >= K
    smaller = range(D, width)
    assert not any(w % h == 0 and w // h >= K for w in smaller for h in range(max(H, 1), w + 1))


@given(
    models_and_tokens(place="pre", causal=True, gated=False, **STANDARD), st.sampled_from(["table", "sinusoid", "none"])
)
@settings(max_examples=40)
def test_a_model_that_is_made_to_fit_computes_the_same(case, positions):
    model, tokens = case
    model = random_model(with_config(model, positions=positions), seed=1)
    fitted = fit_gpt2(model, stream_length(model, None) if model.config.norm == "none" else 0.0)
    c = fitted.config
    assert (c.norm, c.positions, c.biases) == ("layer", "table", ("attn", "mlp", "norm"))
    assert c.heads * c.d_head == c.d_model
    assert min(c.layers, c.heads, c.d_ff) >= 1
    tolerance = 1e-6 if model.config.norm == "none" else 1e-9
    assert_close(reference.forward(fitted, tokens)[0], reference.forward(model, tokens)[0], tolerance)


def test_the_unknown_token_is_never_predicted_and_not_added_twice():
    model = random_model(Config(vocab=5, block=4, d_model=6, tied=False))
    more = add_unknown(model)
    logits = hl.trace(more, [0, 3, 4, 1], want="logits")["logits"]
    assert np.allclose(logits[:, -1], logits[:, :-1].mean(-1))
    assert more.vocab.tokens[-1] == "<unk>"
    assert add_unknown(more) is more
    own = model.with_(vocab=Vocab(("<unk>", *"bcde"), separator=""))  # a token of the model's own, which it may predict
    assert add_unknown(own).vocab.tokens[-1] == "<unk1>"


def test_weights_that_predict_something_else_are_not_written():
    wrong = ADDER.with_(params=ADDER.flat | {"W_E": ADDER.params["W_E"][[1, 0, *range(2, 12)]]})
    with pytest.raises(HandloomError, match="in float64 the exported weights predict other tokens than the model"):
        check_agreement(ADDER, add_unknown(wrong), hl.task_of(ADDER))


def test_a_model_that_is_wrong_on_some_inputs_is_exported_as_it_is(here):
    noisy = {
        name: array + 0.02 * np.random.default_rng(0).normal(size=array.shape) for name, array in ADDER.flat.items()
    }
    wrong = ADDER.with_(params=noisy, notes={**ADDER.notes, "made": "trained"})
    assert not hl.certify(wrong, samples=100).right
    done = export(wrong, "x")
    assert done.different <= 0.01 * done.checked
    assert "WRONG on" in str(done)


def test_a_user_may_choose_the_dtype(here):
    for dtype in ("float32", "float64"):
        export(ADDER, dtype, dtype=dtype)
        assert content(here / dtype, "config.json")["dtype"] == dtype
        assert load_file(here / dtype / "model.safetensors")["transformer.wte.weight"].dtype == dtype
    assert "They need float64: loaded with `dtype=torch.float32`" in (here / "float64" / "README.md").read_text()
    assert "They need" not in (here / "float32" / "README.md").read_text()


def test_a_norm_without_eps_gets_the_least_there_is(here):
    export("search", "x")
    assert content(here / "x", "config.json")["layer_norm_epsilon"] == float(np.finfo(np.float32).tiny)


# The card, and how long an answer is


def test_the_card_says_what_the_model_is_and_what_was_checked(here):
    export("sort:n=20", "sorter")
    card = (here / "sorter" / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers\n")
    for part in (
        "the program `sort`",
        "`sort:n=20,length=16,lowest=1`",
        "right on",
        "An answer to a prompt of n tokens has n − 1 tokens",
        "max_length=13",
        "3 7 8 12 14 19",
    ):
        assert part in card, part


@pytest.mark.parametrize(
    ("name", "limit"),
    [("addition", {"max_new_tokens": 4}), ("hello", {"max_length": 14}), ("sort:n=20", {"max_length": 33})],
)
def test_an_answer_is_greedy_and_ends_where_handloom_ends_it(here, name, limit):
    export(name, "x")
    made = content(here / "x", "generation_config.json")
    assert not made["do_sample"]
    assert {key: made[key] for key in made if key.startswith("max")} == limit


# The tokeniser


VOCABS = {
    **{case.name: hl.program(case.name).vocab for case in CASES if case.name != "book/addition"},
    "language": trained_like().vocab,
    "longest first": Vocab(("a", "ab", "abc", "b", "<e>"), separator="", eos="<e>"),
    "words and all": Vocab(("<s>", "</s>", "<pad>", "the", "-", "cat"), bos="<s>", eos="</s>", pad="<pad>"),
    "an eos that is part of words": Vocab(("0", "1", "10", "20"), eos="0"),
    "regular expressions": Vocab.of(".*+?^$[](){}|\\/# \n\t", eos="<eos>"),
    "far characters": Vocab.of("é😀漢\u0000", bos="🏁"),
}


@pytest.mark.parametrize("name", VOCABS)
def test_the_tokeniser_splits_and_joins_as_the_vocabulary_does(name):
    vocab = VOCABS[name]
    with_unknown = replace(vocab, tokens=(*vocab.tokens, "<unk>"))
    tokenizer = Tokenizer.from_str(json.dumps(tokenizer_json(with_unknown, "<unk>")))
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, len(vocab), rng.integers(0, 12)).tolist() for _ in range(200)]
    for text in ["", *(vocab.decode(row, specials) for row in rows for specials in (False, True))]:
        if text.strip() != vocab.bos:
            assert tokenizer.encode(text).ids == vocab.encode(text), text
    for row in rows:
        assert tokenizer.decode(row, skip_special_tokens=True) == vocab.decode(row)
        assert tokenizer.decode(row, skip_special_tokens=False) == vocab.decode(row, specials=True)


def test_what_is_no_token_becomes_the_unknown_one():
    for vocab, text in ((Vocab.of("ab"), "axyb"), (Vocab.numbers(3), "0 x y 1")):
        more = replace(vocab, tokens=(*vocab.tokens, "<unk>"))
        ids = Tokenizer.from_str(json.dumps(tokenizer_json(more, "<unk>"))).encode(text).ids
        assert ids == [0, more.id("<unk>"), more.id("<unk>"), 1]


def test_a_special_token_inside_another_is_refused(here):
    vocab = Vocab(("a", "a<e>b", "<e>"), separator="", eos="<e>")
    model = random_model(Config(vocab=3, block=4, d_model=4)).with_(vocab=vocab)
    with pytest.raises(HandloomError, match="the special token '<e>' is part of the token 'a<e>b'"):
        export(model, "x")
    assert not [*here.iterdir()]


def test_the_command_line_help_has_an_example(here):
    assert "handloom export addition:digits=3 --to gpt2 -o adder/" in handloom("export", "--help", cwd=here).stdout
