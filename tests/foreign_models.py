"""Models of other tools for tests: random ones of transformers, saved as folders, and what they compute."""

import json
import warnings

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

from handloom.core.engines import choose_engine

SIZES = {"vocab_size": 50, "n_positions": 12, "n_embd": 24, "n_layer": 2, "n_head": 3}
logging.set_verbosity_error()
logging.disable_progress_bar()


def stirred(module, seed=0):
    """A module in evaluation mode whose every parameter is random, biases and gains too."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return module.eval()


def gpt2(**changes):
    torch.manual_seed(1)
    return stirred(GPT2LMHeadModel(GPT2Config(**SIZES | {"bos_token_id": 0, "eos_token_id": 0} | changes)))


def gpt2_folder(path, *, dtype=torch.float32, shards="5GB", **changes):
    """A folder that transformers saved; and the module."""
    module = gpt2(**changes).to(dtype)
    module.save_pretrained(path, max_shard_size=shards)
    return module


def logits_of(module, ids):
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = module(torch.as_tensor(ids))
    return (found.logits if hasattr(found, "logits") else found).double().numpy()


def assert_same_logits(model, module, within=1e-5):
    """Both engines give the module's logits at every position."""
    ids = np.random.default_rng(0).integers(0, model.config.vocab, (3, model.config.block))
    expected = logits_of(module, ids)
    assert np.abs(expected).max() > 0.1
    for engine in ("reference", "torch"):
        found = np.asarray(choose_engine(engine).forward(model, ids)[0])
        assert np.abs(found - expected).max() < within, engine


def change_json(path, **changes):
    """Replace some values of a JSON object in a file; None removes one."""
    values = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({name: value for name, value in values.items() if value is not None}))
