"""Search: the book's construction and where it errs, ours and where its numbers end, the exercises of chapter 4."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from handloom.core import HandloomError, Vocab, count, generate, torch_engine, trace
from handloom.tasks import certify
from handloom.tasks import search as tasks
from handloom.tasks.search import has_phantom
from handloom.write.book.search import book_search, search_with
from handloom.write.exercises.searches import lean_search, norms_behind, table_question, table_search
from handloom.write.ours.small_search import level, small_search
from handloom.write.parts.encodings import on_circle

TINY = [(2, 2, 10), (3, 2, 7), (2, 3, 10)]
DTYPES = ["float32", "float64"]


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)


def says(model, text):
    return generate(model, [text])[0][0]


# the task


@pytest.mark.parametrize(
    ("text", "answer"), [("1 2 3 4 5 6 1 2 3", "4"), ("7 7 7 7", "7"), ("1 2 1 2 1", "2"), ("1 2 3 4 1 2 3", "4")]
)
def test_the_oracle_on_texts_done_by_hand(text, answer):
    assert tasks.search().answer(text) == answer


@pytest.mark.parametrize("text", ["1 2 3", "1 2 3 4 5 6", "1 2 3 1 2 3 1 2 3", "", " ".join(["1 2 3 4 0"] * 25)])
def test_what_stands_nowhere_or_twice_is_no_input(text):
    with pytest.raises(HandloomError, match="occur once before, such as"):
        tasks.search().check(text)


@pytest.mark.parametrize(("tokens", "length", "block"), [*TINY, (10, 3, 100), (1, 2, 6), (4, 3, 4), (1000, 10, 100)])
def test_all_inputs_of_the_task_are_inputs_and_fit_the_block(tokens, length, block):
    task, rng = tasks.search(tokens, length, block), np.random.default_rng(0)
    inputs = [*task.hard(), *(task.draw(rng) for _ in range(50)), *(task.every() if task.every else ())]
    assert all(task.oracle(ids) and len(ids) <= block and max(ids) < tokens for ids in inputs)
    assert task.every is None or len(list(task.every())) == task.count


def test_hard_inputs_have_phantoms_full_blocks_the_first_place_and_the_last():
    hard = list(tasks.search().hard())
    places = [next(at for at in range(len(ids)) if ids[at : at + 3] == ids[-3:]) for ids in hard]
    assert sum(has_phantom(ids, 3) for ids in hard) >= 30
    assert sum(len(ids) == 100 for ids in hard) >= 100
    assert places.count(0) >= 30
    assert sum(at == len(ids) - 4 for at, ids in zip(places, hard, strict=True)) >= 30


def test_a_search_that_has_no_inputs_is_refused():
    for sizes in ((0, 3, 100), (10, 0, 100), (10, 3, 3)):
        with pytest.raises(HandloomError, match="at least"):
            tasks.search(*sizes)


# the book's construction


def test_the_books_construction_takes_the_first_token_for_one_that_is_repeated():
    """9 9 2 stands at 6, and 4 followed. But the head that looks 3 back from position 2 sees the 9 at the beginning,
    and 8 seems to follow 9 9 2 as well."""
    text = [9, 2, 8, 1, 7, 5, 9, 9, 2, 4, 6, 9, 9, 2]
    assert has_phantom(text, 3)
    assert tasks.search().oracle(text) == [4]
    model = book_search()
    keys = trace(model, text, want="1.k")["1.k"][0]
    assert np.allclose(keys[2], keys[9], atol=1e-4)
    assert np.abs(keys[2] - keys[3]).max() > 0.1
    assert np.allclose(head_0_looks(model, text)[[2, 9]], 0.5, atol=1e-3)
    assert says(model, text) == 6  # half-way from 4 to 8 on the circle
    assert says(small_search(), text) == 4


@pytest.mark.parametrize("sizes", TINY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_books_construction_is_right_on_all_inputs_without_phantoms_and_wrong_on_some_with(sizes, dtype):
    model, without = book_search(*sizes), tasks.book_search(*sizes)
    certificate = certify(model, without, dtype=dtype)
    assert (certificate.method, certificate.right) == ("exhaustive", True)
    every = tasks.search(*sizes)
    phantoms = [ids for ids in every.every() if has_phantom(ids, sizes[1])]
    assert len(phantoms) + without.count == every.count
    said = generate(model.astype(dtype), phantoms, engine="torch")
    wrong = sum(out != every.oracle(ids) for out, ids in zip(said, phantoms, strict=True))
    assert 0 < wrong < len(phantoms)


@pytest.mark.parametrize("sizes", [(10, 3, 100), (50, 2, 30), (1000, 3, 100), (1000, 10, 100), (10, 3, 1000)])
def test_the_books_construction_in_float32_is_right_but_for_phantoms(sizes):
    samples = 200 if sizes[2] <= 100 else 30
    certificate = certify(book_search(*sizes), tasks.book_search(*sizes), "float32", samples=samples)
    assert certificate.right, certificate


# ours


@pytest.mark.parametrize("build", [small_search, lean_search])
@pytest.mark.parametrize("sizes", [*TINY, (1, 2, 6), (3, 3, 4)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ours_is_right_on_all_inputs_of_tiny_sizes(build, sizes, dtype):
    certificate = certify(build(*sizes), tasks.search(*sizes), dtype)
    assert (certificate.method, certificate.right) == ("exhaustive", True)


@pytest.mark.parametrize("build", [small_search, lean_search])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ours_is_right_on_the_hard_inputs_and_some_others(build, dtype):
    certificate = certify(build(), tasks.search(), dtype, samples=600)
    assert certificate.right, certificate
    assert certificate.margin > 0.08


@pytest.mark.parametrize("length", [2, 3, 6])
def test_twelve_tokens_in_a_block_of_300_may_share_a_dimension_in_float32(length):
    model = small_search(12, length, 300)
    assert model.config.heads == length - 1
    assert small_search(13, length, 300).config.heads == small_search(12, length, 301).config.heads == length
    certificate = certify(model, tasks.search(12, length, 300), "float32", samples=150)
    assert certificate.right, certificate


def test_ours_in_a_block_of_1000_in_float32():
    certificate = certify(small_search(10, 3, 1000), tasks.search(10, 3, 1000), "float32", samples=60)
    assert certificate.right, certificate


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("build", "task"), [(small_search, tasks.search), (book_search, tasks.book_search)])
def test_ten_thousand_inputs(build, task, dtype):
    certificate = certify(build(), task(), dtype, samples=10_000)
    assert certificate.right, certificate
    assert certificate.margin > 0.085


@pytest.mark.parametrize(
    ("sizes", "totals"), [((10, 3, 100), [4_800, 1_442, 948]), ((1000, 10, 100), [123_486, 27_720, 27_720])]
)
def test_sizes(sizes, totals):
    assert [count(build(*sizes)).total for build in (book_search, lean_search, small_search)] == totals


def test_two_tokens_with_length_2_and_a_block_of_10_make_680_inputs_562_of_them_without_phantoms():
    assert (tasks.search(2, 2, 10).count, tasks.book_search(2, 2, 10).count) == (680, 562)


def cycle_of_all(tokens, length):
    """A de Bruijn cycle: a list in which, read round, every text of that length stands once (Martin's greedy rule)."""
    cycle, seen = [0] * length, {(0,) * length}
    while True:
        for token in reversed(range(tokens)):
            if (new := (*cycle[len(cycle) - length + 1 :], token)) not in seen:
                seen.add(new)
                cycle.append(token)
                break
        else:
            return cycle[: tokens**length]


def test_in_float32_every_query_is_nearer_to_its_key_than_to_any_other():
    """All 10,000 queries (three tokens, and the one before that leaves a remainder) against all 1,000 keys, each at
    some position, by more than 50 times the rounding of their scores."""
    model = small_search().astype("float32")
    around = cycle_of_all(10, 4)
    texts = np.array([(around + around[:100])[start : start + 100] for start in range(0, 10_000, 97)])
    _, found = torch_engine.compute(model.config, torch_engine.tensors(model), texts, want=["1.q", "1.k"])
    queries, keys = (np.asarray(found[site])[:, 0, 3:].reshape(-1, 3) for site in ("1.q", "1.k"))
    names = [sum(10**d * texts[:, 3 - d - k : 100 - d - k] for d in range(3)).ravel() for k in (0, 1)]
    assert [len(set(name)) for name in names] == [1000, 1000]
    queries = queries / np.linalg.norm(queries, axis=-1, keepdims=True)
    gap, largest = np.inf, 0.0
    for some in np.array_split(np.arange(len(queries)), 20):
        scores = queries[some] @ keys.T
        right = names[0][some, None] == names[1]
        gap = min(gap, (np.where(right, scores, np.inf).min(-1) - np.where(right, -np.inf, scores).max(-1)).min())
        largest = max(largest, np.abs(scores).max())
    assert gap > 50 * largest * np.finfo(np.float32).eps


@pytest.mark.parametrize("width", [3, 6, 11])
def test_what_is_written_along_level_directions_has_mean_zero_and_keeps_its_length(width):
    directions = level(width)
    assert directions.shape == (width - 1, width)
    assert np.allclose(directions @ directions.T, np.eye(width - 1), atol=1e-12)
    assert np.allclose(directions.sum(-1), 0, atol=1e-12)


@pytest.mark.parametrize("build", [small_search, lean_search])
def test_layer_norm_keeps_what_ours_embeds(build):
    model = build()
    embedded = model.params["W_E"][:, None] + model.params["W_pos"]
    assert np.allclose(layer_norm(embedded), embedded, atol=1e-12)


def test_ours_with_a_thousand_tokens_is_right_in_float64_and_too_fine_for_float32():
    model, task = small_search(1000, 10, 100), tasks.search(1000, 10, 100)
    assert certify(model, task, "float64", samples=300).right
    assert not certify(model, task, "float32", samples=300).right
    assert certify(small_search(300, 3, 100), tasks.search(300, 3, 100), "float32", samples=300).right


# the exercises


@pytest.mark.parametrize("width", [3, 4, 8])
def test_exercise_1_any_vectors_that_layer_norm_keeps_will_do(width):
    vectors = layer_norm(np.random.default_rng(1).normal(size=(10, width)))
    model = search_with(vectors, 3, 40, Vocab.numbers(10))
    certificate = certify(model, tasks.book_search(10, 3, 40), samples=300)
    assert certificate.right, certificate


def test_exercise_1_other_vectors_are_refused():
    with pytest.raises(HandloomError, match="subtract each one's mean"):
        search_with(np.eye(5), 3, 40, Vocab.numbers(5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_exercise_2_with_the_norms_behind_the_same_weights_do(dtype):
    for build, task in ((book_search, tasks.book_search(10, 3, 40)), (small_search, tasks.search(10, 3, 40))):
        model = norms_behind(build(10, 3, 40))
        assert model.config.place == "post"
        assert "ln_final" not in model.params
        certificate = certify(model, task, dtype, samples=400)
        assert certificate.right, certificate


def test_exercise_3_a_table_in_front_of_the_question_is_looked_up_whatever_it_holds():
    keys = [(a, b) for a in (0, 1) for b in (0, 1)]
    for values in np.ndindex(2, 2, 2, 2):  # all 16 tables of two bits, XOR among them
        table = dict(zip(keys, values, strict=True))
        model = table_search(table, 2)
        questions = [table_question(table, key, 2) for key in keys]
        assert generate(model, questions) == [[value] for value in values]
    rng = np.random.default_rng(0)
    table = {(int(k) // 10, int(k) % 10): int(rng.integers(0, 10)) for k in rng.permutation(100)}
    model = table_search(table, 10)
    said = generate(model, [table_question(table, key, 10) for key in table], engine="torch")
    assert said == [[value] for value in table.values()]


def test_exercise_3_keys_of_several_lengths_are_refused():
    with pytest.raises(HandloomError, match="keys of one length"):
        table_search({(0,): 1, (0, 1): 1}, 2)


def head_0_looks(model, text):
    return trace(model, text, want="1.pattern")["1.pattern"][0, -1]


@pytest.mark.parametrize("build", [book_search, small_search])
def test_exercise_6_of_several_places_the_mean_is_taken(build):
    model = build()
    text = "1 2 3 7 5 1 2 3 7 6 1 2 3 8 5 1 2 3"
    assert np.allclose(head_0_looks(model, text)[[3, 8, 13]], 1 / 3, atol=1e-3)
    assert model(text) == "7"
    assert model("1 2 3 4 5 1 2 3 6 5 1 2 3") == "5"  # neither of the two that followed, but the one between


def test_exercise_6_an_eps_that_is_not_tiny_decides_between_several_places():
    """Layer norm with eps = 1e-5 leaves some millionths of the position, and 1e8 makes them loud."""
    model = book_search()
    model = model.with_(config=replace(model.config, eps=1e-5))
    assert head_0_looks(model, "1 2 3 4 5 1 2 3 6 5 1 2 3").max() > 0.99


def test_exercise_6_a_near_match_is_found_if_there_is_no_exact_one():
    angles = 2 * np.pi * np.arange(10) / 10
    angles[3] = angles[2] + 0.05  # 3 stands by 2
    model = search_with(on_circle(angles), 3, 100, Vocab.numbers(10))
    rng = np.random.default_rng(0)
    for _ in range(10):
        query = [2, *rng.integers(4, 10, 2).tolist()]
        others = [[*rng.integers(4, 10, 3).tolist(), 0] for _ in range(6)]
        near, exact = [*query, 1], [3, *query[1:], 5]
        for entries, answer in (([*others[:3], near, *others[3:]], 1), ([exact, *others, near], 5)):
            assert says(model, [0, *chain.from_iterable(entries), *exact[:3]]) == answer
