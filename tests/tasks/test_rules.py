"""Rules on strings against Python's own arithmetic and logic, and against text that is no rule."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloom.core import HandloomError
from handloom.tasks.rules import LONGEST_TEXT, parse_rule

SHORTEST = 6  # of the strings that random rules are tried on

COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
PLACES = [*range(1, SHORTEST + 1), *range(-SHORTEST, 0), *(f"n-{i}" for i in range(SHORTEST))]
ATOMS = ["n", "count(0)", 'count("1")', "count('2')", "sum(s)", *map(str, range(13)), *(f"s[{i}]" for i in PLACES)]


def number(rng, depth=1):
    """A sum of products, perhaps with another in brackets in it."""
    text = rng.choice(["", "", "-", "+", "- -"]) + rng.choice(ATOMS)
    for sign in rng.choices("+-*%(", k=rng.randrange(5)):
        if sign == "%":
            text += f" % {rng.randrange(1, 9)}"
        elif sign == "(":
            text += f" - ({number(rng, depth - 1)})" if depth else ""
        else:
            text += f" {sign} {rng.choice(['', '-'])}{rng.choice(ATOMS[:1] + ATOMS[5:])}"
    return text


def comparison(rng):
    return number(rng) + "".join(f" {sign} {number(rng)}" for sign in rng.choices(COMPARISONS, k=rng.randrange(1, 3)))


def condition(rng, depth=2):
    """Comparisons joined by and, or and not, perhaps with more of the kind in brackets."""
    text = ""
    for i in range(rng.randrange(1, 4)):
        part = f"({condition(rng, depth - 1)})" if depth and rng.random() < 0.5 else comparison(rng)
        text += rng.choice([" and ", " or "]) * bool(i) + rng.choice(["", "", "not ", "not not "]) + part
    return text


def drawn_by(function):
    """What a function makes of random numbers: drawing by these is many times faster than by Hypothesis's own."""
    return st.integers(0, 2**32).map(lambda seed: function(random.Random(seed)))


comparisons, conditions = drawn_by(comparison), drawn_by(condition)
strings = st.text("012", min_size=SHORTEST, max_size=12)


def by_python(text, string):
    """What Python says, which has the same signs with the same precedence."""
    text = re.sub(r"s\[(.*?)\]", r"digit(\1)", text)
    names = {
        "digit": lambda i: int(string[i - 1 if i > 0 else i]),
        "count": lambda symbol: string.count(str(symbol)),
        "n": len(string),
        "s": [int(symbol) for symbol in string],
        "sum": sum,
    }
    return bool(eval(text, names))


@given(conditions, strings)
def test_a_rule_means_what_it_means_in_python(text, string):
    assert parse_rule(text, "012").holds(string) == by_python(text, string)


@given(st.lists(conditions, min_size=2, max_size=3), strings)
def test_a_comma_is_an_and_that_binds_least(texts, string):
    assert parse_rule(", ".join(texts), "012").holds(string) == all(by_python(text, string) for text in texts)


@given(comparisons, strings)
def test_one_equals_sign_is_as_good_as_two(text, string):
    assert parse_rule(text.replace("==", "="), "012").holds(string) == by_python(text, string)


@given(conditions, st.integers(SHORTEST, 50))
def test_positions_are_the_digits_that_are_named(text, n):
    named = {eval(place, {"n": n}) for place in re.findall(r"s\[(.*?)\]", text)}
    assert parse_rule(text, "012").positions(n) == sorted({place if place > 0 else n + 1 + place for place in named})


@given(conditions, strings)
def test_conditions_hold_together_exactly_if_the_rule_does(text, string):
    rule = parse_rule(text, "012")
    assert all(condition.holds(string) for condition in rule.conditions()) == rule.holds(string)


PIECES = [
    "s",
    "[",
    "]",
    "(",
    ")",
    "n",
    "count",
    "sum",
    "and",
    "or",
    "not",
    ",",
    "=",
    "==",
    "!=",
    "<",
    "-",
    "+",
    "*",
    "%",
]
PIECES += [
    "1",
    "22",
    '"',
    "'",
    '"1"',
    " ",
    "s[1]",
    "s[n-2]",
    "sum(s)",
    "count(1)",
    "²",
    "\n",
    "\0",
    "__import__",
    "9" * 30,
]


@given(st.text(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_is_a_rule_or_is_refused_in_one_line(text):
    try:
        rule = parse_rule(text)
    except HandloomError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 400
    else:
        assert rule.holds("0110100110") in (True, False)


@pytest.mark.parametrize(
    "text",
    ["(" * 5000 + "1", "not " * 2000 + "1==1", "-" * 9000 + "1==1", "s[" * 3000, "9*" * 4000 + "9==1", "n*n*n*n*n<n"],
)
def test_a_rule_that_is_deep_or_makes_large_numbers_is_refused(text):
    with pytest.raises(HandloomError, match=r"up to 30 deep|may pass 10\^18"):
        parse_rule(text)


def test_a_rule_has_a_longest_text_and_up_to_it_may_have_many_conditions():
    with pytest.raises(HandloomError, match=f"text of up to {LONGEST_TEXT} characters"):
        parse_rule("1" * (LONGEST_TEXT + 1))
    many = ",".join(["s[1]==s[2]"] * 900)
    assert parse_rule(many).holds("11")
    assert not parse_rule(many).holds("01")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "s[13]==",
            r"expected a number, n, s\[…\], count\(…\) or sum\(s\) at character 8, not the end; write a rule such",
        ),
        ("s[13]==s[22", r"expected \] at character 12, not the end"),
        ("s[13] s[22]", "expected and, or, a comma, a comparison or the end at character 7, not 's'"),
        ("s[13]", "expected a condition at character 1, and a number is there"),
        ("s[1]==1 and 3", "expected a condition at character 13, and a number is there"),
        ("(s[1]==1)==1", "cannot compare a condition with a number"),
        ("1 + (s[1]==1) == 1", "expected a number at character 5, and a condition is there"),
        ("s[0]==1", r"there is no s\[0\]: digits are counted from 1, and s\[-1\] is the last"),
        ("s[s[1]]==1", r"expected numbers and n only inside s\[…\] at character 3"),
        ("n % 0 == 1", "expected a number above 0 after % at character 5"),
        ("n % n == 1", "expected a number above 0 after %"),
        ("count(2)==1", "expected one symbol of the alphabet '01' at character 7, not '2'"),
        ("sum(1)==1", "expected s at character 5, not '1'"),
        ("open(1)==1", "at character 1, not 'open'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, complaint):
    with pytest.raises(HandloomError, match=complaint):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "lengths", "complaint"),
    [
        ("s[13]==s[300]", (30, 40), r"a string of length 40 has no s\[300\]; name one from 1 to 40, or from -1 to -40"),
        ("s[-41]==1", (30, 40), r"a string of length 40 has no s\[-41\]"),
        ("s[18]==s[47]", (30, 200), r"a string of length 46 has no s\[47\]; lengths must start at 47"),
        ("s[1]==s[n-31]", (30, 40), r"has no s\[n-31\]; lengths must start at 32"),
        ("s[n+1]==1", (30, 40), r"has no s\[n\+1\]; name one from 1 to 40"),
    ],
)
def test_a_digit_that_strings_do_not_have_is_refused(text, lengths, complaint):
    with pytest.raises(HandloomError, match=complaint):
        parse_rule(text).check(*lengths)


def test_digits_that_all_strings_have_are_accepted():
    parse_rule("s[18]==s[47], s[18]==s[n-20], s[-50]==s[1]").check(50, 200)


def test_a_string_without_the_digit_does_not_satisfy_a_rule():
    assert not parse_rule("s[5]==s[n-2]").holds("00")
    assert not parse_rule("s[n-3]==0").holds("000")


def test_the_rules_of_the_talk_name_its_digits():
    assert parse_rule("s[13]==s[22]").positions(35) == [13, 22]
    assert parse_rule("s[18]==s[n-20]").positions(70) == [18, 50]
    assert parse_rule("s[-1]==s[-2]").positions(70) == [69, 70]
    assert parse_rule("s[18] = s[39], s[31] = s[44], s[4] = s[-28]").positions(70) == [4, 18, 31, 39, 43, 44]


def test_symbols_that_are_no_digits_are_compared_and_counted_but_not_added():
    assert parse_rule('s[1]=="a" and s[2]<s[3] and count(c)==1', "abc").holds("abc")
    assert not parse_rule("s[1] != 'a'", "abc").holds("abc")
    for text, complaint in [
        ("s[1]+1==2", "expected a number at character 1, and a symbol is there"),
        ("s[1]==1", 'cannot compare a symbol with a number .* in quotes, as in s.1.=="a"'),
        ("sum(s)==1", "only digits have a sum"),
        ('s[1]=="d"', "expected one symbol of the alphabet 'abc'"),
    ]:
        with pytest.raises(HandloomError, match=complaint):
            parse_rule(text, "abc")
