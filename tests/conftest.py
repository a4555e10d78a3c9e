"""For all tests: one Hypothesis profile, the same examples every time and no time limit on one of them; and a folder to
work in."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # one process per core: threads of each would wait for those of the others
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from handloom.discover.spaces import Space

collect_ignore = ["peers"]  # `make peers` runs these, in an environment of their own

settings.register_profile("handloom", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("handloom")


def pytest_make_parametrize_id(val):
    """A test's name is the same in every process; a Space holds functions, whose text has addresses."""
    return val.kind if isinstance(val, Space) else None


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, the current one during the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
