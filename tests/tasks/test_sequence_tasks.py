"""The sequences on which attention is studied, against other definitions of the same."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import question_and_output
from handloom.core import HandloomError
from handloom.tasks.sequences import (
    LONGEST,
    bigram_predictions,
    dyck,
    hops,
    induction,
    markov,
    markov_loss,
    opening_chances,
    parity,
)

TASKS = {
    "induction": induction(),
    "induction with numbers": induction(40, "2-9"),
    "hops": hops(),
    "hops with numbers": hops(30, "1-50", 4),
    "parity": parity(),
}
LANGUAGES = {
    "markov": markov(),
    "markov of several lengths": markov(5, "1-30"),
    "dyck": dyck(),
    "dyck of three kinds": dyck(3, "7-30", 4),
}
EVERY_TASK = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
EVERY_LANGUAGE = pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
EVERYTHING = pytest.mark.parametrize("task", [*TASKS.values(), *LANGUAGES.values()], ids=[*TASKS, *LANGUAGES])
SMALL = [induction(3, "2-5"), induction(2, "2"), hops(3, "1-5", 2), hops(2, "4", 3), parity("1-6"), parity("3")]


# ---- what they share


@EVERYTHING
def test_what_is_drawn_is_right_and_the_same_seed_draws_the_same(task):
    rng, again = np.random.default_rng(0), np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        asked, answer = task.pair(rng)
        assert task.verdict(asked, answer) == "right"
        assert task.pair(again) == (asked, answer)
        seen.add((*asked, *answer))
    assert len(seen) > 100


@EVERYTHING
@settings(max_examples=50)
@given(data=st.data())
def test_every_answer_gets_a_verdict(task, data):
    ids = st.lists(st.integers(0, len(task.vocab) - 1), max_size=50)
    asked, said = question_and_output(data, task, ids)
    assert task.verdict(asked, said) in ("right", "wrong", "malformed")
    assert task.verdict(data.draw(ids), said) in ("right", "wrong", "malformed")


@EVERY_TASK
def test_the_example_that_a_task_gives_is_one_and_answers_have_one_token(task):
    task.check(task.takes.split("such as ")[1])
    asked, answer = task.pair(np.random.default_rng(0))
    assert task.verdict(asked, []) == task.verdict(asked, answer * 2) == "malformed"
    assert task.verdict(asked, [1 - answer[0] if answer[0] < 2 else 0]) == "wrong"


@pytest.mark.parametrize("task", SMALL)
def test_every_input_is_counted_and_every_list_of_tokens_that_has_an_answer_is_there(task):
    everything = list(map(tuple, task.every()))
    assert len(set(everything)) == len(everything) == task.count
    possible = (ids for size in range(8) for ids in itertools.product(range(len(task.vocab)), repeat=size))
    assert {ids for ids in possible if task.oracle(list(ids)) is not None} == set(everything)
    rng = np.random.default_rng(0)
    assert {tuple(task.draw(rng)) for _ in range(20)} <= set(everything)
    hard = set(map(tuple, task.hard()))
    assert hard
    assert hard <= set(everything)


@pytest.mark.parametrize("task", [induction(30, "5-9"), hops(), hops(30, "100", 9), parity("10-12")])
def test_hard_inputs_are_inputs(task):
    assert all(task.oracle(asked) is not None for asked in task.hard())


REFUSED = {
    lambda: induction(1): "induction: symbols=1 must be a whole number of at least 2",
    lambda: induction(length="1-5"): "induction: length='1-5' must be from 2 to 1000",
    lambda: hops(10**6): "hops: symbols=1000000 must be at most 1000",
    lambda: hops(hops=0): "hops: hops=0 must be a whole number of at least 1",
    lambda: parity("5-1"): "length='5-1' is not a range of lengths from 1 to 10000; write length=30-40, or 35",
    lambda: parity(2.5): "length='2.5' is not a range of lengths from 1 to 10000; write length=30-40, or 35",
    lambda: markov(27): "markov: symbols=27 must be at most 26",
    lambda: markov(length="1001"): "markov: length='1001' must be from 1 to 1000",
    lambda: markov_loss("abc", 3, "4-5"): "markov_loss takes 4 to 5 symbols; it was given 3: 'abc'",
    lambda: dyck(5): "dyck: kinds=5 must be at most 4",
    lambda: dyck(depth=0): "dyck: depth=0 must be a whole number of at least 1",
    lambda: dyck(length="7"): "dyck: length='7' must have an even number in it: brackets come in pairs",
}


@pytest.mark.parametrize(("make", "message"), REFUSED.items(), ids=REFUSED.values())
def test_bad_parameters_are_refused_in_one_line(make, message):
    with pytest.raises(HandloomError) as error:
        make()
    assert str(error.value) == message


def test_a_length_may_be_a_number_or_a_range():
    assert parity(5).count == parity("5").count == parity(" 5 - 5 ").count == 2**5
    assert {len(parity("2-4").draw(np.random.default_rng(seed))) for seed in range(50)} == {3, 4, 5}


# ---- induction and hops


@given(st.text("abcd", min_size=2, max_size=12))
def test_induction_says_what_followed_the_last_symbol_the_last_time(text):
    task = induction(4, "2-12")
    before, following = text[:-1].rpartition(text[-1])[::2]
    if text[-1] not in text[:-1]:
        with pytest.raises(HandloomError, match="of which the last occurred before, such as aba; it was given"):
            task.answer(text)
    else:
        assert len(before) + 1 + len(following) == len(text) - 1
        assert task.answer(text) == (following + text[-1])[0]


def test_every_place_is_equally_likely_to_be_the_one_that_the_last_symbol_repeats():
    task, rng = induction(1000, "6"), np.random.default_rng(0)
    places = Counter(asked.index(asked[-1]) for asked in (task.draw(rng) for _ in range(5000)))
    assert sorted(places) == [0, 1, 2, 3, 4]
    assert all(abs(times - 1000) < 5 * math.sqrt(800) for times in places.values())


def find(x, i, k):
    """Sanford, Hsu and Telgarsky's definition, places counted from 1: find¹(i) = max({0} ∪ {j ≤ i : x[j−1] = x[i]}) and
    findᵏ(i) = find¹(findᵏ⁻¹(i)), where 0 stays 0."""
    if k == 0 or i == 0:
        return i
    return find(x, max([0, *(j for j in range(2, i + 1) if x[j - 1 - 1] == x[i - 1])]), k - 1)


@given(st.text("abcd", min_size=1, max_size=20), st.integers(1, 6))
def test_hops_are_those_of_the_paper(text, k):
    at = find(text, len(text), k)
    assert hops(4, "1-20", k).answer(text) == (text[at - 1] if at else "⊥")


@given(st.text("abcd", min_size=2, max_size=20))
def test_one_hop_is_induction_where_there_is_something_to_follow(text):
    one = hops(4, "2-20", 1).answer(text)
    assert (one == "⊥") == (text[-1] not in text[:-1])
    assert one == "⊥" or one == induction(4, "2-20").answer(text)


def test_nothing_to_follow_is_an_answer_and_no_input():
    task = hops(4, "1-8")
    assert task.answer("abcd") == "⊥"
    with pytest.raises(HandloomError, match=r"^this takes 1 to 8 symbols from a to d, such as aabaabaa; it was given"):
        task.check("ab⊥")


# ---- parity


@given(st.integers(0, 2**20 - 1))
def test_parity_is_that_of_the_number_of_ones(number):
    assert parity().answer(f"{number:b}=") == str(number.bit_count() % 2)


@pytest.mark.parametrize("text", ["=", "01", "0=1=", "", "1" * 21 + "="])
def test_what_is_not_zeros_and_ones_and_an_equals_sign_has_no_parity(text):
    with pytest.raises(
        HandloomError, match=r"^this takes 1 to 20 zeros and ones and then =, such as 10110=; it was given"
    ):
        parity().check(text)


# ---- Markov chains


def marginal_likelihood(states, symbols):
    """Of a chain with a uniform first symbol, its matrix integrated out: Dirichlet-multinomial, one factor a row."""
    pairs = Counter(itertools.pairwise(states))
    log = -math.log(symbols)
    for i in range(symbols):
        row = [pairs[i, j] for j in range(symbols)]
        log += math.lgamma(symbols) - math.lgamma(symbols + sum(row)) + sum(math.lgamma(1 + n) for n in row)
    return math.exp(log)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_what_the_best_predictor_says_of_a_string_is_its_marginal_likelihood(states):
    predicted = bigram_predictions(states, 4)
    assert predicted.shape == (len(states), 4)
    assert np.allclose(predicted.sum(1), 1)
    said = predicted[range(len(states)), states].prod()
    assert math.isclose(said, marginal_likelihood(states, 4), rel_tol=1e-9)


@pytest.mark.parametrize(("symbols", "length"), [(2, "4"), (3, "1-4"), (2, "3-7")])
def test_the_best_predictor_gives_all_strings_together_probability_one(symbols, length):
    low, high = (int(size) for size in (length if "-" in length else f"{length}-{length}").split("-"))
    total = 0.0
    for size in range(low, high + 1):
        for letters in itertools.product("abc"[:symbols], repeat=size):
            total += math.exp(-markov_loss("".join(letters), symbols, length) * (size + 1))
    assert math.isclose(total, 1.0, rel_tol=1e-9)


def test_strings_are_drawn_as_often_as_the_best_predictor_says():
    language, rng = markov(2, "4"), np.random.default_rng(0)
    drawn = Counter(language.draw(rng) for _ in range(20_000))
    for letters in itertools.product("ab", repeat=4):
        chance = math.exp(-markov_loss("".join(letters), 2, "4") * 5)
        assert abs(drawn["".join(letters)] - 20_000 * chance) < 5 * math.sqrt(20_000 * chance)


def test_no_other_predictor_has_a_lower_loss_on_strings_that_are_drawn():
    language, rng = markov(3, "60"), np.random.default_rng(0)
    best, sharper, smoother, uniform = [], [], [], math.log(3) * 60 / 61
    for _ in range(300):
        text = language.draw(rng)
        states = language.vocab.encode(text)[1:]
        predicted = bigram_predictions(states, 3)
        best.append(markov_loss(text, 3, "60"))
        for power, losses in ((1.2, sharper), (0.8, smoother)):
            other = predicted**power / (predicted**power).sum(1, keepdims=True)
            losses.append(-np.log(other[range(60), states]).sum() / 61)
    for losses in (sharper, smoother):
        difference = np.array(losses) - best
        assert difference.mean() > 3 * difference.std() / math.sqrt(len(difference))
    assert np.mean(best) < uniform - 0.1


def test_markov_strings_of_another_length_are_malformed():
    language = markov(3, "2-4")
    (end,) = language.vocab.encode("")
    for size, verdict in ((0, "malformed"), (1, "malformed"), (2, "right"), (4, "right"), (5, "malformed")):
        assert language.verdict([end], [0] * size + [end]) == verdict
    assert language.verdict([end], [0, 0]) == "malformed"


# ---- brackets


def balanced(word):
    """Cancel neighbours until nothing is left."""
    while (shorter := word.replace("()", "").replace("[]", "").replace("{}", "").replace("<>", "")) != word:
        word = shorter
    return not word


def deepest(word):
    return max(itertools.accumulate((1 if bracket in "([{<" else -1 for bracket in word), initial=0))


@given(
    st.text("([{<>}])", max_size=12) | st.integers(0, 1000).map(lambda seed: dyck(4).draw(np.random.default_rng(seed)))
)
def test_right_are_the_words_whose_brackets_cancel_and_are_not_too_deep(word):
    assert dyck(4, depth=3).right(word) == (balanced(word) and deepest(word) <= 3)


@EVERY_LANGUAGE
def test_an_example_is_shown(language):
    example = language.about.split("such as ")[1].rstrip("…")
    assert set(example) <= set(language.tokens)
    assert len(example) >= 7


@pytest.mark.parametrize("depth", [1, 2, 3, 20])
@pytest.mark.parametrize("size", [2, 4, 8, 10])
def test_all_balanced_words_of_a_length_are_equally_likely(size, depth):
    opens = opening_chances(size, depth)
    chances = []
    for word in map("".join, itertools.product("()", repeat=size)):
        if balanced(word) and deepest(word) <= depth:
            chance, height = 1.0, 0
            for left, bracket in zip(range(size, 0, -1), word, strict=True):
                chance *= opens[left][height] if bracket == "(" else 1 - opens[left][height]
                height += 1 if bracket == "(" else -1
            chances.append(chance)
    assert np.allclose(chances, 1 / len(chances), rtol=1e-12)
    if depth >= size // 2:
        assert len(chances) == math.comb(size, size // 2) // (size // 2 + 1)  # Catalan's number


def test_all_words_and_lengths_are_drawn():
    language, rng = dyck(2, "1-5", 2), np.random.default_rng(0)
    drawn = Counter(language.draw(rng) for _ in range(5000))
    words = {word for size in (2, 4) for word in map("".join, itertools.product("()[]", repeat=size)) if balanced(word)}
    assert set(drawn) == words
    assert len(words) == 2 + 8
    for word, times in drawn.items():
        chance = 1 / 4 if len(word) == 2 else 1 / 16
        assert abs(times - 5000 * chance) < 5 * math.sqrt(5000 * chance)


def test_long_words_are_drawn_too():
    for depth in (1, 7, LONGEST):
        language = dyck(4, str(LONGEST), depth)
        word = language.draw(np.random.default_rng(0))
        assert len(word) == LONGEST
        assert balanced(word)
        assert deepest(word) <= depth
        assert language.right(word)


def test_brackets_that_do_not_close_are_wrong_and_words_of_another_length_malformed():
    language = dyck(2, "2-6", 2)
    (end,) = language.vocab.encode("")
    verdicts = {"()": "right", "([])": "right", "([)]": "wrong", "((()))": "wrong", ")(": "wrong", "(()": "wrong"}
    verdicts |= {"": "malformed", "(": "malformed", "()()()()": "malformed"}
    for word, verdict in verdicts.items():
        assert language.verdict([end], [*language.vocab.encode(word)[1:], end]) == verdict
