"""The writer of .taotp texts: what it recognises, what it says beside it, and that no bit is lost."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import random_model
from handloom.core import Config, HandloomError, Model, Vocab, params
from handloom.write import program
from handloom.write.parts.encodings import circle, padding, turn
from handloom.write.taotp import read_taotp, write_taotp
from handloom.write.taotp.factoring import factored, literal
from handloom.write.taotp.literals import evaluate_literal, half_circle, pack
from handloom.write.taotp.scalars import expression_of
from programs import CASES

F64 = np.dtype("float64")
SMALL = [case.name for case in CASES if case.total < 20_000]


def assert_same(a, b):
    """The same model to the last bit."""
    assert (a.config, a.vocab, dict(a.notes), a.dtype) == (b.config, b.vocab, dict(b.notes), b.dtype)
    for name, array in a.flat.items():
        assert array.tobytes() == b.flat[name].tobytes(), name


def value(text, dtype=F64):
    return np.array(evaluate_literal(text)).astype(dtype)


@given(
    st.integers(-200, 200), st.integers(1, 60), st.integers(-3, 8), st.sampled_from([1.0, math.sqrt(14), math.pi, 1e-9])
)
def test_an_expression_is_the_number_to_the_last_bit(p, q, exponent, factor):
    number = p / q * 10.0**exponent * factor
    assert value(expression_of(number)).tobytes() == np.float64(number).tobytes()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_has_an_expression(number):
    assert value(expression_of(number)).tobytes() == np.float64(number).tobytes()


def test_zeros_of_both_signs_keep_their_signs():
    assert [expression_of(x) for x in (0.0, -0.0, 0.0)] == ["0", "-0.0", "0"]
    assert factored(-np.eye(3), F64) == "-eye(3)"
    assert factored(-np.zeros((2, 2)), F64) == ""


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        (np.zeros((3, 4)), "zeros(3, 4)"),
        (1e8 * np.eye(3), "1e8 * eye(3)"),
        (np.sqrt(1.5) * np.eye(2), "sqrt(3 / 2) * eye(2)"),
        (circle(7), "circle(7)"),
        (1e6 * circle(7), "1e6 * circle(7)"),
        (half_circle(20), "half_circle(20)"),
        (1e6 * circle(11)[[3, 3, 1, 10]], "1e6 * rows(circle(11), [3, 3, 1, 10])"),
        (1e8 * turn(-2 * np.pi / 100), "1e8 * turn(-pi / 50)"),
        (turn(3 * (2 * np.pi / 11)), "turn(6 * pi / 11)"),
        (np.tile(padding(6), (5, 1)), "rows([padding(6)], [0, 0, 0, 0, 0])"),
        (np.pad(circle(5), ((0, 0), (2, 1))), "blocks([[zeros(5, 2), circle(5), zeros(5, 1)]])"),
        (np.hstack([circle(5), circle(5)[::-1]]), "blocks([[circle(5), rows(circle(5), [4, 3, 2, 1, 0])]])"),
    ],
)
def test_a_matrix_is_recognised(matrix, text):
    found = factored(matrix, F64, (5, 11))
    assert found == text
    assert value(found).tobytes() == matrix.tobytes()
    single = matrix.astype(np.float32)
    if name := factored(single, single.dtype, (5, 11)):
        assert value(name, np.float32).tobytes() == single.tobytes()


PIECES = """circle(4) | half_circle(4) | eye(4) | zeros(4, 2) | 1e8 * eye(4) | -eye(4) | ones(4, 3) |
    sqrt(2) * circle(4) | rows(circle(5), [4, 0, 0, 1]) | [[1], [0.5], [-0.0], [3]]"""
pieces = st.sampled_from([piece.strip() for piece in PIECES.split("|")])


@given(st.lists(pieces, min_size=1, max_size=4), st.booleans(), st.sampled_from(["float32", "float64"]))
@settings(deadline=None)
def test_a_matrix_of_known_pieces_is_written_without_a_change(texts, above, dtype):
    matrix = value(f"blocks([[{', '.join(texts)}]])", dtype)
    if above:
        matrix = np.vstack([np.zeros((2, matrix.shape[1]), dtype), matrix])
    text = factored(matrix, matrix.dtype, (5,)) or literal(matrix)
    assert value(text, dtype).tobytes() == matrix.tobytes()


@pytest.mark.parametrize("name", SMALL)
def test_every_program_goes_to_text_and_back_and_its_text_is_always_the_same(name):
    model = program(name)
    text = write_taotp(model)
    assert_same(read_taotp(text), model)
    assert write_taotp(read_taotp(text)) == text


@pytest.mark.parametrize(
    ("name", "most"),
    [("hello", 700), ("min", 1_400), ("book/search", 7_000), ("addition", 12_500), ("tiny-addition", 5_000),
     ("search", 13_000), ("sort", 95_000)],
)  # fmt: skip
def test_texts_are_short_and_quickly_written(name, most):
    model = program(name)
    start = time.process_time()
    assert len(write_taotp(model)) <= most
    assert time.process_time() - start < 2.0  # 0.2 on a quiet machine


def test_comments_tell_directions_heads_and_layers():
    text = write_taotp(program("addition"))
    assert "# high, low, place, square, digit, sum, mark" in text
    assert "# Head 0: at the lowest place without a nine, in the own row" in text
    assert "# MLP: mark a nine" in text
    assert "],  # '9'" in text
    assert "{'digit': 131072 / sqrt(14) * [1, 0]}" in text


def named(notes, Q, tokens="zeros(2, 5)"):
    return read_taotp(f"{{'tok_emb': {tokens}, 'block_size': 1, 'layers': [{{'Q': [{Q}]}}], 'notes': {notes}}}")


def test_rows_may_be_given_by_the_names_of_directions():
    notes = "{'directions': {'a': 1, 'b': [2, 4]}}"
    model = named(notes, "{'a': [1, 2], 'b': 2 * eye(2)}")
    assert model.params["layers"][0]["W_Q"][0].tolist() == [[0, 0], [1, 2], [2, 0], [0, 2], [0, 0]]
    for Q, complaint in (
        ("{'c': [1]}", r"there is no entry 'layers\[0\].Q.c'; the entries here are a, b"),
        ("{'b': [1, 2]}", r"layers\[0\].Q.b is 1 × 2, expected 2 × 2"),
        ("{'a': [1], 'b': eye(2)}", r"layers\[0\].Q.a is 1 × 1, expected 1 × 2"),
        ("{'a': 'x'}", r"layers\[0\].Q.a: 'x' is not a number"),
        ("{'a': zeros(1, 2, 3)}", r"layers\[0\].Q.a is 1 × 2 × 3, expected a row or a matrix"),
    ):
        with pytest.raises(HandloomError, match=complaint):
            named(notes, Q)
    with pytest.raises(HandloomError, match=r"Q\.b is 2 × 2, expected 0 × 2"):
        named("{'directions': {'b': [9, 12]}}", "{'b': eye(2)}")


ODD = """{'tok_emb': circle(3), 'block_size': 1, 'layers': [{'Q': [[[1], [2], [0]]]}],
    'notes': {'directions': %s, 'heads': {'0.0': '#\\n}', '0.1': 3}, 'mlps': [1]}}"""


@pytest.mark.parametrize(
    "directions", ["3", "{'a': 'x'}", "{'a': [1]}", "{'a': -1}", "{'a\\nb': 0, 'c': [5, 2]}", "{'a': 10000000000}"]
)
def test_notes_of_any_kind_do_not_disturb_the_text(directions):
    model = read_taotp(ODD % directions)
    assert_same(read_taotp(write_taotp(model)), model)


def test_matrices_in_notes_become_lists():
    model = read_taotp("{'tok_emb': eye(3), 'block_size': 1, 'notes': {'a': [2 * eye(2), 'x'], 'b': pi}}")
    assert dict(model.notes) == {"a": [[[2.0, 0.0], [0.0, 2.0]], "x"], "b": np.pi}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_matrices_are_packed(dtype):
    model = random_model(Config(vocab=70, block=4, d_model=20, layers=1, heads=2, d_head=6, d_ff=50)).astype(dtype)
    text = write_taotp(model)
    assert "'tok_emb': packed(" in text
    assert_same(read_taotp(text), model)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("packed('!', 2, 2)", "the packed text has 0 bytes|the packed text is damaged"),
        ("packed('\\x00', 2, 2)", "the packed text is damaged"),
        (pack(np.ones((3, 3))).replace("3, 3", "3, 5"), "the packed text has 72 bytes, expected 120 or 60"),
        (pack(np.ones((300, 300))).replace("300, 300", "1, 1"), "the packed text has 9 bytes, expected 8 or 4"),
        ("packed('', 0, 5)", "the packed text has 0 bytes|the packed text is damaged"),
        ("packed(3, 1, 1)", "this is 3, expected a packed text in quotes"),
        ("packed('', 100000, 100000)", "this makes 10,000,000,000 numbers"),
    ],
)
def test_a_damaged_packed_text_is_refused_in_one_line(text, complaint):
    with pytest.raises(HandloomError, match=complaint) as caught:
        evaluate_literal(text)
    assert "\n" not in str(caught.value)


def test_rows_of_a_matrix_are_spread_into_a_list():
    assert value("[[1, 2], *zeros(2, 2), *eye(2)]").tolist() == [[1, 2], [0, 0], [0, 0], [1, 0], [0, 1]]


def test_what_a_matrix_is_not_is_never_written():
    """One bit changed, and the name is not taken."""
    matrix = 1e6 * circle(11)
    matrix[3, 1] = np.nextafter(matrix[3, 1], 1)
    weights = params.zeros(Config(vocab=11, block=2, d_model=3)) | {"W_E": matrix}
    model = Model(Config(vocab=11, block=2, d_model=3), weights, Vocab.numbers(11))
    assert "'tok_emb': 1e6 * circle(11)" not in write_taotp(model)
    assert_same(read_taotp(write_taotp(model)), model)
