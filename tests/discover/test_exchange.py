"""Constructions as text and JSON: what people write is read, and what is written comes back as it was."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloom.core import HandloomError
from handloom.discover import graph, grid, permutation, subsets, word
from handloom.discover.records.exchange import (
    Lines,
    Written,
    as_object,
    as_paragraph,
    as_text,
    constructions,
    written_in,
)
from handloom.discover.records.store import Record


def read(space, text):
    return [space.shown(c) for c in constructions(space, Written(None, Lines(tuple(text.split("\n")))))]


@pytest.mark.parametrize(
    ("space", "text", "written"),
    [
        (grid(2, 3), "0 1 0\n1 0 0", [[0, 1], [1, 0]]),
        (grid(2, 3), "010\n100", [[0, 1], [1, 0]]),
        (grid(2, 3), ". * .\n* . .", [[0, 1], [1, 0]]),
        (grid(2, 3), ".o.\no..", [[0, 1], [1, 0]]),
        (grid(2, 3), "1 2\n0 1", [[0, 1], [1, 2]]),
        (grid(2, 3), "(1, 2)\n[0, 1]", [[0, 1], [1, 2]]),
        (grid(3, 2), "0, 0\n0, 1\n1, 1", [[0, 0], [0, 1], [1, 1]]),
        (grid(4), ".#.#", [[1], [3]]),
        (grid(4), "1\n3", [[1], [3]]),
        (grid(2, 2, 2), "0 1 1\n1 0 0", [[0, 1, 1], [1, 0, 0]]),
        (graph(4), "0 1\n3 2", [[0, 1], [2, 3]]),
        (subsets(range(12)), "0 1 4 9 11", [0, 1, 4, 9, 11]),
        (subsets(range(12)), "0\n1\n4", [0, 1, 4]),
        (subsets([-3, 5]), "-3", [-3]),
        (word(4), "0110", "0110"),
        (word(4), "0 1 1 0", "0110"),
        (word(4, "[]"), "[[]]", "[[]]"),
        (word(4, "/\\"), "//\\\\", "//\\\\"),
        (permutation(3), "2 0 1", [2, 0, 1]),
    ],
)
def test_what_people_write_is_read(space, text, written):
    assert read(space, text) == [written]


@pytest.mark.parametrize(
    ("space", "value", "written"),
    [
        (grid(3, 3), [[0, 1], [2, 2]], [[[0, 1], [2, 2]]]),
        (grid(3, 3), [[[0, 1]], [[2, 2]]], [[[0, 1]], [[2, 2]]]),
        (grid(3, 3), [], [[]]),
        (grid(3, 3), [[], [[1, 1]]], [[], [[1, 1]]]),
        (graph(3), [[1, 0]], [[[0, 1]]]),
        (subsets([1, 2, 4]), [1, 4], [[1, 4]]),
        (subsets([1, 2, 4]), [[1], [2, 4]], [[1], [2, 4]]),
        (word(2), "01", ["01"]),
        (word(2), ["01", "10"], ["01", "10"]),
        (permutation(2), [[0, 1], [1, 0]], [[0, 1], [1, 0]]),
    ],
)
def test_bare_json_is_one_construction_or_several(space, value, written):
    assert [space.shown(c) for c in constructions(space, Written(None, value))] == written


@st.composite
def spaces(draw):
    sizes = st.integers(1, 4)
    kind = draw(st.sampled_from(["grid", "graph", "numbers", "tuples", "word", "permutation"]))
    if kind == "grid":
        return grid(*draw(st.lists(sizes, min_size=1, max_size=3)))
    if kind == "graph":
        return graph(draw(st.integers(2, 6)))
    if kind == "numbers":
        return subsets(draw(st.sets(st.integers(-(10**6), 10**6), min_size=1, max_size=8)))
    if kind == "tuples":
        length = draw(sizes)
        return subsets(draw(st.sets(st.tuples(*[st.integers(-9, 9)] * length), min_size=1, max_size=8)))
    if kind == "word":
        letters = st.sampled_from('01ab"/\\[]{} \t\n#.,') | st.characters()
        return word(draw(sizes), "".join(draw(st.sets(letters, min_size=1, max_size=5))))
    return permutation(draw(st.integers(1, 6)))


@st.composite
def spaces_and_constructions(draw):
    space = draw(spaces())
    indices = st.integers(0, len(space.elements) - 1)
    if space.is_subset:
        return space, tuple(sorted(draw(st.sets(indices))))
    if space.kind == "permutation":
        return space, tuple(draw(st.permutations(range(space.length))))
    return space, tuple(draw(st.lists(indices, min_size=space.length, max_size=space.length)))


def record_of(space, construction, name="p:n=1"):
    return Record(1, name, 3, space.shown(construction), "", "then", "then", "0", {"how": "search"}, None)


@settings(max_examples=60)
@given(spaces_and_constructions(), st.booleans())
def test_text_comes_back_as_it_was_for_every_kind_of_space(tmp_path_factory, drawn, with_space):
    space, construction = drawn
    path = tmp_path_factory.getbasetemp() / "round-trip.txt"
    paragraph = as_paragraph(record_of(space, construction), space if with_space else None)
    path.write_text(paragraph + "\n" + paragraph, "utf-8")
    found = written_in(path)
    assert [written.problem for written in found] == ["p:n=1"] * 2
    assert [constructions(space, written) for written in found] == [[construction]] * 2


@settings(max_examples=60)
@given(spaces_and_constructions())
def test_json_comes_back_as_it_was_for_every_kind_of_space(tmp_path_factory, drawn):
    space, construction = drawn
    path = tmp_path_factory.getbasetemp() / "round-trip.json"
    path.write_text(json.dumps([as_object(record_of(space, construction))] * 2))
    assert [constructions(space, written) for written in written_in(path)] == [[construction]] * 2
    path.write_text(json.dumps(space.shown(construction)))
    assert [constructions(space, written) for written in written_in(path)] == [[construction]]
    path.write_text(json.dumps([space.shown(construction)] * 2))
    assert [constructions(space, written) for written in written_in(path)] == [[construction] * 2]


NUMBERS = st.integers(-2, 5) | st.integers() | st.floats() | st.booleans() | st.none()
JSON = st.recursive(
    NUMBERS | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["construction", "problem", "origin", "found", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)
TEXTS = st.text("01 23,.#*o\n/-[]()\"'apn:", max_size=40) | st.text(max_size=20)
FILES = (
    JSON.map(json.dumps).map(str.encode)
    | TEXTS.map(lambda text: text.encode("utf-8", "replace"))
    | st.binary(max_size=30)
)


@settings(max_examples=120)
@given(spaces(), FILES, st.sampled_from([".json", ".txt"]))
def test_whatever_is_in_a_file_is_read_as_constructions_or_refused_in_one_line(tmp_path_factory, space, data, ending):
    path = tmp_path_factory.getbasetemp() / f"any{ending}"
    path.write_bytes(data)
    try:
        for written in written_in(path):
            for construction in constructions(space, written):
                assert space.read(space.shown(construction)) == construction
                assert all(type(i) is int for i in construction)
                as_text(space.shown(construction), space)
    except HandloomError as error:
        assert "\n" not in str(error)
