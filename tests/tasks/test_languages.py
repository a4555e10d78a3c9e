"""The languages of the talk: what is drawn is right, equally often if it should be, and what is spoilt is found out."""

import math
import re
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloom.core import HandloomError
from handloom.tasks import Language, task
from handloom.tasks import strings as strings_module
from handloom.tasks.fibonacci import fibonacci, mangle, mangled, renamed
from handloom.tasks.grids import grid
from handloom.tasks.rule_draws import random_strings
from handloom.tasks.rules import parse_rule
from handloom.tasks.strings import one_two, strings, two_twos
from handloom.tasks.textfile import text_file

LANGUAGES = [
    "strings",
    "strings:rule=s[13]==s[22]",
    "strings:rule=s[18] = s[39], s[31] = s[44], s[4] = s[-28],length=50-200",
    "strings:rule=count(a)==3 and s[1]<s[2],alphabet=abc",
    "one-two",
    "two-twos",
    "fibonacci",
    "fibonacci:terms=5,most=50,symbols=zyxwvutsrq;",
    "mangled",
    "grid",
    "grid:side=4,distances=1,sqrt(2)",
    "examples/task.py",
]


def verdict_on(language, text):
    """The verdict on a text that a model might have written."""
    return language.verdict([len(language.tokens)], [*language.vocab.encode(text)[1:], len(language.tokens)])


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_is_drawn_is_right_and_a_seed_decides_it(name):
    language = task(name)
    rng, again = np.random.default_rng(7), np.random.default_rng(7)
    texts = [language.draw(rng) for _ in range(300)]
    assert texts == [language.draw(again) for _ in range(300)]
    assert len(set(texts)) > 30
    assert {verdict_on(language, text) for text in texts} == {"right"}
    assert max(map(len, texts)) <= language.longest
    asked, answer = language.pair(rng)
    assert language.verdict(asked, answer) == "right"


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_is_malformed_is_not_called_wrong(name):
    language = task(name)
    text = language.draw(np.random.default_rng(0))
    assert verdict_on(language, text + text * (language.longest // len(text))) == "malformed"
    assert verdict_on(language, "") == "malformed"
    assert language.verdict([len(language.tokens)], language.vocab.encode(text)[1:]) == "malformed"  # does not end


def spoilt(text, symbols, rng):
    """The text with one symbol changed."""
    at = rng.integers(len(text))
    return text[:at] + rng.choice([symbol for symbol in symbols if symbol != text[at]]) + text[at + 1 :]


def plain(number, most=math.inf):
    """Whether a number below `most` has no zeros in front."""
    return number == str(int(number)) and int(number) < most


def is_fibonacci(text):
    numbers = text.split(",")
    values = list(map(int, numbers))
    sums = all(a + b == c for a, b, c in zip(values, values[1:], values[2:], strict=False))
    return sums and all(map(plain, numbers)) and max(values[:2]) < 40


def is_mangled(text):
    """The talk's rules once more, from the terms back to what they come from."""
    x, y, third, fourth, fifth = text.split(",")
    total = str(int(third) + int(fourth))
    return (
        plain(x, 1000)
        and plain(y, 1000)
        and str(int(x) + int(y)) == "".join({"7": "8", "8": "7"}.get(digit, digit) for digit in third)
        and str(int(y) + int(third) + 171) == "".join(reversed(fourth.replace("55", "5")))
        and all(len(fives) % 2 == 0 for fives in re.findall("5+", fourth))
        and fifth == (total[: total.index("4")] if "4" in total else total)
    )


def has_no_pair_at(distances, side):
    def right(text):
        ones = [divmod(cell, side) for cell, symbol in enumerate(text) if symbol == "1"]
        return not any(math.dist(a, b) in distances for a, b in combinations(ones, 2))

    return right


@pytest.mark.parametrize(
    ("language", "right"),
    [
        (strings("s[13]==s[22]"), lambda text: text[12] == text[21]),
        (strings("s[18]==s[n-20]", length="50-60"), lambda text: text[17] == text[len(text) - 21]),
        (strings("s[-1]==s[-2]", length="5-9"), lambda text: text[-1] == text[-2]),
        (strings("sum(s)%3==0 or s[1]==s[2]", "012"), lambda t: sum(map(int, t)) % 3 == 0 or t[0] == t[1]),
        (one_two(), lambda text: text.count("2") == 1),
        (two_twos(), lambda text: text.count("2") in (0, 2)),
        (fibonacci(4, 40), is_fibonacci),
        (mangled(), is_mangled),
        (grid(), has_no_pair_at((4, 5), 8)),
        (grid(5, "2,√2"), has_no_pair_at((2, math.sqrt(2)), 5)),
    ],
    ids=lambda value: value.about if isinstance(value, Language) else "",
)
def test_a_string_with_one_symbol_changed_is_wrong_where_it_breaks_the_rule(language, right):
    rng = np.random.default_rng(3)
    seen = Counter()
    for _ in range(400):
        text = spoilt(language.draw(rng), language.tokens, rng)
        if language.formed(text):
            seen[verdict_on(language, text)] += 1
            assert verdict_on(language, text) == ("right" if right(text) else "wrong"), text
    assert seen["wrong"] > 5


RULES = [  # each way to draw, alone and together
    ("", "01"),
    ("s[1]==s[3]", "012"),
    ("s[1]=s[3], s[-1]=s[3], s[2]=s[n-1]", "01"),
    ("s[1]==s[2]==1", "012"),
    ("s[1]==s[2] and s[2]==s[4] and s[1]!=s[3]", "012"),
    ("s[1]<s[2] or s[3]==s[-1]", "012"),
    ("count(1)==2", "012"),
    ("count(1)==count(2) and s[1]!=0", "0123"),
    ("s[1]==s[2], count(1)>count(0)", "01"),
    ("s[1]==s[-1] and s[2]==0 and (count(1)%2==0 or s[3]==2)", "012"),
    ("sum(s)%3==1", "012"),
    ("not (s[1]==s[2] or s[3]=='b')", "abc"),
    ("n%2==0 and s[1]!=s[2]", "01"),
]


def of_length(rule, alphabet, n):
    return [text for text in map("".join, product(alphabet, repeat=n)) if parse_rule(rule, alphabet).holds(text)]


@pytest.mark.parametrize("listed", [True, False], ids=["cases", "tries"])
@pytest.mark.parametrize(("rule", "alphabet"), RULES)
def test_lengths_are_equally_likely_and_so_are_strings_of_one_length(rule, alphabet, listed):
    """Pearson's test: the sum of squares stays within five deviations of its mean."""
    draw = random_strings(parse_rule(rule, alphabet), 4, 5, cases=100_000 if listed else 0, few=0)
    every = {n: of_length(rule, alphabet, n) for n in (4, 5)}
    lengths = [n for n, texts in every.items() if texts]
    chances = {text: 1 / len(lengths) / len(every[n]) for n in lengths for text in every[n]}
    draws, rng = 20 * len(chances), np.random.default_rng(11)
    found = Counter(draw(rng) for _ in range(draws))
    assert set(found) <= set(chances)
    squares = sum((found[text] - draws * chance) ** 2 / (draws * chance) for text, chance in chances.items())
    freedom = len(chances) - 1
    assert abs(squares - freedom) < 5 * math.sqrt(2 * freedom)


def test_rare_strings_are_found_at_once():
    """Of random strings, one in 10^24 has 5 ones of 100 digits, one in 2^45 is a palindrome of 90."""
    rng = np.random.default_rng(0)
    assert strings("count(1)==5", length="100").draw(rng).count("1") == 5
    palindromes = strings(",".join(f"s[{i}]==s[-{i}]" for i in range(1, 46)), length="90-91")
    assert all(text == text[::-1] for text in (palindromes.draw(rng) for _ in range(50)))


def test_the_marks_of_a_language_are_the_digits_of_its_rule():
    assert strings("s[13]==s[22]").marks(35) == [13, 22]
    assert list(two_twos().marks(35)) == []


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: strings("s[1]!=s[1]"),
            "no string of length 30 to 40 satisfies it; give a rule that some strings satisfy",
        ),
        (lambda: strings("s[1]==0 and s[2]==1 and s[1]==s[2]"), "no string of length 30 to 40 satisfies it"),
        (lambda: strings("s[3]==7"), "no string of length 30 to 40 satisfies it"),
        (lambda: strings("n>40"), "no string of length 30 to 40 satisfies it"),
        (lambda: strings("sum(s)==1", "0123456789"), "no string of length 30 to 40 was found in 20000 tries"),
        (lambda: strings("s[13]==s[300]"), r"has no s\[300\]"),
        (
            lambda: strings(length="40-30"),
            "length='40-30' is not a range of lengths from 1 to 10000; write length=30-40",
        ),
        (lambda: strings(length="0-3"), "is not a range of lengths"),
        (lambda: strings(length="1-20000"), "is not a range of lengths"),
        (lambda: strings(length="many"), "is not a range of lengths"),
        (lambda: strings(alphabet=""), "alphabet='' must be different symbols, such as 01"),
        (lambda: strings(alphabet="00"), "alphabet='00' must be different symbols"),
        (lambda: strings(alphabet="<>end"), "can spell <end>"),
        (lambda: strings(alphabet="\ud800a"), "half a character"),
        (lambda: two_twos("1-5"), "length=1-5 must start at 2"),
        (lambda: fibonacci(terms=1), "fibonacci: terms=1 must be a whole number of at least 2"),
        (lambda: fibonacci(terms=10**9), "terms=1000000000 must be at most 1000"),
        (lambda: fibonacci(most=0), "fibonacci: most=0"),
        (lambda: mangled(most=10**30), r"must be at most 10\^18"),
        (lambda: fibonacci(symbols="abc"), "symbols='abc' must be 11 characters, one for each of '0 1 2"),
        (lambda: fibonacci(symbols="aaaaaaaaaaa"), "must be different symbols"),
        (lambda: grid(side=0), "grid: side=0"),
        (lambda: grid(side=1000), "grid: side=1000 must be at most 100"),
        (lambda: grid(distances="four"), "grid: 'four' is not a distance; write distances=4,5"),
        (lambda: grid(distances="300"), "no two cells of a 8×8 grid are at distance 300"),
        (lambda: grid(distances="sqrt(3)"), r"at distance sqrt\(3\)"),
    ],
)
def test_what_cannot_be_is_refused(make, complaint):
    with pytest.raises(HandloomError, match=complaint):
        make()


@given(st.text(max_size=12))
def test_any_text_for_a_length_or_a_distance_is_read_or_refused(text):
    for read in (strings_module.lengths, lambda text: grid(3, text), lambda text: strings(alphabet=text, length="3")):
        try:
            read(text)
        except HandloomError as error:
            assert "\n" not in str(error)


def test_a_two_is_anywhere_and_two_twos_are_there_half_of_the_time():
    rng = np.random.default_rng(0)
    language = one_two("10")
    places = Counter(language.draw(rng).index("2") for _ in range(5000))
    assert all(abs(places[i] - 500) < 5 * math.sqrt(500) for i in range(10))
    language = two_twos("10")
    texts = [language.draw(rng) for _ in range(9000)]
    with_twos = [text for text in texts if "2" in text]
    assert abs(len(with_twos) - 4500) < 5 * math.sqrt(9000 / 4)
    pairs = Counter((text.index("2"), text.rindex("2")) for text in with_twos)
    assert len(pairs) == 45
    assert all(abs(count - 100) < 5 * 10 for count in pairs.values())
    ones = sum(text.count("1") for text in texts)
    free = sum(10 - text.count("2") for text in texts)
    assert abs(ones - free / 2) < 5 * math.sqrt(free / 4)


TALK = """444,148,592,740,1332,2072,3404 231,355,586,941,1527,2468,3995 688,472,1160,1632,2792,4424,7216
19,829,848,1677,2525,4202,6727 355,404,759,1163,1922,3085,5007 526,183,709,892,1601,2493,4094
53,707,760,1467,2227,3694,5921 873,431,1304,1735,3039,4774,7813"""
WRONG = "932,751,1635,2406,4192,6407,10063 872,688,1530,2298,3759,6076,9898 873,83,955,1066,2969,3776,4287"
MANGLED = """521,142,663,679,13 248,602,750,32551,33301 855,244,1099,41551, 27,881,907,95591,96 738,518,1256,55491,567
686,854,1540,556552,558092"""


def test_the_sequences_of_the_talk():
    assert {verdict_on(fibonacci(), text) for text in TALK.split()} == {"right"}
    assert {verdict_on(fibonacci(), text) for text in WRONG.split()} == {"wrong"}
    assert {verdict_on(mangled(), text) for text in MANGLED.split()} == {"right"}
    for text in MANGLED.split():
        assert mangle(*map(int, text.split(",")[:2])) == text
        assert is_mangled(text)


@pytest.mark.parametrize("text", ["1,2,3", "1,2,3,5,8,13,21,34", "1,2,3,5,,13,21", "1;2,3,5,8,13,21", "1,2,3,5,8,13,"])
def test_what_is_not_seven_numbers_is_malformed(text):
    assert not fibonacci().formed(text)
    assert not fibonacci().right(text)


def test_zeros_in_front_and_numbers_that_are_too_large_are_wrong():
    for text in ("01,2,3,5,8,13,21", "1000,2,1002,1004,2006,3010,5016"):
        assert verdict_on(fibonacci(), text) == "wrong"


@pytest.mark.parametrize("most", [1, 2, 7, 60, 1000, 10**5])
def test_no_sequence_is_longer_than_the_longest(most):
    rng = np.random.default_rng(0)
    for language in (fibonacci(most=most), mangled(most)):
        drawn = [language.draw(rng) for _ in range(2000)]
        assert max(map(len, drawn)) <= language.longest
    assert len(fibonacci(7, most).draw(rng)) <= len(",".join(map(str, (most - 1) * np.array([1, 1, 2, 3, 5, 8, 13]))))


def test_exchanged_symbols_change_nothing_but_the_symbols():
    plain, exchanged = fibonacci(), fibonacci(symbols="šç≤oΔ$óⓂöx‡")
    there = str.maketrans("0123456789,", "šç≤oΔ$óⓂöx‡")
    for seed in range(20):
        text = plain.draw(np.random.default_rng(seed))
        assert exchanged.draw(np.random.default_rng(seed)) == text.translate(there)
        assert exchanged.right(text.translate(there))
        assert not exchanged.right(text)
    assert not exchanged.formed("1,2,3,5,8,13,21")
    assert renamed(strings("s[1]==s[2]"), "ab").right("aa" + "b" * 30)


def test_a_cell_is_one_with_chance_one_half_wherever_it_may_be():
    rng = np.random.default_rng(0)
    language, fits = grid(), has_no_pair_at((4, 5), 8)
    ones, allowed = 0, 0
    for _ in range(60):
        text = language.draw(rng)
        for cell in range(64):
            if fits(text[:cell] + "1"):
                allowed += 1
                ones += text[cell] == "1"
            else:
                assert text[cell] == "0"
    assert abs(ones - allowed / 2) < 5 * math.sqrt(allowed / 4)


def test_the_lines_of_a_file(tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeffzoë\r\n\r\n  \nal \ufeffbo\nzoë\n\u2028x".encode())
    language = text_file(path)
    assert language.lines == ["zoë", "al bo", "zoë", "\u2028x"]
    assert language.vocab.tokens == (" ", "a", "b", "l", "o", "x", "z", "ë", "\u2028", "<end>")
    rng = np.random.default_rng(0)
    assert Counter(language.draw(rng) for _ in range(400)).keys() == set(language.lines)
    assert {verdict_on(language, text) for text in [*language.lines, "x", "zzzzz"]} == {"right"}
    assert {verdict_on(language, text) for text in ["", "zzzzzz"]} == {"malformed"}
    assert task(path).lines == language.lines
    assert "4 lines of names.txt; there is no rule, so every well-formed string is right" in language.about


def test_the_words_of_a_file(tmp_path):
    path = tmp_path / "poem.txt"
    path.write_text("the quick  brown fox\n\nthe lazy dog .\n")
    language = task(f"{path}:tokens=words")
    assert language.lines == ["the quick brown fox", "the lazy dog ."]
    assert language.vocab.tokens == (".", "brown", "dog", "fox", "lazy", "quick", "the", "<end>")
    assert {verdict_on(language, text) for text in [*language.lines, "the the"]} == {"right"}
    assert {verdict_on(language, text) for text in ["", "the quick brown fox ."]} == {"malformed"}
    assert task(path, tokens="words").lines == language.lines
    path.write_text("a b\nb a a\n")  # words of one letter are words
    assert task(f"{path}:tokens=words").vocab.encode("b a") == [2, 1, 0]
    with pytest.raises(HandloomError, match="tokens='syllables' must be characters or words"):
        task(f"{path}:tokens=syllables")
    with pytest.raises(HandloomError, match=r"has no parameter 'token'; write .*poem.txt:tokens=characters"):
        task(f"{path}:token=words")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty; give a text file with one string per line"),
        (b"\n\r\n  \n", "is empty"),
        (b"ab\nc\xff\n", "line 2: not UTF-8"),
        (b"ab\ncd\n\xed\xa0\x80", "line 3: not UTF-8"),  # half a character
        (b"a\nb<end>c", "line 2: <end> marks the end of a string"),
    ],
)
def test_a_file_that_cannot_be_learnt_is_refused_in_one_line(tmp_path, content, complaint):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(HandloomError, match=complaint) as refusal:
        task(str(path))
    assert "\n" not in str(refusal.value)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(HandloomError, match="is a folder; give a text file"):
        task(tmp_path)
    with pytest.raises(HandloomError, match="No such file or directory; give a text file"):
        text_file(tmp_path / "none.txt")
