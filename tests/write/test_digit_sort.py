"""Chapter 5, exercise 7: numbers of several digits, sorted by counting, against the oracle; and why it is right."""

import itertools
from functools import cache

import numpy as np
import pytest

from handloom.core import HandloomError, count, generate, torch_engine
from handloom.tasks import certify
from handloom.tasks.digit_sorting import ascending_digits, join
from handloom.write.ours.digit_sort import digit_sort, directions
from handloom.write.parts.loudness import SURE


def test_the_task_knows_what_is_right_and_what_is_no_input():
    task = ascending_digits(2, 3)
    assert task.answer("42 07 42=") == "07 42 42"
    for wrong in (
        "",
        "=",
        "42",
        "4=",
        "42 7=",
        "42  07=",
        "42 07",
        "42=07=",
        "42 07 =",
        "1 2 3=",
        "00 00 00 00=",
        "123=",
    ):
        with pytest.raises(HandloomError, match="1 to 3 numbers of 2 digits each and then =, such as 42 07 42="):
            task.check(wrong)
    assert ascending_digits(4, 2, base=3).answer("2101 0210=") == "0210 2101"


@pytest.mark.parametrize("shape", [(1, 1, 2), (1, 3, 4), (2, 3, 3), (3, 1, 10), (20, 2, 10)])
def test_hard_and_random_inputs_are_inputs_and_every_input_comes_once(shape):
    task = ascending_digits(*shape)
    rng = np.random.default_rng(0)
    for ids in itertools.chain(task.hard(), (task.draw(rng) for _ in range(50))):
        assert task.oracle(ids)
    if task.count < 10_000:
        assert len({tuple(ids) for ids in task.every() if task.oracle(ids)}) == task.count


def test_the_size_and_an_example():
    model = digit_sort()
    assert (count(model).total, count(model).nonzero) == (10_410, 659)
    assert model("42 07 13 07 99 00 40=") == "00 07 07 13 40 42 99"
    assert digit_sort(digits=6, length=3)("271828 314159 271801=") == "271801 271828 314159"


@pytest.mark.parametrize(("shape", "inputs"), [((1, 4, 10), 11_110), ((2, 2, 10), 10_100), ((2, 4, 3), 7_380)])
def test_small_sizes_on_every_input_in_float32(shape, inputs):
    certificate = certify(digit_sort(*shape), ascending_digits(*shape), dtype="float32")
    assert (certificate.method, certificate.inputs, certificate.right) == ("exhaustive", inputs, True)
    assert certificate.margin > 1.8


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sixteen_numbers_of_two_digits(dtype):
    """Some of the hard inputs, all along, and random ones; the slow test has all."""
    task, rng = ascending_digits(), np.random.default_rng(1)
    inputs = [*itertools.islice(task.hard(), 0, None, 31), *(task.draw(rng) for _ in range(200))]
    assert generate(digit_sort().astype(dtype), inputs, engine="torch") == [task.oracle(ids) for ids in inputs]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sixteen_numbers_of_two_digits_on_all_hard_inputs_and_more(dtype):
    assert sum(1 for _ in ascending_digits().hard()) == 3156
    certificate = certify(digit_sort(), ascending_digits(), dtype, samples=10_000)
    assert certificate.right
    assert certificate.margin > 2.2


@pytest.mark.parametrize("shape", [(1, 100, 10), (2, 100, 10), (3, 16, 10), (6, 8, 10), (12, 4, 10), (8, 8, 2)])
def test_other_sizes_in_float32(shape):
    assert certify(digit_sort(*shape), ascending_digits(*shape), "float32", samples=20).right


def test_a_thousand_numbers_in_float32():
    shape = (1, 1000, 10)
    assert certify(digit_sort(*shape), ascending_digits(*shape), "float32", samples=4).right


def test_on_the_reference_engine():
    task, rng = ascending_digits(), np.random.default_rng(2)
    inputs = [task.draw(rng) for _ in range(5)]
    assert generate(digit_sort(), inputs) == [task.oracle(ids) for ids in inputs]


# Why it is right on all inputs. In layer 0 each head finds one position, by places, time and signs alone. So what
# enters layer 1 depends on the position, on the digits of its own number so far and on whether = has come: few enough
# cases to have them all. Between these, all that count in layer 1 score the same, and all others far less.

DIGITS, LENGTH, WIDTH = 2, 16, 3


def test_each_head_of_layer_0_finds_one_position_whatever_the_tokens_are():
    model = digit_sort()
    weights, layer = model.params, model.params["layers"][0]
    signs = (np.arange(model.config.block) + 1) % WIDTH == 0
    stream = weights["W_E"] + weights["W_pos"][:, None]  # (T, V, D)
    allowed = np.where(np.arange(12) < 10, ~signs[:, None], signs[:, None])  # (T, V): digits, or signs
    stream /= np.sqrt((stream**2).mean(-1, keepdims=True))
    assert np.abs(stream.mean(-1)).max() < 1e-15
    queries, keys = (np.einsum("tvd,hdk->htvk", stream, layer[name]) for name in ("W_Q", "W_K"))
    least_query = np.where(allowed, queries[..., 0], np.inf).min(-1) / np.sqrt(model.config.d_head)  # (H, T)
    low, high = (np.where(allowed, keys[..., 0], bound) for bound in (np.inf, -np.inf))
    for place in (1, 2):
        wanted = signs | ((np.arange(model.config.block) + 1) % WIDTH == place)
        for t in range(np.flatnonzero(wanted)[0], model.config.block):
            winner = np.flatnonzero(wanted[: t + 1])[-1]
            lead = low[place - 1, winner].min() - np.delete(high[place - 1, : t + 1], winner, 0).max(initial=-np.inf)
            assert lead * least_query[place - 1, t] > 0.99 * SURE
    assert (keys[2, signs, 11, 0].min() - high[2, :, :11].max()) * least_query[2].min() > 0.99 * SURE


def stream_after_layer_0(texts):
    model = digit_sort()
    return torch_engine.compute(model.config, torch_engine.tensors(model), texts, want="0.resid_post")[1][
        "0.resid_post"
    ].numpy()


def case(text, i, start):
    """What the stream at position i depends on; the input's last token is at `start`."""
    return i, tuple(text[i - (i + 1) % WIDTH + 1 : i + 1]), i >= start, text[i] == 11


@cache
def cases():
    """Every case, from texts of every length that are one number over and over."""
    found = {}
    for length in range(1, LENGTH + 1):
        asked = [join([[a, b]] * length, 10) for a in range(10) for b in range(10)]
        texts = [[*ids, *ids[:-2]] for ids in asked]  # the last digit of an answer is said, not read
        for text, stream in zip(texts, stream_after_layer_0(np.array(texts)), strict=True):
            found |= {case(text, i, WIDTH * length - 1): stream[i] for i in range(len(text))}
    return found


def test_what_enters_layer_1_depends_on_few_things_only():
    task, rng, known = ascending_digits(), np.random.default_rng(3), cases()
    at = slice(*directions(DIGITS, 10).directions["gathered"].at)
    for _ in range(12):
        ids = task.draw(rng)
        text = [*ids, *task.oracle(ids)[:-1]]
        for i, row in enumerate(stream_after_layer_0(np.array([text]))[0]):
            expected, place = known[case(text, i, len(ids) - 1)], (i + 1) % WIDTH
            seen = slice(0, at.start + 3 * place) if i < WIDTH else slice(None)  # the first number may see itself ahead
            assert np.abs(row - expected)[seen].max() < 1e-11


def test_all_that_count_score_the_same_and_all_others_far_less():
    model = digit_sort()
    names, streams = list(cases()), np.array(list(cases().values()))
    normed = streams - streams.mean(-1, keepdims=True)
    normed /= np.sqrt((normed**2).mean(-1, keepdims=True) + model.config.eps)
    layer = model.params["layers"][1]
    queries, keys = (normed @ layer[name][0] for name in ("W_Q", "W_K"))
    keys /= np.sqrt(model.config.d_head)
    places, said = np.array([(i + 1) % WIDTH for i, *_ in names]), np.array([said for _, _, said, _ in names])
    prefixes = np.array([(*prefix, -1, -1)[:DIGITS] if (i + 1) % WIDTH else (-1, -1) for i, prefix, *_ in names])
    for place, prefix in [
        (0, ()),
        *((1, (a,)) for a in range(10)),
        *((2, (a, b)) for a in range(10) for b in range(10)),
    ]:
        asking = said & (places == place) & (prefixes[:, :place] == prefix).all(-1)
        counts = (places == (place + 1) % WIDTH) & ((prefixes[:, :place] == prefix).all(-1) | (place == DIGITS))
        scores = queries[asking] @ keys.T
        given, repeated = scores[:, counts & ~said], scores[:, counts & said]
        assert (scores[:, ~counts].max(-1) < given.min(-1) - 0.9 * SURE).all()
        if place < DIGITS:  # behind the last digit it finds the spaces, and counts nothing
            assert max(np.ptp(given, axis=-1).max(), np.ptp(repeated, axis=-1).max()) < 1e-5
            more = repeated[:, 0] - given[:, 0]
            assert more.min() > 0.01
            assert more.max() < np.log(1 + 1 / (2 * LENGTH))


def test_in_float32_what_is_left_and_what_is_not_are_far_from_the_threshold():
    """Neurons of layer 1 are 0 from 0 down and 1 from 1 up, and must not be between."""
    task, rng = ascending_digits(), np.random.default_rng(4)
    drawn = (task.draw(rng) for _ in range(2000))
    inputs = [ids for ids in (*itertools.islice(task.hard(), 0, None, 11), *drawn) if len(ids) == WIDTH * LENGTH]
    assert len(inputs) > 300
    answers = [task.oracle(ids) for ids in inputs]
    model = digit_sort().astype("float32")
    texts = np.array([[*ids, *answer[:-1]] for ids, answer in zip(inputs, answers, strict=True)])
    trace = torch_engine.compute(model.config, torch_engine.tensors(model), texts, want="1.mlp_pre")[1]
    neurons = trace["1.mlp_pre"][:, WIDTH * LENGTH - 1 :, :10].numpy()
    left = np.array([[still_to_come(answer, step) for step in range(len(answer))] for answer in answers])
    assert neurons[left].min() > 1
    assert neurons[~left].max() < -0.999


def still_to_come(answer, step):
    """Which digits may come next: those of the numbers not said yet that begin as this one does."""
    place, start = step % WIDTH, step - step % WIDTH
    rest = [answer[i : i + DIGITS] for i in range(start, len(answer), WIDTH)]
    following = {n[place] for n in rest if n[:place] == rest[0][:place]} if place < DIGITS else set()
    return [digit in following for digit in range(10)]


@pytest.mark.parametrize("shape", [(0, 16, 10), (2, 0, 10), (2, 16, 1), (2, 16, 11)])
def test_impossible_sizes_are_refused(shape):
    with pytest.raises(HandloomError, match="a base from 2 to 10"):
        digit_sort(*shape)
