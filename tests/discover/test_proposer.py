"""The model that learns from constructions: it learns, it goes on exactly, it keeps its deadline."""

import subprocess
import sys
import time

import numpy as np
import pytest

from handloom.cli import app
from handloom.core import HandloomError, load
from handloom.discover.model.codec import Tokens
from handloom.discover.model.proposer import LEARNT_AT_ONCE, Speaker, reward_weights, running_share
from handloom.discover.spaces import grid
from handloom.learn.batches import choose
from handloom.learn.settings import Settings

SPACE = grid(4, 4)
FEW = [(0, 5, 10, 15), (3, 6, 9, 12), (0, 3, 12, 15), (1, 7, 8, 14)]
CELLS = Tokens.of("cells", SPACE)
SPARSE = Tokens.of("sparse", SPACE)


def small(tokens=SPARSE, seed=0, **how):
    settings = Settings(seed=seed, rate=how.pop("rate", 3e-3), batch=how.pop("batch", 8))
    return Speaker.of(tokens, layers=1, heads=2, width=16, settings=settings, **how)


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in a) and a.keys() == b.keys()


@pytest.mark.parametrize("kind", ["cells", "sparse", "bpe"])
def test_what_was_learnt_from_few_constructions_is_said_again(kind):
    tokens = Tokens.of(kind, SPACE, FEW, pieces=8)
    strings, speaker = tokens.strings(FEW), small(tokens)
    first = speaker.train(strings, 10)
    last = speaker.train(strings, 400)
    assert last < first / 2
    said = [tokens.decode(ids).construction for ids in speaker.say(200, temperature=0.7)]
    assert len(said) == 200
    assert sum(construction in FEW for construction in said) > 180
    assert set(said) >= set(FEW)


def test_before_it_has_learnt_anything_it_says_something_that_can_be_decoded():
    speaker = small()
    said = speaker.say(50)
    assert all(1 <= len(ids) <= SPARSE.most - 1 for ids in said)
    assert all(SPARSE.decode(ids).construction is not None for ids in said)


def test_the_sizes_are_makemores_unless_told():
    config = Speaker.of(CELLS).model().config
    assert (config.layers, config.heads, config.d_model, config.d_ff) == (4, 4, 64, 256)
    assert config.block == CELLS.most - 1


def test_a_size_that_is_asked_for_first_is_the_one_that_is_said():
    tokens = Tokens.of("sparse", [grid(4, 4), grid(3, 3)])
    smaller = [(tokens.spaces[1], construction) for construction in [(0, 4, 8), (2, 4, 6), (0, 2, 6, 8)]]
    speaker = small(tokens)
    speaker.train(tokens.strings(FEW, smaller), 400)
    said = [tokens.decode(ids).construction for ids in speaker.say(100, 0.7)]
    assert sum(construction in FEW for construction in said) > 90


def test_smaller_sizes_among_cells_are_said_too_and_told_apart():
    tokens = Tokens.of("cells", [grid(4, 4), grid(2, 2)])
    speaker = small(tokens)
    speaker.train(tokens.strings(FEW[:2], [(tokens.spaces[1], (0, 3)), (tokens.spaces[1], (1, 2))]), 400)
    said = [tokens.decode(ids).construction for ids in speaker.say(100, 0.7)]
    assert 20 < said.count(None) < 80
    assert sum(construction in FEW[:2] for construction in said) > 20


def test_the_same_seed_gives_the_same_weights_and_samples_and_another_seed_others():
    strings = SPARSE.strings(FEW)
    one, again, other = small(), small(), small(seed=1)
    assert one.train(strings, 20) == again.train(strings, 20) != other.train(strings, 20)
    assert one.say(30, 1.0, seed=5) == again.say(30, 1.0, seed=5)
    assert one.say(30, 1.0, seed=5)[:10] == one.say(10, 1.0, seed=5)
    assert one.say(30, 1.0, seed=5) != one.say(30, 1.0, seed=6)


def test_samples_drawn_in_several_groups_are_not_the_same_group_again(monkeypatch):
    speaker = small()
    speaker.train(SPARSE.strings(FEW), 20)
    monkeypatch.setattr("handloom.discover.model.proposer.SAID_AT_ONCE", 60)
    said = speaker.say(30)
    assert len(said) == 30
    assert said[:7] == speaker.say(7)
    assert len({tuple(ids) for ids in said}) > 15  # each group has random numbers of its own


@pytest.mark.parametrize("engine", ["native", "torch"])
@pytest.mark.parametrize("weights", [None, [1.0, 0.0, 3.0, 2.0]])
def test_one_that_was_saved_and_loaded_goes_on_as_if_it_had_not_been(tmp_path, engine, weights):
    strings = SPARSE.strings(FEW)
    whole, part = small(engine=engine), small(engine=engine)
    whole.train(strings, 12, weights=weights)
    part.train(strings, 5, weights=weights)
    part.save(tmp_path)
    part.train(strings, 3)  # what is not saved is forgotten
    loaded = Speaker.load(tmp_path)
    assert (loaded.step, loaded.engine) == (5, engine)
    loaded.train(strings, 7, weights=weights)
    assert same(whole.trainer.arrays(), loaded.trainer.arrays())
    assert same(whole.trainer.moments(), loaded.trainer.moments())
    assert whole.say(20, seed=3) == loaded.say(20, seed=3)


def test_training_in_two_calls_is_training_in_one():
    strings = SPARSE.strings(FEW)
    one, two = small(), small()
    loss = one.train(strings, 9)
    losses = [two.train(strings, 4), two.train(strings, 5)]
    assert same(one.trainer.arrays(), two.trainer.arrays())
    assert one.step == two.step == 9
    assert loss == pytest.approx((4 * losses[0] + 5 * losses[1]) / 9)


def test_fine_tuning_on_other_constructions_goes_on_from_what_was_learnt():
    speaker, told = small(), []
    speaker.train(SPARSE.strings(FEW[:2]), 200)
    before = speaker.trainer.arrays()
    speaker.train(SPARSE.strings(FEW[2:]), 200, report=lambda step, loss: told.append((step, loss)))
    assert not same(before, speaker.trainer.arrays())
    assert [step for step, _ in told] == list(range(201, 401))
    assert told[-1][1] < told[0][1]
    said = [SPARSE.decode(ids).construction for ids in speaker.say(50, 0.5)]
    assert sum(construction in FEW[2:] for construction in said) > 40


def test_a_row_of_weight_0_is_never_drawn_and_others_by_their_weight():
    strings, weights = CELLS.strings(FEW), [0.0, 1.0, 3.0, 0.0]
    rows_of = small(CELLS, batch=100).batches(strings, weights)
    drawn = np.concatenate([rows_of(step)[0] for step in range(100)])
    counts = np.bincount(drawn, minlength=4)
    assert counts[0] == counts[3] == 0
    assert abs(counts[2] / 10_000 - 0.75) < 0.02  # the standard deviation is 0.0043


def test_a_row_of_weight_0_is_not_learnt():
    speaker = small()
    speaker.train(SPARSE.strings(FEW), 300, weights=[1, 0, 0, 1])
    said = [SPARSE.decode(ids).construction for ids in speaker.say(60, 0.5)]
    assert sum(construction in (FEW[0], FEW[3]) for construction in said) > 50


def test_without_weights_rows_are_drawn_as_learn_draws_them():
    strings = SPARSE.strings(FEW)
    rows, _ = small(seed=7).batches(strings, None)(11)
    assert rows.tolist() == choose(strings, 8, 7, 11)[0].tolist()


def test_a_uniform_number_never_falls_on_a_weight_of_0():
    passed = running_share([0.0, 1e-300, 0.0, 0.1, 0.2, 0.0], 6)
    numbers = np.array([0.0, 0.5, np.nextafter(1.0, 0.0)])
    assert passed[-1] == 1.0
    assert set(np.searchsorted(passed, numbers, side="right").tolist()) <= {1, 3, 4}


def test_long_strings_make_small_batches_so_that_a_step_is_over_soon():
    tokens = Tokens.of("cells", grid(50, 50))
    strings = tokens.strings([(0,), (1,)])
    rows, _ = small(tokens, batch=64).batches(strings, None)(0)
    assert len(rows) == LEARNT_AT_ONCE // (50 * 51 - 1 + 2)
    rows, _ = small(CELLS, batch=64).batches(CELLS.strings(FEW), None)(0)
    assert len(rows) == 64


def test_rewards_make_better_ones_count_more():
    assert reward_weights([1, 2, 3], 0.0).tolist() == [1.0, 1.0, 1.0]
    assert reward_weights([5, 5, 5], 2.0).tolist() == [1.0, 1.0, 1.0]
    weights = reward_weights([10, 20, 30, 40], 2.0)
    spread = np.std([10, 20, 30, 40])
    assert np.allclose(weights[1:] / weights[:-1], np.exp(2.0 * 10 / spread))
    assert np.allclose(reward_weights([1000, 2000, 3000, 4000], 2.0), weights)  # the scale does not matter
    assert reward_weights([-1e9, 0.0, 1e9], 1000.0).tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(HandloomError, match="sharpness=-1 must be a number of 0 or more"):
        reward_weights([1, 2], -1)


def test_training_ends_at_the_deadline():
    tokens = Tokens.of("cells", grid(20, 20))
    speaker = Speaker.of(tokens)
    strings = tokens.strings([(0, 21, 42), (5, 50, 77)])
    began = time.monotonic()
    assert speaker.train(strings, 10_000, deadline=began + 1.5) is not None
    assert time.monotonic() - began < 3.5
    step = speaker.step
    assert 0 < step < 10_000
    assert speaker.train(strings, 5, deadline=time.monotonic() - 1.0) is None
    assert speaker.step == step


def test_sampling_ends_at_the_deadline_also_within_a_group():
    tokens = Tokens.of("cells", grid(30, 30))
    speaker = Speaker.of(tokens)
    began = time.monotonic()
    said = speaker.say(1_000_000, deadline=began + 0.8)
    assert time.monotonic() - began < 2.8
    assert len(said) < 1_000_000
    assert speaker.say(10, deadline=began) == []


def test_a_sample_that_does_not_end_is_cut_soon_after_the_longest_that_was_learnt():
    tokens = Tokens.of("sparse", grid(20, 20))
    speaker = small(tokens)
    assert max(map(len, speaker.say(30))) > 100  # it knows of no end
    speaker.train(tokens.strings([(1, 2, 3, 4)]), 1)
    assert max(map(len, speaker.say(30))) == 6 + 6 // 4 + 8 - 1


def test_the_model_file_is_one_as_any_other(tmp_path, capsys):
    speaker = small(CELLS, about="isosceles:n=4")
    speaker.train(CELLS.strings(FEW[:1]), 200)
    speaker.save(tmp_path)
    model = load(tmp_path / "model.safetensors")
    assert dict(model.notes) == {
        "made": "trained",
        "task": "discover/isosceles:n=4",
        "tokens": "cells",
        "steps": 200,
        "seed": 0,
    }
    app(["run", str(tmp_path / "model.safetensors"), "--engine", "native"], standalone_mode=False)
    assert capsys.readouterr().out == "1000/0100/0010/0001\n"


def test_a_loss_that_is_not_a_number_is_an_error_and_changes_nothing():
    speaker, strings, states = small(rate=1e30), SPARSE.strings(FEW), []
    with pytest.raises(HandloomError, match=r"the loss is not a number at step \d+; begin again with a rate below 1e"):
        speaker.train(strings, 50, report=lambda step, loss: states.append((step, speaker.trainer.arrays())))
    assert speaker.step == states[-1][0]
    assert same(speaker.trainer.arrays(), states[-1][1])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0], "must be 4 numbers"),
        ([0, 0, 0, 0], "not all of them 0"),
        ([1, 1, 1, -1], "0 or more"),
        ([1, 1, 1, float("nan")], "0 or more"),
    ],
)
def test_weights_that_cannot_be_are_refused(weights, words):
    with pytest.raises(HandloomError, match=words):
        small().train(SPARSE.strings(FEW), 1, weights=weights)


def test_nothing_to_learn_from_and_nothing_to_load_are_said_in_one_line(tmp_path):
    with pytest.raises(HandloomError, match="no constructions to learn from"):
        small().train(SPARSE.strings([]), 1)
    with pytest.raises(HandloomError, match="has no checkpoint"):
        Speaker.load(tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nonsense")
    with pytest.raises(HandloomError, match="is damaged"):
        Speaker.load(tmp_path)


def test_torch_is_not_needed():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from handloom.discover.spaces import grid; from handloom.discover.model.codec import Tokens\n"
        "from handloom.discover.model.proposer import Speaker\n"
        "tokens = Tokens.of('cells', grid(3, 3)); speaker = Speaker.of(tokens)\n"
        "speaker.train(tokens.strings([(0, 4)]), 2); print(speaker.engine, len(speaker.say(3)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "native 3\n"


TWO = """
import sys, time
from handloom.discover.spaces import grid
from handloom.discover.model.proposer import Speaker
from handloom.discover.model.codec import Tokens
from handloom.learn.settings import Settings

tokens = Tokens.of("sparse", grid(4, 4))
strings = tokens.strings([(0, 5, 10, 15), (3, 6, 9, 12), (0, 3, 12, 15), (1, 7, 8, 14)])
speaker = Speaker.of(tokens, layers=1, heads=2, width=16, settings=Settings(batch=8, rate=3e-3, lanes=1))
speaker.train(strings, 20)
speaker.save(sys.argv[1])
late = speaker.processes.rank == 1  # one of them has less time, and both must stop
speaker.train(strings, 10**9, deadline=time.monotonic() + (0.5 if late else 60.0))
"""


@pytest.mark.slow
def test_two_processes_learn_as_one_and_stop_together(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TWO)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launch, str(script), str(tmp_path)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    settings = Settings(batch=8, rate=3e-3, lanes=2)
    one = Speaker.of(SPARSE, layers=1, heads=2, width=16, settings=settings, engine="torch")
    one.train(SPARSE.strings(FEW), 20)
    for name, array in load(tmp_path / "model.safetensors").flat.items():
        np.testing.assert_allclose(array, one.trainer.arrays()[name], rtol=1e-4, atol=1e-5)
