"""Chapter 5: sorting, and min for many numbers, against oracles, the book's numbers and float32."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from handloom.core import HandloomError, Vocab, count, generate, torch_engine
from handloom.core.transforms import shuffle
from handloom.tasks import certify
from handloom.tasks.extremes import minimum
from handloom.tasks.sorting import ascending, ascending_with_repeats
from handloom.write.book.extremes import book_min, million_min
from handloom.write.book.sorting import asking_points, book_sort, golden_sort, powerpoints, powersort
from handloom.write.ours.big_sort import HOPS, big_sort
from handloom.write.parts.loudness import HARD


def test_the_tasks_know_what_is_right_and_what_is_no_input():
    task = ascending(20)
    assert task.answer("6 2 12 18 7 0") == "2 6 7 12 18"
    for wrong in ("6 2 12", "6 6 0", "0", "0 6 0", ""):
        with pytest.raises(HandloomError, match="different numbers from 1 to 19 and then 0, such as 6 2 12 0"):
            task.check(wrong)
    task = ascending_with_repeats(11, 3, lowest=-5)
    assert task.answer("4 -5 4 =") == "-5 4 4"
    for wrong in ("4", "=", "4 = 4 =", "1 1 1 1 =", "5 ="):
        with pytest.raises(HandloomError, match="1 to 3 numbers from -5 to 4 and then =, such as 1 -3 1 ="):
            task.check(wrong)


@pytest.mark.parametrize(
    "task",
    [ascending(3), ascending(9, 8), ascending_with_repeats(5, 3), ascending_with_repeats(41, 1), minimum(5, 3)],
)
def test_hard_and_random_inputs_are_inputs(task):
    rng = np.random.default_rng(0)
    for ids in itertools.chain(task.hard(), (task.draw(rng) for _ in range(50))):
        assert task.oracle(ids)
    if task.every:
        assert len({tuple(ids) for ids in task.every() if task.oracle(ids)}) == task.count


@pytest.mark.parametrize(("ratio", "ahead"), [(1 / 2, 1 / 4), (0.6, 0.44)])
def test_from_every_asking_point_larger_numbers_come_nearest_and_in_order(ratio, ahead):
    points = powerpoints(20, ratio)
    for i, at in enumerate(asking_points(points, ahead)[:-2]):
        order = np.argsort(np.abs(points - at))
        assert order[: 19 - i].tolist() == list(range(i + 1, 20))


def test_gaps_that_shrink_more_slowly_than_the_golden_ratio_fail():
    points = powerpoints(20, 0.65)
    assert np.abs(points - asking_points(points, 0.49)[0]).argmax() != 0


def test_the_books_sort_has_its_size_and_sorts_its_example():
    model = book_sort()
    assert (count(model).total, count(model).nonzero) == (918, 184)
    assert count(model).nonzero - np.count_nonzero(model.params["W_E"]) == 18
    assert model("6 2 12 18 7 0") == "2 6 7 12 18"
    assert model(f"{' '.join(map(str, range(22, 0, -1)))} 0") == " ".join(map(str, range(1, 23)))


def in_other_orders(model, task, **how):
    """Certificates of the model with its dimensions in four orders, and so with every sum in other orders."""
    return [certify(shuffle(model, seed), task, **how) for seed in range(4)]


def test_the_books_sort_is_right_up_to_24_in_any_order_of_sums_and_wrong_at_32():
    for n in (3, 24):
        certificates = in_other_orders(book_sort(n), ascending(n), samples=120)
        assert all(c.right and c.margin > 5e-13 for c in certificates)
    assert not any(c.right for c in in_other_orders(book_sort(32), ascending(32), samples=120))


def test_at_28_the_books_sort_hangs_on_ties():
    """Whether it is right then depends on the order of sums."""
    assert all(c.margin < 1e-14 for c in in_other_orders(book_sort(28), ascending(28), samples=120))


def test_the_books_sort_on_the_reference_engine():
    task = ascending(24)
    inputs = list(itertools.islice(task.hard(), 0, None, 5))
    assert generate(book_sort(24), inputs) == [task.oracle(ids) for ids in inputs]


def test_the_books_sort_on_every_input_of_up_to_five_numbers():
    assert certify(book_sort(6), ascending(6)).right


def test_the_books_sort_overflows_in_float32_and_with_less_noise_reaches_about_13():
    for n in (3, 14, 28):
        assert not certify(book_sort(n), ascending(n), dtype="float32", samples=4).right
    for n, right in ((12, True), (16, False)):
        softer = powersort(n, 100, ratio=1 / 2, ahead=1 / 4, loud=1e8)
        certificates = in_other_orders(softer, ascending(n), dtype="float32", samples=200)
        assert all(c.right == right for c in certificates)


def test_exercise_1_slower_shrinking_reaches_33():
    assert (count(golden_sort()).total, count(golden_sort()).nonzero) == (948, 214)
    for n, right in ((33, True), (38, False)):
        assert all(c.right == right for c in in_other_orders(golden_sort(n), ascending(n), samples=120))


def test_the_books_sort_says_a_repeated_number_once_and_fills_up_with_the_largest():
    assert book_sort()("2 9 2 5 0") == "2 5 9 9"


def test_renaming_its_tokens_makes_the_books_sort_take_negative_numbers():
    model = book_sort(21)
    renamed = model.with_(vocab=Vocab(("=", *map(str, range(-10, 10)))))
    assert renamed("3 -10 9 -1 0 =") == "-10 -1 0 3 9"


def test_book_min_asks_too_softly_for_two_thousand_numbers():
    assert generate(book_min(1400), [[1] * 1399 + [0]], engine="torch") == [[0]]
    assert generate(book_min(1600), [[1] * 1599 + [0]], engine="torch") == [[1]]
    for n, right in ((2000, True), (3000, False)):
        assert certify(book_min(n), minimum(n, 16), samples=400).right == right


def test_book_min_of_pairs_loses_its_margin_in_float32():
    certificate = certify(book_min(2000), minimum(2000, 2), dtype="float32", samples=2000)
    assert certificate.right
    assert certificate.margin > 1e-6
    assert not certify(book_min(12_000), minimum(12_000, 2), dtype="float32", samples=2000).right


def test_exercise_2_min_in_float32():
    for n in (2, 10, 1000, 5000):
        assert count(million_min(n)).total == 9 * n + 477
        certificate = certify(million_min(n), minimum(n, 16), dtype="float32", samples=200)
        assert certificate.right
        assert certificate.margin > 0.01


def keys_in_float32(model):
    """What the head of million_min sees of each token, alone in its text: layer norm and W_K, in float32."""
    x = model.params["W_E"].astype(np.float32)
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + np.float32(model.config.eps))
    return x @ model.params["layers"][0]["W_K"][0, :, 0].astype(np.float32)


def test_exercise_2_in_float32_the_keys_fall_from_number_to_number():
    model = million_min(2000)
    keys = keys_in_float32(model)
    trace = torch_engine.compute(
        model.config, torch_engine.tensors(model.astype("float32")), np.arange(2000)[:, None], want="0.k"
    )[1]
    assert np.allclose(keys, trace["0.k"][:, 0, 0, 0].detach().numpy(), rtol=0, atol=1e-6)
    assert (np.diff(keys) < 0).all()


@pytest.mark.slow
def test_exercise_2_min_of_a_million_in_float32():
    n = 1_000_000
    model = million_min(n)
    assert model.params["W_E"].nbytes < 1e8
    fall = -np.diff(keys_in_float32(model))
    assert fall.min() > 3e-6  # where the rounding of a key, of up to 2.2, is 1.2e-7
    numbers = np.random.default_rng(0).integers(0, n - 1, 40).tolist()
    neighbours = replace(minimum(n, 16), hard=lambda: ([a + i, a + 1 - i] for a in numbers for i in (0, 1)))
    certificate = certify(model, neighbours, dtype="float32", samples=100)
    assert certificate.right
    assert certificate.margin > 1e-4


def half_circle(numbers, n):
    """Points in order on half of the circle, in float32; −1, the end of the input, is there too."""
    angles = np.pi * (np.array(numbers) + 1.5) / (n + 1)
    return np.stack([np.cos(angles), np.sin(angles)], -1).astype(np.float32)


def sort_with_a_gate(numbers, n):
    """Exercise 3: attention that sees only the keys for which a second product of query and key exceeds a threshold.
    Here that is the sine of the angle from the last number to the key, 0 for the number itself up to rounding and
    sin(π / (n + 1)) at least for a larger one; the rest is min."""
    keys, last, answer = half_circle(numbers, n), -1, []
    threshold = np.sin(np.pi / (n + 1)) / 2
    for _ in numbers:
        gate_query = half_circle(last, n) @ np.array([[0, 1], [-1, 0]], np.float32)
        scores = np.where(keys @ gate_query > threshold, 1e8 * keys[:, 0], -np.inf)
        last = numbers[scores.argmax()]
        answer.append(last)
    return answer


def test_exercise_3_the_gate_is_far_from_its_threshold_for_all_values():
    """So that it does not matter how a processor rounds the sum of two products."""
    points, turn = half_circle(range(-1, 1000), 1000).astype(np.float64), np.array([[0.0, 1.0], [-1.0, 0.0]])
    gates = points @ (points @ turn).T  # of each key (row), as seen from each number
    larger, step = np.tri(1001, k=-1, dtype=bool), np.sin(np.pi / 1001)
    assert gates[larger].min() > 0.99 * step
    assert gates[~larger].max() < 0.01 * step


def test_exercise_3_with_a_gate_on_order_sorting_is_min():
    rng = np.random.default_rng(0)
    for _ in range(200):
        numbers = rng.permutation(1000)[: rng.integers(1, 100)].tolist()
        assert sort_with_a_gate(numbers, 1000) == sorted(numbers)
    assert sort_with_a_gate(list(range(999, -1, -1)), 1000) == list(range(1000))


def test_exercise_4_and_6_a_thousand_values_with_repeats_in_ten_thousand_parameters():
    model = big_sort()
    assert (count(model).total, count(model).nonzero) == (9692, 7324)
    assert count(model).total - model.params["W_E"].size - model.params["W_pos"].size == 1428
    assert not model.params["W_pos"].any()
    assert model("6 2 6 1000 1 1 0") == "1 1 2 6 6 1000"


def test_big_sort_on_every_input_of_three_out_of_nine():
    certificate = certify(big_sort(10, 3), ascending_with_repeats(10, 3), dtype="float32")
    assert certificate.method == "exhaustive"
    assert certificate.right


def test_big_sort_in_float32_on_random_inputs():
    task, rng = ascending_with_repeats(), np.random.default_rng(1)
    inputs = [task.draw(rng) for _ in range(200)]
    assert generate(big_sort().astype("float32"), inputs, engine="torch") == [task.oracle(ids) for ids in inputs]


def test_big_sort_in_float32_on_hard_inputs_all_along():
    task = ascending_with_repeats()
    inputs = list(itertools.islice(task.hard(), 0, None, 149))
    assert len(inputs) > 200
    assert generate(big_sort().astype("float32"), inputs, engine="torch") == [task.oracle(ids) for ids in inputs]


@pytest.mark.parametrize(("values", "length"), [(2, 4), (100, 16), (300, 8), (1000, 2), (1000, 32)])
def test_big_sort_of_other_sizes(values, length):
    assert certify(
        big_sort(values + 1, length), ascending_with_repeats(values + 1, length), "float32", samples=150
    ).right


def test_exercise_5_negative_numbers():
    model = big_sort(n=1001, length=16, lowest=-500)
    assert model("3 -500 499 -1 3 0 =") == "-500 -1 0 3 3 499"


def test_the_hard_inputs_of_big_sort_are_many():
    assert sum(1 for _ in ascending_with_repeats().hard()) == 33_946


@pytest.mark.slow
def test_big_sort_of_more_values():
    for values, right in ((2000, True), (3000, False)):
        task = ascending_with_repeats(values + 1)
        some = list(itertools.islice(task.hard(), 0, None, 60))
        harder = replace(task, hard=lambda some=some: some)
        certificate = certify(big_sort(values + 1), harder, "float32", samples=len(some) + 300)
        assert certificate.right == right


@pytest.mark.slow
def test_big_sort_in_float32_on_all_hard_inputs_and_more():
    assert certify(big_sort(), ascending_with_repeats(), dtype="float32", samples=40_000).right


def score_gaps(model, texts):
    """At the last position of each text, for each layer that hops: by how much the best number's score exceeds that
    of the next best number, and whose number it is."""
    weights = torch_engine.tensors(model)
    trace = torch_engine.compute(model.config, weights, texts, want="*.scores")[1]
    scores = [trace[f"{i}.scores"][:, 0, -1].detach().numpy().astype(float) for i in range(2, HOPS + 3)]
    return np.stack(scores)  # (hops, B, T)


def test_the_gaps_between_neighbours_are_wider_than_the_rounding_of_float32():
    """One number above v, at 1 to 3 units: v and it are all that is there to choose from, all along the arc."""
    texts = np.array([[v, v + gap, v + gap, 1000, v] for v in range(997) for gap in (1, 2, 3)])
    model = big_sort()
    exact, rounded = (score_gaps(model.astype(dtype), texts) for dtype in ("float64", "float32"))
    gap, noisy = (scores[..., 1] - scores[..., 0] for scores in (exact, rounded))
    assert (np.sign(gap) == np.sign(noisy)).all()
    unit_squared = HARD * 7 * (2.5 / 1000) ** 2 / 2  # score of a unit squared: HARD · radius² · unit² / √d_head
    assert np.abs(gap).min() > 0.32 * unit_squared
    assert np.abs(noisy - gap).max() < 0.5 * np.abs(gap).min()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: book_sort(2), "n of at least 3"),
        (lambda: book_sort(5, 0), "block of at least 1"),
        (lambda: big_sort(2), "n of at least 3"),
        (lambda: million_min(1), "n of at least 2"),
    ],
)
def test_impossible_sizes_are_refused(make, complaint):
    with pytest.raises(HandloomError, match=complaint):
        make()
