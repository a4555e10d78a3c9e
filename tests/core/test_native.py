"""The native engine: when it is used, when not and why, which build, and runs that change engines."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command import COMMAND, handloom, modules_after
from handloom.core import Config, HandloomError, Model, Vocab, generate, native
from handloom.core import params as parameters
from handloom.core.engines import fastest
from handloom.core.native.library import BUILDS, MISSING, builds, reason_missing
from handloom.learn import resume, train
from handloom.learn.api import prepare

pytestmark = pytest.mark.skipif(native.library() is None, reason=reason_missing())

RULE = "strings:rule=s[2]==s[5],length=6-9"
SMALL = {"layers": 2, "heads": 2, "d_model": 16, "count": 200, "samples": 20}


def model_of(config):
    weights = {name: a.astype(np.float32) for name, a in parameters.flatten(parameters.random(config, 0, 0.3)).items()}
    return Model(config, weights, Vocab.numbers(config.vocab))


def test_a_run_resumes_on_the_other_engine(tmp_path):
    """With AdamW's moments: the next step is the one that the other engine would have taken."""
    for first, second in (("native", "torch"), ("torch", "native")):
        path = tmp_path / first
        train(RULE, folder=path, steps=20, every=10, engine=first, **SMALL)
        other = resume(path, steps=40, engine=second)
        assert json.loads((path / "run.json").read_text())["engine"] == second
        whole = train(RULE, steps=40, every=10, engine=first, **SMALL)
        for name, array in whole.trainer.arrays().items():
            if not name.endswith("b_K"):
                np.testing.assert_allclose(other.trainer.arrays()[name], array, rtol=0, atol=2e-4)


def test_a_resumed_run_ends_as_if_never_stopped(tmp_path):
    train(RULE, folder=tmp_path / "a", steps=20, every=10, **SMALL)
    more = resume(tmp_path / "a", steps=30)
    whole = train(RULE, steps=30, every=10, **SMALL)
    assert more.choice.name == whole.choice.name == "native"
    assert all((more.trainer.arrays()[n] == a).all() for n, a in whole.trainer.arrays().items())
    assert all((more.trainer.moments()[n] == a).all() for n, a in whole.trainer.moments().items())


def test_progress_is_reported_and_can_stop_decoding():
    config = Config(vocab=9, block=300, d_model=64, layers=2, heads=4, d_head=16, d_ff=64)
    model, seen = model_of(config), []
    generate(model, [[1]] * 50, steps=100, engine="native", progress=lambda done, most: seen.append((done, most)))
    assert seen[-1] == (5000, 5000)

    def enough(done, most):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(model, [[1]] * 5000, steps=5000, engine="native", progress=enough)


# which engine, and why


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"dropout": 0.1}, "it has no dropout"),
        ({"positions": "rotary"}, "it has no rotary positions"),
        ({"causal": False}, "it runs causal models only"),
        ({"gated": True}, "it has no gated MLPs"),
        ({"experts": 2}, "it has no mixtures of experts"),
        ({"kv_heads": 1}, "its heads do not share keys and values"),
        ({"attention": "least-squares"}, "it has no least-squares attention"),
        ({"parallel": True}, "its sublayers are one after the other and all have skips"),
        ({"skips": ("mlp",)}, "its sublayers are one after the other and all have skips"),
        ({"kind": "bow"}, "has frozen ones"),
        ({"kind": "gru"}, "it trains transformers only"),
    ],
    ids=str,
)
def test_torch_trains_what_it_cannot_and_the_reason_is_given(choices, reason):
    sizes = {} if "kind" in choices else {"layers": 1, "heads": 2, "d_model": 8}
    training = prepare(RULE, count=50, **sizes, **choices)
    assert training.choice.name == "torch"
    assert reason in str(training.choice)
    with pytest.raises(HandloomError, match=r"the native engine cannot train this: .*; use torch, or auto"):
        prepare(RULE, count=50, engine="native", **sizes, **choices)


def test_torch_trains_lora():
    start = train(RULE, steps=1, **SMALL).model()
    assert "it has no LoRA" in str(prepare(RULE, start=start, lora=2, count=50).choice)


def test_an_unknown_engine():
    with pytest.raises(HandloomError, match=r"no engine 'fast' for training .expected one of auto, native, torch"):
        prepare(RULE, count=50, engine="fast")
    with pytest.raises(HandloomError, match="no engine 'fast'"):
        generate(model_of(Config(vocab=3, block=4, d_model=2)), [[1]], engine="fast")


def test_where_it_was_not_built_torch_is_used_and_the_reason_is_given(monkeypatch):
    monkeypatch.setattr(native, "library", lambda: None)
    training = prepare(RULE, **SMALL)
    assert str(training.choice) == f"torch (native is not used: {MISSING})"
    model = model_of(Config(vocab=3, block=4, d_model=2))
    assert fastest(model) == "torch"
    with pytest.raises(HandloomError, match="not built when handloom was installed"):
        generate(model, [[1]], engine="native")


def test_auto_chooses_it_where_it_can_run():
    config = Config(vocab=3, block=4, d_model=2)
    assert fastest(model_of(config)) == "native"
    assert fastest(model_of(config), {"embed": 0.0}) == "torch"
    assert fastest(model_of(config).astype(np.float64)) == "torch"
    assert fastest(model_of(Config(vocab=3, block=4, d_model=2, causal=False))) == "torch"
    assert prepare(RULE, **SMALL).choice.name == "native"


def test_rows_in_any_order_of_memory_have_the_same_logits():
    """Rows that are no plain block of memory are copied; the copy must live as long as the engine reads it."""
    config = Config(vocab=5, block=64, d_model=4)
    model = Model(config, parameters.random(config, seed=0), Vocab.numbers(5)).astype(np.float32)
    rows = np.random.default_rng(0).integers(0, 5, (20_000, 64))
    assert np.array_equal(native.forward(model, np.asfortranarray(rows))[0], native.forward(model, rows)[0])


def test_it_refuses_sites_and_edits():
    model = model_of(Config(vocab=3, block=4, d_model=2))
    with pytest.raises(HandloomError, match="records no sites"):
        native.forward(model, [1], want="*")
    with pytest.raises(HandloomError, match="takes no edits"):
        generate(model, [[1]], engine="native", edits={"embed": 0.0})


def without_torch(*words, cwd):
    """What the command does in a new process in which torch cannot be imported."""
    code = "import sys; sys.modules['torch'] = None\n" + COMMAND.format(words=", ".join(map(repr, words)))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, check=False)


def test_learning_and_sampling_need_no_torch(tmp_path):
    learn = ["learn", "s[2]==s[5]", "--steps", "3", "--count", "50"]
    done = without_torch(*learn, "--out", "run", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["engine"] == "native", done.stderr
    done = without_torch("sample", "run", "-n", "7", "--json", cwd=tmp_path)
    assert len(json.loads(done.stdout)["samples"]) == 7, done.stderr
    done = without_torch(*learn, "--dropout", "0.1", cwd=tmp_path)
    assert "training needs torch, which is not installed" in done.stderr
    assert "it has no dropout" in done.stderr


def test_torch_is_not_loaded_where_it_is_not_needed(tmp_path):
    words = f"'learn', 's[2]==s[5]', '--steps', '3', '--count', '50', '--out', '{tmp_path / 'run'}'"
    assert "torch" not in modules_after(COMMAND.format(words=words))
    assert "torch" not in modules_after("import handloom.core.native as native; native.library()")


def test_the_commands_say_which_engine_runs(tmp_path):
    common = ["learn", "s[2]==s[5]", "--steps", "3", "--count", "50", "--layers", "1"]
    for more, expected in (
        ([], "engine: native (vectors of"),
        (["--engine", "torch"], "engine: torch\n"),
        (["--dropout", "0.1"], "engine: torch (native is not used: it has no dropout)"),
    ):
        done = handloom(*common, *more, cwd=tmp_path)
        assert done.returncode == 0
        assert expected in done.stderr


def test_the_sources_are_installed_beside_it():
    """So that a built package has them too."""
    names = {path.name for path in Path(native.__file__).parent.iterdir()}
    assert {"engine.cpp", "products.h", "vectors.h"} <= names


def test_the_environment_chooses_a_build(monkeypatch):
    for build in builds():
        monkeypatch.setenv("HANDLOOM_NATIVE", build)
        assert native.library().path.name.startswith(f"_{build}.")
    monkeypatch.setenv("HANDLOOM_NATIVE", "")
    assert native.library().path.name.startswith(f"_{builds()[-1]}.")


@pytest.mark.parametrize("build", ["sse9", *(build for build in BUILDS if build not in builds())])
def test_a_build_that_cannot_run_here_is_refused_in_one_line(build, monkeypatch, tmp_path):
    monkeypatch.setenv("HANDLOOM_NATIVE", build)
    done = handloom("learn", RULE, "--steps", "1", "--count", "50", cwd=tmp_path)
    assert done.returncode == 2
    expected = " or ".join(builds())
    assert done.stderr == (
        f"handloom: HANDLOOM_NATIVE='{build}': no build that this machine can run (expected {expected}); unset it\n"
    )
    assert not any(tmp_path.iterdir())
