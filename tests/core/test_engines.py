"""The torch engine computes what the reference computes: logits, every site, every kind of edit."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from draws import assert_close, configs, models_and_tokens, random_model, shape_of
from handloom.core import HandloomError, choose_engine, params, reference, sites, torch_engine, trace
from handloom.write import program

EDITS = ("array", "number", "function", "in place")


def edit_of(kind, shape, seed):
    """The same edit for both engines."""
    if kind == "array":
        return np.random.default_rng(seed).normal(size=shape)
    if kind == "number":
        return 0.25

    def change(value):
        return value * 0.5 + 1.0

    def change_in_place(value):
        value[..., 0] = 0.5
        return value

    return change if kind == "function" else change_in_place


@given(models_and_tokens())
@settings(max_examples=120)
def test_engines_agree_in_float64_on_logits_and_every_site(case):
    model, tokens = case
    expected, reference_trace = reference.forward(model, tokens, want="*")
    logits, torch_trace = torch_engine.forward(model, tokens, want="*")
    assert_close(logits, expected, 1e-9)
    assert list(reference_trace) == list(torch_trace) == list(sites(model.config))
    for site, letters in sites(model.config).items():
        assert reference_trace[site].shape == shape_of(letters, model.config, len(tokens))
        assert_close(torch_trace[site], reference_trace[site], 1e-9)


@given(models_and_tokens())
@settings(max_examples=80)
def test_fused_paths_agree_too_when_nothing_is_asked_for(case):
    """Without want or edits torch takes other kernels for attention and norms."""
    model, tokens = case
    expected, _ = reference.forward(model, tokens)
    assert_close(torch_engine.forward(model, tokens)[0], expected, 1e-9)


@given(models_and_tokens(), st.integers(1, 9))
@settings(max_examples=40)
def test_the_last_positions_alone_have_the_logits_they_have_in_a_whole_run(case, last):
    model, tokens = case
    expected = reference.forward(model, tokens)[0][-last:]
    for engine in (reference, torch_engine):
        assert_close(engine.Decoder(model).rerun(tokens, last=last), expected, 1e-9)


@given(models_and_tokens())
@settings(max_examples=80)
def test_engines_agree_in_float32(case):
    model, tokens = case
    assume(model.config.attention != "least-squares" or model.config.norm != "none")  # ill-conditioned for float32
    model = model.astype(np.float32)
    expected, reference_trace = reference.forward(model, tokens, want="*")
    assert expected.dtype == np.float64
    logits, torch_trace = torch_engine.forward(model, tokens, want="*")
    assert logits.dtype == torch.float32
    most = max(np.abs(value[np.isfinite(value)]).max(initial=1.0) for value in reference_trace.values())
    assert_close(torch_engine.forward(model, tokens)[0], expected, 1e-4 * most)  # large numbers may cancel later
    for site in reference_trace:
        assert_close(torch_trace[site], reference_trace[site], 1e-4 * most)


@given(models_and_tokens(), st.data())
@settings(max_examples=120)
def test_engines_agree_under_edits(case, data):
    model, tokens = case
    known = sites(model.config)
    chosen = data.draw(st.lists(st.sampled_from(list(known)), min_size=1, max_size=3, unique=True))
    edits = {}
    for site in chosen:
        kind = data.draw(st.sampled_from(EDITS))
        edits[site] = edit_of(kind, shape_of(known[site], model.config, len(tokens)), seed=len(site))
    expected, reference_trace = reference.forward(model, tokens, want="*", edits=edits)
    logits, torch_trace = torch_engine.forward(model, tokens, want="*", edits=edits)
    assert_close(logits, expected, 1e-9)
    for site in known:
        assert_close(torch_trace[site], reference_trace[site], 1e-9)
    assert_close(torch_engine.forward(model, tokens, edits=edits)[0], expected, 1e-9)


ALL_KINDS = [
    {"norm": "layer", "place": "pre", "positions": "table"},
    {"norm": "rms", "place": "post", "positions": "rotary", "causal": False},
    {"norm": "layer", "place": "post", "positions": "sinusoid"},
    {"norm": "rms", "positions": "rotary", "gated": True, "kv_heads": 1},
    {"norm": "rms", "attention": "linear", "kv_heads": 1},
    {"norm": "rms", "attention": "least-squares", "ridge": 0.3, "kv_heads": 1},
    {"norm": "rms", "attention": "least-squares", "causal": False},
    {"norm": "rms", "parallel": True},
    {"norm": "rms", "parallel": True, "skips": ()},
    {"norm": "none", "skips": ("mlp",), "positions": "rotary"},
    {"norm": "rms", "place": "post", "experts": 3},
    {"norm": "rms", "parallel": True, "experts": 4, "top": 3},
]


@pytest.mark.parametrize("fields", ALL_KINDS, ids=str)
@pytest.mark.parametrize("kind", EDITS)
def test_every_site_takes_every_kind_of_edit_on_both_engines(fields, kind):
    config = configs_of(fields)
    model, tokens = random_model(config, seed=3), [1, 4, 2, 0]
    plain, _ = reference.forward(model, tokens)
    for site, letters in sites(config).items():
        edit = edit_of(kind, shape_of(letters, config, len(tokens)), seed=5)
        if site.endswith("scale") and kind == "array":
            edit = np.abs(edit) + 0.5
        expected, seen = reference.forward(model, tokens, want=site, edits={site: edit})
        logits, _ = torch_engine.forward(model, tokens, edits={site: edit})
        assert_close(logits, expected, 1e-9)
        assert not np.allclose(expected, plain), f"an edit of {site} changed nothing"
        if kind == "array":
            assert_close(seen[site], edit, 0.0)


def configs_of(fields):
    from handloom.core import Config

    return Config(vocab=6, block=5, d_model=6, layers=2, heads=2, d_head=4, d_ff=7, **fields)


@given(models_and_tokens())
@settings(max_examples=50)
def test_putting_back_what_was_there_changes_nothing(case):
    model, tokens = case
    logits, seen = reference.forward(model, tokens, want="*")
    for site in seen:
        again, _ = reference.forward(model, tokens, edits={site: seen[site]})
        assert np.array_equal(again, logits)


@given(models_and_tokens(), st.integers(1, 3), st.integers(1, 2))
@settings(max_examples=40)
def test_a_batch_gives_what_its_rows_give(case, rows, more):
    """Batch dimensions, one or two of them, on both engines."""
    model, tokens = case
    T, V = len(tokens), model.config.vocab
    batch = np.random.default_rng(0).integers(0, V, (more, rows, T))
    one_by_one = np.stack([[reference.forward(model, row)[0] for row in part] for part in batch])
    assert_close(reference.forward(model, batch)[0], one_by_one, 1e-12)
    assert_close(torch_engine.forward(model, batch)[0], one_by_one, 1e-9)
    _, seen = torch_engine.forward(model, batch, want="*")
    _, expected = reference.forward(model, batch, want="*")
    for site in expected:
        assert_close(seen[site], expected[site], 1e-9)


@given(models_and_tokens(norm="layer", activation="gelu", eps=0.1))
@settings(max_examples=25)
def test_autograd_gives_the_slope_of_the_reference(case):
    """The gradient along a random direction in weight space, against a difference of the reference."""
    model, tokens = case
    weights = torch_engine.tensors(model, torch.float64, grad=True)
    logits, _ = torch_engine.compute(model.config, weights, tokens)
    logits.square().sum().backward()
    flat = params.flatten(weights)
    rng = np.random.default_rng(1)
    way = {name: rng.normal(size=array.shape) for name, array in model.flat.items()}
    slope = sum(
        float((tensor.grad.numpy() * way[name]).sum()) for name, tensor in flat.items() if tensor.grad is not None
    )

    def loss(step):
        moved = model.with_(params={name: array + step * way[name] for name, array in model.flat.items()})
        return np.square(reference.forward(moved, tokens)[0]).sum()

    h = 1e-6
    assert slope == pytest.approx((loss(h) - loss(-h)) / (2 * h), rel=1e-4, abs=1e-4)


def test_experts_that_are_not_chosen_have_no_gradient_and_the_gates_of_one_expert_none_either():
    for top in (1, 2):
        config = configs_of({"experts": 4, "top": top})
        model = random_model(config)
        weights = torch_engine.tensors(model, torch.float64, grad=True)
        _, seen = torch_engine.compute(config, weights, [1, 2], want="*.gate")
        torch_engine.compute(config, weights, [1, 2])[0].square().sum().backward()
        for i, layer in enumerate(weights["layers"]):
            used = (seen[f"{i}.gate"] > 0).any(0)
            assert [bool(part.any()) for part in layer["W_in"].grad] == used.tolist()
            assert bool(layer["W_gate"].grad.abs().max() > 1e-9) == (top > 1)


def test_hard_attention_has_no_gradient_by_queries_and_keys():
    config = configs_of({"attention": "hard"})
    weights = torch_engine.tensors(random_model(config), torch.float64, grad=True)
    torch_engine.compute(config, weights, [1, 2, 3, 4])[0].square().sum().backward()
    for layer in weights["layers"]:
        assert all(not layer[name].grad.any() for name in ("W_Q", "W_K", "b_Q", "b_K"))
        assert layer["W_V"].grad.any()


def test_a_ridge_too_small_for_the_precision_is_refused():
    config = configs_of({"attention": "least-squares", "ridge": 1e-12})
    with pytest.raises(HandloomError, match="ridge=1e-12 is too small beside the keys"):
        torch_engine.forward(random_model(config, scale=3.0).astype(np.float32), [1, 2, 3, 4, 5])


def test_gradients_reach_activations_through_edits():
    config = configs_of({})
    model = random_model(config)
    extra = torch.zeros(4, config.d_model, dtype=torch.float64, requires_grad=True)
    logits, _ = torch_engine.compute(
        config, torch_engine.tensors(model), [1, 2, 3, 4], edits={"0.resid_mid": lambda x: x + extra}
    )
    logits[-1, 0].backward()
    assert extra.grad.abs().sum() > 0


def test_unknown_sites_are_refused_with_the_list_of_known_ones():
    model = random_model(configs_of({}))
    for run in (reference.forward, torch_engine.forward):
        for asked in ({"want": ["0.paterns"]}, {"edits": {"0.paterns": 0.0}}, {"want": "9.q"}, {"want": [3]}):
            with pytest.raises(HandloomError, match=r"no site .*its sites are embed, pos_embed, 0\.resid_pre"):
                run(model, [1, 2], **asked)


def test_edits_that_do_not_fit_are_refused_with_the_shape_they_need():
    model = random_model(configs_of({}))
    for run in (reference.forward, torch_engine.forward):
        for wrong in (np.zeros((3, 3)), lambda z: None, "text", [[1, 2], [3]]):
            with pytest.raises(HandloomError, match=r"the edit of 0\.z gave .*needs numbers of shape \(2, 2, 4\)"):
                run(model, [1, 2], edits={"0.z": wrong})


def test_patterns_stand_for_all_layers():
    model = random_model(configs_of({}))
    assert list(trace(model, "1 2 3", want="*.pattern")) == ["0.pattern", "1.pattern"]


def test_a_sites_own_name_comes_before_a_pattern():
    model = random_model(configs_of({}))
    for edits in ({"0.z": 1.0, "*.z": 2.0}, {"*.z": 2.0, "0.z": 1.0}):
        seen = trace(model, "1 2", want="*.z", edits=edits)
        assert np.all(seen["0.z"] == 1.0)
        assert np.all(seen["1.z"] == 2.0)


@pytest.mark.parametrize("engine", ["reference", "torch"])
def test_several_texts_are_traced_as_each_by_itself(engine):
    model, texts = program("min:n=9"), ["4 2 7 0", "1 1 8 3"]
    both = trace(model, texts, want=["0.z", "logits"], engine=engine)
    for i, text in enumerate(texts):
        one = trace(model, text, want=["0.z", "logits"], engine=engine)
        np.testing.assert_allclose(both["0.z"][i], one["0.z"], rtol=1e-12)
        np.testing.assert_allclose(both["logits"][i], one["logits"], rtol=1e-9)
    with pytest.raises(
        HandloomError, match="the same number of tokens, and these have 2 to 4; trace them one at a time"
    ):
        trace(model, ["4 2 7 0", "1 1"], engine=engine)


def test_a_trace_does_not_follow_what_becomes_of_an_edit():
    model = random_model(configs_of({}))
    for engine in ("reference", "torch"):
        mine = np.zeros((2, 6))
        seen = trace(model, "1 2", want="embed", edits={"embed": mine}, engine=engine)
        mine += 7
        assert np.all(np.asarray(seen["embed"]) == 0)


def test_tokens_and_edits_may_be_tensors():
    model = random_model(configs_of({}))
    ids, edit = torch.tensor([1, 2]), torch.ones(2, 6)
    expected = trace(model, [1, 2], edits={"embed": 1.0})["logits"]
    for engine in ("reference", "torch"):
        assert_close(trace(model, ids, edits={"embed": edit}, engine=engine)["logits"], expected, 1e-9)


def test_many_layers_make_a_short_list_of_sites():
    model = random_model(dataclasses.replace(configs_of({}), layers=24))
    with pytest.raises(
        HandloomError, match=r"0\.resid_post, resid_final, .*, and the same for layers 1 to 23"
    ) as refusal:
        trace(model, "1", want="q")
    assert len(str(refusal.value)) < 500


@pytest.mark.slow
@given(models_and_tokens(), st.data())
@settings(max_examples=1200)
def test_engines_agree_on_many_more_configs(case, data):
    model, tokens = case
    known = sites(model.config)
    site = data.draw(st.sampled_from(list(known)))
    edit = edit_of(data.draw(st.sampled_from(EDITS)), shape_of(known[site], model.config, len(tokens)), seed=1)
    for edits in ({}, {site: edit}):
        expected, _ = reference.forward(model, tokens, edits=edits)
        assert_close(torch_engine.forward(model, tokens, edits=edits)[0], expected, 1e-9)
        assert_close(torch_engine.forward(model, tokens, edits=edits, dtype=torch.float32)[0], expected, 1e-4)


def test_edits_do_not_reach_back_into_what_was_recorded():
    """An edit in place must not change another site that holds the same array."""
    model = random_model(configs_of({}))

    def clear(x):
        x[...] = 0.0
        return x

    for run in (reference.forward, torch_engine.forward):
        _, seen = run(model, [1, 2, 3], want=["0.resid_post", "1.resid_pre"], edits={"1.resid_pre": clear})
        assert np.abs(np.asarray(seen["0.resid_post"])).max() > 0
        assert np.abs(np.asarray(seen["1.resid_pre"])).max() == 0


@pytest.mark.parametrize(
    ("tokens", "complaint"),
    [
        ([], "the prompt is empty"),
        ([0, 1, 2, 3, 4, 5], "the prompt has 6 tokens and the block holds 5"),
        ([0, 6], "token 6 is not in the vocabulary; tokens are 0 to 5"),
        ([-1], "token -1 is not in the vocabulary"),
        ([0.5], "tokens must be whole numbers"),
        ([[1, 2], [3]], "the prompts differ in length"),
        (3, "tokens must be a list of token ids, not 3"),
    ],
)
def test_bad_tokens_get_one_line(tokens, complaint):
    model = random_model(configs_of({}))
    for run in (reference.forward, torch_engine.forward):
        with pytest.raises(HandloomError, match=complaint) as refusal:
            run(model, tokens)
        assert "\n" not in str(refusal.value)


def test_unknown_engine_is_refused_with_the_list():
    with pytest.raises(HandloomError, match="no engine 'jax' here; the engines are reference, torch"):
        choose_engine("jax")


@given(configs(eps=0.0, norm="layer"))
@settings(max_examples=30)
def test_eps_of_zero_never_divides_zero_by_zero(config):
    """A residual stream of zeros has no variance: its norm is the bias alone, on both engines."""
    model = random_model(config)
    flat = {name: np.zeros_like(a) if name in ("W_E", "W_pos") else a for name, a in model.flat.items()}
    model = model.with_(params=flat)
    expected, _ = reference.forward(model, [0])
    assert_close(torch_engine.forward(model, [0])[0], expected, 1e-9)
