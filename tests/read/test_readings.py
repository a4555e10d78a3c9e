"""Readings name what stands in the stream: the token, the position, what was computed, and the answer."""

import numpy as np
import pytest

import handloom as hl
from handloom.core.transforms import disguise
from handloom.read.readings import stream_readings
from handloom.tasks import task_of
from handloom.write.catalogue import COMPILED, PROGRAMS
from programs import CASES

NAMES_OF_TOKENS = ("token", "number", "point", "digit")
NO_POSITIONS = ("min", "max", "sort", "book/min", "book/max", "book/sort", "exercise/sort-golden",
                "exercise/min-million", "book/sum", "exercise/sum-line", "exercise/sum-clean")  # fmt: skip
RIGHT = [case.name for case in CASES if not case.wrong]


def runs(name, count=3):
    """The model, and for random inputs: the ids of question and answer, how many are the question's, and the trace."""
    model = hl.program(name)
    task, rng = task_of(model), np.random.default_rng(0)
    for _ in range(count):
        question, answer = task.pair(rng)
        ids = [*question, *answer][: model.config.block]
        seen = ids if model.config.causal else question  # one that sees both ways is asked about the question alone
        yield model, ids, len(question), hl.trace(model, seen)


def readings_at(model, site):
    return {one.name: one for one in stream_readings(model, site)}


def named(model, site, *names):
    """The reading at a site that has the first of these names."""
    there = readings_at(model, site)
    return next(there[name] for name in names if name in there and len(there[name].points))


def value(model, run, site, name, t):
    """The number that a reading gives."""
    return (readings_at(model, site)[name].vectors @ run[site][t]).item()


@pytest.mark.parametrize("name", [*PROGRAMS, *COMPILED])
def test_every_program_names_directions(name):
    model = hl.program(name)
    assert any(one.kind != "ballast" for one in stream_readings(model))
    known = hl.sites(model.config)
    assert all(site in known for one in stream_readings(model) for site in one.sites)


@pytest.mark.parametrize("name", RIGHT)
def test_the_reading_of_the_embedding_names_the_token_that_stands_there(name):
    if name == "exercise/simpleformer":
        return  # tokens have no embedding
    for model, ids, _, run in runs(name):
        reading = named(model, "embed", *NAMES_OF_TOKENS)
        for t, token in enumerate(ids[: len(run["embed"])]):
            shown = model.vocab.tokens[token]
            expected = "any other" if name == "exercise/hello-counting" and t else shown
            names = reading.names(run["embed"][t])
            assert expected in names or repr(expected) in names


@pytest.mark.parametrize("name", RIGHT)
def test_the_reading_of_positions_names_the_position(name):
    for model, _, _, run in runs(name.replace(":message=abc", ""), 1):
        there = [one for one in stream_readings(model, "pos_embed") if one.places]
        assert there or name.partition(":")[0] in NO_POSITIONS or "hello" in name or name in PROGRAMS_OF_MESSAGES
        for reading in there:
            assert all(str(t) in reading.names(run["pos_embed"][t]) for t in range(len(run["embed"])))


PROGRAMS_OF_MESSAGES = [name for name, one in PROGRAMS.items() if one.task in ("message", "ascii-message")]


@pytest.mark.parametrize("name", [*RIGHT, *COMPILED])
def test_at_the_last_site_a_reading_names_the_answer_of_the_oracle(name):
    for model, ids, question, run in runs(name):
        reading = named(model, "resid_final", "answer", *NAMES_OF_TOKENS)
        for t in range(question - 1, min(len(ids) - 1, len(run["embed"]))):
            token = model.vocab.tokens[ids[t + 1]]
            names = reading.names(run["resid_final"][t])
            assert token in names or repr(token) in names


@pytest.mark.parametrize("digits", [1, 3, 6])
def test_addition_says_its_sums_stops_and_carries(digits):
    for model, ids, _, run in runs(f"addition:digits={digits}"):
        first, second = ids[:digits], ids[digits + 1 : 2 * digits + 1]
        sums = [a + b for a, b in zip(first, second, strict=True)]
        for i, total in enumerate(sums):
            own = digits + 1 + i  # the position with this place
            assert value(model, run, "1.resid_post", "own_sum", own) == pytest.approx(total, abs=0.2)
            if i < digits - 1:  # the position with the place below
                assert value(model, run, "0.resid_mid", "sum_above", own + 1) == pytest.approx(total, abs=0.2)
            assert readings_at(model, "2.resid_post")["carry"].names(run["2.resid_post"][own]) == [str(+(total > 9))]
            above_nine = [j for j in range(i) if sums[j] != 9]  # its stop lies below the first above it that is no nine
            stop = digits - 2 - above_nine[-1] if above_nine else digits - 1
            assert readings_at(model, "2.resid_mid")["stop"].names(run["2.resid_mid"][own]) == [str(stop)]
            place = readings_at(model, "pos_embed")["place"].names(run["pos_embed"][own])
            assert place == [str(digits - 1 - i)]


@pytest.mark.parametrize("name", ["search", "exercise/search-lean", "book/search:tokens=7,length=4,block=40"])
def test_search_says_which_tokens_stood_before(name):
    for model, ids, _, run in runs(name):
        there = {n: one for n, one in readings_at(model, "0.resid_post").items() if n.endswith("back")}
        assert len(there) >= 2
        for t in range(len(there) + 1, len(ids)):
            for n, one in there.items():
                assert one.names(run["0.resid_post"][t]) == [str(ids[t - int(n.split()[0])])]


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("book/sum", lambda ids: ids[0] + ids[1]),
        ("exercise/sum-clean", lambda ids: ids[0] + ids[1]),
        ("exercise/sum-line", lambda ids: ids[0] + ids[1]),
        ("modular-sum", lambda ids: ids[1] + ids[4]),
        ("book/modular-sum", lambda ids: 10 * (ids[0] + ids[3]) + ids[1] + ids[4]),
        ("book/addition:digits=2", lambda ids: 10 * (ids[0] + ids[3]) + ids[1] + ids[4]),
    ],
)
def test_sums_are_read_between_attention_and_the_mlp(name, read):
    for model, ids, question, run in runs(name):
        assert value(model, run, "0.resid_mid", "sum", question - 1) == pytest.approx(read(ids), abs=0.01)


def test_sort_digits_says_which_digits_it_gathered():
    for model, ids, _, run in runs("exercise/sort-digits:length=4"):
        there = readings_at(model, "0.resid_mid")
        for t in range(1, len(ids), 3):  # where a number ends
            for place in range(2):
                reading = there[f"digit {place + 1} of my number"]
                assert reading.names(run["0.resid_mid"][t]) == [str(ids[t - 1 + place])]


def test_counting_hello_counts():
    for model, ids, _, run in runs("exercise/hello-counting", 1):
        count = readings_at(model, "0.resid_mid")["count"]
        assert [count.names(x) for x in run["0.resid_mid"]] == [[str(t)] for t in range(len(ids))]


def test_say_puts_it_in_words():
    model = hl.program("addition")
    run = hl.trace(model, "865+230=")
    assert hl.read.say(model, run["pos_embed"][7], "pos_embed")["position"] == "7 (of 0..10)"
    assert hl.read.say(model, run["embed"][2], "embed")["token"] == "5"
    assert hl.read.say(model, run["embed"][7], "embed")["token"] == "+ or ="
    assert hl.read.say(model, run["resid_final"][7], "resid_final")["answer"] == "8 → 1"
    everywhere = hl.read.say(model, run["resid_final"][7])
    assert {"place", "token", "answer"} <= set(everywhere)
    assert not {"high", "low"} & set(everywhere)
    hello = hl.program("hello")
    assert hl.read.say(hello, 1e6 * hello.params["W_E"][3]) == {"token": "l"}
    assert hl.read.say(hello, np.zeros(3)) == {"token": "nothing"}


@pytest.mark.parametrize("name", ["search", "addition", "book/lookup", "compiled/reverse:n=4"])
def test_a_disguised_model_says_the_same(name):
    for model, ids, _, run in runs(name, 1):
        disguised = disguise(model.astype(np.float64), 1)
        other = hl.trace(disguised, ids)
        for site in ("pos_embed", "0.resid_post", "resid_final"):
            for t in range(len(ids)):
                for one, its in zip(stream_readings(model, site), stream_readings(disguised, site), strict=True):
                    if one.kind != "ballast" and len(one.points):
                        assert one.names(run[site][t]) == its.names(other[site][t]), (site, one.name)


@pytest.mark.parametrize(
    "damage",
    [3, {"token": 3}, {"token": {"vectors": [[1]], "scale": 1, "kind": "token"}},
     {"token": {"vectors": [[1, 0, 0]], "scale": 1, "kind": "colour"}},
     {"token": {"vectors": [[1, 0, 0]], "scale": 1, "kind": "token", "points": "W_Q"}},
     {"token": {"vectors": [[1, 0, 0]], "scale": 1, "kind": "token", "points": [[1, 2]]}},
     {"token": {"vectors": [[1, 0, 0]], "scale": 1, "kind": "token", "points": [[1]], "values": ["a", "b"]}},
     {"token": {"vectors": [[1, 0, 0]], "scale": 1, "kind": "token", "points": [[1]], "values": [2]}}],
)  # fmt: skip
def test_damaged_readings_are_an_error_of_one_line(damage):
    model = hl.program("hello")
    with pytest.raises(hl.HandloomError, match=r"the readings in the model's notes are damaged: [^\n]+$"):
        hl.read.say(model.with_(notes={"readings": damage}), np.zeros(3))


def test_a_vector_of_another_width_and_a_site_that_is_not_there_are_refused():
    model = hl.program("hello")
    with pytest.raises(hl.HandloomError, match=r"shape \(2,\) \(expected \(3,\)"):
        hl.read.say(model, np.zeros(2))
    with pytest.raises(hl.HandloomError, match=r"no site '0\.resid_mid'"):
        hl.read.say(model, np.zeros(3), "0.resid_mid")
    assert hl.read.say(model.with_(notes={}), np.zeros(3)) == {}
