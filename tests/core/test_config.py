"""Configs: what can be said, what is refused, and how."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draws import configs
from handloom.core import Config, HandloomError, params

GOOD = {"vocab": 5, "block": 4, "d_model": 6, "layers": 2, "heads": 2, "d_head": 4, "d_ff": 8}

IMPOSSIBLE = [
    ({"vocab": 0}, "vocab=0 must be a whole number of at least 1"),
    ({"block": -3}, "block=-3 must be a whole number of at least 1"),
    ({"d_model": 2.0}, "d_model=2.0 must be a whole number"),
    ({"layers": True}, "layers=True must be a whole number"),
    ({"heads": "4"}, "heads='4' must be a whole number"),
    ({"d_ff": None}, "d_ff=None must be a whole number"),
    ({"d_head": 0}, "2 heads with d_head=0 cannot attend"),
    ({"norm": "batch"}, "norm='batch' must be one of 'layer', 'rms', 'none'"),
    ({"place": "middle"}, "place='middle' must be one of 'pre', 'post'"),
    ({"activation": "tanh"}, "activation='tanh' must be one of 'relu', 'gelu', 'gelu_tanh', 'silu', 'none'"),
    ({"positions": ["table"]}, "positions=.* must be one of 'table', 'sinusoid', 'rotary', 'none'"),
    ({"positions": "rotary", "d_head": 3}, "d_head=3 is odd"),
    ({"eps": -1e-5}, "eps=-1e-05 must be a finite number, 0 or more"),
    ({"eps": math.nan}, "eps=nan must be a finite number"),
    ({"eps": 10**400}, "eps=1000.* must be a finite number"),
    ({"rotary_base": 0}, "rotary_base=0 must be above 0"),
    ({"causal": 1}, "causal=1 must be one of True, False"),
    ({"tied": "yes"}, "tied='yes' must be one of True, False"),
    ({"gated": 1}, "gated=1 must be one of True, False"),
    ({"kv_heads": -1}, "kv_heads=-1 must be a whole number of at least 0"),
    ({"heads": 4, "kv_heads": 3}, "kv_heads=3 must be a divisor of heads=4, or 0"),
    ({"kv_heads": 4}, "kv_heads=4 must be a divisor of heads=2, or 0"),
    ({"heads": 0, "kv_heads": 1}, "kv_heads=1 must be a divisor of heads=0, or 0"),
    ({"attention": "sparse"}, "attention='sparse' must be one of 'softmax', 'linear', 'least-squares', 'hard'"),
    ({"ridge": -1}, "ridge=-1 must be a finite number, 0 or more"),
    ({"attention": "least-squares", "ridge": 0}, "ridge=0 .expected above 0"),
    ({"parallel": 1}, "parallel=1 must be one of True, False"),
    ({"parallel": True, "place": "post"}, "parallel sublayers have one norm before them and one skip"),
    ({"parallel": True, "skips": ("mlp",)}, "parallel sublayers have one norm before them and one skip"),
    ({"experts": -1}, "experts=-1 must be a whole number of at least 0"),
    ({"experts": 2, "d_ff": 0}, "2 experts with d_ff=0 have no neurons: set d_ff to 1 or more"),
    ({"experts": 2, "d_ff": 3, "top": 3}, "top=3 .expected 1 to 2, the number of experts.; reduce it"),
    ({"experts": 2, "d_ff": 3, "top": 0}, "top=0 must be a whole number of at least 1"),
    ({"experts": 2, "d_ff": 3, "gated": True}, "gated experts .expected experts or gated."),
    ({"skips": ("norm",)}, "skips=.* must be some of 'attn', 'mlp'; \\(\\) for none"),
    ({"biases": True}, "biases=True must be some of 'attn', 'mlp', 'norm', 'unembed'; \\(\\) for none"),
    ({"biases": ("attn", "query")}, "biases=.* must be some of"),
]


@pytest.mark.parametrize(("fields", "complaint"), IMPOSSIBLE, ids=lambda x: str(x)[:40])
def test_an_impossible_config_is_refused_in_one_line(fields, complaint):
    with pytest.raises(HandloomError, match=complaint) as refusal:
        Config(**GOOD | fields)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 200


def test_a_number_too_long_to_print_is_refused_in_one_line_too():
    with pytest.raises(HandloomError, match="vocab=a very large int must be"):
        Config(**GOOD | {"vocab": -(10**5000)})


def test_numpys_numbers_are_numbers():
    config = Config(vocab=np.int64(5), block=np.uint8(4), d_model=6, eps=np.float32(0.5), biases=["mlp"])
    assert config == Config(vocab=5, block=4, d_model=6, eps=0.5, biases=("mlp",))
    assert type(config.vocab) is int
    assert json.dumps(config.to_json())


def test_a_sublayer_that_is_not_there_replaces_nothing():
    """So that a layer without heads, or without neurons, leaves the stream to the other sublayer."""
    assert Config(**GOOD | {"heads": 0, "skips": ()}).skips == ("attn",)
    assert Config(**GOOD | {"d_ff": 0, "skips": ("attn",)}).skips == ("attn", "mlp")
    assert Config(**GOOD | {"d_ff": 0, "skips": (), "parallel": True}).skips == ()


def test_how_many_experts_are_used_means_nothing_without_experts():
    assert Config(**GOOD, top=5) == Config(**GOOD)
    assert "top" not in Config(**GOOD, top=5).to_json()
    fields = GOOD | {"d_ff": 3, "experts": 4}
    assert Config(**fields, top=1) != Config(**fields)
    assert Config(**fields).neurons == 12


@given(configs())
def test_json_gives_the_same_config_back(config):
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config


@given(
    st.dictionaries(
        st.sampled_from([f.name for f in dataclasses.fields(Config)]),
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text())),
    )
)
def test_any_json_gives_a_config_or_one_line(values):
    try:
        config = Config.from_json(values)
    except HandloomError as error:
        assert "\n" not in str(error).replace("\\n", "")
    else:
        assert Config.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([1], "expected an object of fields, not list"),
        ({"vocab": 1, "block": 1}, "d_model is missing"),
        (
            {"vocab": 1, "block": 1, "d_model": 1, "d_modle": 2},
            "no field 'd_modle'; the fields are activation, attention",
        ),
    ],
)
def test_json_of_something_else_is_refused(values, complaint):
    with pytest.raises(HandloomError, match=complaint):
        Config.from_json(values)


def test_missing_fields_take_their_defaults():
    assert Config.from_json({"vocab": 3, "block": 2, "d_model": 4}) == Config(vocab=3, block=2, d_model=4)


def test_a_config_without_the_later_fields_is_written_as_it_was_before_they_came():
    assert not {"gated", "kv_heads"} & set(Config(**GOOD).to_json())
    written = Config(**GOOD | {"heads": 4, "d_head": 2, "gated": True, "kv_heads": 2}).to_json()
    assert (written["gated"], written["kv_heads"]) == (True, 2)


def test_as_many_heads_with_keys_and_values_as_heads_is_the_default():
    fields = GOOD | {"heads": 4, "d_head": 2}
    assert Config(**fields, kv_heads=4) == Config(**fields)
    assert (Config(**fields).groups, Config(**fields).per_group) == (4, 1)
    assert (Config(**fields, kv_heads=2).groups, Config(**fields, kv_heads=2).per_group) == (2, 2)


def test_repr_shows_what_differs_from_the_defaults_and_can_be_read_back():
    config = Config(**GOOD, norm="rms", biases=("mlp",))
    assert eval(repr(config), {"Config": Config}) == config
    assert "tied" not in repr(config)


def test_biases_compare_equal_in_any_order():
    assert Config(**GOOD, biases=("mlp", "attn", "mlp")) == Config(**GOOD, biases=("attn", "mlp"))


def test_a_config_does_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config(**GOOD).vocab = 3


@given(configs())
def test_params_have_the_shapes_of_the_config_flat_or_nested(config):
    flat = params.flatten(params.zeros(config))
    assert {name: array.shape for name, array in flat.items()} == dict(params.shapes(config))
    again = params.flatten(params.unflatten(config, flat))
    assert again.keys() == flat.keys()
    assert params.flatten(flat).keys() == flat.keys()


def test_a_sublayer_without_heads_or_neurons_has_no_norm():
    config = Config(vocab=3, block=2, d_model=4, layers=1, heads=1, d_head=2)
    names = set(dict(params.shapes(config)))
    assert "layers.0.ln1.w" in names
    assert "layers.0.ln2.w" not in names
    assert "layers.0.b_out" in names
