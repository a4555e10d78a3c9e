"""The model that trains on constructions: it learns them, it resumes exactly, it keeps its deadline."""

import subprocess
import sys
import time

import numpy as np
import pytest

from handloom.cli import app
from handloom.core import HandloomError, load
from handloom.discover.model.codec import Codec
from handloom.discover.model.proposer import TRAINED_AT_ONCE, Proposer, reward_weights, running_share
from handloom.discover.spaces import grid
from handloom.learn.data import rows_of_step
from handloom.learn.settings import Settings

SPACE = grid(4, 4)
FEW = [(0, 5, 10, 15), (3, 6, 9, 12), (0, 3, 12, 15), (1, 7, 8, 14)]
CELLS = Codec.of("cells", SPACE)
SPARSE = Codec.of("sparse", SPACE)


def small(tokens=SPARSE, seed=0, **how):
    settings = Settings(seed=seed, rate=how.pop("rate", 3e-3), batch=how.pop("batch", 8))
    return Proposer.of(tokens, layers=1, heads=2, width=16, settings=settings, **how)


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in a) and a.keys() == b.keys()


@pytest.mark.parametrize("kind", ["cells", "sparse", "bpe"])
def test_what_was_trained_on_is_proposed_again(kind):
    tokens = Codec.of(kind, SPACE, FEW, pieces=8)
    strings, proposer = tokens.strings(FEW), small(tokens)
    first = proposer.train(strings, 10)
    last = proposer.train(strings, 400)
    assert last < first / 2
    proposed = [tokens.decode(ids).construction for ids in proposer.propose(200, temperature=0.7)]
    assert len(proposed) == 200
    assert sum(construction in FEW for construction in proposed) > 180
    assert set(proposed) >= set(FEW)


def test_before_training_it_proposes_strings_that_can_be_decoded():
    proposer = small()
    proposed = proposer.propose(50)
    assert all(1 <= len(ids) <= SPARSE.most - 1 for ids in proposed)
    assert all(SPARSE.decode(ids).construction is not None for ids in proposed)


def test_the_sizes_are_makemores_by_default():
    config = Proposer.of(CELLS).model().config
    assert (config.layers, config.heads, config.d_model, config.d_ff) == (4, 4, 64, 256)
    assert config.block == CELLS.most - 1


def test_the_first_size_is_the_one_that_is_proposed():
    tokens = Codec.of("sparse", [grid(4, 4), grid(3, 3)])
    smaller = [(tokens.spaces[1], construction) for construction in [(0, 4, 8), (2, 4, 6), (0, 2, 6, 8)]]
    proposer = small(tokens)
    proposer.train(tokens.strings(FEW, smaller), 400)
    proposed = [tokens.decode(ids).construction for ids in proposer.propose(100, 0.7)]
    assert sum(construction in FEW for construction in proposed) > 90


def test_smaller_sizes_among_cells_are_proposed_too_and_told_apart():
    tokens = Codec.of("cells", [grid(4, 4), grid(2, 2)])
    proposer = small(tokens)
    proposer.train(tokens.strings(FEW[:2], [(tokens.spaces[1], (0, 3)), (tokens.spaces[1], (1, 2))]), 400)
    proposed = [tokens.decode(ids).construction for ids in proposer.propose(100, 0.7)]
    assert 20 < proposed.count(None) < 80
    assert sum(construction in FEW[:2] for construction in proposed) > 20


def test_the_same_seed_gives_the_same_weights_and_samples_and_another_seed_others():
    strings = SPARSE.strings(FEW)
    one, again, other = small(), small(), small(seed=1)
    assert one.train(strings, 20) == again.train(strings, 20) != other.train(strings, 20)
    assert one.propose(30, 1.0, seed=5) == again.propose(30, 1.0, seed=5)
    assert one.propose(30, 1.0, seed=5)[:10] == one.propose(10, 1.0, seed=5)
    assert one.propose(30, 1.0, seed=5) != one.propose(30, 1.0, seed=6)


def test_samples_drawn_in_several_groups_are_not_the_same_group_again():
    proposer = small()
    proposer.train(SPARSE.strings(FEW), 20)
    proposed = proposer.propose(30, at_once=60)
    assert len(proposed) == 30
    assert proposed[:7] == proposer.propose(7, at_once=60)
    assert len({tuple(ids) for ids in proposed}) > 15  # each group has random numbers of its own


@pytest.mark.parametrize("engine", ["native", "torch"])
@pytest.mark.parametrize("weights", [None, [1.0, 0.0, 3.0, 2.0]])
def test_a_proposer_that_was_saved_and_loaded_trains_on_as_if_it_had_not_been(tmp_path, engine, weights):
    strings = SPARSE.strings(FEW)
    whole, part = small(engine=engine), small(engine=engine)
    whole.train(strings, 12, weights=weights)
    part.train(strings, 5, weights=weights)
    part.save(tmp_path)
    part.train(strings, 3)  # what is not saved is forgotten
    loaded = Proposer.load(tmp_path)
    assert (loaded.step, loaded.engine) == (5, engine)
    loaded.train(strings, 7, weights=weights)
    assert same(whole.stepper.trainer.arrays(), loaded.stepper.trainer.arrays())
    assert same(whole.stepper.trainer.moments(), loaded.stepper.trainer.moments())
    assert whole.propose(20, seed=3) == loaded.propose(20, seed=3)


def test_training_in_two_calls_is_training_in_one():
    strings = SPARSE.strings(FEW)
    one, two = small(), small()
    loss = one.train(strings, 9)
    losses = [two.train(strings, 4), two.train(strings, 5)]
    assert same(one.stepper.trainer.arrays(), two.stepper.trainer.arrays())
    assert one.step == two.step == 9
    assert loss == pytest.approx((4 * losses[0] + 5 * losses[1]) / 9)


def test_training_on_other_constructions_continues_from_the_weights():
    proposer, told = small(), []
    proposer.train(SPARSE.strings(FEW[:2]), 200)
    before = proposer.stepper.trainer.arrays()
    proposer.train(SPARSE.strings(FEW[2:]), 200, report=lambda step, loss: told.append((step, loss)))
    assert not same(before, proposer.stepper.trainer.arrays())
    assert [step for step, _ in told] == list(range(201, 401))
    assert told[-1][1] < told[0][1]
    proposed = [SPARSE.decode(ids).construction for ids in proposer.propose(50, 0.5)]
    assert sum(construction in FEW[2:] for construction in proposed) > 40


def test_a_row_of_weight_0_is_never_drawn_and_others_by_their_weight():
    strings, weights = CELLS.strings(FEW), [0.0, 1.0, 3.0, 0.0]
    rows_of = small(CELLS, batch=100).batches(strings, weights)
    drawn = np.concatenate([rows_of(step)[0] for step in range(100)])
    counts = np.bincount(drawn, minlength=4)
    assert counts[0] == counts[3] == 0
    assert abs(counts[2] / 10_000 - 0.75) < 0.02  # the standard deviation is 0.0043


def test_a_row_of_weight_0_is_not_trained_on():
    proposer = small()
    proposer.train(SPARSE.strings(FEW), 300, weights=[1, 0, 0, 1])
    proposed = [SPARSE.decode(ids).construction for ids in proposer.propose(60, 0.5)]
    assert sum(construction in (FEW[0], FEW[3]) for construction in proposed) > 50


def test_without_weights_rows_are_drawn_as_in_learn():
    strings = SPARSE.strings(FEW)
    rows, _ = small(seed=7).batches(strings, None)(11)
    assert rows.tolist() == rows_of_step(strings, 8, 7, 11)[0].tolist()


def test_a_uniform_number_never_falls_on_a_weight_of_0():
    passed = running_share([0.0, 1e-300, 0.0, 0.1, 0.2, 0.0], 6)
    numbers = np.array([0.0, 0.5, np.nextafter(1.0, 0.0)])
    assert passed[-1] == 1.0
    assert set(np.searchsorted(passed, numbers, side="right").tolist()) <= {1, 3, 4}


def test_long_strings_make_small_batches_so_that_a_step_is_over_soon():
    tokens = Codec.of("cells", grid(50, 50))
    strings = tokens.strings([(0,), (1,)])
    rows, _ = small(tokens, batch=64).batches(strings, None)(0)
    assert len(rows) == TRAINED_AT_ONCE // (50 * 51 - 1 + 2)
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
    tokens = Codec.of("cells", grid(20, 20))
    proposer = Proposer.of(tokens)
    strings = tokens.strings([(0, 21, 42), (5, 50, 77)])
    began = time.monotonic()
    assert proposer.train(strings, 10_000, deadline=began + 1.5) is not None
    assert time.monotonic() - began < 3.5
    step = proposer.step
    assert 0 < step < 10_000
    assert proposer.train(strings, 5, deadline=time.monotonic() - 1.0) is None
    assert proposer.step == step


def test_proposing_ends_at_the_deadline_even_within_a_group():
    tokens = Codec.of("cells", grid(30, 30))
    proposer = Proposer.of(tokens)
    began = time.monotonic()
    proposed = proposer.propose(1_000_000, deadline=began + 0.8)
    assert time.monotonic() - began < 2.8
    assert len(proposed) < 1_000_000
    assert proposer.propose(10, deadline=began) == []


def test_a_proposal_that_does_not_end_is_cut_soon_after_the_longest_string_trained_on():
    tokens = Codec.of("sparse", grid(20, 20))
    proposer = small(tokens)
    assert max(map(len, proposer.propose(30))) > 100  # it knows of no end
    proposer.train(tokens.strings([(1, 2, 3, 4)]), 1)
    assert max(map(len, proposer.propose(30))) == 6 + 6 // 4 + 8 - 1


def test_the_model_file_is_like_any_other(tmp_path, capsys):
    proposer = small(CELLS, about="isosceles:n=4")
    proposer.train(CELLS.strings(FEW[:1]), 200)
    proposer.save(tmp_path)
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
    proposer, strings, states = small(rate=1e30), SPARSE.strings(FEW), []
    with pytest.raises(HandloomError, match=r"the loss is not a number at step \d+; start again with a rate below 1e"):
        proposer.train(strings, 50, report=lambda step, loss: states.append((step, proposer.stepper.trainer.arrays())))
    assert proposer.step == states[-1][0]
    assert same(proposer.stepper.trainer.arrays(), states[-1][1])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0], "must be 4 numbers"),
        ([0, 0, 0, 0], "not all of them 0"),
        ([1, 1, 1, -1], "0 or more"),
        ([1, 1, 1, float("nan")], "0 or more"),
    ],
)
def test_impossible_weights_raise_an_error(weights, words):
    with pytest.raises(HandloomError, match=words):
        small().train(SPARSE.strings(FEW), 1, weights=weights)


def test_nothing_to_train_on_and_nothing_to_load_raise_an_error_in_one_line(tmp_path):
    with pytest.raises(HandloomError, match="no constructions to train on"):
        small().train(SPARSE.strings([]), 1)
    with pytest.raises(HandloomError, match="has no checkpoint"):
        Proposer.load(tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nonsense")
    with pytest.raises(HandloomError, match="is damaged"):
        Proposer.load(tmp_path)


def test_torch_is_not_needed():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from handloom.discover.spaces import grid; from handloom.discover.model.codec import Codec\n"
        "from handloom.discover.model.proposer import Proposer\n"
        "tokens = Codec.of('cells', grid(3, 3)); proposer = Proposer.of(tokens)\n"
        "proposer.train(tokens.strings([(0, 4)]), 2); print(proposer.engine, len(proposer.propose(3)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "native 3\n"


TWO = """
import sys, time
from handloom.discover.spaces import grid
from handloom.discover.model.proposer import Proposer
from handloom.discover.model.codec import Codec
from handloom.learn.settings import Settings

tokens = Codec.of("sparse", grid(4, 4))
strings = tokens.strings([(0, 5, 10, 15), (3, 6, 9, 12), (0, 3, 12, 15), (1, 7, 8, 14)])
proposer = Proposer.of(tokens, layers=1, heads=2, width=16, settings=Settings(batch=8, rate=3e-3, lanes=1))
proposer.train(strings, 20)
proposer.save(sys.argv[1])
late = proposer.stepper.processes.rank == 1  # one of them has less time, and both must stop
proposer.train(strings, 10**9, deadline=time.monotonic() + (0.5 if late else 60.0))
"""


@pytest.mark.slow
def test_two_processes_train_as_one_and_stop_together(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TWO)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launch, str(script), str(tmp_path)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    settings = Settings(batch=8, rate=3e-3, lanes=2)
    one = Proposer.of(SPARSE, layers=1, heads=2, width=16, settings=settings, engine="torch")
    one.train(SPARSE.strings(FEW), 20)
    for name, array in load(tmp_path / "model.safetensors").flat.items():
        np.testing.assert_allclose(array, one.stepper.trainer.arrays()[name], rtol=1e-4, atol=1e-5)
