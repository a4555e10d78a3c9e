"""Options that are made from fields: each field has one, with its text and its default, and its value arrives."""

import json
import re
from dataclasses import fields
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

import handloom.learn.settings as learn_settings
from command import modules_after, output
from handloom.cli import app
from handloom.cli.options import shown
from handloom.core import Config
from handloom.discover.loop.plan import Plan
from handloom.learn.settings import KINDS, SIZES, options, options_of, setting

SETTINGS = {"learn": learn_settings.Settings, "discover": Plan}
OPTIONS = {"learn": [*options()], "discover": [*options_of(Plan)]}
BOTH = pytest.mark.parametrize("name", SETTINGS)


@cache
def command_of(name):
    """A command as it is when there are words to read."""
    group = get_command(app)
    parent = group.make_context("handloom", [name], resilient_parsing=True)
    return group.get_command(parent, name).make_context(name, [], parent=parent, resilient_parsing=True).command


def read(name, *words):
    """The values that a command is given for these words."""
    return command_of(name).make_context(name, ["x", *words]).params


@cache
def flags_of(name):
    """The flags of every parameter of a command, by the parameter's name."""
    return {one.name: one.opts for one in command_of(name).params}


@BOTH
def test_every_field_of_the_settings_has_exactly_one_option(name):
    flags, named = flags_of(name), [option.name for option in OPTIONS[name]]
    assert len(set(named)) == len(named)
    for field in fields(SETTINGS[name]):
        assert field.name in named
        assert len(flags[field.name]) == 1


def test_every_size_of_every_kind_of_model_has_exactly_one_option():
    named = {option.name for option in OPTIONS["learn"]}
    assert named >= SIZES - {"d_model"} | {"width"}
    assert set().union(*KINDS.values()) == SIZES


def test_the_sizes_of_a_transformer_are_those_of_a_config_and_have_its_defaults_or_makemores():
    defaults = {field.name: field.default for field in fields(Config) if field.name not in ("vocab", "block")}
    makemore = {"layers": 4, "heads": 4, "d_model": 64, "tied": False, "d_head": None, "d_ff": None}
    assert defaults | makemore == learn_settings.TRANSFORMER


@pytest.mark.parametrize("name", ["learn", "discover"])
def test_help_is_instant_and_loads_no_numpy(name):
    words = f"import sys; sys.argv = ['handloom', '{name}', '--help']"
    loaded = modules_after(f"{words}\nfrom handloom.cli import app\napp(standalone_mode=False)")
    assert "handloom.learn.settings" in loaded
    assert not {"numpy", "handloom.core"} & loaded


@BOTH
def test_every_field_says_what_it_is_and_where_it_is_listed(name):
    for field in fields(SETTINGS[name]):
        assert len(field.metadata["about"]) > 8, f"{field.name} has no help"
        assert field.metadata["group"] in ("Training", "Model", "Run", "Search")


def test_a_field_without_a_text_cannot_be_made():
    with pytest.raises(TypeError, match="about"):
        setting(3)


@BOTH
def test_the_help_shows_the_text_and_the_default_of_every_field(name, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    lines = {line.split()[1]: line for line in output(name, "--help", cwd=tmp_path).splitlines() if "│ --" in line}
    flags = flags_of(name)
    for option in OPTIONS[name]:
        line = lines[flags[option.name][0]]
        assert option.about[1:] in line
        if not isinstance(option.default, bool):
            assert re.search(r"\[([^]]*)\]\. ", line)[1] == (option.written or shown(option.default))
    for field in fields(SETTINGS[name]):
        option = next(option for option in OPTIONS[name] if option.name == field.name)
        assert option.default == field.default


NUMBERS = {int: st.integers(10, 10**9), float: st.floats(0, 1e300), str: st.text("abc_", min_size=1)}
PARTS = st.lists(st.sampled_from(["attn", "mlp"]))
TUPLES = {"betas": st.tuples(st.floats(0, 1), st.floats(0, 1)), "biases": PARTS, "skips": PARTS}


@st.composite
def words_and_values(draw, name):
    """Some options with values, as words of the command and as what a command should be given."""
    words, values = [], {}
    for option in draw(st.lists(st.sampled_from(OPTIONS[name]), unique=True)):
        (flag,) = flags_of(name)[option.name]
        if isinstance(option.default, bool):
            words.append(flag)
            values[option.name] = not option.default
        elif isinstance(option.default, tuple):
            value = tuple(draw(TUPLES[option.name]))
            words += [flag, ",".join(map(repr, value)).replace("'", "") or "none"]
            values[option.name] = value
        else:
            value = draw(NUMBERS[int if option.default is None else type(option.default)])
            words += [flag, str(value)]
            values[option.name] = value
    return words, values


@BOTH
@given(data=st.data())
def test_what_is_given_is_what_the_command_gets_and_nothing_else(name, data):
    words, values = data.draw(words_and_values(name))
    names = {option.name for option in OPTIONS[name]}
    got = {key: value for key, value in read(name, *words).items() if key in names}
    assert {key: value for key, value in got.items() if value is not None} == values


LEARN = """--steps 1 --batch 3 --rate 0.002 --schedule cosine --warmup 2 --decay 0.2 --betas 0.8,0.9 --clip 3
--dropout 0.1 --count 40 --fresh --patience 4 --until 0.9 --every 5 --samples 6 --keep 7 --seed 8 --lanes 2
--layers 1 --heads 2 --width 8 --d-head 4 --d-ff 5 --norm rms --place pre --eps 0.01 --activation relu
--positions rotary --rotary-base 50 --masked --tied --biases none --gated --kv-heads 1
--attention least-squares --ridge 2 --parallel --skips none"""
DISCOVER = """--seed 3 --no-model --proposals redrawn --tokens sparse --augment 2 --reward 1 --smaller 1 --learn 2
--samples 5 --temperature 0.5 --feedback 0.2 --layers 1 --heads 2 --width 8 --batch 4 --rate 0.01 --symmetry none
--attempts 5 --steps 50 --keep 20"""


def test_every_setting_given_to_learn_arrives_in_run_json(tmp_path):
    words = LEARN.split()
    output("learn", "s[1]==s[2]", *words, "--engine", "torch", "--out", "run", cwd=tmp_path)
    about = json.loads((tmp_path / "run/run.json").read_text())
    given = read("learn", *words)
    usual = learn_settings.Settings().to_json()
    for field in fields(learn_settings.Settings):
        if field.name not in ("lora", "fraction"):  # need a model to start from, and a task with few inputs
            assert about["settings"][field.name] == pytest.approx(given[field.name])
            assert about["settings"][field.name] != usual[field.name]
    config = about["network"]["config"]
    assert config["d_model"] == given["width"]
    for size in KINDS["transformer"] - {"d_model", "experts", "top"}:  # experts are not gated: the next test has them
        assert config[size] == (list(given[size]) if size in ("biases", "skips") else given[size])


EXPERTS = """--count 40 --steps 2 --samples 5 --every 1 --layers 1 --heads 1 --width 4 --experts 3 --top 1 --out run"""
ADAPTED = """--start run --lora 2 --steps 1 --count 40 --samples 0 --out b"""


def test_experts_arrive_in_run_json_and_the_model_trains_and_runs(tmp_path):
    output("learn", "s[1]==s[2]", *EXPERTS.split(), cwd=tmp_path)
    config = json.loads((tmp_path / "run/run.json").read_text())["network"]["config"]
    assert (config["experts"], config["top"]) == (3, 1)
    output("learn", "s[1]==s[2]", *ADAPTED.split(), cwd=tmp_path)
    told = output("info", "b", "--sites", cwd=tmp_path)
    assert "1 of 3 experts, each 4 → 16 → 4" in told
    assert "used per position" in told
    assert "0.gate" in told


def test_the_rank_of_lora_arrives_in_run_json(tmp_path):
    tiny = ["--count", 40, "--steps", 1, "--samples", 0, "--layers", 1, "--heads", 1, "--width", 4]
    output("learn", "s[1]==s[2]", *tiny, "--out", "a", cwd=tmp_path)
    words = ["--start", "a", "--lora", 2, "--steps", 1, "--count", 40, "--samples", 0, "--out", "b"]
    output("learn", "s[1]==s[2]", *words, cwd=tmp_path)
    assert json.loads((tmp_path / "b/run.json").read_text())["settings"]["lora"] == 2


def test_every_setting_given_to_discover_arrives_in_run_json(tmp_path):
    output("discover", "isosceles:n=4", *DISCOVER.split(), "--generations", 1, "--out", "run", cwd=tmp_path)
    settings = json.loads((tmp_path / "run/run.json").read_text())["settings"]
    given = read("discover", *DISCOVER.split())
    usual = Plan().to_json()
    for field in fields(Plan):
        assert settings[field.name] == given[field.name] != usual[field.name]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["learn", "parity", "--batch", "0"], "Invalid value for '--batch'"),
        (["learn", "parity", "--betas", "0.9,x"], "Invalid value for '--betas'"),
        (["learn", "parity", "--betas", "0.9"], "betas=(0.9,) must be two numbers"),
        (["learn", "parity", "--dropout", "1"], "dropout=1.0 must be a number from 0 to 0.99"),
        (["learn", "parity", "--rate", "nan"], "Invalid value for '--rate'"),
        (["learn", "parity", "--schedule", "x"], "schedule='x' must be one of constant, cosine, linear"),
        (["learn", "parity", "--count", "9"], "count=9 must be a whole number of at least 10"),
        (["discover", "isosceles:n=4", "--keep", "9"], "Invalid value for '--keep'"),
        (["discover", "--resume", "x", "--no-model"], "--no-model with --resume"),
        (["discover", "--resume", "x", "--batch", "8"], "--batch with --resume"),
    ],
)
def test_a_value_that_cannot_be_is_refused_in_one_line(tmp_path, words, complaint):
    said = output(*words, cwd=tmp_path, code=2)
    assert complaint in said
    assert said.count("\n") == 1
    assert not any(tmp_path.iterdir())
