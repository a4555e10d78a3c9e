"""Paths are exact: they sum to the logits for every Config, and a search finds the largest ones."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import assert_close, models_and_tokens, random_model
from handloom.core import Config, HandloomError
from handloom.read import paths as read_paths
from handloom.read.frozen import run_frozen
from handloom.read.paths import Path, count_paths, expansion, first_chain, ranked, search, sums_by_heads

MODELS = 500


def chain_to_every_logit(frozen):
    """A chain whose covectors are those of all logits at all positions: T · V of them."""
    T, V = frozen.logits.shape
    return first_chain(frozen, np.eye(T * V).reshape(T * V, T, V))


@settings(max_examples=MODELS)
@given(models_and_tokens(), st.booleans())
def test_the_paths_of_every_model_sum_to_its_logits(drawn, through_gates):
    model, tokens = drawn
    frozen, run = run_frozen(model, tokens, through_gates)
    start = chain_to_every_logit(frozen)
    every = dict(expansion(frozen, start))
    assert len(every) == count_paths(frozen)
    logits = run["logits"].ravel()
    assert_close(np.sum(list(every.values()), axis=0), logits, 1e-12)
    sums = sums_by_heads(frozen, start)
    assert_close(sums.sum(0), logits, 1e-12)
    heads = np.array([sum(step[-1].isdigit() for step in steps) for steps in every])
    for n, value in enumerate(sums):
        assert_close(np.array(list(every.values()))[heads == n].sum(0), value, 1e-12)
