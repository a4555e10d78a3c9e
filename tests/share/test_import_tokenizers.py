"""The tokenizer of a folder gives the ids and texts that AutoTokenizer gives."""

import json
import random
import shutil
from functools import cache

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from tokenizers.implementations import ByteLevelBPETokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

import handloom as hl
from command import output
from foreign_models import change_json, gpt2_folder
from handloom.core import HandloomError, Vocab

TEXTS = ["The cat sat on the mat. " * 5, "Ünïcode ẞ 你好 🙂 the the cat", "def f(x):\n    return x\n"] * 5
ODD = [
    *(
        "",
        " ",
        "The cat sat",
        "a<|endoftext|>b",
        "<|endoftext|>",
        "Ünïcode 你好 🙂\u200d",
        "\n\n  tab\t",
        "don't we'll 12",
    ),
    *(
        "\x00\x01",
        "e\u0301 é",
        "  leading",
        "trailing   ",
        "hello .",
        "a<pad>b newword<x>",
        "the cat the",
        "<s>the</s>",
    ),
]
END = "<|endoftext|>"


@cache
def byte_pairs():
    learned = ByteLevelBPETokenizer()
    learned.train_from_iterator(TEXTS, vocab_size=300, special_tokens=[END], show_progress=False)
    return learned


def older_files(folder):
    byte_pairs().save_model(str(folder))


def newer_files(folder):
    older_files(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    tokenizer.save_pretrained(folder)


def more_tokens(folder):
    newer_files(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"pad_token": "<pad>", "additional_special_tokens": ["<x>"]})
    tokenizer.add_tokens(["newword"])
    tokenizer.save_pretrained(folder)


def cut_and_padded(folder):
    """A tokenizer that was saved with settings for training."""
    newer_files(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(folder / "tokenizer.json"))


def word_level(folder):
    made = Tokenizer(models.WordLevel({"<unk>": 0, "the": 1, "cat": 2}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>").save_pretrained(folder)


def unigram(folder):
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    specials = ["<s>", "</s>", "<unk>"]
    made.train_from_iterator(
        TEXTS, trainers.UnigramTrainer(vocab_size=80, special_tokens=specials, unk_token="<unk>", show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    fast = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    fast.save_pretrained(folder)


def folder_with(make, path, vocab_size=310):
    gpt2_folder(path, vocab_size=vocab_size, n_layer=1)
    make(path)
    return path


@pytest.mark.parametrize("make", [older_files, newer_files, more_tokens, cut_and_padded, word_level, unigram])
def test_ids_and_texts_are_those_of_transformers(tmp_path, make):
    folder = folder_with(make, tmp_path)
    theirs, vocab = AutoTokenizer.from_pretrained(folder), hl.load(folder).vocab
    assert len(vocab) == 310
    assert len(set(vocab.tokens)) == 310
    for text in ODD:
        ids = theirs.encode(text)
        assert vocab.encode(text) == ids, text
        assert vocab.encode(text, begin=False) == theirs.encode(text, add_special_tokens=False)
        assert vocab.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
        assert vocab.decode(ids, specials=True) == theirs.decode(ids)
    rng = np.random.default_rng(0)
    for row in rng.integers(0, len(theirs), (50, 6)).tolist():
        assert vocab.decode(row, specials=True) == theirs.decode(row)
        assert [vocab.tokens[i] for i in row] == theirs.convert_ids_to_tokens(row)


def test_gpt2_puts_nothing_in_front_and_an_empty_prompt_is_its_beginning(tmp_path):
    model = hl.load(folder_with(newer_files, tmp_path))
    vocab = model.vocab
    assert (vocab.bos, vocab.eos, vocab.pad) == (END, END, None)
    assert (vocab.encode(""), vocab.encode_prompt(""), vocab.encode_prompt("x")) == ([], [0], vocab.encode("x"))
    assert model(steps=3) == vocab.decode(hl.generate(model, [[0]], steps=3)[0])
    whole, after = hl.score(model, "The cat"), hl.score(model, " cat", "The", end=False)
    ids = [0, *vocab.encode("The cat"), 0]
    logits = hl.trace(model, ids[:-1], "logits")["logits"]
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = [logs[i, token] for i, token in enumerate(ids[1:])]
    assert np.allclose(whole.log_probabilities, expected, atol=1e-9)
    assert len(after.tokens) == len(vocab.encode(" cat"))
    assert len(hl.sample(model, 3, steps=4).samples) == 3


def test_a_model_file_keeps_the_tokenizer(here):
    folder_with(newer_files, here / "gpt2")
    output("import", "gpt2", "-o", "m.safetensors", cwd=here)
    model = hl.load("m.safetensors")
    assert model.vocab == hl.load("gpt2").vocab
    assert output("run", "m.safetensors", "The cat", "--steps", "3", cwd=here) == model("The cat", steps=3) + "\n"
    assert "tokenizer" not in hl.program("hello").vocab.to_json()


@pytest.mark.parametrize("make", [older_files, newer_files, more_tokens, cut_and_padded, word_level, unigram])
def test_an_imported_model_is_exported_with_its_tokenizer(here, make):
    folder_with(make, here / "came in")
    assert hl.export("came in", "goes out").different == 0
    before, after = (AutoTokenizer.from_pretrained(here / name) for name in ("came in", "goes out"))
    for text in ODD:
        ids = before.encode(text)
        assert after.encode(text) == ids, text
        assert after.decode(ids) == before.decode(ids)
        assert after.decode(ids, skip_special_tokens=True) == before.decode(ids, skip_special_tokens=True)
    card = (here / "goes out" / "README.md").read_text()
    assert "imported (gpt2 folder)" in card
    assert hl.load("goes out").vocab.tokens == hl.load("came in").vocab.tokens


def test_a_format_is_refused_for_pieces_of_a_tokenizer(here):
    folder_with(newer_files, here / "gpt2")
    line = output("run", "gpt2", "a", "--format", "[ab]+", cwd=here, code=2)
    assert "this model's tokens are pieces of a tokenizer" in line


def test_rows_beyond_the_tokenizer_have_names_of_their_own(tmp_path):
    folder_with(word_level, tmp_path, vocab_size=6)
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    content["model"]["vocab"] |= {"<unused-1>": 4}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert hl.load(tmp_path).vocab.tokens == ("<unk>", "the", "cat", "<unused-0>", "<unused-1>", "<unused-2>")


def test_a_token_that_the_model_has_no_row_for_is_an_error(tmp_path):
    folder_with(word_level, tmp_path, vocab_size=2)
    vocab = hl.load(tmp_path).vocab
    assert vocab.encode("the") == [1]
    with pytest.raises(HandloomError, match="the tokenizer gives token 2, and the model's tokens are 0 to 1"):
        vocab.encode("cat")


def test_tokens_that_only_the_options_name_are_added(tmp_path):
    folder_with(newer_files, tmp_path, vocab_size=320)
    size = len(AutoTokenizer.from_pretrained(tmp_path))
    entry = {"content": "<new>", "special": True, "lstrip": False, "rstrip": False, "single_word": False}
    change_json(tmp_path / "tokenizer_config.json", added_tokens_decoder={str(size): entry}, pad_token="<new>")
    vocab = hl.load(tmp_path).vocab
    assert (vocab.pad, vocab.encode("<new>"), vocab.decode([size])) == ("<new>", [size], "")


def test_without_the_library_a_model_loads_and_a_text_gets_one_line(tmp_path, monkeypatch):
    folder_with(newer_files, tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    model = hl.load(tmp_path)
    assert hl.generate(model, [[1, 2]], steps=2)
    with pytest.raises(
        HandloomError, match=r"needs tokenizers, which is not installed: pip install 'handloom\[share\]'"
    ):
        model.vocab.encode("a")


def test_a_vocab_with_a_tokenizer_is_checked():
    with pytest.raises(HandloomError, match=r"tokenizer must be the text of a tokenizer.json, with separator=''"):
        Vocab(("a",), tokenizer="{}")
    with pytest.raises(HandloomError, match="the model's tokenizer cannot be used"):
        Vocab(("a",), separator="", tokenizer="{}").encode("a")


def test_a_tokenizer_with_changed_bytes_gives_a_model_or_one_line(tmp_path):
    folder_with(unigram, tmp_path / "good")
    data = (tmp_path / "good" / "tokenizer.json").read_bytes()
    rng, encoded = random.Random(0), 0
    shutil.copytree(tmp_path / "good", tmp_path / "bad")
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(rng.choice([1, 2, 8])):
            changed[rng.randrange(len(changed))] = rng.choice(b"0123456789abc<>")
        (tmp_path / "bad" / "tokenizer.json").write_bytes(changed)
        try:
            vocab = hl.load(tmp_path / "bad").vocab
            encoded += isinstance(vocab.decode(vocab.encode("The cat 🙂")), str)
        except HandloomError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 400
    assert 0 < encoded < 150
