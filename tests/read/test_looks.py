"""A look has an effect only if the digit is worse without it."""

import numpy as np
import pytest

from draws import LETTERS
from handloom.core import Config, Model, params
from handloom.read import Look, effects, looks_between, mean_attention, right_strings
from handloom.read.looks import Ablation
from handloom.tasks import task as task_named


@pytest.mark.parametrize("first", [0, 1])
def test_the_head_that_looks_most_at_a_digit_where_another_is_written_is_found(first):
    patterns = np.tile(np.tri(6) / np.arange(1, 7)[:, None], (2, 3, 1, 1))
    patterns[1, 2, 4 - first] = np.eye(6)[2 - first]  # about to write digit 5, it looks at digit 2
    found = looks_between(patterns, [5, 2, 9], first, [0, 1], [0, 1, 2])
    assert found[0] == Look(5, 2, 1, 2, 1.0, 1 / (5 - first))
    assert len(found) == 6
    assert str(found[0]).startswith("where digit 5 is written, layer 1, head 2 gives digit 2 100% of its attention")
    assert [look.marked for look in found] == [True, *[False] * 5]
    others = looks_between(patterns, [5, 2], first, [0, 1], [0, 1])  # without the head that looks there
    assert (others[0].layer, others[0].head, others[0].share) == (0, 0, pytest.approx(1 / (5 - first)))


def copying():
    """Three heads that look hard where digit 5 is written. Head 0 at digit 2, which it copies to the logits; head 1 at
    digit 1, which it copies to where nobody reads it; head 2 at digit 2, and adds nothing. Written by hand."""
    config = Config(vocab=3, block=8, d_model=15, layers=1, heads=3, d_head=3, norm="none", tied=False, biases=())
    weights = params.zeros(config)
    token, place, read, unread = 0, 3, 11, 13  # where they stand in the stream
    weights["W_E"][:, token : token + 3] = np.eye(3)
    weights["W_pos"][:, place : place + 8] = np.eye(8)
    layer = weights["layers"][0]
    for head, (at, to) in enumerate([(2, read), (1, unread), (2, None)]):
        layer["W_Q"][head, place + 4, 0] = 20.0  # digit 5 is written at position 4
        layer["W_K"][head, place + at, 0] = 1.0
        layer["W_V"][head, token : token + 2, 1:3] = np.eye(2)
        if to is not None:
            layer["W_O"][head, 1:3, to : to + 2] = np.eye(2)
    weights["W_U"][read : read + 2, :2] = 9.0 * np.eye(2)
    return Model(config, weights, LETTERS)


def test_a_look_is_told_as_one_with_an_effect_only_if_the_digit_is_worse_without_it():
    model, task = copying(), task_named("strings:rule=s[2]==s[5] and s[1]==s[6],length=6")
    strings = right_strings(task, model, 100, seed=0)
    found = effects(
        model, looks_between(mean_attention(model, strings), [1, 2, 5], 0, [0], [0, 1, 2]), strings, [1, 2, 5], 0
    )
    assert [(look.written, look.at) for look in found] == [(2, 1), (5, 1), (5, 2)]
    even, idle, real = found
    assert (even.effect, even.marked, even.likely) == (None, False, None)
    assert (idle.head, idle.effect, idle.likely, idle.without) == (1, False, real.likely, pytest.approx(idle.likely))
    assert (real.head, real.effect) == (0, True)  # and not head 2, which looks there as much
    assert real.share == pytest.approx(idle.share) == pytest.approx(1.0, abs=0.01)
    assert real.likely > 0.99 > 0.6 > real.without
    assert str(real).endswith(f"without it the right digit has {real.without:.0%} instead of 100%")
    assert str(idle).endswith(", without effect: the right digit has 100%, and without it 100%")
    few = effects(model, looks_between(mean_attention(model, strings), [2, 5], 0, [0], [0, 1]), strings[:19], [2, 5], 0)
    assert str(few[0]).endswith("whether that has an effect was not tested")


def test_both_engines_find_the_same_effect():
    model, task = copying(), task_named("strings:rule=s[2]==s[5],length=6")
    strings = np.array(right_strings(task, model, 30, 0))[:, :6]
    without = [Ablation(model, strings, [2, 5], engine).without(0, 0, 2) for engine in ("reference", "torch")]
    assert np.allclose(*without)
