"""Checkpoints of nanoGPT, makemore and TransformerLens compute the same here.

The modules below have those tools' parameter names, and compute what their documentation says.
"""

import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn
from torch.nn import functional as F

import handloom as hl
from command import output
from foreign_models import assert_same_logits, gpt2, stirred
from handloom.core import HandloomError
from handloom.share import import_model

V, N, D, H, L = 27, 10, 24, 3, 2


def attention(x, q, k, v):
    """Causal attention of H heads on (B, T, D) queries, keys and values."""
    q, k, v = (part.unflatten(-1, (H, -1)).transpose(1, 2) for part in (q, k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    return (scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v).transpose(1, 2).flatten(-2)


class Norm(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D))
        self.bias = nn.Parameter(torch.zeros(D)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, (D,), self.weight, self.bias)


class Layer(nn.Module):
    def __init__(self, bias, masked, approximate):
        super().__init__()
        self.ln_1, self.ln_2, self.approximate = Norm(bias), Norm(bias), approximate
        self.attn = nn.ModuleDict({"c_attn": nn.Linear(D, 3 * D, bias), "c_proj": nn.Linear(D, D, bias)})
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(D, 4 * D, bias), "c_proj": nn.Linear(4 * D, D, bias)})
        if masked:
            self.attn.register_buffer("bias", torch.ones(1, 1, N, N).tril())

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.attn["c_proj"](attention(y, *self.attn["c_attn"](y).chunk(3, -1)))
        hidden = F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate=self.approximate)
        return x + self.mlp["c_proj"](hidden)


class Net(nn.Module):
    """nanoGPT (tied, exact GELU, biases optional), or makemore's transformer (untied, GELU by tanh, masks saved)."""

    def __init__(self, bias=True, makemore=False):
        super().__init__()
        approximate = "tanh" if makemore else "none"
        layers = nn.ModuleList([Layer(bias, makemore, approximate) for _ in range(L)])
        parts = {"wte": nn.Embedding(V, D), "wpe": nn.Embedding(N, D), "h": layers, "ln_f": Norm(bias)}
        self.transformer = nn.ModuleDict(parts)
        self.lm_head = nn.Linear(D, V, bias=False)
        if not makemore:
            self.lm_head.weight = parts["wte"].weight

    def forward(self, ids):
        t = self.transformer
        x = t["wte"](ids) + t["wpe"].weight[: ids.shape[1]]
        for layer in t["h"]:
            x = layer(x)
        return self.lm_head(t["ln_f"](x))


def nanogpt(path, bias=True, front="", **more):
    module = stirred(Net(bias))
    args = {"n_layer": L, "n_head": H, "n_embd": D, "block_size": N, "vocab_size": V, "bias": bias, "dropout": 0.1}
    state = {front + name: value for name, value in module.state_dict().items()}
    rest = {"optimizer": torch.optim.AdamW(module.parameters()).state_dict(), "best_val_loss": torch.tensor(1.0)}
    torch.save({"model": state, "model_args": args, "config": {"dataset": "x"}, "iter_num": 3, **rest, **more}, path)
    return module


def makemore(path):
    module = stirred(Net(makemore=True))
    torch.save(module.state_dict(), path)
    return module


@pytest.mark.parametrize(("bias", "front"), [(True, ""), (False, "_orig_mod."), (False, ""), (True, "module.")])
def test_a_checkpoint_of_nanogpt_gives_the_same_logits(here, bias, front):
    model_of = nanogpt(here / "ckpt.pt", bias, front)
    model = import_model("ckpt.pt")
    assert model.config.biases == (("attn", "mlp", "norm") if bias else ())
    assert (model.config.tied, model.notes["assumed"]) == (True, {"activation": "gelu"})
    assert_same_logits(model, model_of)


def test_a_checkpoint_of_makemore_gives_the_same_logits(here):
    module = makemore(here / "model.pt")
    model = import_model("model.pt", heads=H)
    assert not model.config.tied
    assert_same_logits(model, module)
    with pytest.raises(HandloomError, match="does not tell its number of heads; give heads"):
        import_model("model.pt")


def test_a_state_dict_of_transformers_needs_its_heads_too(here):
    module = gpt2()
    torch.save(module.state_dict(), here / "gpt2.pth")
    assert_same_logits(import_model("gpt2.pth", heads=3), module)


LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = "\n".join(["sphinx", "of", "black", "quartz", "judge", "my", "vow"])
TOKENS = {
    "list.json": json.dumps(["\n", *LETTERS]),
    "text.json": json.dumps("\n" + LETTERS),
    "stoi.json": json.dumps({c: i for i, c in enumerate("\n" + LETTERS)}),
    "meta.json": json.dumps({"vocab_size": 27, "stoi": {c: i for i, c in enumerate("\n" + LETTERS)}}),
    "input.txt": WORDS + "\n",
    "chars.txt": "\n" + LETTERS,
    "chars-end.txt": "\n" + LETTERS + "\n",
}


@pytest.mark.parametrize("name", TOKENS)
def test_the_characters_of_nanogpt_come_from_a_file(here, name):
    nanogpt(here / "ckpt.pt")
    (here / name).write_text(TOKENS[name])
    vocab = import_model("ckpt.pt", name).vocab
    assert (vocab.tokens, vocab.separator, vocab.bos) == (("\n", *LETTERS), "", None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.txt", WORDS + "\n"),
        ("letters.txt", LETTERS + "\n"),
        ("stoi.json", json.dumps({c: i + 1 for i, c in enumerate(LETTERS)})),
    ],
)
def test_the_token_0_of_makemore_begins_and_ends_a_word(here, name, text):
    makemore(here / "model.pt")
    (here / name).write_text(text)
    vocab = import_model("model.pt", name, heads=H).vocab
    assert (vocab.tokens, vocab.bos, vocab.eos) == (("<end>", *LETTERS), "<end>", "<end>")
    assert vocab.encode("ab") == [0, 1, 2]


def test_the_command_says_what_it_assumed(here):
    module = makemore(here / "model.pt")
    (here / "names.txt").write_text(WORDS)
    output("import", "model.pt", "--tokens", "names.txt", "--heads", H, "-o", "names.safetensors", cwd=here)
    model = hl.load("names.safetensors")
    assert_same_logits(model, module)
    assert len(output("sample", "names.safetensors", "-n", "5", cwd=here).splitlines()) == 5
    about = json.loads(output("import", "model.pt", "--heads", H, "--json", cwd=here))
    assert (about["file"], about["assumed"], about["tokens"]) == (
        "model.safetensors",
        {"activation": "gelu_tanh"},
        "numbers",
    )


class Payload:
    def __reduce__(self):
        return open, ("ran", "w")


def broken(name, content):
    def make(folder):
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            torch.save(content, folder / name)

    return name, make


BROKEN = {
    "code": (*broken("a.pt", {"model": Payload(), "model_args": {}}), "could run code"),
    "a pickle": (*broken("a.pt", pickle.dumps(Payload())), "cannot be read"),
    "not torch": (*broken("a.pt", b"hello"), "cannot be read"),
    "cut zip": (*broken("a.pt", b"PK\x03\x04 and no more"), "cut short"),
    "empty": (*broken("a.pt", b""), "cannot be read"),
    "a tensor": (*broken("a.pt", torch.ones(2)), "no state dict"),
    "no tensors": (*broken("a.pt", {}), "such as ''"),
    "other names": (*broken("a.pt", {"conv.weight": torch.ones(2)}), "'conv.weight'"),
    "no sizes": (*broken("a.pt", {"model": {"wte.weight": torch.ones(2, 2)}, "model_args": {}}), "n_embd is missing"),
    "one number": (*broken("a.pt", {"wte.weight": torch.ones(2)}), "expected a matrix"),
    "other ending": (*broken("a.npz", b"x"), "ends in '.npz'"),
    "missing": ("b.pt", lambda folder: None, "no such file"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_checkpoint_gets_one_line_and_nothing_runs(here, kind):
    name, make, complaint = BROKEN[kind]
    make(here)
    before = set(here.iterdir())
    line = output("import", name, "--heads" if kind == "one number" else "--eps", "1", cwd=here, code=2)
    assert complaint in line
    assert len(line.splitlines()) == 1
    assert set(here.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        (
            "meta.pkl",
            pickle.dumps(Payload()),
            "is a pickle, which could run code; if you trust it, turn it into JSON: python -c",
        ),
        ("few.txt", b"abc", "3 characters for 27 tokens"),
        ("t.json", b"{", "is not JSON"),
        ("t.json", b"[1, 2]", "expected the characters in order"),
        ("t.json", b'{"a": 5}', "expected the characters in order"),
        ("t.txt", b"\xff", "not text"),
        ("no.txt", None, "no such file"),
    ],
)
def test_tokens_that_cannot_be_read_get_one_line(here, name, data, complaint):
    nanogpt(here / "ckpt.pt")
    if data is not None:
        (here / name).write_bytes(data)
    line = output("import", "ckpt.pt", "--tokens", name, cwd=here, code=2)
    assert complaint in line
    assert not (here / "ran").exists()
    assert not (here / "ckpt.safetensors").exists()


def test_the_line_for_a_pickle_makes_json_that_is_read(here):
    nanogpt(here / "ckpt.pt")
    stoi = {c: i for i, c in enumerate("\n" + LETTERS)}
    (here / "meta.pkl").write_bytes(pickle.dumps({"stoi": stoi, "itos": {i: c for c, i in stoi.items()}}))
    line = output("import", "ckpt.pt", "--tokens", "meta.pkl", cwd=here, code=2)
    subprocess.run([sys.executable, "-c", line.partition('python -c "')[2].rpartition('"')[0]], check=True)
    assert import_model("ckpt.pt", "meta.json").vocab.tokens == ("\n", *LETTERS)


class Lens(nn.Module):
    """A HookedTransformer: weights by head, and the names of TransformerLens."""

    def __init__(self, norm="LN", attention_only=False, rotary=None, gated=False, shared=False):
        super().__init__()
        self.norm, self.rotary, K = norm, rotary, 8
        shapes = {"embed.W_E": (V, D), "unembed.W_U": (D, V), "unembed.b_U": (V,)}
        shapes |= {} if rotary else {"pos_embed.W_pos": (N, D)}
        for i in range(L):
            at = f"blocks.{i}."
            for x in "QKV":
                front, count = ("_", 1) if shared and x != "Q" else ("", H)  # one head of keys and values for all
                shapes |= {f"{at}attn.{front}W_{x}": (count, D, K), f"{at}attn.{front}b_{x}": (count, K)}
            shapes |= {at + "attn.W_O": (H, K, D), at + "attn.b_O": (D,)}
            if not attention_only:
                shapes |= {at + "mlp.W_in": (D, 30), at + "mlp.b_in": (30,)}
                shapes |= {at + "mlp.W_out": (30, D), at + "mlp.b_out": (D,)}
                shapes |= {at + "mlp.W_gate": (D, 30)} if gated else {}
        for place in ("blocks.0.ln1", "blocks.0.ln2", "blocks.1.ln1", "blocks.1.ln2", "ln_final"):
            if norm in ("LN", "RMS") and not (attention_only and "ln2" in place):
                shapes |= {place + ".w": (D,)} | ({place + ".b": (D,)} if norm == "LN" else {})
        self.p = nn.ParameterDict({name.replace(".", "/"): torch.zeros(shape) for name, shape in shapes.items()})

    def state(self):
        found = {name.replace("/", "."): value.detach().clone() for name, value in self.p.items()}
        for i in range(L):
            found |= {
                f"blocks.{i}.attn.mask": torch.ones(N, N).tril().bool(),
                f"blocks.{i}.attn.IGNORE": torch.tensor(-1e9),
            }
            if self.rotary:
                angles = torch.arange(N)[:, None] * self.rotary ** (-torch.arange(0, 8, 2) / 8)
                found |= {f"blocks.{i}.attn.rotary_sin": angles.sin().repeat(1, 2)}
        return found

    def normed(self, x, place):
        if self.norm is None:
            return x
        x = x - x.mean(-1, keepdim=True) if self.norm.startswith("LN") else x
        x = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        for name, value in self.p.items():
            x = x * value if name == f"{place}/w" else x
        return x + self.p[f"{place}/b"] if f"{place}/b" in self.p else x

    def turned(self, x):
        if not self.rotary:
            return x
        angles = torch.arange(x.shape[1])[:, None, None] * self.rotary ** (-torch.arange(0, 8, 2) / 8)
        a, b = x.chunk(2, -1)
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)

    def projected(self, y, at, c):
        front = "" if f"{at}W_{c}" in self.p else "_"
        value = torch.einsum("btd,hdk->bthk", y, self.p[f"{at}{front}W_{c}"]) + self.p[f"{at}{front}b_{c}"]
        return value.expand(-1, -1, H, -1)

    def forward(self, ids):
        p = self.p
        x = p["embed/W_E"][ids]
        x = x if self.rotary else x + p["pos_embed/W_pos"][: ids.shape[1]]
        for i in range(L):
            at = f"blocks/{i}/"
            y = self.normed(x, at + "ln1")
            q, k, v = (self.projected(y, f"{at}attn/", c) for c in "QKV")
            z = attention(y, self.turned(q).flatten(2), self.turned(k).flatten(2), v.flatten(2))
            x = x + z @ p[at + "attn/W_O"].flatten(0, 1) + p[at + "attn/b_O"]
            if at + "mlp/W_in" in p:
                y = self.normed(x, at + "ln2")
                if at + "mlp/W_gate" in p:
                    hidden = F.silu(y @ p[at + "mlp/W_gate"]) * (y @ p[at + "mlp/W_in"]) + p[at + "mlp/b_in"]
                else:
                    hidden = F.gelu(y @ p[at + "mlp/W_in"] + p[at + "mlp/b_in"], approximate="tanh")
                x = x + hidden @ p[at + "mlp/W_out"] + p[at + "mlp/b_out"]
        return self.normed(x, "ln_final") @ p["unembed/W_U"] + p["unembed/b_U"]


@pytest.mark.parametrize("ending", [".pt", ".safetensors"])
@pytest.mark.parametrize(
    ("made", "given"),
    [
        ({}, {}),
        ({"norm": "LNPre"}, {"activation": "gelu_tanh", "norm": "layer", "eps": 1e-5}),
        ({"norm": "RMS", "rotary": 500_000.0}, {}),
        ({"norm": "RMSPre"}, {"norm": "rms"}),
        ({"norm": None}, {"norm": "none"}),
        ({"attention_only": True}, {}),
        ({"rotary": 10_000.0}, {"activation": "gelu_new"}),
        ({"norm": "RMS", "rotary": 10_000.0, "gated": True, "shared": True}, {}),
    ],
)
def test_a_state_dict_of_transformer_lens_gives_the_same_logits(here, made, given, ending):
    module = stirred(Lens(**made))
    path = here / f"lens{ending}"
    torch.save(module.state(), path) if ending == ".pt" else safetensors.torch.save_file(module.state(), path)
    model = import_model(path, **given)
    assert ("assumed" in model.notes) == (len(given) < 3)
    assert_same_logits(model, module)


def test_a_bias_of_the_unembedding_that_is_zero_and_a_tied_table_are_seen(here):
    module = stirred(Lens())
    state = module.state()
    state |= {"unembed.b_U": torch.zeros(V), "unembed.W_U": state["embed.W_E"].T.clone()}
    torch.save(state, here / "lens.pt")
    config = import_model("lens.pt").config
    assert (config.tied, config.biases) == (True, ("attn", "mlp", "norm"))


@pytest.mark.parametrize(
    ("change", "given", "complaint"),
    [
        ({"blocks.0.mlp.W_gate": torch.ones(D, 31)}, {}, r"layers.0.W_gate has shape \(24, 31\)"),
        ({"blocks.0.attn._W_K": torch.ones(2, D, 8)}, {}, "kv_heads=2 must be a divisor of heads=3"),
        ({"blocks.0.ln1_post.w": torch.ones(D)}, {}, "ln1_post.w is of a kind of layer that no Config has"),
        ({"blocks.0.attn.W_O": torch.ones(2, 2)}, {}, r"layers.0.W_O has shape \(2, 2\)"),
        ({"embed.W_E": torch.ones(4)}, {}, "W_E has shape"),
        ({"blocks.999999.attn.W_Q": torch.ones(1)}, {}, "missing"),
        ({"blocks.0.attn.rotary_sin": torch.zeros(N, 8)}, {}, "rotary positions turn"),
        ({}, {"norm": "none"}, "does not belong to a model with norm 'none'"),
        ({}, {"norm": "x"}, "norm='x' must be one of"),
        ({}, {"activation": "x"}, "activation 'x'"),
        ({}, {"heads": 3}, "leave heads out"),
        ({}, {"eps": -1.0}, "eps"),
    ],
)
def test_a_state_dict_that_does_not_fit_gets_one_line(here, change, given, complaint):
    torch.save(Lens().state() | change, here / "lens.pt")
    with pytest.raises(HandloomError, match=complaint) as caught:
        import_model("lens.pt", **given)
    assert "\n" not in str(caught.value)


def test_a_model_file_of_handloom_need_not_be_imported(here):
    hl.save(hl.program("hello"), "hello.safetensors")
    with pytest.raises(HandloomError, match="is a model file of handloom already"):
        import_model("hello.safetensors")


def test_what_a_folder_tells_cannot_be_given(here):
    gpt2().save_pretrained(here / "gpt2")
    with pytest.raises(HandloomError, match=r"its config.json tells heads; leave heads out"):
        import_model("gpt2", heads=3)
    (here / "t.txt").write_text("".join(chr(200 + i) for i in range(50)))
    assert import_model("gpt2", "t.txt").vocab.tokens[3] == chr(203)
    assert np.isfinite(import_model("gpt2", "t.txt").params["W_E"]).all()


def test_a_checkpoint_that_is_loaded_and_a_source_that_is_not_there_get_one_line(here):
    torch.save({"a": torch.ones(2)}, "model.pt")
    with pytest.raises(HandloomError, match=r"is a checkpoint of another tool .* make it one with import_model$"):
        hl.load("model.pt")
    assert "(handloom import CHECKPOINT -o MODEL)" in output("info", "model.pt", cwd=here, code=2)
    assert output("import", "nothing", cwd=here, code=2) == "handloom: nothing: no such file or folder\n"
