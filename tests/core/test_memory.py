"""What would fill the memory is refused in one line, before anything of it is made."""

import resource
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from handloom.core import Config, HandloomError, Vocab, params
from handloom.tasks import naming, task
from handloom.tasks.catalogue import TASKS
from handloom.write import PROGRAMS, program

HUGE = [300, 10_001, 10**9, 10**18, 10**400]
LITTLE = 100 * 2**20  # bytes: what a model of ten thousand tokens takes


def whole_numbers(catalogue, function):
    """name → its parameters that are whole numbers."""
    return [
        (name, key)
        for name, entry in catalogue.items()
        for key, parameter in naming.parameters(name, function(entry)).items()
        if parameter.kind is int
    ]


@contextmanager
def little_memory():
    """Python's and NumPy's memory stays small; and an attempt at more fails, rather than take the machine with it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if (pages := Path("/proc/self/statm")).exists():
        now = int(pages.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + 2**32, before[1]))
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < LITTLE
    finally:
        tracemalloc.stop()
        resource.setrlimit(resource.RLIMIT_AS, before)


def made_or_refused(make):
    """Whether it is refused, in one line that says so before memory ran out."""
    with little_memory():
        try:
            make()
        except HandloomError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 300
            assert "fit in memory" not in str(error)
            return True
    return False


@pytest.mark.parametrize(("name", "key"), whole_numbers(PROGRAMS, lambda entry: entry.build))
def test_a_program_with_a_huge_parameter_is_small_or_refused(name, key):
    refused = [made_or_refused(lambda value=value: program(name, **{key: value})) for value in HUGE]
    asked = [made_or_refused(lambda value=value: task(name, **{key: value})) for value in HUGE]
    assert refused[-1]
    assert asked[-1]
    if key not in ("seed", "lowest"):  # of these a large one is as good as any
        assert all(refused[2:])


@pytest.mark.parametrize(("name", "key"), whole_numbers(TASKS, lambda entry: entry.make))
def test_a_task_with_a_huge_parameter_is_small_or_refused(name, key):
    def begin(value):
        chosen = task(name, **{key: value})
        chosen.pair(np.random.default_rng(0))

    for value in HUGE:
        made_or_refused(lambda value=value: begin(value))


@pytest.mark.parametrize("length", ["10001", "1-999999999", "9" * 400, "1e9"])
@pytest.mark.parametrize("name", ["strings", "one-two", "two-twos", "induction", "hops", "parity", "markov", "dyck"])
def test_a_range_of_huge_lengths_is_refused(name, length):
    assert made_or_refused(lambda: task(name, length=length))


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (
            "min:n=1000000000",
            r"n=1000000000, block=1000000000: texts of 1,000,000,000 tokens \(expected up to 10,000\)",
        ),
        ("search:block=100000000", r"block=100000000: texts of 100,000,000 tokens \(expected up to 10,000\)"),
        ("search:tokens=1000000000", r"Vocab: 1,000,000,000 tokens \(expected up to 2,000,000\); give fewer"),
        ("book/addition:digits=9", "Config: 900,000,001,461 parameters"),
        ("unpadded-addition:digits=9", "digits=9 must be from 1 to 4: it knows every sum by heart"),
        (
            "book/search:length=3000,block=9000",
            r"Config: .* parameters \(expected up to 134,217,728\); make it smaller",
        ),
        ("min:n=" + "9" * 400, r"min: n=9*\.\.\. is too large \(expected up to 10\^18\); write min:n=20"),
    ],
)
def test_the_line_says_what_is_too_large_and_what_would_do(name, complaint):
    with pytest.raises(HandloomError, match=complaint):
        program(name)


@pytest.mark.parametrize("make", [params.zeros, lambda config: params.random(config, seed=0)])
@pytest.mark.parametrize(
    "size", [{"vocab": 10**9}, {"block": 10**12}, {"d_model": 10**30}, {"layers": 10**9}, {"d_ff": 10**5000}]
)
def test_a_huge_config_is_refused_when_its_arrays_are_made(make, size):
    config = Config(**{"vocab": 9, "block": 9, "d_model": 8, "layers": 1, "heads": 2, "d_head": 4, "d_ff": 8} | size)
    assert made_or_refused(lambda: make(config))


def test_the_size_of_a_config_is_that_of_its_arrays():
    for layers in (0, 1, 5):
        config = Config(vocab=9, block=7, d_model=6, layers=layers, heads=2, d_head=5, d_ff=8, tied=False)
        assert params.size(config) == sum(array.size for array in params.flatten(params.zeros(config)).values())


def test_a_vocabulary_of_numbers_has_a_largest():
    assert made_or_refused(lambda: Vocab.numbers(10**9))
    assert len(Vocab.numbers(3)) == 3
