"""Numbers as tokens, and the tasks about them: divisors, sums modulo a number, matrices."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handloom as hl
from draws import question_and_output
from handloom.core import HandloomError
from handloom.tasks.matrices import eigenvalues, inverse, matrix_inverse, matrix_product, read_matrices, write_matrices
from handloom.tasks.number_tokens import ENCODINGS, encoding, read_integer, write_integer
from handloom.tasks.numbers import addition_modulo, gcd

EVERY_ENCODING = pytest.mark.parametrize("name", ENCODINGS)
MATRIX_TASKS = {
    "product": matrix_product(2, encoding="P10"),
    "inverse": matrix_inverse(2, encoding="P1000"),
    "eigenvalues": eigenvalues(3, encoding="B1999"),
    "one token a number": eigenvalues(2, encoding="FP15"),
}
TASKS = {
    "gcd": gcd(),
    "gcd of large numbers": gcd(10**6, base=30),
    "modular sum": addition_modulo(),
    **MATRIX_TASKS,
}
EVERY_TASK = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
EVERY_MATRIX_TASK = pytest.mark.parametrize("task", MATRIX_TASKS.values(), ids=MATRIX_TASKS)


# ---- encodings


@pytest.mark.parametrize(
    ("name", "pi", "avogadro", "size"),
    [
        ("P10", "+ 3 1 4 E-2", "- 6 0 2 E21", 213),
        ("P1000", "+ 314 E-2", "- 602 E21", 1203),
        ("B1999", "314 E-2", "-602 E21", 2200),
        ("FP15", "FP314/-2", None, 28_801),
    ],
)
def test_numbers_are_spelled_as_in_the_first_table_of_the_paper(name, pi, avogadro, size):
    code = encoding(name)
    assert code.encode(math.pi) == pi.split()
    assert len(code.tokens) == len(set(code.tokens)) == size
    if avogadro:
        assert code.encode(-6.02e23) == avogadro.split()
    else:
        with pytest.raises(
            HandloomError, match=r"^-6.02e\+23 is too large for FP15: it writes numbers up to 9.99e\+08"
        ):
            code.encode(-6.02e23)


@EVERY_ENCODING
@given(st.floats(-9e8, 9e8))
def test_what_was_encoded_is_decoded_to_three_significant_digits(name, value):
    code = encoding(name)
    tokens = code.encode(value)
    assert len(tokens) == code.width
    smallest = 100 * 10.0 ** code.exponents[0]
    if abs(value) >= smallest:
        assert code.decode(tokens) == float(f"{value:.2e}")
        assert abs(code.decode(tokens) - value) <= 0.005 * abs(value)
    else:
        assert abs(code.decode(tokens)) <= smallest
    assert code.encode(code.decode(tokens)) == tokens


@EVERY_ENCODING
def test_zero_has_a_spelling_of_its_own_and_rounding_carries_over(name):
    code = encoding(name)
    assert code.encode(0.0) == code.encode(-0.0) == code.encode(-1e-300)
    assert code.decode(code.encode(0.0)) == 0
    assert code.encode(9.996) == code.encode(10.0)
    assert code.decode(code.encode(code.largest)) == code.largest


@EVERY_ENCODING
@settings(max_examples=50)
@given(data=st.data())
def test_any_tokens_are_a_number_or_none(name, data):
    code = encoding(name)
    tokens = data.draw(st.lists(st.sampled_from((*code.tokens, "V2", "")), max_size=code.width + 1))
    value = code.decode(tokens)
    fits = len(tokens) == code.width and all(t in slot for t, slot in zip(tokens, map(set, code.slots), strict=True))
    assert (value is None) == (not fits)
    assert value is None or math.isfinite(value)


def test_mantissas_with_zeros_in_front_are_read():
    assert encoding("P1000").decode(["+", "31", "E-1"]) == encoding("P10").decode(["+", "0", "3", "1", "E-1"]) == 3.1


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_cannot_be_encoded(value):
    with pytest.raises(HandloomError, match="is not a number that P10 can write; give a finite one"):
        encoding("P10").encode(value)


@given(st.integers(), st.integers(2, 2000))
def test_integers_are_read_as_they_were_written(value, base):
    tokens = write_integer(value, base)
    assert read_integer(tokens, base) == value
    assert int(tokens[0] + "1") * sum(int(d) * base**place for place, d in enumerate(tokens[:0:-1])) == value


@pytest.mark.parametrize("base", [2, 10, 11])
def test_of_all_short_lists_of_tokens_those_are_an_integer_that_write_it(base):
    written = {tuple(write_integer(value, base)): value for value in range(-(11**3), 11**3)}
    some = ("+", "-", "0", "1", "9", "10", "", "x", "²", "V2")
    for tokens in (tokens for size in range(4) for tokens in itertools.product(some, repeat=size)):
        assert read_integer(tokens, base) == written.get(tokens)


# ---- what all these tasks share


@EVERY_TASK
def test_what_is_drawn_is_answered_and_the_answer_is_right(task):
    rng = np.random.default_rng(0)
    for _ in range(200):
        asked, answer = task.pair(rng)
        assert task.verdict(asked, answer) == "right"
        assert task.vocab.encode(task.vocab.decode(asked)) == asked
        assert task.formed(answer)
        assert task.verdict(asked, answer[:-1]) == task.verdict(asked, [*answer, answer[-1]]) == "malformed"


@EVERY_TASK
def test_the_same_seed_draws_the_same(task):
    first, second = ([task.pair(np.random.default_rng(7)) for _ in range(3)] for _ in range(2))
    assert first == second
    assert task.draw(np.random.default_rng(8)) != first[0][0]


@EVERY_TASK
@settings(max_examples=50)
@given(data=st.data())
def test_every_answer_to_anything_gets_a_verdict(task, data):
    ids = st.lists(st.integers(0, len(task.vocab) - 1), max_size=40)
    asked, said = question_and_output(data, task, ids)
    verdict = task.verdict(asked, said)
    assert verdict in ("right", "wrong", "malformed")
    assert (verdict == "malformed") == (not task.formed(said))
    assert task.verdict(data.draw(ids), said) in ("right", "wrong", "malformed")


@EVERY_TASK
def test_the_example_that_a_task_gives_is_one(task):
    task.check(task.takes.split("such as ")[1])


REFUSED = {
    lambda: gcd(0): "gcd: most=0 must be a whole number of at least 1",
    lambda: gcd(base=1): "gcd: base=1 must be a whole number of at least 2",
    lambda: gcd(base=10**9): "gcd: base=1000000000 must be at most 100000",
    lambda: addition_modulo(1.5): "modular-addition: modulus=1.5 must be a whole number of at least 2",
    lambda: matrix_product(0): "matrix_product: n=0 must be a whole number of at least 1",
    lambda: matrix_inverse(encoding="P100"): "encoding='P100' is not one of P10, P1000, B1999, FP15",
    lambda: eigenvalues(most=math.nan): "eigenvalues: most=nan must be a number from 0.01 to 1.05e+51",
    lambda: matrix_product(most=1e6, encoding="FP15"): "matrix_product: most=1000000.0 must be a number from 0.01 to "
    "1.58e+04",
    lambda: matrix_inverse(tolerance=0.0): "matrix_inverse: tolerance=0.0 must be a number from 0.01 to 1",
}


@pytest.mark.parametrize(("make", "message"), REFUSED.items(), ids=REFUSED.values())
def test_bad_parameters_are_refused_in_one_line(make, message):
    with pytest.raises(HandloomError) as error:
        make()
    assert str(error.value) == message


# ---- divisors and sums


@pytest.mark.parametrize("base", [2, 3, 10, 16])
def test_every_pair_of_small_numbers_has_the_gcd_that_math_finds(base):
    task = gcd(20, base)
    seen = set()
    for asked in task.every():
        seen.add(tuple(asked))
        tokens = [task.vocab.tokens[i] for i in asked]
        second = tokens.index("+", 1)
        pair = (int("".join(f"{int(d):x}" for d in part), base) for part in (tokens[1:second], tokens[second + 1 : -1]))
        *answer, end = (task.vocab.tokens[i] for i in task.oracle(asked))
        assert end == "<eos>"
        assert answer == write_integer(math.gcd(*pair), base)
    assert len(seen) == task.count == 400


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from([2, 10, 30, 1000]))
def test_the_gcd_of_large_numbers_is_the_one_that_math_finds(a, b, base):
    task = gcd(10**6, base)
    tokens = [*write_integer(a, base), *write_integer(b, base), "="]
    answer = [task.vocab.tokens[i] for i in task.oracle([task.vocab.id(token) for token in tokens])]
    assert answer == [*write_integer(math.gcd(a, b), base), "<eos>"]


def test_what_is_no_pair_of_numbers_has_no_gcd():
    task = gcd(100)
    for text in (
        "",
        "=",
        "+",
        "+5=",
        "+5+=",
        "++5=",
        "5+5=",
        "+5+5",
        "+05+5=",
        "+0+5=",
        "+101+5=",
        "+5+5+5=",
        "+5+5==",
    ):
        with pytest.raises(
            HandloomError, match=r"this takes two numbers from 1 to 100 in base 10, such as \+100\+100="
        ):
            task.check(text)


def test_a_divisor_that_is_not_the_greatest_is_wrong_and_what_is_no_number_malformed():
    task = gcd()
    asked, spell = task.vocab.encode("+160+120="), task.vocab.encode
    end = spell("<eos>")
    assert task.verdict(asked, spell("+40") + end) == "right"
    assert task.verdict(asked, spell("+20") + end) == "wrong"
    for said in (spell("+40"), spell("40") + end, spell("+04") + end, spell("+") + end, end, [], spell("+4+0") + end):
        assert task.verdict(asked, said) == "malformed"


@pytest.mark.parametrize("modulus", [2, 7, 113])
def test_addition_modulos_are_sums_modulo_a_number(modulus):
    task = addition_modulo(modulus)
    everything = list(task.every())
    assert len(set(map(tuple, everything))) == task.count == modulus**2
    assert all(task.oracle([a, b, equals]) == [(a + b) % modulus] for a, b, equals in everything)
    assert {task.oracle(asked)[0] for asked in task.hard()} == {0, modulus - 1}
    assert task.vocab.decode(everything[1]) == "0 1 ="
    for asked in ([0, 1], [0, 1, 1], [modulus, 0, modulus], [0, 1, modulus, modulus]):
        assert task.oracle(asked) is None


@pytest.mark.parametrize("task", [gcd(50), gcd(1), gcd(12345, 7), addition_modulo(5)])
def test_hard_inputs_are_inputs(task):
    hard = list(task.hard())
    assert hard
    assert all(task.oracle(asked) is not None for asked in hard)


# ---- matrices


def matrices_of(task, ids, shapes, name):
    return read_matrices(ids, shapes, encoding(name), task.vocab)


@EVERY_ENCODING
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_products_are_those_of_numpy_to_three_digits(name, n):
    task, rng = matrix_product(n, encoding=name), np.random.default_rng(n)
    for _ in range(20):
        asked, answer = task.pair(rng)
        a, b = matrices_of(task, asked, [(n, n)] * 2, name)
        (said,) = matrices_of(task, answer, [(n, n)], name)
        assert np.abs(a).max() <= 10
        assert np.allclose(said, a @ b, rtol=0.00501, atol=1e-6)


@EVERY_ENCODING
@pytest.mark.parametrize("n", [1, 2, 4])
def test_inverses_are_those_of_numpy_and_most_multiply_to_the_identity(name, n):
    task, rng = matrix_inverse(n, encoding=name), np.random.default_rng(n)
    identities = 0
    for _ in range(40):
        asked, answer = task.pair(rng)
        (a,) = matrices_of(task, asked, [(n, n)], name)
        (said,) = matrices_of(task, answer, [(n, n)], name)
        assert np.allclose(said, np.linalg.inv(a), rtol=0.00501, atol=1e-6)
        identities += np.abs(a @ said - np.eye(n)).sum() / n <= 0.05
    assert identities >= 30


@EVERY_ENCODING
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_eigenvalues_descend_and_have_the_trace_and_the_squares_of_the_matrix(name, n):
    task, rng = eigenvalues(n, encoding=name), np.random.default_rng(n)
    for _ in range(20):
        asked, answer = task.pair(rng)
        (a,) = matrices_of(task, asked, [(n, n)], name)
        values = matrices_of(task, answer, [(n, 1)], name)[0].ravel()
        assert (np.diff(values) <= 0).all()
        rounding = 0.00501 * np.abs(values).sum()
        assert abs(values.sum() - np.trace(a)) <= rounding
        assert abs((values**2).sum() - (a * a).sum()) <= 2.1 * rounding * np.abs(values).max()
        assert np.abs(np.linalg.det(a - values[0] * np.eye(n))) <= rounding * (2 * np.abs(values).max()) ** (n - 1)


def scaled(task, asked, factor, shape, name):
    """The right answer, with its numbers multiplied."""
    (answer,) = matrices_of(task, task.oracle(asked), [shape], name)
    return write_matrices([answer * factor], encoding(name), task.vocab)


@pytest.mark.parametrize(
    ("task", "shape"), [(matrix_product(3), (3, 3)), (eigenvalues(4), (4, 1)), (matrix_product(1, 0.5), (1, 1))]
)
def test_answers_within_five_percent_are_right_and_others_wrong(task, shape):
    rng = np.random.default_rng(0)
    for _ in range(50):
        asked = task.draw(rng)
        assert task.verdict(asked, scaled(task, asked, 1.04, shape, "P1000")) == "right"
        assert task.verdict(asked, scaled(task, asked, 0.96, shape, "P1000")) == "right"
        assert task.verdict(asked, scaled(task, asked, 1.06, shape, "P1000")) == "wrong"
        assert task.verdict(asked, scaled(task, asked, -1.0, shape, "P1000")) == "wrong"


def test_an_inverse_is_judged_by_its_product_with_the_matrix():
    task = matrix_inverse(2, encoding="B1999")
    asked = task.vocab.encode("V2 V2 200 E-2 0 E0 0 E0 500 E-3")
    assert task.answer(task.vocab.decode(asked)) == "V2 V2 500 E-3 0 E0 0 E0 200 E-2"
    for text, verdict in {
        "V2 V2 520 E-3 0 E0 0 E0 208 E-2": "right",  # A P − I is diag(0.04, 0.04): 0.08 / 2
        "V2 V2 530 E-3 0 E0 0 E0 212 E-2": "wrong",  # 0.12 / 2
        "V2 V2 545 E-3 0 E0 0 E0 200 E-2": "right",  # 0.09 / 2
        "V2 V2 560 E-3 0 E0 0 E0 200 E-2": "wrong",  # 0.12 / 2, though by itself it is 2.4 % away
        "V2 V2 200 E-2 0 E0 0 E0 500 E-3": "wrong",
    }.items():
        assert task.verdict(asked, task.vocab.encode(text)) == verdict
    asked = task.vocab.encode("V2 V2 100 E-2 300 E-2 0 E0 100 E-2")
    assert task.verdict(asked, task.vocab.encode("V2 V2 100 E-2 -309 E-2 0 E0 100 E-2")) == "right"
    assert task.verdict(asked, task.vocab.encode("V2 V2 100 E-2 0 E0 -300 E-2 100 E-2")) == "wrong"


def test_the_tolerance_can_be_chosen():
    for tolerance, verdict in ((0.03, "wrong"), (0.05, "right")):
        task = matrix_product(2, tolerance=tolerance)
        asked = task.draw(np.random.default_rng(0))
        assert task.verdict(asked, scaled(task, asked, 1.04, (2, 2), "P1000")) == verdict


def test_where_the_result_is_zero_only_zero_is_right():
    task = matrix_product(1, encoding="B1999")
    asked = task.vocab.encode("V1 V1 0 E0 V1 V1 300 E-2")
    assert task.answer("V1 V1 0 E0 V1 V1 300 E-2") == "V1 V1 0 E0"
    assert task.verdict(asked, task.vocab.encode("V1 V1 0 E5")) == "right"
    assert task.verdict(asked, task.vocab.encode("V1 V1 1 E-50")) == "wrong"


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (matrix_inverse(2, encoding="B1999"), "V2 V2 100 E-2 200 E-2 200 E-2 400 E-2"),  # singular
        (matrix_inverse(1, encoding="B1999"), "V1 V1 0 E0"),
        (matrix_inverse(2, encoding="FP15"), "V2 V2 FP100/-9 FP101/-9 FP101/-9 FP102/-9"),  # has 1e11 in it
        (eigenvalues(2, encoding="B1999"), "V2 V2 100 E-2 200 E-2 201 E-2 400 E-2"),  # not symmetric
        (matrix_product(1, encoding="B1999"), "V1 V1 101 E-1 V1 V1 100 E-2"),  # 10.1 is more than 10
        (matrix_product(1, encoding="B1999"), "V1 V1 100 E-2"),
        (matrix_product(2, encoding="B1999"), "V2 V2 100 E-2 V2 V2 100 E-2"),
    ],
)
def test_what_has_no_result_is_no_input(task, text):
    with pytest.raises(HandloomError, match=r"^this takes .* matri.* with entries from -10 to 10, such as V"):
        task.check(text)
    assert task.oracle(task.vocab.encode(text)) is None


def test_an_inverse_that_is_too_large_for_one_encoding_is_not_for_another():
    said = matrix_inverse(2, encoding="B1999").answer("V2 V2 100 E-9 101 E-9 101 E-9 102 E-9")
    assert said == "V2 V2 -102 E9 101 E9 101 E9 -100 E9"


def test_no_inverse_is_found_where_rounding_is_all_there_is():
    nearly_singular = np.vander(np.linspace(1, 1.01, 8))
    assert np.isfinite(np.linalg.inv(nearly_singular)).all()
    assert inverse(nearly_singular) is None
    assert inverse(np.array([[1.0, 2.0], [2.0, 4.0]])) is None


@EVERY_MATRIX_TASK
def test_other_dimensions_missing_and_further_numbers_are_malformed(task):
    asked, answer = task.pair(np.random.default_rng(0))
    other = len(task.vocab) - 1
    for said in ([], answer[2:], [answer[0], *answer], answer + answer[2:], [*answer[:2], other, *answer[3:]]):
        assert task.verdict(asked, said) == "malformed"


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(ENCODINGS))
def test_any_answer_that_encodes_something_near_is_right_in_every_encoding(seed, name):
    task, rng = matrix_product(2, encoding=name), np.random.default_rng(seed)
    asked = task.draw(rng)
    a, b = matrices_of(task, asked, [(2, 2)] * 2, name)
    noise = rng.uniform(-1, 1, (2, 2))
    noise *= np.abs(a @ b).sum() / np.abs(noise).sum()
    for size, verdict in ((0.04, "right"), (0.06, "wrong")):
        assert task.verdict(asked, write_matrices([a @ b + size * noise], encoding(name), task.vocab)) == verdict


def test_the_example_says_every_number_in_words():
    task = hl.task("examples/translation.py")
    assert task.answer("1 2 0 4 =") == "one thousand two hundred four"
    assert task.answer("9 0 1 5 =") == "nine thousand fifteen"
    said = {tuple(task.oracle(asked)): asked for asked in task.every()}
    assert len(said) == task.count == 10_000  # no two alike
    with pytest.raises(HandloomError, match="takes a number up to 9999 in digits"):
        task.answer("0 7 =")
