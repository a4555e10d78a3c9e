"""The smallest adder: its size, what it gets right, how exactly it computes, and where it ends."""

from itertools import chain, islice

import numpy as np
import pytest

from handloom.core import HandloomError, count, generate, trace
from handloom.tasks import certify
from handloom.tasks.sums import addition, ask, spell, value
from handloom.write.ours.addition import small_addition
from handloom.write.ours.tiny_addition import LARGE, MOST, SMALL, UNIT, tiny_addition


@pytest.mark.parametrize("digits", [1, 2, 3, 10, MOST])
def test_the_smallest_adder_has_88_parameters_and_12_a_digit(digits):
    assert count(tiny_addition(digits)).total == 88 + 12 * digits < count(small_addition(digits)).total / 2


@pytest.mark.parametrize("digits", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_pairs_of_one_and_two_digits(digits, dtype):
    certificate = certify(tiny_addition(digits), addition(digits), dtype=dtype)
    assert (certificate.method, certificate.right, certificate.inputs) == ("exhaustive", True, 100**digits)
    assert certificate.margin == pytest.approx(2 * 2**0.5 / 10**digits, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_pairs_of_three_digits(dtype):
    certificate = certify(tiny_addition(3), addition(3), dtype=dtype)
    assert (certificate.method, certificate.right, certificate.inputs) == ("exhaustive", True, 10**6)
    assert certificate.margin == pytest.approx(2 * 2**0.5 / 1000, rel=0.01)


@pytest.mark.parametrize("digits", range(3, MOST + 1))
def test_hard_and_random_pairs_in_float64_with_a_margin_that_shrinks_as_it_must(digits):
    certificate = certify(tiny_addition(digits), addition(digits), dtype="float64", samples=3000)
    assert (certificate.method, certificate.right) == ("sampled", True)
    assert certificate.margin == pytest.approx(2 * 2**0.5 / 10**digits, rel=0.05)


@pytest.mark.parametrize(("digits", "part"), [(3, 0.99), (4, 0.95), (5, 0.6)])
def test_float32_holds_five_digits_at_the_cost_of_some_margin(digits, part):
    certificate = certify(tiny_addition(digits), addition(digits), dtype="float32", samples=10_000)
    assert certificate.right
    assert certificate.margin > part * 2 * 2**0.5 / 10**digits


def test_float32_does_not_hold_six_digits():
    assert not certify(tiny_addition(6), addition(6), dtype="float32").right


def pairs(digits, samples):
    task, rng = addition(digits), np.random.default_rng(0)
    return [(ids, task.oracle(ids)) for ids in islice(chain(task.hard(), iter(lambda: task.draw(rng), None)), samples)]


@pytest.mark.parametrize(
    ("digits", "dtype", "engine", "off"),
    [
        (1, "float64", "reference", 0.01),
        (3, "float64", "reference", 0.01),
        (10, "float64", "reference", 0.01),
        (MOST, "float64", "reference", 0.05),
        (3, "float32", "torch", 0.01),
        (5, "float32", "torch", 0.25),
    ],
)
def test_what_is_left_to_say_is_known_far_better_than_to_the_half_unit_that_it_may_be_off(digits, dtype, engine, off):
    model, places = tiny_addition(digits).astype(dtype), np.arange(digits, -1, -1)
    for question, answer in pairs(digits, 200):
        run = trace(model, question + answer[:-1], want=["resid_final"], engine=engine)
        high, _, rank, digit = np.asarray(run["resid_final"], np.float64)[-digits - 1 :].T
        left = (digit - rank / 3) / high * LARGE / UNIT * 10.0**places  # rank has a third of it in digit
        assert left == pytest.approx([value(answer) % 10 ** (p + 1) + 0.5 for p in places.tolist()], abs=off, rel=0)


@pytest.mark.parametrize(("digits", "dtype"), [(3, "float32"), (MOST, "float64")])
@pytest.mark.parametrize("engine", ["torch", "reference"])
def test_decoded_token_by_token(digits, dtype, engine):
    rng = np.random.default_rng(1)
    numbers = [tuple(map(int, rng.integers(0, 10**digits, 2))) for _ in range(50)]
    model = tiny_addition(digits).astype(dtype)
    answers = generate(model, [ask(a, b, digits) for a, b in numbers], engine=engine)
    assert answers == [spell(a + b, digits + 1) for a, b in numbers]


def test_the_heads_look_where_the_notes_say():
    """From where the last place of 567 + 489 = 1056 is said."""
    run = trace(tiny_addition(3), "567+489=105", want=["0.pattern"])
    question, answer = run["0.pattern"][:, -1]
    assert question == pytest.approx([1 / 7] * 7 + [0] * 4, abs=1e-8)
    assert answer[7] == pytest.approx(1, abs=2e-4)
    assert answer[8:] / answer[7] == pytest.approx([1e-4, 1e-6, 1e-8], rel=1e-6)


def test_a_rank_leaves_nothing_in_the_digit_direction():
    """Where no digit stands: at =, whose share is nearly all. Rounding leaves nothing either, in both precisions."""
    for digits in range(1, MOST + 1):
        equals = 2 * digits + 1
        for dtype in ("float64", "float32") if digits < 6 else ("float64",):
            run = trace(tiny_addition(digits).astype(dtype), ask(0, 0, digits), want=["0.ln1"], engine="torch")
            rank, digit = run["0.ln1"][equals, 2:]
            assert digit == 0
            assert rank == pytest.approx(2 * 2**0.5 * SMALL * (digits + 1) / 2)


def test_its_certificate_says_that_it_hangs_on_the_order_of_sums():
    """High and low must come first, and cancel, or rounding spoils the mean."""
    certificate = certify(tiny_addition(3), addition(3), dtype="float32", samples=300)
    assert certificate.right
    assert certificate.orders > 0
    assert str(certificate).endswith("of 3 other orders of summation")
    assert certify(small_addition(3), addition(3), dtype="float32", samples=300).orders == 0


@pytest.mark.parametrize("digits", [0, -1, MOST + 1])
def test_digits_out_of_range_are_refused(digits):
    with pytest.raises(HandloomError, match=f"must be from 1 to {MOST}"):
        tiny_addition(digits)
