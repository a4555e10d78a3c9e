"""The reference against others: the book's decoder, PyTorch's own transformer layers, and the definitions."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import STANDARD, assert_close, models_and_tokens, random_model, with_config
from handloom.core import Config, HandloomError, Model, reference, torch_engine, trace
from handloom.core.reference import Past, forward, sinusoid, turn_pairs


def book_decoder(tokens, p, eps=1e-10):
    """The decoder as the book's figure 1.1 has it, with its own ways to keep from dividing by zero: eps is added to
    the standard deviation, not to the variance, and to the sum in the softmax too."""

    def layer_norm(x):
        return (x - x.mean(axis=-1, keepdims=True)) / (x.std(axis=-1, keepdims=True) + eps)

    n = len(tokens)
    x = p["W_E"][tokens] + p["W_pos"][:n]
    for layer in p["layers"]:
        y = layer_norm(x)
        q, k, v = (np.einsum("nd,hdk->nhk", y, layer[name]) for name in ("W_Q", "W_K", "W_V"))
        scores = np.einsum("nhk,mhk->hnm", q, k) / math.sqrt(q.shape[-1])
        scores[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True) + eps
        x = x + np.einsum("hnm,mhk,hkd->nd", weights, v, layer["W_O"])
        hidden = np.maximum(np.einsum("nd,df->nf", layer_norm(x), layer["W_in"]) + layer["b_in"], 0)
        x = x + np.einsum("nf,fd->nd", hidden, layer["W_out"]) + layer["b_out"]
    return np.einsum("nd,vd->nv", layer_norm(x), p["W_E"])


BOOK = {"norm": "layer", "place": "pre", "activation": "relu", "positions": "table", "causal": True, "tied": True}
BOOK |= {"gated": False, "kv_heads": 0, **STANDARD}


@given(models_and_tokens(**BOOK, biases=("mlp",), eps=1e-20))
def test_the_books_decoder_is_one_of_our_configs(case):
    """To within what its eps of 1e-10 does."""
    model, tokens = case
    flat = {name: np.ones_like(a) if name.endswith(".w") else a for name, a in model.flat.items()}
    model = model.with_(params=flat)
    assert_close(forward(model, tokens)[0], book_decoder(tokens, model.params), 1e-7)


@pytest.mark.parametrize("place", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("causal", [True, False])
def test_a_layer_is_torchs_transformer_encoder_layer(place, activation, causal):
    """PyTorch's own module, loaded with our weights, turns the same residual stream into the same."""
    H, K, F = 3, 4, 10
    D = H * K
    config = Config(
        vocab=9, block=7, d_model=D, layers=1, heads=H, d_head=K, d_ff=F,
        place=place, activation=activation, causal=causal,
    )  # fmt: skip
    model = random_model(config, seed=4)
    p = {name: torch.tensor(array) for name, array in model.flat.items()}
    theirs = torch.nn.TransformerEncoderLayer(
        D, H, F, dropout=0.0, activation=activation, layer_norm_eps=config.eps,
        batch_first=True, norm_first=place == "pre", dtype=torch.float64,
    )  # fmt: skip
    at = "layers.0."
    state = {
        "self_attn.in_proj_weight": torch.cat([p[f"{at}W_{x}"].transpose(1, 2).flatten(0, 1) for x in "QKV"]),
        "self_attn.in_proj_bias": torch.cat([p[f"{at}b_{x}"].flatten() for x in "QKV"]),
        "self_attn.out_proj.weight": p[at + "W_O"].flatten(0, 1).T,
        "self_attn.out_proj.bias": p[at + "b_O"],
        "linear1.weight": p[at + "W_in"].T,
        "linear1.bias": p[at + "b_in"],
        "linear2.weight": p[at + "W_out"].T,
        "linear2.bias": p[at + "b_out"],
        "norm1.weight": p[at + "ln1.w"],
        "norm1.bias": p[at + "ln1.b"],
        "norm2.weight": p[at + "ln2.w"],
        "norm2.bias": p[at + "ln2.b"],
    }
    theirs.load_state_dict(state)
    tokens = [3, 1, 4, 1, 5]
    _, seen = forward(model, tokens, want=["0.resid_pre", "0.resid_post"])
    mask = torch.nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64) if causal else None
    with torch.no_grad():
        out = theirs(torch.tensor(seen["0.resid_pre"])[None], src_mask=mask)[0]
    assert_close(seen["0.resid_post"], out, 1e-9)


def test_activations_are_torchs():
    x = np.linspace(-30, 30, 2001)
    F = torch.nn.functional
    theirs = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda t: F.gelu(t, approximate="tanh"),
        "silu": F.silu,
        "none": lambda t: t,
    }
    for name, function in reference.ACTIVATIONS.items():
        assert_close(function(x), theirs[name](torch.tensor(x)), 1e-14)


def test_rms_norm_is_torchs():
    config = Config(vocab=2, block=3, d_model=6, norm="rms", eps=0.01, biases=(), tied=False)
    model = random_model(config)
    _, seen = forward(model, [0, 1], want=["resid_final", "ln_final"])
    w = torch.tensor(model.params["ln_final"]["w"])
    assert_close(seen["ln_final"], torch.rms_norm(torch.tensor(seen["resid_final"]), (6,), w, 0.01), 1e-12)


def test_a_gate_multiplies_each_neuron():
    config = Config(vocab=5, block=4, d_model=6, layers=1, d_ff=7, activation="silu", gated=True)
    model = random_model(config)
    _, seen = forward(model, [3, 1, 4], want="0.*")
    p, x = model.params["layers"][0], seen["0.ln2"]
    gate, linear = x @ p["W_gate"] + p["b_gate"], x @ p["W_in"] + p["b_in"]
    assert_close(seen["0.mlp_pre"], gate, 1e-12)
    assert_close(seen["0.mlp_pre_linear"], linear, 1e-12)
    out = (gate / (1.0 + np.exp(-gate)) * linear) @ p["W_out"] + p["b_out"]
    assert_close(seen["0.mlp_out"], out, 1e-12)


def test_a_mixture_is_the_sum_of_the_chosen_experts_by_the_softmax_of_their_logits():
    """Shazeer et al. 2017, one position and one expert after another."""
    config = Config(vocab=5, block=4, d_model=6, layers=1, d_ff=7, activation="relu", experts=4, top=2)
    model = random_model(config)
    _, seen = forward(model, [3, 1, 4], want="0.*")
    p = model.params["layers"][0]
    for t, x in enumerate(seen["0.ln2"]):
        logits = x @ p["W_gate"] + p["b_gate"]
        a, b = np.argsort(logits)[-2:]
        weights = np.exp(logits[[a, b]]) / np.exp(logits[[a, b]]).sum()
        assert_close(seen["0.gate"][t, [a, b]], weights, 1e-12)
        assert (seen["0.gate"][t] > 0).sum() == 2
        out = sum(
            weight * np.maximum(x @ p["W_in"][e] + p["b_in"][e], 0.0) @ p["W_out"][e]
            for e, weight in zip((a, b), weights, strict=True)
        )
        assert_close(seen["0.mlp_out"][t], out + p["b_out"], 1e-12)


def test_of_equal_logits_the_first_experts_are_chosen():
    config = Config(vocab=5, block=4, d_model=6, layers=1, d_ff=7, experts=4, top=3)
    model = random_model(config)
    flat = {n: np.zeros_like(a) if n.endswith("_gate") else a for n, a in model.flat.items()}
    _, seen = forward(model.with_(params=flat), [3, 1], want="0.gate")
    assert_close(seen["0.gate"], [[1 / 3, 1 / 3, 1 / 3, 0]] * 2, 1e-12)


def test_a_gate_that_is_replaced_chooses_other_experts():
    """As if only this expert were there: a plain MLP with its weights."""
    config = Config(vocab=5, block=4, d_model=6, layers=1, heads=2, d_head=3, d_ff=7, experts=4, top=2)
    model = random_model(config)
    out, _ = forward(model, [3, 1, 4], edits={"0.gate": np.eye(4)[2]})
    flat = {n: a[2] if n.rpartition(".")[2] in ("W_in", "b_in", "W_out") else a for n, a in model.flat.items()}
    plain = {n: a for n, a in flat.items() if not n.endswith("_gate")}
    alone = Model(with_config(model, experts=0), plain, model.vocab)
    assert_close(out, forward(alone, [3, 1, 4])[0], 1e-12)


@given(models_and_tokens(attention="linear", layers=1, heads=4))
@settings(max_examples=50)
def test_linear_attention_takes_the_scores_themselves(case):
    """In a causal model z is the query times the sum of kᵀ v so far: a recurrent state of fixed size."""
    model, tokens = case
    _, seen = forward(model, tokens, want="*")
    turned = "rot_" if model.config.positions == "rotary" else ""
    q, k, v = seen[f"0.{turned}q"], seen[f"0.{turned}k"], seen["0.v"]
    k, v = (reference.for_each_head(model.config, one) for one in (k, v))
    products = np.cumsum(k[..., None] * v[..., None, :], axis=-3)  # (H, T, K, K)
    if not model.config.causal:
        products = np.broadcast_to(products[:, -1:], products.shape)
    z = np.einsum("htk,htkj->htj", q, products) / math.sqrt(model.config.d_head)
    assert_close(seen["0.z"], z, 1e-10)


@given(models_and_tokens(attention="least-squares", layers=1, heads=4))
@settings(max_examples=50)
def test_least_squares_attention_is_ridge_regression_of_values_on_keys(case):
    """Its pattern is q (KᵀK + ridge I)⁻¹ k, with the keys that a position sees and without 1/√K."""
    model, tokens = case
    config = model.config
    _, seen = forward(model, tokens, want="*")
    turned = "rot_" if config.positions == "rotary" else ""
    q, k, v = seen[f"0.{turned}q"], seen[f"0.{turned}k"], seen["0.v"]
    for h in range(config.heads):
        for t in range(len(tokens)):
            n = t + 1 if config.causal else len(tokens)
            keys, values = k[h // config.per_group, :n], v[h // config.per_group, :n]
            inverse = np.linalg.inv(keys.T @ keys + config.ridge * np.eye(config.d_head))
            assert_close(seen["0.pattern"][h, t, :n], q[h, t] @ inverse @ keys.T, 1e-9)
            weights = np.linalg.lstsq(  # the regression itself, with rows that pull the weights to 0
                np.vstack([keys, math.sqrt(config.ridge) * np.eye(config.d_head)]),
                np.vstack([values, np.zeros((config.d_head, config.d_head))]),
                rcond=None,
            )[0]
            assert_close(seen["0.z"][h, t], q[h, t] @ weights, 1e-8)


def test_the_largest_scores_of_hard_attention_share_equally():
    """Scores that only rounding makes different are equal; what is larger by a ten-thousandth is not."""
    scores = np.array(
        [[1.0, 3.0, 3.0, -9.0], [0.3, 0.1 + 0.2, 0.0, 0.1], [5.0, 5.0005, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]]
    )
    wanted = [[0.0, 0.5, 0.5, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]
    config = Config(vocab=2, block=4, d_model=2, layers=1, heads=1, d_head=2, attention="hard")
    for dtype in (np.float32, np.float64):
        assert_close(reference.pattern_of(config, scores.astype(dtype), scores, None), wanted, 1e-7)
        found = torch_engine.pattern_tensor(config, torch.tensor(scores.astype(dtype)), torch.tensor(scores), None)
        assert_close(found, wanted, 1e-7)
    causal = reference.pattern_of(config, scores, scores, np.tri(4, dtype=bool))
    assert_close(causal, [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 1, 0, 0], [0.25] * 4], 1e-12)


def test_hard_attention_is_the_limit_of_softmax():
    soft = random_model(Config(vocab=9, block=7, d_model=8, layers=1, heads=2, d_head=4, norm="none"), seed=1)
    flat = {name: array * 1e6 if name.endswith(("W_Q", "b_Q")) else array for name, array in soft.flat.items()}
    hard = soft.with_(config=with_config(soft, attention="hard"))
    tokens = [3, 1, 4, 1, 5, 8, 2]
    assert_close(forward(soft.with_(params=flat), tokens)[0], forward(hard, tokens)[0], 1e-9)


@given(models_and_tokens())
@settings(max_examples=40)
def test_what_a_layer_writes_is_added_to_the_stream_or_replaces_it(case):
    model, tokens = case
    config = model.config
    _, seen = forward(model, tokens, want="*")
    for i in range(config.layers):
        at = {name: seen[f"{i}.{name}"] for name in ("resid_pre", "attn_out", "mlp_out", "resid_post")}
        if config.parallel:
            kept = at["resid_pre"] if config.skips else 0.0
            assert_close(kept + at["attn_out"] + at["mlp_out"], at["resid_post"], 1e-12)
            assert f"{i}.resid_mid" not in seen
            assert f"{i}.ln2" not in seen
        elif config.place == "pre":
            middle = at["resid_pre"] * ("attn" in config.skips) + at["attn_out"]
            assert_close(seen[f"{i}.resid_mid"], middle, 1e-12)
            assert_close(at["resid_post"], middle * ("mlp" in config.skips) + at["mlp_out"], 1e-12)


def test_parallel_sublayers_read_one_norm():
    """As in GPT-J: heads and neurons read ln1, and the neurons do not see what the heads write."""
    config = Config(vocab=5, block=4, d_model=6, layers=1, heads=2, d_head=3, d_ff=7, parallel=True)
    model = random_model(config)
    _, seen = forward(model, [3, 1, 4], want="0.*")
    p = model.params["layers"][0]
    assert_close(seen["0.mlp_pre"], seen["0.ln1"] @ p["W_in"] + p["b_in"], 1e-12)
    assert_close(seen["0.q"], reference.project(seen["0.ln1"][None], p["W_Q"], p["b_Q"]), 1e-12)
    _, edited = forward(model, [3, 1, 4], want="0.mlp_out", edits={"0.attn_out": 0.0})
    assert np.array_equal(edited["0.mlp_out"], seen["0.mlp_out"])


def test_keys_and_values_that_heads_share_are_cached_once():
    config = Config(vocab=5, block=9, d_model=6, layers=1, heads=6, d_head=2, kv_heads=2)
    model, past = random_model(config), Past()
    forward(model, [3, 1, 4], past=past)
    assert [array.shape for array in past.layers[0]] == [(2, 3, 2), (2, 3, 2)]
    decoder = torch_engine.Decoder(model)
    decoder.advance([0], [[3, 1, 4]])
    assert [decoder.past.laid_out(flat, decoder.past.room).shape[1] for flat in decoder.past.kept] == [2, 2]
    assert len(decoder.past.kept[0]) == 2 * decoder.past.held * 2


@pytest.mark.parametrize("D", [1, 2, 5, 8])
def test_sinusoids_are_those_of_vaswani(D):
    for t, row in enumerate(sinusoid(np.arange(7), D)):
        for column in range(D):
            angle = t / 10_000 ** ((column // 2) * 2 / D)
            assert row[column] == pytest.approx(math.sin(angle) if column % 2 == 0 else math.cos(angle), abs=1e-12)


def test_rotary_scores_depend_on_the_distance_alone():
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 1, 8))
    scores = [[float(turn_pairs(q, i, 100.0)[0] @ turn_pairs(k, j, 100.0)[0]) for j in range(6)] for i in range(6)]
    for distance in range(-5, 6):
        assert np.ptp(np.diagonal(scores, distance)) < 1e-12
    assert np.ptp(scores) > 0.1


def test_rotary_turns_each_pair_by_its_own_angle():
    x = np.eye(4)[:, None, :]  # each unit vector at position 3
    turned = turn_pairs(x, 3, 100.0)[:, 0]
    for j, angle in enumerate((3.0, 3.0 / 100 ** (2 / 4))):
        assert turned[j, j] == pytest.approx(math.cos(angle))
        assert turned[j, j + 2] == pytest.approx(math.sin(angle))
        assert turned[j + 2, j] == pytest.approx(-math.sin(angle))


@given(models_and_tokens(causal=True))
def test_a_causal_model_does_not_see_what_comes_later(case):
    model, tokens = case
    logits, _ = forward(model, tokens)
    for cut in range(1, len(tokens)):
        assert_close(forward(model, tokens[:cut])[0], logits[:cut], 1e-12)


def test_a_bidirectional_model_does_see_what_comes_later():
    config = Config(vocab=5, block=4, d_model=6, layers=1, heads=1, d_head=3, causal=False)
    model = random_model(config)
    assert not np.allclose(forward(model, [1, 2, 3])[0][0], forward(model, [1, 2, 4])[0][0])


@given(models_and_tokens(causal=True), st.data())
def test_a_run_that_goes_on_from_its_past_is_the_whole_run(case, data):
    model, tokens = case
    whole, seen = forward(model, tokens, want="*")
    cuts = sorted(data.draw(st.sets(st.integers(1, len(tokens) - 1)))) if len(tokens) > 1 else []
    past, pieces = Past(), []
    for a, b in zip([0, *cuts], [*cuts, len(tokens)], strict=True):
        logits, part = forward(model, tokens[a:b], want="resid_final", past=past)
        assert_close(part["resid_final"], seen["resid_final"][a:b], 1e-9)
        pieces.append(logits)
    assert_close(np.concatenate(pieces), whole, 1e-9)
    if len(tokens) == model.config.block:
        with pytest.raises(HandloomError, match="the block holds"):
            forward(model, [0], past=past)


@given(models_and_tokens())
@settings(max_examples=50)
def test_patterns_of_softmax_and_hard_attention_are_probabilities_and_results_add_up(case):
    model, tokens = case
    _, seen = forward(model, tokens, want="*")
    for i in range(model.config.layers if model.config.heads else 0):
        pattern = seen[f"{i}.pattern"]
        if model.config.averages:
            assert_close(pattern.sum(-1), np.ones(pattern.shape[:-1]), 1e-12)
            assert pattern.min() >= 0
        if model.config.causal:
            assert np.abs(np.triu(pattern, 1)).max(initial=0.0) == 0.0
        bias = model.params["layers"][i].get("b_O", 0.0)
        assert_close(seen[f"{i}.result"].sum(-3) + bias, seen[f"{i}.attn_out"], 1e-12)


def test_a_trace_says_what_it_has_when_asked_for_more():
    model = random_model(Config(vocab=3, block=3, d_model=4))
    _, seen = forward(model, [1, 2], want="logits")
    assert seen["logits"].shape == (2, 3)
    assert "embed" not in seen
    assert seen.get("embed", 3) == 3
    with pytest.raises(HandloomError, match="site 'embed' was not recorded; recorded: logits"):
        seen["embed"]


def test_trace_takes_the_name_of_a_model_as_certify_does():
    assert trace("hello", "H", want="logits")["logits"].shape == (2, 11)
    with pytest.raises(HandloomError, match="no such file, and no program of that name"):
        trace("helo", "H")
