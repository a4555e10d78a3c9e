"""Folders of the GPT-2 layout, as transformers saves them, compute the same here, and take little memory."""

import json
import random
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from transformers import GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.activations import ACT2FN

import handloom as hl
from command import output
from foreign_models import assert_same_logits, change_json, gpt2, gpt2_folder, logits_of, stirred
from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.core.reference import ACTIVATIONS
from handloom.share.activations import OUR_NAME
from handloom.share.gpt2 import gpt2_config, gpt2_tensors
from handloom.share.tokenizer import tokenizer_config, tokenizer_json


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder that tests copy."""
    folder = tmp_path_factory.mktemp("good")
    gpt2_folder(folder)
    return folder


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation_function": "relu", "n_inner": 20},
        {"activation_function": "gelu", "tie_word_embeddings": False},
        {"activation_function": "silu", "n_head": 1, "n_layer": 1},
        {"scale_attn_weights": False, "layer_norm_epsilon": 1e-3},
        {"scale_attn_by_inverse_layer_idx": True, "reorder_and_upcast_attn": True, "n_layer": 3},
    ],
)
@pytest.mark.parametrize("shards", ["5GB", "20KB"])
def test_a_folder_of_transformers_gives_the_same_logits(tmp_path, changes, shards):
    module = gpt2_folder(tmp_path, shards=shards, **changes)
    model = hl.load(tmp_path)
    assert (tmp_path / "model.safetensors.index.json").exists() == (shards == "20KB")
    assert model.dtype == np.float32
    assert model.config.tied == changes.get("tie_word_embeddings", True)
    assert_same_logits(model, module)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_halves_become_float32_and_doubles_stay(tmp_path, dtype):
    module = gpt2_folder(tmp_path, dtype=dtype).to(torch.float64)
    model = hl.load(tmp_path)
    assert model.dtype == (np.float64 if dtype == torch.float64 else np.float32)
    assert_same_logits(model, module)
    table = module.transformer.wte.weight.detach().numpy()
    assert np.array_equal(model.params["W_E"], table)  # every half and every bfloat16 is a float32


def test_every_activation_that_is_read_is_the_one_of_transformers():
    x = torch.linspace(-6, 6, 1001, dtype=torch.float64)
    known = [name for name in OUR_NAME if name in ACT2FN]
    assert {"gelu_new", "gelu", "gelu_pytorch_tanh", "gelu_fast", "relu", "silu", "swish", "linear"} <= set(known)
    for name in known:
        ours = ACTIVATIONS[OUR_NAME[name]](x.numpy())
        assert np.abs(ours - ACT2FN[name](x).numpy()).max() < 1e-6, name


def rewrite(folder, change):
    """Save the tensors of a folder again, as a function of them changes them."""
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    safetensors.torch.save_file(change(tensors), folder / "model.safetensors", {"format": "pt"})


def test_names_without_their_prefix_and_masks_of_older_versions_are_read(tmp_path):
    module = gpt2_folder(tmp_path)
    masks = {f"h.{i}.attn.bias": torch.ones(1, 1, 12, 12, dtype=torch.bool) for i in range(2)}
    masks |= {f"h.{i}.attn.masked_bias": torch.tensor(-1e4) for i in range(2)}
    rewrite(tmp_path, lambda t: {name.removeprefix("transformer."): value for name, value in t.items()} | masks)
    assert_same_logits(hl.load(tmp_path), module)


@pytest.mark.parametrize("stored", ["equal", "different", "only the unembedding"])
def test_the_unembedding_is_tied_as_in_transformers(tmp_path, stored):
    gpt2_folder(tmp_path)
    wte = "transformer.wte.weight"

    def change(tensors):
        head = tensors[wte].clone() + (0.1 * torch.randn(50, 24) if stored == "different" else 0)
        kept = {name: value for name, value in tensors.items() if stored != "only the unembedding" or name != wte}
        return kept | {"lm_head.weight": head}

    rewrite(tmp_path, change)
    model = hl.load(tmp_path)
    assert model.config.tied == (stored != "different")
    assert_same_logits(model, GPT2LMHeadModel.from_pretrained(tmp_path).eval())


def test_a_plain_state_dict_of_torch_is_read_from_a_folder(tmp_path):
    module = gpt2_folder(tmp_path)
    torch.save(module.state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    assert_same_logits(hl.load(tmp_path), module)


def test_a_folder_without_a_tokenizer_has_numbers_for_tokens_and_says_so(here):
    module = gpt2_folder(here / "gpt2", eos_token_id=7)
    model = hl.load("gpt2")
    assert (model.vocab.encode("3 49"), model.vocab.eos, model.notes["tokens"]) == ([3, 49], "7", "numbers")
    ids = [3, 49]
    expected = int(logits_of(module, [ids])[0, -1].argmax())
    assert model("3 49", steps=1, specials=True) == str(expected)
    done = output("import", "gpt2", "-o", "m.safetensors", "--json", cwd=here)
    assert json.loads(done)["tokens"] == "numbers"


def test_a_folder_is_a_model_for_every_command(here):
    module = gpt2_folder(here / "gpt2")
    assert "2 ×" in output("info", "gpt2/", cwd=here)
    assert output("run", "gpt2/", "1 2 3", "--steps", "4", cwd=here).strip()
    assert "log p" in output("score", "gpt2/", "1 2 3", cwd=here)
    assert len(output("sample", "gpt2/", "-n", "2", "--prompt", "1 2", cwd=here).splitlines()) == 2
    assert output("heatmap", "gpt2/", "1 2 3", "-o", "a.svg", cwd=here).strip() == "a.svg"
    assert output("import", "gpt2/", cwd=here).startswith("gpt2.safetensors: Model(50 tokens")
    assert_same_logits(hl.load("gpt2.safetensors"), module)
    assert set(hl.trace("gpt2.safetensors", "1 2", "0.pattern")) == {"0.pattern"}


@pytest.mark.parametrize(
    "vocab",
    [
        Vocab.of("abc+", bos="<s>", eos="<e>"),
        Vocab.of("0123", eos="."),
        Vocab(("a", "ab", "b")),
        Vocab.numbers(12, bos="B", pad="P"),
    ],
)
def test_what_handloom_exports_comes_back_as_it_was(tmp_path, vocab):
    """A model that fits the layout, written with an unknown token behind its own, as `export` does."""
    sizes = Config(vocab=len(vocab), block=8, d_model=12, layers=2, heads=3, d_head=4, d_ff=20)
    model = Model(sizes, params.random(sizes, seed=0, dtype=np.float32), vocab, {"task": "addition:digits=2"})
    known = replace(vocab, tokens=(*vocab.tokens, "<unk>"))
    table = np.concatenate([model.params["W_E"], model.params["W_E"].mean(0, keepdims=True)])
    bigger = Model(replace(sizes, vocab=len(known)), model.flat | {"W_E": table}, known)
    note = {"version": "0", "notes": {"task": "addition:digits=2"}}
    files = {
        "config.json": gpt2_config(bigger) | {"handloom": note},
        "tokenizer.json": tokenizer_json(known, "<unk>"),
        "tokenizer_config.json": tokenizer_config(known, "<unk>", 8),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    safetensors.numpy.save_file(gpt2_tensors(bigger), tmp_path / "model.safetensors")
    back = hl.load(tmp_path)
    assert (back.vocab, back.config, back.notes["task"]) == (vocab, sizes, "addition:digits=2")
    assert all(np.array_equal(back.flat[name], array) for name, array in model.flat.items())


@pytest.mark.parametrize("name", ["addition:digits=2", "min:n=4"])
def test_an_exported_program_is_certified_when_it_comes_back(tmp_path, name):
    model = hl.program(name)
    hl.export(model, tmp_path / "out", to="gpt2")
    back = hl.load(tmp_path / "out")
    assert (back.vocab.tokens, back.notes["task"]) == (model.vocab.tokens, model.notes["task"])
    assert hl.certify(back, samples=200).right


def test_a_folder_of_llama_gives_the_same_logits(tmp_path):
    sizes = {"vocab_size": 40, "hidden_size": 24, "num_hidden_layers": 2, "max_position_embeddings": 12}
    more = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 30}
    module = stirred(LlamaForCausalLM(LlamaConfig(**sizes, **more)))
    module.save_pretrained(tmp_path, max_shard_size="10KB")
    assert_same_logits(hl.load(tmp_path), module)


@pytest.mark.parametrize("note", [{"notes": 3}, {}, [1], {"notes": {"task": 3}}])
def test_a_forged_note_does_no_harm(tmp_path, good, note):
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    change_json(tmp_path / "config.json", handloom=note)
    model, expected = hl.load(tmp_path), hl.load(good)
    assert (model.config, model.vocab) == (expected.config, expected.vocab)


def damage(name, change):
    def apply(folder):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(change(data))

    return apply


def config(**changes):
    return lambda folder: change_json(folder / "config.json", **changes)


def without(name):
    return lambda folder: rewrite(folder, lambda t: {key: value for key, value in t.items() if key != name})


def with_tensor(name, tensor):
    return lambda folder: rewrite(folder, lambda t: t | {name: tensor})


def sharded(change):
    """Two shards, then a change of the folder."""

    def apply(folder):
        gpt2().save_pretrained(folder, max_shard_size="20KB")
        (folder / "model.safetensors").unlink()
        change(folder)

    return apply


def first_shard(folder):
    return min(folder.glob("model-0*.safetensors"))


class Payload:
    def __reduce__(self):
        return open, ("ran", "w")


def pickled(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"x": Payload()}, folder / "pytorch_model.bin")


WTE = "transformer.wte.weight"
DAMAGES = {
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
    "not JSON": (damage("config.json", lambda data: b"{" + data), "not JSON"),
    "a list": (damage("config.json", lambda data: b"[]"), "expected an object"),
    "binary": (damage("config.json", lambda data: b"\xff\xfe"), "not text"),
    "cut short": (damage("model.safetensors", lambda data: data[:-100]), "cut short"),
    "empty": (damage("model.safetensors", lambda data: b""), "cut short"),
    "BERT": (config(model_type="bert"), "'bert' .expected one of gpt2, llama"),
    "no type": (config(model_type=None, architectures=None), "None .expected one of gpt2"),
    "NeoX": (config(model_type="gpt_neox"), "gpt_neox"),
    "many layers": (config(n_layer=10**18), "n_layer=1000000000000000000"),
    "wide": (config(n_embd=3 * 10**18), "has shape"),
    "many tokens": (config(vocab_size=10**18), "has shape"),
    "half a head": (config(n_head=7), "not a multiple"),
    "no size": (config(n_embd=None), "n_embd is missing"),
    "a text": (config(n_layer="2"), "n_layer='2'"),
    "negative": (config(n_positions=-1), "n_positions=-1"),
    "odd tie": (config(tie_word_embeddings="no"), "tie_word_embeddings='no'"),
    "no head": (config(tie_word_embeddings=False), "lm_head.weight is missing"),
    "eps": (config(layer_norm_epsilon="x"), "eps"),
    "activation": (config(activation_function="quick_gelu"), "quick_gelu"),
    "cross attention": (config(add_cross_attention=True), "add_cross_attention"),
    "quantised": (config(quantization_config={"bits": 4}), "quantization_config"),
    "tensor missing": (without("transformer.h.1.mlp.c_fc.weight"), "'h.1.mlp.c_fc.weight' is missing"),
    "tensor too many": (with_tensor("transformer.h.0.adapter", torch.ones(2)), "h.0.adapter"),
    "wrong shape": (with_tensor(WTE, torch.ones(49, 24)), "has shape .49, 24.; the config asks for .50, 24."),
    "whole numbers": (with_tensor(WTE, torch.ones(50, 24, dtype=torch.int64)), "is I64"),
    "not finite": (with_tensor(WTE, torch.full((50, 24), torch.nan)), "NaN"),
    "shard missing": (sharded(lambda folder: first_shard(folder).unlink()), "is missing; copy all"),
    "shard cut": (sharded(lambda folder: first_shard(folder).write_bytes(b"x")), "cut short"),
    "no map": (
        sharded(lambda folder: change_json(folder / "model.safetensors.index.json", weight_map=3)),
        "weight_map",
    ),
    "pickle": (pickled, "could run code"),
    "tokenizer": (lambda folder: (folder / "tokenizer.json").write_text("{}"), "no vocabulary"),
    "tokenizer text": (lambda folder: (folder / "tokenizer.json").write_text("x"), "not JSON"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_folder_gets_one_line_and_nothing_is_written(here, good, kind):
    shutil.copytree(good, here / "gpt2")
    change, complaint = DAMAGES[kind]
    change(here / "gpt2")
    with pytest.raises(HandloomError, match=complaint) as caught:
        hl.load("gpt2")
    line = output("import", "gpt2", "-o", "m.safetensors", cwd=here, code=2)
    assert line == f"handloom: {caught.value}\n"
    assert len(line) < 400
    assert [path.name for path in here.iterdir()] == ["gpt2"]


def test_an_index_cannot_name_a_file_outside_its_folder(here):
    gpt2_folder(here / "gpt2", shards="20KB")
    shard = first_shard(here / "gpt2")
    shutil.move(shard, here / "outside.safetensors")
    index = here / "gpt2" / "model.safetensors.index.json"
    index.write_text(index.read_text().replace(shard.name, "../outside.safetensors"))
    with pytest.raises(HandloomError, match=r"outside.safetensors' of its index is missing"):
        hl.load("gpt2")


def test_changed_bytes_give_a_model_or_one_line(tmp_path, good):
    rng = random.Random(0)
    loaded = 0
    for name in ("config.json", "model.safetensors"):
        data = (good / name).read_bytes()
        for _ in range(100):
            shutil.copytree(good, tmp_path / "bad", dirs_exist_ok=True)
            changed = bytearray(data)
            for _ in range(rng.choice([1, 2, 8])):
                changed[rng.randrange(min(len(changed), 4000))] = rng.randrange(256)
            (tmp_path / "bad" / name).write_bytes(changed)
            try:
                loaded += bool(hl.load(tmp_path / "bad"))
            except HandloomError as error:
                assert "\n" not in str(error)
                assert len(str(error)) < 400
    assert 0 < loaded < 200


MEMORY = """
import resource, sys
import handloom as hl
from handloom.share import imports
import handloom.core.files, safetensors
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = imports.import_model(sys.argv[1])
hl.save(model, sys.argv[1] + ".safetensors")
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(before * 1024, after * 1024, "torch" in sys.modules)
"""


def memory_of_import(folder):
    """Memory before, the most while a folder is imported and saved, and the size of its weights."""
    done = subprocess.run([sys.executable, "-c", MEMORY, str(folder)], capture_output=True, text=True, check=True)
    before, after, torch_loaded = done.stdout.split()
    assert torch_loaded == "False"
    return int(before), int(after), (folder / "model.safetensors").stat().st_size


def test_importing_takes_little_more_memory_than_the_file(tmp_path):
    gpt2_folder(tmp_path / "wide", vocab_size=30_000, n_embd=384, n_head=6)
    before, after, size = memory_of_import(tmp_path / "wide")
    assert size > 50 * 2**20
    assert after - before < 1.6 * size


@pytest.mark.slow
def test_importing_the_shape_of_gpt2_small_takes_at_most_twice_its_file(tmp_path):
    gpt2_folder(tmp_path / "small", vocab_size=50_257, n_positions=1024, n_embd=768, n_layer=12, n_head=12)
    _, after, size = memory_of_import(tmp_path / "small")
    assert size > 450 * 2**20
    assert after <= 2 * size
