"""Changes that keep the function: each does what it says to the weights, and nothing to the logits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import assert_close, kv_heads, models, models_and_tokens, random_model, with_config
from handloom.core import Config, HandloomError, Model, Vocab, params, reference, sites, trace
from handloom.core.merging import beside, stack
from handloom.core.transforms import (
    add_biases,
    add_positions,
    centre,
    drop_unused,
    fold_norms,
    fold_unembed_bias,
    layer_to_rms,
    none_to_layer,
    pad,
    pad_with_mean,
    permute_heads,
    permute_neurons,
    permute_stream,
    random_rotation,
    rms_to_layer,
    rotate,
    shuffle,
    store_positions,
    ungroup,
    untie,
)

TOLERANCE = 1e-8  # norms may divide by small numbers


def logits(model, tokens):
    return reference.forward(model, tokens)[0]


def assert_same_function(new, old, tokens):
    assert_close(logits(new, tokens), logits(old, tokens), TOLERANCE)


def centred_stream(model):
    """A post-norm model that meets the conditions of `layer_to_rms`: mean zero all the way."""
    flat = {}
    for name, a in model.flat.items():
        if name.endswith(".w"):
            a = np.full_like(a, 1.3)
        elif name in ("W_E", "W_pos") or name.endswith(("b_O", "b_out", "W_O", "W_out", ".b")):
            a = a - a.mean(-1, keepdims=True)
            a = a - a.mean(-1, keepdims=True)  # what is left of the mean is the rounding of what was subtracted
        flat[name] = a
    return model.with_(params=flat)


@given(models_and_tokens(positions="sinusoid"))
def test_store_positions(case):
    model, tokens = case
    new = store_positions(model)
    assert new.config.positions == "table"
    assert_same_function(new, model, tokens)


@given(models_and_tokens(tied=True))
def test_untie(case):
    model, tokens = case
    new = untie(model)
    assert not new.config.tied
    assert_same_function(new, model, tokens)


@given(models_and_tokens(), st.sets(st.sampled_from(["attn", "mlp", "norm", "unembed"])))
def test_add_biases(case, biases):
    model, tokens = case
    new = add_biases(model, *biases)
    assert set(new.config.biases) == {*model.config.biases, *biases}
    assert_same_function(new, model, tokens)


@given(models_and_tokens(layers=1, heads=6), st.sampled_from([1, 2, 3]), st.integers(0, 99))
def test_ungroup_gives_every_head_the_keys_and_values_it_shared(case, groups, seed):
    model, tokens = case
    model = random_model(with_config(model, kv_heads=groups), seed)
    new = ungroup(model)
    assert new.config == with_config(model, kv_heads=0)
    before, after = (trace(m, tokens, want=["0.k", "0.v", "0.z"]) for m in (model, new))
    for site in ("0.k", "0.v"):
        assert before[site].shape[0] == groups
        assert_close(after[site], before[site][np.arange(6) * groups // 6], TOLERANCE)
    assert_close(after["0.z"], before["0.z"], TOLERANCE)
    assert_same_function(new, model, tokens)


def test_an_order_that_keeps_groups_of_heads_together_keeps_them_grouped():
    model = random_model(Config(vocab=4, block=3, d_model=5, layers=1, heads=4, d_head=2, kv_heads=2))
    assert permute_heads(model, 0, [3, 2, 0, 1]).config == model.config
    assert permute_heads(model, 0, [0, 2, 1, 3]).config.kv_heads == 0


@given(models_and_tokens(place="pre"))
@settings(max_examples=60)
def test_fold_norms(case):
    model, tokens = case
    new = fold_norms(model)
    for name, array in new.flat.items():
        if params.is_gain(name):
            assert np.all(array == 1)
    if model.config.norm != "none":
        assert "norm" not in new.config.biases
    assert_same_function(new, model, tokens)


@given(models(place="post", layers=1, heads=1, norm="rms"))
@settings(max_examples=20)
def test_post_norm_gains_cannot_be_folded(model):
    with pytest.raises(HandloomError, match="fold_norms: post-norm gains act on the residual stream"):
        fold_norms(model)
    plain = {
        n: np.ones_like(a) if n.endswith(".w") else np.zeros_like(a) if n.endswith(".b") else a
        for n, a in model.flat.items()
    }
    model = model.with_(params=plain)
    assert fold_norms(model) is model


@given(models_and_tokens(norm="layer"))
@settings(max_examples=60)
def test_centre(case):
    model, tokens = case
    new = centre(model)
    flat = new.flat
    writers = [n for n in flat if n.endswith(("W_O", "W_out"))]
    if model.config.place == "pre":
        writers += [n for n in flat if n in ("W_E", "W_pos") or n.endswith(("b_O", "b_out"))]
    for name in writers:
        assert_close(flat[name].mean(-1), np.zeros(flat[name].shape[:-1]), 1e-12)
    assert_same_function(new, model, tokens)


def test_centring_a_plain_tied_model_leaves_it_tied():
    config = Config(vocab=4, block=3, d_model=5)
    model = Model(config, params.random(config, seed=0, scale=1.0), Vocab.numbers(4))
    new = centre(model)
    assert new.config.tied
    assert_same_function(new, model, [1, 2, 3])


@pytest.mark.parametrize("norm", ["rms", "none"])
def test_centre_is_refused_where_the_mean_is_seen(norm):
    with pytest.raises(HandloomError, match=f"centre: norm='{norm}' sees the mean"):
        centre(random_model(Config(vocab=4, block=3, d_model=5, norm=norm)))


@given(models_and_tokens(norm="layer", place="pre"))
def test_layer_to_rms(case):
    model, tokens = case
    new = layer_to_rms(model)
    assert new.config.norm == "rms"
    assert_same_function(new, model, tokens)


@given(models_and_tokens(norm="layer", place="post"))
def test_layer_to_rms_with_post_norm_where_it_can_be(case):
    model, tokens = case
    good = centred_stream(store_positions(model))
    assert_same_function(layer_to_rms(good), good, tokens)


def test_layer_to_rms_with_post_norm_is_refused_elsewhere():
    model = random_model(Config(vocab=4, block=3, d_model=5, layers=1, heads=1, d_head=2, place="post"))
    with pytest.raises(HandloomError, match="layer_to_rms: with post layer norm the embeddings"):
        layer_to_rms(model)


@given(models_and_tokens(place="pre"), st.integers(0, 99))
@settings(max_examples=60)
def test_rotate(case, seed):
    """Chapter 1, exercise 8: under no norm and RMS norm for any rotation, under layer norm for those that keep ones."""
    model, tokens = case
    M = random_rotation(model.config.d_model, seed, keep_ones=model.config.norm == "layer")
    new = rotate(model, M)
    if model.config.positions != "sinusoid":
        assert_close(new.params["W_E"], model.params["W_E"] @ M, 1e-12)
    assert_same_function(new, model, tokens)
    for site in ("resid_final", *(f"{i}.resid_post" for i in range(model.config.layers))):
        before, after = (trace(m, tokens, want=site)[site] for m in (model, new))
        assert_close(after, before @ M, TOLERANCE)


@given(models_and_tokens(norm="layer", place="pre"), st.integers(0, 99))
def test_rotate_by_any_matrix_under_layer_norm_by_way_of_rms(case, seed):
    model, tokens = case
    new = rotate(layer_to_rms(model), random_rotation(model.config.d_model, seed))
    assert_same_function(new, model, tokens)


@given(models_and_tokens(place="post"), st.integers(0, 99))
def test_rotate_with_post_norm_and_equal_gains(case, seed):
    model, tokens = case
    model = model.with_(params={n: np.full_like(a, 0.7) if n.endswith(".w") else a for n, a in model.flat.items()})
    M = random_rotation(model.config.d_model, seed, keep_ones=model.config.norm == "layer")
    assert_same_function(rotate(model, M), model, tokens)


def test_rotate_is_refused_where_it_would_not_be_exact():
    model = random_model(Config(vocab=4, block=3, d_model=5, layers=1, heads=1, d_head=2))
    with pytest.raises(HandloomError, match="M must be an orthogonal matrix of 5 by 5"):
        rotate(model, 2 * np.eye(5))
    with pytest.raises(HandloomError, match="layer norm subtracts the mean, and M turns the direction of the mean"):
        rotate(model, random_rotation(5, 0))
    post = random_model(with_config(model, norm="rms", place="post"))
    with pytest.raises(HandloomError, match="post-norm gains act on the residual stream"):
        rotate(post, random_rotation(5, 0))


def test_a_rotation_that_moves_the_mean_really_would_change_the_function():
    """The refusal is not caution: with layer norm kept, the logits differ."""
    config = Config(vocab=4, block=3, d_model=5, biases=())
    model = Model(config, params.random(config, seed=0, scale=1.0), Vocab.numbers(4))
    M = random_rotation(5, 0)
    turned = model.with_(params=model.flat | {name: model.flat[name] @ M for name in ("W_E", "W_pos")})
    assert np.abs(logits(turned, [1, 2]) - logits(model, [1, 2])).max() > 0.1


@pytest.mark.parametrize("width", [1, 2, 7])
def test_random_rotations_are_orthogonal_and_keep_ones_when_asked(width):
    for keep in (False, True):
        M = random_rotation(width, 3, keep_ones=keep)
        assert_close(M @ M.T, np.eye(width), 1e-12)
        if keep:
            assert_close(np.ones(width) @ M, np.ones(width), 1e-12)


@given(models_and_tokens(place="pre"), st.integers(0, 5), st.integers(0, 2), st.integers(0, 3), st.integers(0, 4))
@settings(max_examples=80)
def test_pad(case, wider, heads, d_head, d_ff):
    model, tokens = case
    c = model.config
    sizes = {
        "d_model": c.d_model + wider,
        "heads": c.heads + heads,
        "d_head": c.d_head + 2 * d_head,
        "d_ff": c.d_ff + d_ff,
    }
    new = pad(model, **sizes)
    assert {name: getattr(new.config, name) for name in sizes} == sizes
    assert_same_function(new, model, tokens)
    if wider:
        assert np.all(trace(new, tokens, want="resid_final")["resid_final"][:, c.d_model :] == 0)


@given(models_and_tokens(place="post"), st.integers(0, 5), st.integers(0, 3))
@settings(max_examples=40)
def test_pad_with_post_norm_where_it_can_be(case, wider, d_head):
    model, tokens = case
    if model.config.norm == "layer":
        model = centred_stream(store_positions(model))
    new = pad(model, d_model=model.config.d_model + wider, d_head=model.config.d_head + 2 * d_head)
    assert_same_function(new, model, tokens)


def test_heads_that_share_keys_and_values_get_more_in_whole_groups_or_are_ungrouped():
    model = random_model(Config(vocab=4, block=3, d_model=5, layers=2, heads=4, d_head=2, kv_heads=2))
    for heads, groups in ((6, 3), (7, 0)):
        new = pad(model, heads=heads)
        assert (new.config.heads, new.config.kv_heads) == (heads, groups)
        assert_same_function(new, model, [1, 2, 3])


def test_pad_is_refused_where_it_would_not_be_exact():
    config = Config(vocab=4, block=3, d_model=5, layers=1, heads=1, d_head=2, place="post")
    with pytest.raises(HandloomError, match="pad: with post layer norm the embeddings"):
        pad(random_model(config), d_model=7)
    with pytest.raises(HandloomError, match="pad: with post norm, layers of d_ff=0 have no norm there"):
        pad(random_model(config), d_ff=3)
    with pytest.raises(HandloomError, match="pad: heads=0 is less than the existing 1"):
        pad(random_model(config), heads=0)


@given(models_and_tokens(layers=2, heads=4, d_ff=8), st.permutations(range(4)), st.permutations(range(8)))
@settings(max_examples=40)
def test_permute_heads_and_neurons(case, heads, neurons):
    model, tokens = case
    new = permute_neurons(permute_heads(model, 1, heads), 0, neurons)
    assert_same_function(new, model, tokens)
    before, after = (trace(m, tokens, want=["1.z", "0.mlp_post"]) for m in (model, new))
    assert_close(after["1.z"], before["1.z"][list(heads)], TOLERANCE)
    order = np.add.outer(8 * np.arange(model.config.experts or 1), neurons).ravel()  # in each expert
    assert_close(after["0.mlp_post"], before["0.mlp_post"][:, order], TOLERANCE)


@given(models_and_tokens(d_model=7), st.permutations(range(7)))
@settings(max_examples=40)
def test_permute_stream_keeps_the_function_and_permutes_what_is_written(case, order):
    model, tokens = case
    new = permute_stream(model, order)
    assert_same_function(new, model, tokens)
    before, after = (trace(m, tokens, want="resid_final")["resid_final"] for m in (model, new))
    assert_close(after, before[:, list(order)], TOLERANCE)


@given(models_and_tokens(layers=2, heads=4, d_ff=8), st.integers(0, 99))
@settings(max_examples=40)
def test_shuffle_keeps_the_function(case, seed):
    model, tokens = case
    new = shuffle(model, seed)
    assert new.config.kv_heads == model.config.kv_heads
    assert_same_function(new, model, tokens)


def test_orders_that_are_none_are_refused():
    model = random_model(Config(vocab=4, block=3, d_model=5, layers=1, heads=2, d_head=2))
    with pytest.raises(HandloomError, match="there is no layer 1"):
        permute_heads(model, 1, [0, 1])
    with pytest.raises(HandloomError, match="the order must name each of 0 to 1 once"):
        permute_heads(model, 0, [0, 0])
    with pytest.raises(HandloomError, match="the order must name each of 0 to 4 once"):
        permute_stream(model, [0, 1, 2])


@given(models_and_tokens(), st.data())
@settings(max_examples=80)
def test_drop_unused(case, data):
    """Heads and neurons are switched off at random, on either side; what is left is no more than is needed."""
    model, tokens = case
    c = model.config
    flat = {name: array.copy() for name, array in model.flat.items()}
    used_heads, used_neurons = [], []
    for i in range(c.layers):
        off = data.draw(st.sets(st.integers(0, c.groups - 1))) if c.heads else set()
        for g in off:
            if data.draw(st.booleans()):
                flat[f"layers.{i}.W_O"][g * c.per_group : (g + 1) * c.per_group] = 0.0
            else:
                for name in ("W_V", "b_V"):
                    flat.get(f"layers.{i}.{name}", np.zeros(c.groups))[g] = 0.0
        silent = data.draw(st.sets(st.integers(0, c.d_ff - 1))) if c.d_ff else set()
        for f in silent:
            side = data.draw(st.sampled_from(["out", "in", *["gate"] * c.gated]))
            if side == "out":
                flat[f"layers.{i}.W_out"][..., f, :] = 0.0
            else:
                flat[f"layers.{i}.W_{side}"][..., f] = 0.0
                flat.get(f"layers.{i}.b_{side}", np.zeros(c.d_ff))[..., f] = 0.0
        used_heads.append(c.heads - len(off) * c.per_group)
        used_neurons.append(c.d_ff - len(silent))
    model = model.with_(params=flat)
    new = drop_unused(model)
    assert_same_function(new, model, tokens)
    normed = c.place == "post" and c.norm != "none"
    if c.layers:
        assert new.config.heads == max([*used_heads, (normed or "attn" not in c.skips) * min(c.per_group, c.heads)])
        assert new.config.d_ff == max([*used_neurons, min(normed or "mlp" not in c.skips, c.d_ff)])


@given(models_and_tokens(norm="rms"))
def test_rms_to_layer(case):
    model, tokens = case
    new = rms_to_layer(model)
    assert (new.config.norm, new.config.d_model) == ("layer", 2 * model.config.d_model)
    assert_same_function(new, model, tokens)


@given(models_and_tokens(norm="none", skips=("attn", "mlp")))
def test_none_to_layer(case):
    model, tokens = case
    want = [site for site in sites(model.config) if site.endswith(("resid_pre", "resid_mid", "resid_final"))]
    longest = max(np.linalg.norm(x, axis=-1).max() for x in trace(model, tokens, want=want).values())
    new = none_to_layer(model, longest)
    assert new.config.norm == "layer"
    assert_close(logits(new, tokens), logits(model, tokens), 1e-6)


@given(models_and_tokens(norm="layer", place="pre"), st.integers(0, 5))
def test_pad_with_mean_changes_no_number_and_keeps_ties(case, wider):
    model, tokens = case
    new = pad_with_mean(model, model.config.d_model + wider)
    assert new.config.tied == model.config.tied
    assert np.array_equal(new.params["W_E"][:, : model.config.d_model], model.params["W_E"])
    assert_same_function(new, model, tokens)


@given(models_and_tokens(norm="layer", place="pre", biases=("unembed",)))
def test_fold_unembed_bias(case):
    model, tokens = case
    new = fold_unembed_bias(model)
    assert "unembed" not in new.config.biases
    assert_same_function(new, model, tokens)


@given(models_and_tokens(positions="none", place="pre", skips=("attn", "mlp")), st.integers(0, 2))
def test_positions_and_layers_of_zeros(case, layers):
    model, tokens = case
    new = pad(add_positions(model), layers=model.config.layers + layers)
    assert (new.config.positions, new.config.layers) == ("table", model.config.layers + layers)
    assert_same_function(new, model, tokens)


def test_norms_that_are_not_the_ones_to_change_are_refused():
    model = random_model(Config(vocab=4, block=3, d_model=5, layers=1, place="post"))
    for change, complaint in (
        (rms_to_layer, "rms_to_layer: norm='layer' is not RMS norm"),
        (lambda m: none_to_layer(m, 1.0), "none_to_layer: the model has norm='layer'"),
        (lambda m: pad_with_mean(m, 7), "pad_with_mean: post norm 'layer'"),
        (lambda m: pad(m, layers=2), "pad: with post norm, a layer of zeros still has norms"),
    ):
        with pytest.raises(HandloomError, match=complaint):
            change(model)
    no_skips = random_model(Config(vocab=4, block=3, d_model=5, layers=1, heads=1, d_head=2, norm="none", skips=()))
    for change, complaint in (
        (lambda m: none_to_layer(m, 1.0), "none_to_layer: without skips the stream loses what pins the norms"),
        (lambda m: pad(m, layers=2), "pad: without skips a layer of zeros replaces the stream"),
    ):
        with pytest.raises(HandloomError, match=complaint):
            change(no_skips)
    with pytest.raises(HandloomError, match="longest=-1 must be a finite number"):
        none_to_layer(random_model(Config(vocab=4, block=3, d_model=5, norm="none")), -1)


def test_padding_and_dropping_undo_each_other():
    model = random_model(Config(vocab=4, block=3, d_model=5, layers=2, heads=2, d_head=2, d_ff=3))
    again = drop_unused(pad(model, heads=5, d_ff=9))
    assert again.config == model.config
    assert all(np.array_equal(again.flat[name], array) for name, array in model.flat.items())


@st.composite
def pairs(draw, **fixed):
    """Two models that fit together and differ in their sizes, biases, tying and weights."""
    first = draw(models(**fixed))
    c = first.config
    sizes = {
        "layers": draw(st.integers(0, 2)),
        "biases": tuple(draw(st.sets(st.sampled_from(["attn", "mlp", "norm", "unembed"])))),
    }
    if not (c.place == "post" and c.norm != "none") and len(c.skips) == 2:
        sizes |= {"heads": draw(st.integers(0, 4)), "d_ff": draw(st.sampled_from([2, 9] if c.experts else [0, 2, 9]))}
    sizes["kv_heads"] = draw(kv_heads(sizes.get("heads", c.heads)))
    if c.positions != "rotary":
        sizes |= {"d_head": draw(st.integers(1, 4)), "tied": draw(st.booleans())}
    second = random_model(with_config(first, **sizes), seed=draw(st.integers(0, 99)))
    tokens = draw(st.lists(st.integers(0, c.vocab - 1), min_size=1, max_size=c.block))
    return first, second, tokens


@given(pairs())
@settings(max_examples=80)
def test_stack_runs_one_model_on_the_residual_stream_of_the_other(case):
    first, second, tokens = case
    left = trace(first, tokens, want="resid_final")["resid_final"]
    start = "0.resid_pre" if second.config.layers else "resid_final"
    expected, _ = reference.forward(second, tokens, edits={start: left})
    both = stack(first, second)
    assert both.config.layers == first.config.layers + second.config.layers
    assert_close(logits(both, tokens), expected, TOLERANCE)


@given(pairs(norm="none", place="pre", experts=0), st.integers(2, 7))
@settings(max_examples=60)
def test_beside_adds_the_logits_of_two_models(case, width):
    first, second, tokens = case
    second = random_model(with_config(second, d_model=width, layers=first.config.layers), seed=5)
    both = beside(first, second)
    assert both.config.d_model == first.config.d_model + width
    assert_close(logits(both, tokens), logits(first, tokens) + logits(second, tokens), TOLERANCE)


def test_models_that_do_not_fit_are_refused():
    config = Config(vocab=4, block=3, d_model=5)
    model = random_model(config)
    for fields, complaint in (
        ({"vocab": 5}, "different vocabularies"),
        ({"d_model": 6}, "the two models differ in d_model: 5 and 6"),
        ({"norm": "rms"}, "the two models differ in norm: 'layer' and 'rms'"),
        ({"positions": "rotary"}, "the two models differ in positions"),
    ):
        with pytest.raises(HandloomError, match=complaint):
            stack(model, random_model(with_config(model, **fields)))
    with pytest.raises(HandloomError, match="beside: a norm over both streams would mix them"):
        beside(model, model)
    mixture = random_model(Config(vocab=4, block=3, d_model=5, layers=1, d_ff=2, experts=2, norm="none"))
    with pytest.raises(HandloomError, match="beside: the gates of two mixtures of experts cannot become one"):
        beside(mixture, mixture)
    with pytest.raises(HandloomError, match="the two models differ in top: 2 and 1"):
        stack(mixture, random_model(with_config(mixture, top=1)))


CHANGES = {
    "store_positions": store_positions,
    "untie": untie,
    "add_biases": lambda m: add_biases(m, "attn", "mlp", "norm", "unembed"),
    "fold_norms": fold_norms,
    "centre": centre,
    "layer_to_rms": layer_to_rms,
    "rotate": lambda m: rotate(m, random_rotation(m.config.d_model, 0, keep_ones=True)),
    "pad": lambda m: pad(m, d_model=9, heads=4, d_head=6, d_ff=9),
    "permute_stream": lambda m: permute_stream(m, [3, 1, 0, 4, 2]),
    "permute_heads": lambda m: permute_heads(m, 0, [1, 0]),
    "permute_neurons": lambda m: permute_neurons(m, 0, [2, 0, 1]),
    "shuffle": lambda m: shuffle(m, seed=1),
    "drop_unused": drop_unused,
    "stack": lambda m: stack(m, m),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("positions", ["table", "sinusoid", "rotary"])
def test_changes_keep_float32_and_say_so_in_the_notes(name, positions):
    config = Config(vocab=4, block=3, d_model=5, layers=1, heads=2, d_head=2, d_ff=3, positions=positions)
    model = random_model(config).astype(np.float32)
    new = CHANGES[name](model)
    assert new.dtype == np.float32
    if name != "stack":
        assert_close(logits(new, [1, 2, 3]), logits(model, [1, 2, 3]), 1e-5)
    if new is not model and name != "stack":
        assert name in new.notes["changed"]


def test_a_float32_stream_of_mean_zero_is_seen_as_such():
    config = Config(vocab=4, block=3, d_model=5, layers=1, heads=2, d_head=2, d_ff=3, place="post")
    model = centred_stream(random_model(config)).astype(np.float32)
    assert layer_to_rms(model).config.norm == "rms"


def test_a_small_stream_is_not_taken_for_one_of_mean_zero():
    config = Config(vocab=4, block=3, d_model=5, layers=1, heads=2, d_head=2, d_ff=3, place="post", eps=1e-30)
    model = centred_stream(random_model(config))
    flat = model.flat | {"W_E": random_model(config, seed=1).params["W_E"] * 1e-13, "W_pos": np.zeros((3, 5))}
    with pytest.raises(HandloomError, match="must have mean zero"):
        layer_to_rms(model.with_(params=flat))


def test_a_matrix_that_is_almost_orthogonal_is_refused():
    model = random_model(Config(vocab=4, block=3, d_model=5, norm="rms"))
    with pytest.raises(HandloomError, match="must be an orthogonal matrix"):
        rotate(model, 1.000004 * random_rotation(5, 0))


def test_heads_without_width_in_a_model_without_layers_can_be_padded():
    model = random_model(Config(vocab=4, block=3, d_model=5, heads=2))
    assert_same_function(pad(model, d_head=4), model, [1, 2])


def test_rotary_heads_that_would_need_an_endless_base_are_refused():
    model = random_model(Config(vocab=4, block=3, d_model=5, layers=1, heads=1, d_head=2, positions="rotary"))
    with pytest.raises(HandloomError, match="rotary heads of 2 cannot become 256 wide"):
        pad(model, d_head=256)


@pytest.mark.parametrize("sizes", [{"d_model": "8"}, {"heads": 2.5}])
def test_sizes_that_are_none_are_refused(sizes):
    with pytest.raises(HandloomError, match="must be a whole number"):
        pad(random_model(Config(vocab=4, block=3, d_model=5)), **sizes)
