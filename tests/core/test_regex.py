"""Formats accept what Python's regular expressions accept, and samples held to one match it."""

import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import random_model
from handloom.core import Config, HandloomError, Vocab, generate
from handloom.core.guides import Guide
from handloom.core.regex import parse_regex
from handloom.write import program

ATOMS = ["0", "1", "a", r"\.", r"\\", ".", "[01]", "[^0]", "[0-9a]", r"[^\]a-]", r"\d", r"\w", r"\s", "[a-]", r"[\d-]"]
SIGNS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "{0}", "{2,3}"]


def larger(inner):
    repeated = st.builds("({}){}".format, inner, st.sampled_from(SIGNS))
    return repeated | st.builds("{}{}".format, inner, inner) | st.builds("({}|{})".format, inner, inner)


FORMATS = st.recursive(
    st.sampled_from([*ATOMS, "", *(atom + sign for atom in ATOMS[:8] for sign in SIGNS)]), larger, max_leaves=8
)
TEXTS = st.text("01a.\\-] \n", max_size=6)


def matches(format, text):
    """What Python says; \\d, \\w and \\s are ASCII's, and a dot is any character."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may change what [[ means one day
        return re.fullmatch(format, text, re.ASCII | re.DOTALL) is not None


@given(FORMATS, st.lists(TEXTS, min_size=1, max_size=20))
@settings(max_examples=160)
def test_a_format_accepts_what_python_accepts(format, texts):
    parsed = parse_regex(format)
    for text in texts:
        assert parsed.matches(text) == matches(format, text)


@given(st.text("01a()[]{}|*+?.\\^$-,dn2", max_size=12), st.lists(TEXTS, max_size=5))
@settings(max_examples=600)
def test_any_text_is_a_format_as_in_python_or_gets_one_line(format, texts):
    try:
        parsed = parse_regex(format)
    except HandloomError as error:
        assert str(error).startswith("format ")
        assert " at character " in str(error)
        assert "\n" not in str(error)
        return
    for text in texts:
        assert parsed.matches(text) == matches(format, text)


@pytest.mark.parametrize(
    ("format", "complaint"),
    [
        ("[01", "a class without an end at character 1; close it with ]"),
        ("0[]", "a class of nothing at character 2"),
        ("0(1|2", "a bracket without an end at character 2; close it with )"),
        ("01)", "a closing bracket without an opening one at character 3"),
        ("*0", r"nothing to repeat at character 1; write \* for the character"),
        ("0**", "a repetition of a repetition at character 3"),
        ("0{3,1}", "a repetition whose most is below its least at character 2"),
        ("0{,3}", "{ without a count at character 2"),
        ("0{12345}", "with up to 4 digits"),
        ("[9-0]", "a range without a first and a last character at character 2"),
        (r"[\d-z]", "a range without a first and a last character at character 2"),
        (r"\b0", r"no escape \b at character 1; there are \n \r \t \d \w \s"),
        ("0\\", "no escape \\ at character 2"),
        ("^0", "^ is not needed at character 1; a format is of the whole text"),
        ("0]", r"] closes nothing at character 2; write \] for the character"),
        ("(0{50}){50}", "more than 2,000 characters, expanded, counting the part at character 1; repeat less"),
        ("0{2000}|1", "more than 2,000 characters"),
        ("(" * 40 + ")" * 40, "more than 30 nested brackets at character 31"),
        ("((((0{9999}){9999}){9999}){9999}){9999}", "more than 2,000 characters"),
        ("0" * 1001, "a format is text of up to 1,000 characters, such as [01]{30,40}"),
        (7, "a format is text"),
    ],
)
def test_what_is_no_format_is_refused_with_its_place(format, complaint):
    with pytest.raises(HandloomError) as caught:
        parse_regex(format)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "format", ["(0*)*1", "(0|0)*1", "(0?){1000}0{1000}", "((0?){40}){50}", "(0|1)*1(0|1){900}", "()" * 400, "(0+)+1"]
)
def test_what_takes_others_forever_takes_a_moment(format):
    """Python's own matcher needs 2^n steps for some of these."""
    began = time.perf_counter()
    parse_regex(format).matches("01" * 200)
    Guide(parse_regex(format), Vocab.of("01", eos="<eos>"))
    assert time.perf_counter() - began < 5


VOCABS = [
    Vocab.of("01a", bos="<end>", eos="<end>"),
    Vocab(("0", "1", "01", "10", "0a", "aa", "110", "<bos>", "<eos>"), separator="", bos="<bos>", eos="<eos>"),
    Vocab(("0", "1", "0110", "a", "<eos>", "<pad>"), separator=" ", eos="<eos>", pad="<pad>"),
    Vocab.of("01a"),
    Vocab(("0", "1", "01", "a")),
]


def model_over(vocab, seed=0, block=12):
    config = Config(vocab=len(vocab), block=block, d_model=6, layers=1, heads=2, d_head=3)
    return random_model(config, seed).with_(vocab=vocab)


def completions(vocab, format, prompt, room):
    """All rows of at most so many tokens whose text matches, found by trying everything. (Python's own matcher could
    take hours for some.)"""
    fits = parse_regex(format).matches
    plain = [i for i, token in enumerate(vocab.tokens) if token not in vocab.specials]
    rows, found = [[]], []
    for _ in range(room + 1):
        found += [row for row in rows if fits(vocab.decode([*prompt, *row]))]
        rows = [[*row, i] for row in rows for i in plain]
    return found


@given(st.sampled_from(VOCABS), FORMATS, st.integers(0, 3), st.data())
@settings(max_examples=60)
def test_the_allowed_tokens_are_those_from_which_a_match_can_still_be_reached(vocab, format, room, data):
    """Against the list of all completions, and refused exactly where that list is empty."""
    plain = [i for i, token in enumerate(vocab.tokens) if token not in vocab.specials]
    prompt = data.draw(st.lists(st.sampled_from(plain), max_size=2))
    guide, ends = Guide(parse_regex(format), vocab), vocab.eos is not None
    found = completions(vocab, format, prompt, room)
    if not found:
        with pytest.raises(HandloomError, match=r"fits it in this vocabulary|there is room for"):
            guide.begin(prompt, room + ends)
        return
    allowed = guide.allowed(guide.begin(prompt, room + ends), room + ends)
    expected = {vocab.tokens[row[0]] for row in found if row} | ({vocab.eos} if ends and [] in found else set())
    assert set(allowed) == expected


WAYS = [{}, {"temperature": 1.0}, {"temperature": 2.0, "top_k": 1}, {"temperature": 1.5, "top_p": 0.4}]
SHAPES = ["[01]{2,9}", "(0|11)*a?", "(0 )*1", "([01] ){3}a", ".{5}", "(01|10|0a)+", "0110( a)*|0+1", "1(.*1)?"]


@pytest.mark.parametrize("vocab", VOCABS, ids=["characters", "pieces", "words", "characters, no eos", "words, no eos"])
@pytest.mark.parametrize("format", SHAPES)
def test_samples_always_match(vocab, format):
    model, met = model_over(vocab), 0
    bos = [] if vocab.bos is None else [vocab.id(vocab.bos)]
    for prompt in ([0], [1, 0], [2]) if not bos else (bos, [*bos, 0, 1]):
        for steps in (None, 2, 5):
            for way in WAYS:
                try:
                    rows = generate(model, [prompt] * 4, steps=steps, format=format, **way)
                except HandloomError as error:
                    assert "format" in str(error)
                    continue
                for row in rows:
                    text = vocab.decode([*prompt, *row])
                    assert matches(format, text)
                    assert len(row) <= (steps or 13 - len(prompt))
                    assert vocab.eos is None or row.count(vocab.id(vocab.eos)) == (row[-1] == vocab.id(vocab.eos)) == 1
                    met += 1
    no_space = not vocab.separator and (format == "([01] ){3}a" or (format == "(0 )*1" and not bos))
    assert bool(met) != no_space  # where no token has a space, such texts cannot be


def test_without_an_eos_a_row_goes_on_until_nothing_can_be_added_or_it_is_full():
    model = model_over(Vocab.of("01a"))
    rows = generate(model, [[0]] * 20, format="0(10|aa1)", temperature=3.0)
    assert {model.vocab.decode(row) for row in rows} == {"10", "aa1"}
    assert generate(model, [[0, 1, 0]], format="010") == [[]]  # it matches and is complete
    assert [len(row) for row in generate(model, [[0], [0, 0, 0]], format="0*")] == [12, 10]  # the block is full
    some = generate(model, [[0]] * 99, format="0*(1a)?", steps=4, temperature=99.0)
    assert {model.vocab.decode(row) for row in some} == {"1a", "01a", "001a", "0000"}


def test_a_format_only_takes_away():
    """Where the free choice fits anyway, it is the choice."""
    model = model_over(Vocab.of("01a", bos="<end>", eos="<end>"), seed=3)
    free = generate(model, [[3]] * 50, temperature=1.0, seed=4)
    held = generate(model, [[3]] * 50, temperature=1.0, seed=4, format=".*")
    same = [a == b for a, b in zip(free, held, strict=True) if a[-1] == 3]
    assert len(same) > 20
    assert all(same)


def test_engines_groups_and_workers_change_nothing_under_a_format():
    model = model_over(Vocab.of("01a", bos="<end>", eos="<end>"))
    how = {"temperature": 1.0, "format": "([01]a?){3,8}", "steps": 10}
    by_reference = generate(model, [[3]] * 210, **how)
    assert generate(model, [[3]] * 210, engine="torch", **how) == by_reference
    assert len({tuple(row) for row in by_reference}) > 100


@pytest.mark.parametrize(
    ("format", "prompt", "steps", "complaint"),
    [
        ("[01]{20}", [3], None, r"it takes at least 21 tokens, and there is room for 12; allow more steps"),
        ("[01]{3}", [3, 0], 2, r"it takes at least 3 tokens after '0', and there is room for 2"),
        ("b+", [3], None, r"no text fits it in this vocabulary, which has 0 1 a <end>"),
        ("1+", [3, 0], None, r"no text begins with '0' and fits it"),
        ("0", [3, 0], 0, r"at least 1 tokens after '0', and there is room for 0"),
    ],
)
def test_what_cannot_be_met_is_refused_before_anything_is_made(format, prompt, steps, complaint):
    model = model_over(Vocab.of("01a", bos="<end>", eos="<end>"))
    with pytest.raises(HandloomError, match=complaint):
        generate(model, [prompt], format=format, steps=steps)


def test_a_format_and_stop_tokens_do_not_go_together():
    model = model_over(Vocab.of("01a", bos="<end>", eos="<end>"))
    with pytest.raises(HandloomError, match="stop and format both say where a row ends"):
        generate(model, [[3]], format="0", stop=["a"])
    assert generate(model, [[3]], format="0", stop=["<end>"]) == [[0, 3]]


def test_a_written_program_can_be_held_to_a_format():
    assert program("hello")("", format="Hello.*") == "Hello World!"
    assert re.fullmatch("[^l]*d!", program("hello")("Hel", format="Hel[^l]*d!"))
    assert program("addition")("045+078=", format=r"045\+078=9\d*").startswith("9")


@pytest.mark.slow
def test_a_thousand_rows_under_a_format_take_little_longer():
    """The same tokens, with a format that allows them all and without one; best of three."""
    config = Config(vocab=4, block=65, d_model=64, layers=4, heads=4, d_head=16, d_ff=256)
    model = random_model(config, scale=0.1).with_(vocab=Vocab.of("012", bos="<end>", eos="<end>"))
    took, made = {None: 1e9, ".*": 1e9}, {}
    for _ in range(3):
        for format in took:
            began = time.perf_counter()
            made[format] = generate(model, [[3]] * 1000, steps=64, temperature=1.0, engine="torch", format=format)
            took[format] = min(took[format], time.perf_counter() - began)
    assert sum(map(len, made[None])) > 10_000
    assert took[".*"] < 1.5 * took[None]


def test_the_command_line_takes_a_format(tmp_path):
    handloom = Path(sys.executable).with_name("handloom")
    words = [handloom, "run", "hello", "--temperature", "9", "--format"]
    said = subprocess.run([*words, "[Hello]{4,7}"], capture_output=True, text=True, check=True).stdout
    assert re.fullmatch("[Hello]{4,7}\n", said)
    wrong = subprocess.run([*words, "[Hello"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr == "handloom: format '[Hello': a class without an end at character 1; close it with ]\n"
    task = subprocess.run([*words, "x{9}"], capture_output=True, text=True, check=False)
    assert "no text fits it in this vocabulary, which has <bos> H e l o" in task.stderr


def test_memory_is_given_up_when_states_are_many():
    """(0|1)*1(0|1){9} has 2^10 states; what was forgotten is found again."""
    vocab, format = Vocab.of("01", bos="<end>", eos="<end>"), parse_regex("(0|1)*1(0|1){9}")
    small, large, rng = Guide(format, vocab, kept=20), Guide(format, vocab), np.random.default_rng(0)
    for length in range(1, 40):
        state = small.begin(rng.integers(0, 2, length).tolist(), room=40)
        assert small.allowed(state, room=40) == large.allowed(state, room=40)
        assert len(small.known) * small.count <= 20 + small.count
    assert len(large.known) * large.count > 100
