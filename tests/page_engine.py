"""The engine in the page, run in Node beside the reference: one process for many models."""

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from handloom.core import reference
from handloom.core.sites import sites
from handloom.view.pages.model_data import packed_model

WEB = Path(__file__).parents[1] / "web"


@dataclass
class PageCase:
    """A model and ids to run it on. An edit is a number, an array, or a pair (a, b) that stands for x → a x + b."""

    name: str
    model: object
    ids: list
    edits: dict = field(default_factory=dict)
    prompt: int = 1  # tokens before the answer: predictions count from the last of them on


def node(*words, given=None):
    """What a script of web/ prints; without Node the test is skipped."""
    if not shutil.which("node"):
        pytest.skip("NODE IS NOT INSTALLED: nothing has tested the engine in the page")
    done = subprocess.run(["node", *map(str, words)], cwd=WEB, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def call(module, function, *calls):
    """What a function of the engine returns for each list of arguments, all JSON values."""
    asked = json.dumps({"module": module, "function": function, "calls": calls})
    return json.loads(node("tests/call.mjs", given=asked))


def compared(cases, folder):
    """For each case and kernel: the largest difference at a site, and how many likeliest tokens are the same."""
    values, written = Values(), []
    for case in cases:
        edits = {site: function(edit) if isinstance(edit, tuple) else edit for site, edit in case.edits.items()}
        _, trace = reference.forward(case.model, case.ids, list(sites(case.model.config)), edits)
        written.append(
            {
                "name": case.name,
                "model": packed_model(case.model),
                "ids": [*map(int, case.ids)],
                "edits": {site: values.edit(edit) for site, edit in case.edits.items()},
                "sites": {site: values.add(trace[site]) for site in sites(case.model.config)},
            }
        )
    (folder / "cases.json").write_text(json.dumps(written))
    (folder / "values.bin").write_bytes(b"".join(values.parts))
    return json.loads(node("tests/traces.mjs", folder))


def function(edit):
    times, plus = edit
    return lambda x: times * x + plus


class Values:
    """Float64 numbers in one file, by their place in it."""

    def __init__(self):
        self.parts, self.count = [], 0

    def add(self, array):
        place = self.count
        self.parts.append(np.ascontiguousarray(array, "<f8").tobytes())
        self.count += array.size
        return [[*array.shape], place]

    def edit(self, edit):
        if isinstance(edit, tuple):
            return {"times": edit[0], "plus": edit[1]}
        return self.add(edit) if isinstance(edit, np.ndarray) else edit
