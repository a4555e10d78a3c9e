"""The exercises of chapter 6: what they ask to build, and what they ask to show."""

import itertools

import numpy as np
import pytest

from handloom.core import Config, HandloomError, Model, Vocab, count, generate, params, trace
from handloom.tasks import certify
from handloom.tasks import products as tasks
from handloom.tasks.sums import addition, ask, digit_sum, last_digit_of_sum
from handloom.write.book.sums import book_modular_sum, book_sum
from handloom.write.exercises.sum_variants import (
    addition_points,
    attention_only_sum,
    clean_sum,
    line_sum,
    modular_points,
    narrow_sum,
    shared_heads,
    shared_heads_deep,
    spread_addition,
    spread_sum,
    sum_in_base,
    tens_digit,
    uncleaned_sum,
)
from handloom.write.ours.multiplication import multiplication
from handloom.write.ours.unpadded_addition import unpadded_addition
from handloom.write.parts.encodings import circle, fixed, layer_norm, on_circle
from handloom.write.parts.exact import gap, hinges
from handloom.write.parts.loudness import LOUD_SUMS

BOTH = pytest.mark.parametrize("dtype", ["float64", "float32"])


def pairs(base):
    return [list(pair) for pair in itertools.product(range(base), repeat=2)]


def adds(model, base):
    return [said for (said,) in generate(model, pairs(base))] == [sum(pair) % base for pair in pairs(base)]


def test_layer_norm_keeps_what_is_made_fixed():
    rows = np.random.default_rng(0).uniform(-0.5, 1.0, (20, 4))
    assert np.allclose(layer_norm(fixed(rows)), fixed(rows), atol=1e-12)


# ---- exercises 1, 10


@pytest.mark.parametrize(("n", "m"), [(10, 10), (3, 7), (1, 5)])
def test_exercise_6_1_sums_of_n_and_m_vectors_span_n_plus_m_minus_1_dimensions(n, m):
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(n, 50)), rng.normal(size=(m, 50))
    assert np.linalg.matrix_rank((u[:, None] + v).reshape(n * m, 50)) == n + m - 1


def test_exercise_6_10_cosines_of_differences_have_rank_2():
    i = np.arange(40)
    for angle in (0.1, 1.0, 2.5):
        assert np.linalg.matrix_rank(np.cos(angle * abs(i[:, None] - i))) == 2
    waves = sum(np.cos(angle * (i[:, None] - i)) for angle in (0.1, 1.0, 2.5))
    assert np.linalg.matrix_rank(waves) == 6


# ---- one digit: exercises 6 to 9


def test_exercise_6_6_in_base_b_there_are_58_b_plus_49_parameters():
    for base in (2, 3, 7, 10, 16, 40):
        assert count(sum_in_base(base)).total == 58 * base + 49
        assert adds(sum_in_base(base), base)
    book = book_sum().flat
    assert all(np.allclose(array, book[name], rtol=1e-9) for name, array in sum_in_base(10).flat.items())


def test_exercise_6_7_attention_leaves_1_minus_k_and_k():
    model = line_sum()
    for pair in pairs(10):
        after = trace(model, pair, want="0.resid_mid")["0.resid_mid"][-1]
        assert np.allclose(after, [1 - sum(pair), sum(pair)] + [0] * 18, atol=1e-9)
    assert (count(model).total, count(model).nonzero) == (5_797, 368)


@pytest.mark.parametrize(
    ("build", "total", "margin"),
    [
        (line_sum, 5_797, 19.9),
        (narrow_sum, 474, 0.14),
        (lambda: narrow_sum(hinges), 201, 0.14),
        (clean_sum, 693, 8e-5),
        (attention_only_sum, 160, 3e-3),
    ],
    ids=["line", "narrow", "narrow, hinges", "clean", "attention only"],
)
@BOTH
def test_exercises_6_7_8_9_and_13_are_right_on_every_pair_of_digits(build, total, margin, dtype):
    certificate = certify(build(), digit_sum(), dtype)
    assert (certificate.right, certificate.inputs) == (True, 100)
    assert certificate.margin == pytest.approx(margin, rel=0.05)
    assert count(build()).total == total


def test_exercise_6_8_the_mean_of_two_points_lies_half_way_between_them():
    angles = np.linspace(0.1, 3.0, 7)
    means = on_circle(angles)[:, None] + on_circle(angles)
    assert np.allclose(layer_norm(means), on_circle((angles[:, None] + angles) / 2), atol=1e-12)


def test_exercise_6_9_the_answer_alone_is_left_in_the_stream():
    model = clean_sum()
    for pair in pairs(10):
        left = trace(model, pair, want="resid_final")["resid_final"][-1]
        assert np.allclose(left, model.params["W_E"][sum(pair) % 10], atol=1e-9)


# ---- attention alone: exercise 13


@pytest.mark.parametrize("base", [2, 3, 10])
def test_exercise_6_13_of_logits_that_are_sums_the_right_ones_are_no_larger_on_average(base):
    rng = np.random.default_rng(base)
    x, y, read = rng.normal(size=(3, base, 20))
    logits = (x[:, None] + y) @ read.T  # (i, j, k): the logit of k after i, j
    i, j = np.indices((base, base))
    right = logits[i, j, (i + j) % base]
    for shift in range(1, base):
        assert right.sum() == pytest.approx(logits[i, j, (i + j + shift) % base].sum())


@pytest.mark.parametrize("seed", range(20))
def test_exercise_6_13_with_attention_that_does_not_look_at_tokens_some_sum_is_wrong(seed):
    """Residual connection, several heads, both layer norms, positions: none of them helps."""
    config = Config(
        vocab=3, block=2, d_model=12, layers=1, heads=2, d_head=6, eps=0.0, biases=(), tied=bool(seed % 2)
    )  # fmt: skip
    weights = params.random(config, seed, scale=1.0)
    weights["layers"][0]["W_Q"][:] = 0.0
    model = Model(config, weights, Vocab.numbers(3))
    run = trace(model, np.array(pairs(3)), want=["logits", "ln_final_scale"])
    unscaled = (run["logits"] * run["ln_final_scale"][..., None])[:, -1]  # the scale of a row decides nothing
    right = np.array([sum(pair) % 3 for pair in pairs(3)])
    rows = np.arange(9)
    assert unscaled[rows, right].sum() == pytest.approx(unscaled[rows, (right + 1) % 3].sum())
    assert not adds(model, 3)


@pytest.mark.parametrize("base", [2, 3, 7, 10, 16, 40])
def test_exercise_6_13_attention_that_looks_at_tokens_adds_without_an_mlp(base):
    model = attention_only_sum(base)
    assert model.config.d_ff == 0
    assert count(model).total == 8 * base + 80
    assert adds(model, base)


# ---- several digits: exercises 11, 12, 14 to 16


@pytest.mark.parametrize(("digits", "total"), [(1, 1_142), (2, 9_340)])
def test_exercise_6_11_one_head_reads_both_digits_of_a_place(digits, total):
    model = shared_heads(digits)
    assert certify(model, last_digit_of_sum(digits), "float64", samples=1000).right
    assert count(model).total == count(book_modular_sum(digits)).total - 84 * digits == total
    looks = trace(model, ask(7, 5, digits), want="0.pattern")["0.pattern"][0, -1]
    assert looks[[digits - 1, 2 * digits]].tolist() == pytest.approx([0.5, 0.5])


def test_exercise_6_12_positions_on_a_circle_peak_once():
    """No head can prefer two opposite positions to the others: with them on a circle, scores are one wave."""
    digits = 2
    places = circle(2 * digits + 2)
    wave = places @ np.random.default_rng(0).normal(size=(3, 1000))  # (positions, directions)
    centred = wave - wave.mean(0)
    assert np.allclose(centred[: digits + 1], -centred[digits + 1 :])


@pytest.mark.parametrize(("digits", "total"), [(1, 2_172), (2, 18_554)])
def test_exercise_6_12_the_same_with_the_books_positions_in_two_layers(digits, total):
    model, book = shared_heads_deep(digits), book_modular_sum(digits)
    assert certify(model, last_digit_of_sum(digits), "float64", samples=1000).right
    assert np.array_equal(model.params["W_pos"], book.params["W_pos"])
    assert np.count_nonzero(model.params["layers"][0]["W_in"].any(0)) == 2 * digits + 1  # neurons of the first layer
    assert (model.config.d_model, model.config.heads) == (book.config.d_model, digits + 1)
    assert count(model).total == total


@pytest.mark.parametrize("digits", [1, 2])
def test_exercise_6_14_without_a_cleanup_head_there_are_84_parameters_less(digits):
    model = uncleaned_sum(digits)
    assert certify(model, last_digit_of_sum(digits), "float64", samples=1000).right
    assert count(model).total == count(book_modular_sum(digits)).total - 84
    assert gap(modular_points(digits, clean=False)) > 1.7 * gap(modular_points(digits))


def test_exercise_6_15_the_tens_digit_by_another_output_matrix():
    model, book = tens_digit(2), book_modular_sum(2)
    questions = list(itertools.product(range(0, 100, 3), range(0, 100, 7)))
    said = generate(model, [ask(a, b, 2) for a, b in questions], engine="torch")
    assert said == [[(a + b) // 10 % 10] for a, b in questions]
    assert [name for name in book.flat if not np.array_equal(model.flat[name], book.flat[name])] == ["layers.0.W_out"]


def test_exercise_6_16_sums_divided_by_a_power_of_ten_stay_apart():
    assert gap(modular_points(3)) == pytest.approx(1.37e-9, rel=0.01)
    assert gap(modular_points(3, 1e3)) == pytest.approx(5.0e-4, rel=0.01)
    assert gap(modular_points(5)) < 1e-15  # rounding: some sums are the same number
    assert gap(modular_points(5, 1e5)) == pytest.approx(5.0e-6, rel=0.01)


@BOTH
def test_exercise_6_16_two_digits_are_then_right_in_both_precisions(dtype):
    model = spread_sum(2)
    assert certify(model, last_digit_of_sum(2), dtype, samples=3000).right
    assert count(model).total == 9_508


def test_exercise_6_16_what_float32_then_gets_wrong_is_the_sum_over_neurons():
    """What the MLP adds for 3 digits, next to the answer's vector: in float32 it is off by hundredths, computed in
    float64 from the same float32 input by about a thousandth. Vectors of neighbouring digits differ by 0.013."""
    model = spread_sum(3)
    questions = np.array([ask(int(a), int(b), 3) for a, b in np.random.default_rng(0).integers(0, 1000, (200, 2))])
    exact = trace(model, questions, want="0.mlp_out")["0.mlp_out"][:, -1]
    run = trace(model.astype("float32"), questions, want=["0.ln2", "0.mlp_out"], engine="torch")
    layer, seen = model.params["layers"][0], np.float64(run["0.ln2"][:, -1])
    finer = np.maximum(seen @ layer["W_in"] + layer["b_in"], 0) @ layer["W_out"]
    error, rounded = (abs(np.float64(out) - exact).max() / LOUD_SUMS for out in (finer, run["0.mlp_out"][:, -1]))
    assert error < 0.013 / 4
    assert rounded > 3 * error


def test_exercise_6_16_three_digits():
    assert certify(spread_sum(3), last_digit_of_sum(3), "float64", samples=200).right


@pytest.mark.slow
@pytest.mark.parametrize("build", [shared_heads, shared_heads_deep, uncleaned_sum, spread_sum])
def test_exercises_6_11_12_14_and_16_on_every_input_of_two_digits(build):
    certificate = certify(build(2), last_digit_of_sum(2), "float64")
    assert (certificate.method, certificate.inputs, certificate.right) == ("exhaustive", 10_000, True)


# ---- all digits: exercises 18, 19


@pytest.mark.parametrize(
    ("digits", "value", "place", "before", "after"),
    [
        (1, 0.1311786, 1.1209807, 6.00e-3, 6.71e-2),
        (2, 0.0090479, 1.0916882, 9.89e-4, 3.96e-3),
        (3, 7.944795e-4, 1.4738742, 3.49e-7, 2.53e-4),
    ],
)
def test_exercise_6_18_constants_that_keep_sums_and_steps_apart(digits, value, place, before, after):
    first = np.array([1.0, 0.0, 0.0])
    assert gap(addition_points(digits, 0.01, first)) == pytest.approx(before, rel=0.01)
    assert gap(addition_points(digits, value, place * first)) == pytest.approx(after, rel=0.01)
    model = spread_addition(digits, value, place)
    assert certify(model, addition(digits), "float64", samples=200 if digits < 3 else 30).right


@BOTH
def test_exercise_6_18_two_digits_in_both_precisions(dtype):
    assert certify(spread_addition(2, 0.0090479, 1.0916882), addition(2), dtype, samples=500).right


def test_exercise_6_19_which_coordinate_of_the_position_is_used():
    gaps = [[gap(addition_points(digits, 0.01, axis)) for axis in np.eye(3)] for digits in (1, 2, 3)]
    assert np.allclose(
        gaps, [[6.00e-3, 7.56e-3, 6.92e-3], [9.89e-4, 9.89e-4, 0], [3.49e-7, 4.37e-7, 1.22e-6]], rtol=0.01, atol=1e-12
    )


@pytest.mark.parametrize(
    ("digits", "value", "size", "angle", "expected"),
    [
        (1, 0.18176266, 2.07532014, 1.76187446, 7.34e-2),
        (2, 0.0089946454, 1.53536736, 0.52391779, 3.98e-3),
        (3, 0.000861490905, 2.03883500, 0.491056812, 2.60e-4),
    ],
)
def test_exercise_6_19_the_best_combination_found_is_little_better(digits, value, size, angle, expected):
    assert gap(addition_points(digits, value, size * on_circle(angle) / 3)) == pytest.approx(expected, rel=0.01)


# ---- exercises 20 and 21


@BOTH
@pytest.mark.parametrize(("digits", "total"), [(1, 9_844), (2, 121_072)])
def test_exercise_6_20_sums_without_zeros_in_front(digits, total, dtype):
    model = unpadded_addition(digits)
    assert certify(model, tasks.unpadded_addition(digits), dtype, samples=None if digits == 1 else 500).right
    assert count(model).total == total


@pytest.mark.slow
@BOTH
def test_exercise_6_20_two_digits_on_every_input(dtype):
    certificate = certify(unpadded_addition(2), tasks.unpadded_addition(2), dtype)
    assert (certificate.method, certificate.inputs, certificate.right) == ("exhaustive", 10_000, True)
    assert certificate.margin > 0.01


@pytest.mark.slow
def test_exercise_6_20_three_digits():
    model, task = unpadded_addition(3), tasks.unpadded_addition(3)
    assert count(model).total == 1_547_740
    assert certify(model, task, "float64", samples=400).right
    assert not certify(model, task, "float32", samples=400).right


def test_exercise_6_20_the_books_examples():
    assert unpadded_addition(2)(["4+8=", "84+88=", "0+0=", "9+91="]) == ["12", "172", "0", "100"]


@BOTH
@pytest.mark.parametrize("digits", [1, 2])
def test_exercise_6_21_products_on_every_input(digits, dtype):
    certificate = certify(multiplication(digits), tasks.multiplication(digits), dtype)
    assert (certificate.method, certificate.inputs) == ("exhaustive", 100**digits)
    assert certificate.right
    assert certificate.margin == pytest.approx(0.0141, rel=0.25)


@pytest.mark.parametrize("digits", [3, 4, 5, 6])
def test_exercise_6_21_products_of_up_to_six_digits_in_float64(digits):
    model, task = multiplication(digits), tasks.multiplication(digits)
    assert count(model).total == 3_488 * digits - 238
    assert certify(model, task, "float64", samples=1000).right
    assert not certify(model, task, "float32", samples=1000).right


def test_exercise_6_21_seven_digits_are_too_many_for_float64():
    assert not certify(multiplication(7), tasks.multiplication(7), "float64", samples=2500).right


@pytest.mark.slow
def test_exercise_6_21_products_of_three_digits_on_every_input():
    certificate = certify(multiplication(3), tasks.multiplication(3), "float64")
    assert (certificate.method, certificate.inputs, certificate.right) == ("exhaustive", 1_000_000, True)


def test_exercise_6_21_each_digit_of_the_second_number_gives_that_part_of_its_attention():
    pattern = trace(multiplication(1), "7*8=", want="0.pattern")["0.pattern"]
    assert pattern[0, 2].tolist() == pytest.approx([0.8, 0.2, 0.0, 0.0])


@pytest.mark.parametrize("task", [tasks.unpadded_addition(2), tasks.multiplication(2)], ids=["sums", "products"])
def test_tasks_take_their_own_inputs_and_no_others(task):
    inputs = list(task.every())
    assert len(inputs) == task.count
    assert len({tuple(ids) for ids in inputs}) == task.count
    rng = np.random.default_rng(0)
    assert all(task.oracle(task.draw(rng)) for _ in range(50))
    assert all(task.oracle(ids) is None for ids in ([], [5], [10, 11], [1, 10, 2], [12, 1, 10, 11], [1, 2, 10, 3, 11]))


def test_numbers_with_zeros_in_front_are_refused():
    with pytest.raises(HandloomError, match="without zeros in front"):
        tasks.unpadded_addition(2).answer("04+8=")


def test_oracles_agree_with_arithmetic():
    assert tasks.unpadded_addition(3).answer("999+1=") == "1000"
    assert tasks.multiplication(2).answer("99*99=") == "9801"


@pytest.mark.parametrize("build", [unpadded_addition, multiplication])
def test_no_digits_are_refused(build):
    with pytest.raises(HandloomError, match="digits=0 must be from 1 to"):
        build(0)


@pytest.mark.parametrize("build", [sum_in_base, attention_only_sum])
def test_base_1_is_refused(build):
    with pytest.raises(HandloomError, match="base=1 must be at least 2"):
        build(1)
