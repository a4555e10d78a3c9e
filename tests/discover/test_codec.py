"""Constructions as tokens: every construction comes back, and whatever is said gives one or none."""

import json
import subprocess
import sys
from functools import cache
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloom.core import HandloomError, Vocab
from handloom.discover.model.bpe import Merges
from handloom.discover.model.codec import KINDS, Codec, Decoded, choose_kind
from handloom.discover.spaces import graph, grid, permutation, subsets, word

SIZES = {  # of each kind of space a main size and two smaller ones
    "row": [grid(7), grid(5), grid(3)],
    "grid": [grid(4, 4), grid(3, 3), grid(4, 2)],
    "taller": [grid(4, 3), grid(2, 3), grid(5, 3)],
    "box": [grid(3, 3, 3), grid(3, 3), grid(2, 2, 2)],
    "graph": [graph(6), graph(5), graph(2)],
    "list": [subsets([1, 2, 4, 8, 16, 31]), subsets([1, 2, 4]), subsets([3, 5])],
    "word": [word(8, "abc"), word(5, "abc"), word(1, "abc")],
    "permutation": [permutation(12), permutation(10), permutation(1)],
}
SUBSETS = [name for name in SIZES if SIZES[name][0].is_subset]
SIZED = [kind for kind in KINDS if kind != "orbits"]  # that can mix several sizes
CASES = [(name, kind) for name in SIZES for kind in SIZED if kind != "sparse" or name in SUBSETS]


def constructions(space):
    if space.kind == "word":
        return st.lists(st.integers(0, len(space.elements) - 1), min_size=space.length, max_size=space.length).map(
            tuple
        )
    if space.kind == "permutation":
        return st.permutations(range(space.length)).map(tuple)
    return st.sets(st.integers(0, len(space.elements) - 1)).map(lambda chosen: tuple(sorted(chosen)))


def some(space, count, seed=0):
    """Random constructions, without Hypothesis."""
    rng = np.random.default_rng(seed)
    if space.kind == "word":
        return [tuple(rng.integers(0, len(space.elements), space.length).tolist()) for _ in range(count)]
    if space.kind == "permutation":
        return [tuple(rng.permutation(space.length).tolist()) for _ in range(count)]
    return [tuple(np.flatnonzero(rng.random(len(space.elements)) < 0.2).tolist()) for _ in range(count)]


def is_construction(space, value):
    """Whether a space has this construction."""
    assert isinstance(value, tuple)
    assert all(type(item) is int for item in value)
    if space.kind == "permutation":
        return sorted(value) == list(range(space.length))
    inside = all(0 <= item < len(space.elements) for item in value)
    return inside and (len(value) == space.length if space.kind == "word" else list(value) == sorted(set(value)))


@cache
def tokens_of(kind, name, sizes):
    spaces = SIZES[name][:sizes]
    return Codec.of(kind, spaces, some(spaces[0], 30), pieces=12)


@pytest.mark.parametrize("sizes", [1, 3])
@pytest.mark.parametrize(("name", "kind"), CASES)
@settings(max_examples=15)
@given(data=st.data())
def test_a_construction_comes_back_as_it_was(name, kind, sizes, data):
    tokens = tokens_of(kind, name, sizes)
    construction = data.draw(constructions(tokens.spaces[0]))
    ids = tokens.encode(construction)
    assert tokens.decode(ids) == Decoded(construction, False)
    assert tokens.decode(ids[1:]) == Decoded(construction, False)  # as a model says it, which was given the first
    assert tokens.decode(ids[1:-1]) == Decoded(construction, False)
    assert ids[: len(tokens.prompt)] == tokens.prompt
    assert len(ids) <= tokens.most
    assert ids.count(tokens.vocab.id(tokens.vocab.eos)) == 2


@pytest.mark.parametrize(("name", "kind"), CASES)
@settings(max_examples=15)
@given(data=st.data())
def test_what_is_of_another_size_is_not_taken_for_the_main_one(name, kind, data):
    tokens = tokens_of(kind, name, 3)
    space = data.draw(st.sampled_from(tokens.spaces[1:]))
    ids = tokens.encode(data.draw(constructions(space)), space)
    assert len(ids) <= tokens.most
    assert tokens.decode(ids) == Decoded(None, False)


@pytest.mark.parametrize("sizes", [1, 3])
@pytest.mark.parametrize(("name", "kind"), CASES)
@settings(max_examples=15)
@given(data=st.data())
def test_any_ids_at_all_give_a_construction_or_none(name, kind, sizes, data):
    tokens = tokens_of(kind, name, sizes)
    inside = st.integers(0, len(tokens.vocab) - 1)
    begun = data.draw(st.sampled_from([[], tokens.prompt, tokens.encode(some(tokens.spaces[0], 1)[0])[:-1]]))
    ids = begun + data.draw(st.lists(inside, max_size=2 * tokens.most))
    found = tokens.decode(ids)
    if found.construction is None:
        assert not found.repaired
        return
    assert is_construction(tokens.spaces[0], found.construction)
    said = tokens.vocab.decode(up_to_end(tokens, ids)).replace("-", " ")
    written = tokens.vocab.decode(tokens.encode(found.construction)).replace("-", " ")
    assert found.repaired == (said != written)


def up_to_end(tokens, ids):
    end = tokens.vocab.id(tokens.vocab.eos)
    ids = ids[1:] if ids[:1] == [end] else ids
    return ids[: ids.index(end)] if end in ids else ids


@given(ids=st.lists(st.integers(-(2**70), 2**70), max_size=30))
def test_a_token_that_does_not_exist_makes_nothing(ids):
    tokens = Codec.of("cells", grid(3, 3))
    found = tokens.decode(ids)
    if any(not 0 <= token <= 3 for token in ids):
        assert found == Decoded(None, False)


def test_cells_are_the_rows_of_the_grid_with_a_mark_between_them():
    tokens = Codec.of("cells", grid(3, 4))
    assert tokens.vocab == Vocab(("0", "1", "/", "<end>"), "", bos="<end>", eos="<end>")
    assert tokens.vocab.decode(tokens.encode((0, 5, 11)), specials=True) == "<end>1000/0100/0001<end>"
    assert tokens.most == 3 * 5 - 1 + 2
    assert tokens.vocab.encode("1000/0100/0001") == tokens.encode((0, 5, 11))[:-1]


@pytest.mark.parametrize(
    ("said", "construction"),
    [
        ("1000/0100/0001", (0, 5, 11)),
        ("1000/0100", (0, 5)),  # a row is missing
        ("1/01/0001", (0, 5, 11)),  # rows are cut short
        ("10001/010011/0001", (0, 5, 11)),  # rows are too long
        ("1000/0100/0001/1111", (0, 5, 11)),  # a row too many
        ("//1", (8,)),
        ("/", ()),
        ("", None),
    ],
)
def test_a_grid_is_repaired_row_by_row(said, construction):
    tokens = Codec.of("cells", grid(3, 4))
    repaired = construction is not None and said != "1000/0100/0001"
    assert tokens.decode(tokens.vocab.encode(said)[1:]) == Decoded(construction, repaired)


def test_a_grid_of_another_size_is_told_by_most_of_its_rows():
    tokens = Codec.of("cells", [grid(4, 4), grid(3, 3)])
    assert tokens.decode(tokens.vocab.encode("100/010/001")).construction is None
    assert tokens.decode(tokens.vocab.encode("100/010/0010")).construction is None
    assert tokens.decode(tokens.vocab.encode("1000/0100/001/0000")) == Decoded((0, 5, 10), True)
    assert Codec.of("cells", grid(4, 4)).decode(tokens.vocab.encode("100/010/001")) == Decoded((0, 5, 10), True)


def test_a_permutation_is_repaired_by_leaving_out_repeats_and_adding_what_is_missing():
    tokens = Codec.of("cells", permutation(5))
    assert tokens.decode([4, 1, 4, 4, 0]) == Decoded((4, 1, 0, 2, 3), True)
    assert tokens.decode([4, 1, 0]) == Decoded((4, 1, 0, 2, 3), True)
    assert tokens.decode([4, 1, 0, 2, 3, 1]) == Decoded((4, 1, 0, 2, 3), True)
    assert tokens.decode([4, 1, 0, 2, 3]) == Decoded((4, 1, 0, 2, 3), False)


def test_a_word_is_cut_or_filled_up():
    tokens = Codec.of("cells", word(4, "xyz"))
    assert tokens.decode(tokens.vocab.encode("zyzyx")) == Decoded((2, 1, 2, 1), True)
    assert tokens.decode(tokens.vocab.encode("zy")) == Decoded((2, 1, 0, 0), True)


def test_sparse_tokens_are_the_elements_in_order_and_their_ids_the_indices():
    tokens = Codec.of("sparse", grid(3, 4))
    assert tokens.encode((0, 5, 11)) == [12, 0, 5, 11, 12]
    assert tokens.vocab.decode(tokens.encode((0, 5, 11))) == "(0,0) (1,1) (2,3)"
    assert tokens.decode([11, 0, 5, 5, 0]) == Decoded((0, 5, 11), True)
    assert tokens.decode([12, 12]) == Decoded((), False)  # the empty set is a construction


def test_sparse_tokens_of_several_sizes_say_the_size_first_and_share_the_elements():
    tokens = Codec.of("sparse", [grid(4, 4), grid(3, 3)])
    main, smaller = tokens.encode((0, 5)), tokens.encode((0, 4), tokens.spaces[1])  # (0, 0) and (1, 1) in both
    assert tokens.vocab.decode(main) == "<4×4> (0,0) (1,1)"
    assert tokens.vocab.decode(smaller) == "<3×3> (0,0) (1,1)"
    assert main[2:] == smaller[2:]
    assert tokens.prompt == main[:2]
    assert tokens.decode([0, 5]) == Decoded(None, False)  # of what size?
    assert tokens.decode([*main[1:-1], smaller[1], 6]) == Decoded((0, 5, 6), True)


def test_cells_hold_every_construction_of_a_small_space_exactly_once():
    for space, count in ((grid(2, 3), 2**6), (graph(4), 2**6), (word(3, "abc"), 27), (permutation(4), 24)):
        every = {
            "word": product(range(3), repeat=3),
            "permutation": permutations(range(4)),
        }.get(space.kind) or [c for k in range(7) for c in combinations(range(6), k)]
        tokens = Codec.of("cells", space)
        written = {tuple(tokens.encode(c)): c for c in every}
        assert len(written) == count
        assert all(tokens.decode(ids) == Decoded(c, False) for ids, c in written.items())


def bpe_of_hand(strings, symbols, most):
    """Byte-pair encoding as it is defined, as slowly as can be: the commonest pair, the first by number if several."""
    strings, pairs, pieces = [list(s) for s in strings], [], [(i,) for i in range(symbols)]
    while len(pieces) < symbols + most:
        counts = {}
        for s in strings:
            for pair in pairwise(s):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        pairs.append(best)
        piece = pieces[best[0]] + pieces[best[1]]
        if piece not in pieces:
            pieces.append(piece)
        strings = [merged(s, best, pieces.index(piece)) for s in strings]
    return tuple(pairs), tuple(pieces), strings


def merged(string, pair, new):
    found, i = [], 0
    while i < len(string):
        both = tuple(string[i : i + 2]) == pair
        found.append(new if both else string[i])
        i += 1 + both
    return found


@pytest.mark.parametrize("seed", range(5))
def test_pieces_are_those_of_byte_pair_encoding_by_hand(seed):
    rng = np.random.default_rng(seed)
    # no symbol twice in a row: then how often a pair is there does not depend on how it overlaps itself
    strings = [[(i + int(step)) % 4 for i, step in enumerate(rng.integers(0, 2, 30).cumsum())] for _ in range(40)]
    strings = [[a for a, b in pairwise(s) if a != b] for s in strings]
    merges = Merges.learn(4, strings, 6)
    pairs, pieces, joined = bpe_of_hand(strings, 4, 6)
    assert merges.pairs == pairs
    assert merges.pieces == pieces
    assert [merges.join(s) for s in strings] == joined


@pytest.mark.parametrize("name", SIZES)
def test_pieces_make_strings_shorter_and_are_the_same_every_time(name):
    tokens, cells = tokens_of("bpe", name, 1), tokens_of("cells", name, 1)
    learnt = some(tokens.spaces[0], 30)
    assert tokens == tokens_of.__wrapped__("bpe", name, 1)
    assert len(tokens.vocab) <= len(cells.vocab) + 12
    assert sum(len(tokens.encode(c)) for c in learnt) < sum(len(cells.encode(c)) for c in learnt)
    assert tokens.vocab.tokens[: len(cells.vocab) - 1] == cells.vocab.tokens[:-1]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_tokens_that_were_saved_as_json_are_the_same_again(name, kind):
    tokens = tokens_of(kind, name, 3)
    again = Codec.from_json(json.loads(json.dumps(tokens.to_json())), tokens.spaces)
    assert again == tokens
    assert again.vocab == tokens.vocab
    for construction in some(tokens.spaces[0], 5, seed=1):
        assert again.encode(construction) == tokens.encode(construction)


def test_another_process_learns_the_same_pieces():
    code = (
        "import json, numpy as np\n"
        "from handloom.discover.spaces import grid; from handloom.discover.model.codec import Codec\n"
        "rng = np.random.default_rng(3)\n"
        "some = [tuple(np.flatnonzero(rng.random(100) < 0.2).tolist()) for _ in range(200)]\n"
        "print(json.dumps(Codec.of('bpe', grid(10, 10), some).to_json()))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    assert len(json.loads(runs[0].stdout)["merges"]) >= 100


def test_strings_to_learn_from_are_framed_and_in_order():
    tokens = Codec.of("cells", [grid(2, 2), grid(1, 1)])
    strings = tokens.strings([(0, 3), (1,)], [(tokens.spaces[1], (0,))])
    assert [strings.row(i) for i in range(3)] == [
        ([3], [1, 0, 2, 0, 1, 3]),
        ([3], [0, 1, 2, 0, 0, 3]),
        ([3], [1, 3]),
    ]


def test_the_kind_is_chosen_by_how_much_is_chosen():
    assert choose_kind(grid(16, 16), some(grid(16, 16), 5)) == "sparse"  # a fifth
    assert choose_kind(graph(4), [(0, 1, 2, 3)]) == "cells"
    assert choose_kind(grid(4, 4), []) == "cells"
    assert choose_kind(word(9), [(0,) * 9]) == "cells"
    assert choose_kind(permutation(3), [(0, 1, 2)]) == "cells"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Codec.of("runs", grid(2, 2)),
            "no such way to write constructions; there are cells, sparse, orbits, bpe",
        ),
        (lambda: Codec.of("sparse", word(3)), "sparse is for subsets; write a word with cells or bpe"),
        (lambda: Codec.of("bpe", grid(2, 2)), "bpe derives its tokens from constructions"),
        (lambda: Codec.of("cells", [grid(2, 2), graph(4)]), "a graph that is not another size of the grid"),
        (lambda: Codec.of("cells", [grid(2, 2), grid(4)]), "a grid that is not another size of the grid"),
        (lambda: Codec.of("cells", [word(3, "01"), word(2, "ab")]), "a word that is not another size of the word"),
        (lambda: Codec.of("cells", grid(2, 2)).encode((0,), grid(1, 1)), "a grid of 1, which this codec does not have"),
        (lambda: Codec.from_json([], grid(2, 2)), "is not a codec of constructions"),
        (lambda: Codec.from_json({"kind": 3, "merges": None}, grid(2, 2)), "tokens=3: no such way to write"),
        (lambda: Codec.from_json({"kind": "bpe", "merges": [[0]]}, grid(2, 2)), "must be a list of pairs"),
        (lambda: Codec.from_json({"kind": "bpe", "merges": [[0, 9]]}, grid(2, 2)).vocab, "unknown tokens"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make, words):
    with pytest.raises(HandloomError) as refused:
        make()
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_tokenizers_bpe_says_what_to_install():
    code = (
        "import sys; sys.modules['tokenizers'] = None\n"
        "from handloom.discover.spaces import grid; from handloom.discover.model.codec import Codec\n"
        "Codec.of('cells', grid(2, 2)).encode((0,)); Codec.of('bpe', grid(2, 2), [(0,)])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "bpe needs tokenizers, which is not installed: pip install 'handloom[discover]'" in run.stderr
