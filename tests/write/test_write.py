"""The programs against their oracles and the book's numbers."""

import itertools

import numpy as np
import pytest

from handloom.core import HandloomError, count, generate, trace
from handloom.tasks import task
from handloom.write import PROGRAMS, program
from handloom.write.parts.encodings import circle, on_circle, padding, turn
from programs import CASES


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)


@pytest.mark.parametrize("n", [1, 2, 11, 1000])
def test_layer_norm_keeps_the_points_of_the_circle(n):
    assert np.allclose(layer_norm(circle(n)), circle(n), atol=1e-12)


def test_a_point_of_the_circle_is_nearest_to_itself():
    nearness = circle(97) @ circle(97).T
    assert np.array_equal(nearness.argmax(-1), np.arange(97))


@pytest.mark.parametrize("angle", [0.0, 0.3, -2.0])
def test_definition_3_1_the_circle_is_linearly_shiftable(angle):
    angles = np.linspace(-4, 4, 9)
    assert np.allclose(on_circle(angles) @ turn(angle), on_circle(angles + angle), atol=1e-12)


@pytest.mark.parametrize("width", [2, 3, 10])
def test_layer_norm_keeps_padding(width):
    assert np.allclose(layer_norm(padding(width)), padding(width), atol=1e-12)


def test_theorem_3_1_layer_norm_leaves_concatenated_fixed_blocks_fixed():
    both = np.concatenate([circle(7)[3], padding(5), circle(4)[1]])
    assert np.allclose(layer_norm(both), both, atol=1e-12)


@pytest.mark.parametrize(("name", "oracle"), [("min", min), ("max", max)])
@pytest.mark.parametrize("engine", ["reference", "torch"])
def test_min_and_max_on_every_input_of_up_to_five(name, oracle, engine):
    model = program(f"book/{name}", n=5)
    inputs = [list(x) for length in range(1, 6) for x in itertools.product(range(5), repeat=length)]
    assert [out for (out,) in generate(model, inputs, engine=engine)] == [oracle(x) for x in inputs]


@pytest.mark.parametrize(("name", "oracle"), [("min", min), ("max", max)])
def test_min_and_max_of_a_thousand_numbers(name, oracle):
    model = program(f"book/{name}", n=1000)
    rng = np.random.default_rng(0)
    inputs = [rng.integers(0, 1000, rng.integers(1, 60)).tolist() for _ in range(100)]
    assert [out for (out,) in generate(model, inputs, engine="torch")] == [oracle(x) for x in inputs]


def test_min_has_the_books_size_and_11_nonzero_outside_the_token_table():
    for n in (5, 20, 28):
        model = program("book/min", n=n)
        assert count(model).total == 6 * n + 39
        assert count(model).nonzero - np.count_nonzero(model.params["W_E"]) == 11


@pytest.mark.parametrize(
    ("sizes", "total", "nonzero"),
    [
        ({"tokens": 1000, "length": 10, "block": 100}, 123_486, 30_734 - 85),
        ({"tokens": 10, "length": 3, "block": 100}, 4_800, 535 - 27),
    ],
)
def test_search_has_the_books_sizes(sizes, total, nonzero):
    """All of it, and of the non-zero entries those outside the turning matrices of layer 0: how many of theirs (85
    and 27) are zero is in the book a matter of rounding."""
    model = program("book/search", **sizes)
    assert count(model).total == total
    assert count(model).nonzero - np.count_nonzero(model.params["layers"][0]["W_Q"]) == nonzero


def searchable(rng, tokens, length, block):
    """A text whose last `length` tokens stood exactly once before, and the token that followed them."""
    while True:
        text = rng.integers(0, tokens, rng.integers(length + 1, block - length + 1)).tolist()
        at = int(rng.integers(0, len(text) - length))
        query = text[at : at + length]
        whole = text + query
        places = [i for i in range(len(whole) - length) if whole[i : i + length] == query]
        if places == [at]:
            return whole, whole[at + length]


@pytest.mark.parametrize(("tokens", "length", "block"), [(10, 3, 100), (50, 2, 30), (1000, 10, 100), (4, 6, 60)])
def test_search_finds_what_stood_there_once(tokens, length, block):
    model = program("book/search", tokens=tokens, length=length, block=block)
    rng = np.random.default_rng(0)
    cases = [searchable(rng, tokens, length, block) for _ in range(60)]
    assert [out for (out,) in generate(model, [text for text, _ in cases], engine="torch")] == [v for _, v in cases]
    text, value = cases[0]
    assert generate(model, [text]) == [[value]]


def test_the_books_example_of_search_and_where_it_looks():
    model = program("book/search")
    assert model("1 2 3 4 5 6 1 2 3") == "4"
    pattern = trace(model, "1 2 3 4 5 6 1 2 3", want="1.pattern")["1.pattern"]
    assert pattern[0, -1].round(6).tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0]


def test_the_table_has_every_program():
    assert set(PROGRAMS) <= {case.name for case in CASES}


@pytest.mark.parametrize("engine", ["reference", "torch"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_program_outputs_what_the_table_says_and_is_as_large(case, engine):
    model = program(case.name)
    assert task(case.name).answer(case.given) == case.output
    assert model.vocab.decode(generate(model, [model.vocab.encode(case.given)], engine=engine)[0]) == case.output
    assert count(model).total == case.total
    name = case.name.partition(":")[0]
    assert model.notes["program"] == name
    assert PROGRAMS[name].about


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: program("min:n=many"), "min: n=many is not a whole number; write min:n=20"),
        (lambda: program("min", n="5"), "min: n='5' is not a whole number"),
        (lambda: program("hello", message=5), "hello: message=5 is not text"),
        (lambda: program("mim"), "no program 'mim'; did you mean min?"),
        (lambda: program(None), "no program 'None'"),
    ],
)
def test_wrong_parameters_are_refused(make, complaint):
    with pytest.raises(HandloomError, match=complaint):
        make()


@pytest.mark.parametrize("name", ["min:n=0", "search:length=1", "search:tokens=0"])
def test_impossible_sizes_are_refused(name):
    with pytest.raises(HandloomError, match="at least"):
        program(name)
