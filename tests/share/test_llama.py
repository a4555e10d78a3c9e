"""Models in LLaMA's layout, made by transformers itself, compute the same here."""

import json

import numpy as np
import pytest
import torch
import transformers

from draws import assert_close
from handloom.core import HandloomError, Model, Vocab, reference, torch_engine
from handloom.share.llama import from_llama

SIZES = {
    "vocab_size": 29,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 32,
    "bos_token_id": None,
    "eos_token_id": None,
}
CLASSES = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2"}
CASES = {
    "every head its own": {},
    "grouped": {"num_key_value_heads": 2},
    "one for all": {"num_key_value_heads": 1, "rms_norm_eps": 1e-3},
    "tied": {"tie_word_embeddings": True, "num_key_value_heads": 2},
    "wide heads": {"head_dim": 10, "num_key_value_heads": 2},
    "another base": {"rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}, "hidden_act": "gelu"},
    "all biases": {"attention_bias": True, "mlp_bias": True, "num_key_value_heads": 2},
    "mistral": {"model_type": "mistral", "num_key_value_heads": 2, "sliding_window": None},
    "qwen2": {"model_type": "qwen2", "num_key_value_heads": 2, "hidden_act": "gelu_pytorch_tanh"},
}
TOKENS = np.random.default_rng(1).integers(0, SIZES["vocab_size"], (2, 32))


def made(dtype=torch.float32, model_type="llama", **fields):
    """A model of transformers whose every weight is random, gains and biases too."""
    torch.manual_seed(0)
    kind = CLASSES[model_type]
    config = getattr(transformers, f"{kind}Config")(**SIZES | fields, attn_implementation="eager")
    model = getattr(transformers, f"{kind}ForCausalLM")(config).to(dtype).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(1.0 if "norm" in name else 0.0, 0.2)
    return model


def saved(theirs):
    """The fields of its config.json, and the tensors of its file."""
    tied = {"lm_head.weight"} if theirs.config.tie_word_embeddings else set()
    tensors = {name: tensor.numpy() for name, tensor in theirs.state_dict().items() if name not in tied}
    return json.loads(theirs.config.to_json_string()), tensors


def read(values, tensors):
    config, arrays = from_llama(values, tensors)
    return Model(config, arrays, Vocab.numbers(config.vocab))


def in_float64(theirs):
    """A model that computes in float64 throughout. Whatever the dtype of a model, transformers computes norms, rotary
    angles and softmax in float32: here they are torch's own functions in float64, and attention torch's kernel."""

    class Norm(torch.nn.Module):
        def __init__(self, norm):
            super().__init__()
            self.weight, self.eps = norm.weight, norm.variance_epsilon

        def forward(self, x):
            return torch.nn.functional.rms_norm(x, x.shape[-1:], self.weight, self.eps)

    class Angles(torch.nn.Module):
        def forward(self, x, position_ids):
            K, base = theirs.config.head_dim, theirs.config.rope_parameters["rope_theta"]
            angles = position_ids[..., None] * base ** -(torch.arange(0, K, 2, dtype=torch.float64) / K)
            return torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()

    theirs.set_attn_implementation("sdpa")
    theirs.model.rotary_emb, theirs.model.norm = Angles(), Norm(theirs.model.norm)
    for layer in theirs.model.layers:
        for name in ("input_layernorm", "post_attention_layernorm"):
            setattr(layer, name, Norm(getattr(layer, name)))
    return theirs


def assert_same_values(theirs, ours, tolerance, patterns=True):
    """Logits at every position, the residual stream between layers and the patterns, on both engines."""
    with torch.no_grad():
        expected = theirs(torch.tensor(TOKENS), output_hidden_states=True, output_attentions=patterns)
    for engine in (reference, torch_engine):
        logits, trace = engine.forward(ours, TOKENS, want=["*.resid_pre", "*.pattern", "ln_final"])
        assert_close(logits, expected.logits, tolerance)
        assert_close(engine.forward(ours, TOKENS)[0], expected.logits, tolerance)
        for i in range(ours.config.layers):
            assert_close(trace[f"{i}.resid_pre"], expected.hidden_states[i], tolerance)
            if patterns:
                assert_close(trace[f"{i}.pattern"], expected.attentions[i], tolerance)
        assert_close(trace["ln_final"], expected.hidden_states[-1], tolerance)


@pytest.mark.parametrize("fields", CASES.values(), ids=CASES)
def test_a_model_of_transformers_computes_the_same_here(fields):
    theirs = made(**fields)
    ours = read(*saved(theirs))
    assert ours.dtype == np.float32
    assert ours.config.groups == theirs.config.num_key_value_heads
    assert_same_values(theirs, ours, 1e-5)


@pytest.mark.parametrize("name", ["grouped", "tied", "wide heads", "all biases"])
def test_in_float64_it_is_the_same_to_rounding(name):
    theirs = made(torch.float64, **CASES[name])
    ours = read(*saved(theirs))
    assert ours.dtype == np.float64
    assert_same_values(in_float64(theirs), ours, 1e-12, patterns=False)


@pytest.fixture(scope="module")
def small():
    return saved(made(num_key_value_heads=2))


def test_a_config_of_earlier_versions_is_read_too(small):
    """They had rope_theta by itself, no head_dim, and of models without groups no num_key_value_heads."""
    values, tensors = small
    old = values | {"rope_theta": 10_000.0, "rope_scaling": None, "pretraining_tp": 1}
    for name in ("rope_parameters", "head_dim", "tie_word_embeddings"):
        del old[name]
    assert from_llama(old, tensors)[0] == from_llama(values, tensors)[0]
    other = saved(made())
    del other[0]["num_key_value_heads"]
    assert from_llama(*other)[0].groups == 4


def test_each_tensor_is_read_once_and_none_is_changed(small):
    values, tensors = small
    asked, before = [], {name: array.copy() for name, array in tensors.items()}

    class Lazy(dict):
        def __getitem__(self, name):
            asked.append(name)
            return super().__getitem__(name)

    _, arrays = from_llama(values, Lazy(tensors))
    assert sorted(asked) == sorted(tensors)
    assert all(np.array_equal(tensors[name], array) and tensors[name].flags.writeable for name, array in before.items())
    model = read(values, tensors)
    assert all(not array.flags.writeable for array in arrays.values())
    assert model.with_(params=arrays).flat["W_E"] is arrays["W_E"], "a Model takes the arrays without a copy"


def test_half_precision_becomes_float32_and_mixtures_float64(small):
    values, tensors = small
    half = {name: array.astype(np.float16) for name, array in tensors.items()}
    assert read(values, half).dtype == np.float32
    assert_close(read(values, half).flat["W_E"], half["model.embed_tokens.weight"], 0.0)
    mixed = half | {"model.norm.weight": tensors["model.norm.weight"].astype(np.float64)}
    assert read(values, mixed).dtype == np.float64


def test_an_unembedding_is_tied_if_the_config_ties_it_and_it_is_the_embedding(small):
    """transformers 5 does not tie two tables that differ, whatever the config says."""
    values, tensors = small
    tied, embedding = values | {"tie_word_embeddings": True}, tensors["model.embed_tokens.weight"]
    assert from_llama(tied, tensors | {"lm_head.weight": embedding})[0].tied
    assert not from_llama(tied, tensors)[0].tied
    assert not from_llama(values, tensors | {"lm_head.weight": embedding})[0].tied


@pytest.mark.parametrize(
    ("fields", "block"),
    [
        ({"model_type": "mistral", "sliding_window": 7}, 7),
        ({"model_type": "mistral", "sliding_window": 99}, 32),
        ({"model_type": "qwen2", "sliding_window": 7}, 32),
        ({"model_type": "qwen2", "sliding_window": 7, "use_sliding_window": True, "max_window_layers": 3}, 32),
        ({"model_type": "qwen2", "sliding_window": 7, "use_sliding_window": True, "max_window_layers": 2}, 7),
    ],
    ids=str,
)
def test_a_sliding_window_limits_the_block_to_what_it_does_not_hide(fields, block):
    theirs = made(num_key_value_heads=2, **fields)
    ours = read(*saved(theirs))
    assert ours.config.block == block
    with torch.no_grad():
        expected = theirs(torch.tensor(TOKENS[:, :block])).logits
    assert_close(torch_engine.forward(ours, TOKENS[:, :block])[0], expected, 1e-5)


NO_UNEMBEDDING = {"lm_head.weight": None}


@pytest.mark.parametrize(
    ("fields", "change", "complaint"),
    [
        ({"model_type": "gemma"}, {}, "model_type='gemma' is not LLaMA's layout .expected llama, mistral, qwen2"),
        ({"model_type": None}, {}, "model_type=None is not LLaMA's layout"),
        ({"quantization_config": {"bits": 4}}, {}, "quantization_config={'bits': 4} cannot be read; save"),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 8}}, {}, "of type 'llama3' are scaled, which no Config"),
        ({"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 2}}, {}, "of type 'linear' are scaled"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1.0}}}, {}, "cannot be read .expected rope_type and"),
        ({"rope_parameters": [1]}, {}, r"rope_parameters=\[1\] cannot be read"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, {}, "partial_rotary_factor=0.5 turns part of a head"),
        ({"rope_parameters": {"rope_theta": "x"}}, {}, "rotary_base='x' must be a finite number"),
        ({"hidden_act": "quick_gelu"}, {}, "activation 'quick_gelu' is not one that handloom has"),
        ({"hidden_size": None}, {}, "hidden_size is missing from the config"),
        ({"hidden_size": -3}, {}, "hidden_size=-3 must be a whole number of at least 1"),
        ({"hidden_size": 25, "head_dim": None}, {}, "hidden_size=25 is not a multiple of num_attention_heads=4"),
        ({"num_key_value_heads": 3}, {}, "kv_heads=3 must be a divisor of heads=4"),
        ({"num_key_value_heads": 1}, {}, r"k_proj.weight has shape \(12, 24\) .expected \(6, 24\), by the config"),
        ({"head_dim": 5}, {}, "d_head=5 is odd"),
        ({"tie_word_embeddings": "yes"}, {}, "tie_word_embeddings='yes' must be true or false"),
        ({"num_hidden_layers": 10**9}, {}, "tensor model.layers.3.input_layernorm.weight is missing; copy all files"),
        ({"num_hidden_layers": 2}, {}, "tensor 'model.layers.2.input_layernorm.weight' is not one that the config has"),
        ({"attention_bias": True}, {}, "tensor model.layers.0.self_attn.q_proj.bias is missing"),
        ({}, NO_UNEMBEDDING, "tensor lm_head.weight is missing, and the config does not tie it"),
        ({}, {"model.norm.weight": np.ones(24, np.int8)}, "tensor model.norm.weight is int8 .expected float16"),
        ({}, {"model.norm.weight": np.ones(23, np.float32)}, r"model.norm.weight has shape \(23,\) .expected \(24,\)"),
        ({}, {"model.layers.0.extra": np.ones(1)}, "tensor 'model.layers.0.extra' is not one that the config has"),
        (
            {"model_type": "qwen2", "use_sliding_window": True, "layer_types": ["other"]},
            {},
            r"layer_types=\['other'\] are not known",
        ),
    ],
    ids=str,
)
def test_what_no_config_has_is_refused_in_one_line(small, fields, change, complaint):
    values, tensors = small
    tensors = {name: array for name, array in (tensors | change).items() if array is not None}
    with pytest.raises(HandloomError, match=complaint) as refusal:
        read(values | fields, tensors)
    assert "\n" not in str(refusal.value)


def test_frequencies_that_old_versions_saved_are_left_out(small):
    values, tensors = small
    extra = {"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(3, np.float32)}
    assert from_llama(values, tensors | extra)[0] == from_llama(values, tensors)[0]
