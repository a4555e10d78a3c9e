"""What the language refuses: one line with the source line, the reason and the way out."""

import pytest

from handloom.core import HandloomError
from handloom.language import (
    END,
    apply,
    at,
    back,
    choose,
    count,
    find,
    latest,
    least,
    mean,
    number,
    position,
    program,
    seen,
    table,
    there,
    token,
)


def branches():
    if token == "a":
        return END
    return "a"


def joins():
    return (token == "a") and END


def negates():
    return choose(not token, END, "a")


def is_in_a_list():
    return choose(token in ["a", "b"], END, "a")


def is_in_a_text():
    return choose(token in "ab", END, "a")


def loops():
    k = position
    while k > 3:
        k = k - 1
    return END


def loops_for_ever():
    k = position
    while True:
        k = k + 1


def iterates():
    return max(one for one in token)


def compares_by_order():
    return latest(token, where=there(position) < position)


def joins_here_and_there_by_or():
    return latest(token, where=(there(token) == token) | (there(token) == "a"))


def negates_a_condition():
    return count(~(there(token) == token))


def adds_here_to_there():
    return latest(token, where=there(position) + position == 3)


def adds_to_a_token():
    return token + 1


def counts_to_a_token():
    return at(token)


def takes_the_least_token():
    return least(token)


def takes_the_mean_of_tokens():
    return mean(token)


def looks_for_what_never_occurs():
    return find("z")


def sees_what_never_occurs():
    return seen("xy")


def looks_for_a_number():
    return find(3)


def has_no_entry():
    return table({"a": "b"}, token)


def fails():
    return apply(lambda t: 1 // (t != "b"), token)


def gives_a_list():
    return apply(lambda t: [t], token)


def gives_infinity():
    return apply(lambda t: float("inf"), token)


def returns_nothing():
    back(1)


def returns_a_list():
    return [1, 2]


def divides():
    return position / 2


def answers_with_what_is_no_token():
    return choose(token == "a", "", END)


def makes_ever_new_tokens():
    return number(token) + position


def has_too_many_values():
    return sum((10**i) * at(i, number(token)) for i in range(5)) % 2


WAY_OUT = "write choose(condition, a, b), and & | ~ for and, or, not"
BRANCH = f"a value differs from position to position, so Python cannot branch on it; {WAY_OUT}"
WORDS = "use the words of the language, as in apply(lambda t: t in 'abc', token)"
REFUSED = [
    (branches, 'if token == "a":', BRANCH),
    (joins, 'return (token == "a") and END', BRANCH),
    (negates, 'return choose(not token, END, "a")', BRANCH),
    (is_in_a_list, 'return choose(token in ["a", "b"], END, "a")', BRANCH),
    (
        is_in_a_text,
        'return choose(token in "ab", END, "a")',
        f"TypeError: 'in <string>' requires string as left operand, not Token; {WORDS}",
    ),
    (loops, "while k > 3:", BRANCH),
    (
        iterates,
        "return max(one for one in token)",
        "a value is not a sequence; look at other positions with at, back, latest or first",
    ),
    (
        compares_by_order,
        "return latest(token, where=there(position) < position)",
        "a head cannot add here to there; move what is here to the other side of ==",
    ),
    (
        joins_here_and_there_by_or,
        'return latest(token, where=(there(token) == token) | (there(token) == "a"))',
        "a head cannot test this condition; join conditions of here and there by &, and compute | and ~ of here or of "
        "there alone before",
    ),
    (
        negates_a_condition,
        "return count(~(there(token) == token))",
        "a head cannot test this condition; join conditions of here and there by &, and compute | and ~ of here or of "
        "there alone before",
    ),
    (
        adds_here_to_there,
        "return latest(token, where=there(position) + position == 3)",
        "a head cannot add here to there; move what is here to the other side of ==",
    ),
    (adds_to_a_token, "return token + 1", "'<>' is a token, not a number; write number(…) of it"),
    (counts_to_a_token, "return at(token)", "'<>' is not a position; give a whole number"),
    (takes_the_least_token, "return least(token)", "'a' is a token, not a number; write number(…) of it"),
    (
        takes_the_mean_of_tokens,
        "return mean(token)",
        "several tokens match, and tokens have no mean; take the latest or the first",
    ),
    (
        looks_for_what_never_occurs,
        'return find("z")',
        "'z' never occurs; look for a token of inputs or answers: 'a b 0 1 2 3'",
    ),
    (
        sees_what_never_occurs,
        'return seen("xy")',
        "'xy' never occurs; look for a token of inputs or answers: 'a b 0 1'",
    ),
    (looks_for_a_number, "return find(3)", '3 is not a token; name one, as in find(">")'),
    (
        has_no_entry,
        'return table({"a": "b"}, token)',
        "the table has no entry for '<>'; add it, or give otherwise=",
    ),
    (
        gives_a_list,
        "return apply(lambda t: [t], token)",
        "the function gave ['<>'] for '<>'; give a number or a token",
    ),
    (
        gives_infinity,
        'return apply(lambda t: float("inf"), token)',
        "the function gave inf for '<>'; give a finite number",
    ),
    (returns_a_list, None, "[1, 2] is not a value; give a value of the language, a number or a token"),
    (returns_nothing, None, "the function returns nothing; return the next token, or END"),
    (divides, "return position / 2", f"TypeError: unsupported operand type(s) for /: 'Position' and 'int'; {WORDS}"),
    (
        answers_with_what_is_no_token,
        'return choose(token == "a", "", END)',
        "the answer may be an empty token; answer END, or a character",
    ),
    (
        has_too_many_values,
        "return sum((10**i) * at(i, number(token)) for i in range(5)) % 2",
        "this has more than 8,192 values; compute with fewer or smaller numbers",
    ),
]


@pytest.mark.parametrize(("function", "text", "why"), REFUSED, ids=[row[0].__name__ for row in REFUSED])
def test_a_refusal_has_the_line_the_reason_and_the_way_out(function, text, why):
    asks = "[0-9]{1,5}" if function is has_too_many_values else "[ab]{1,3}"
    with pytest.raises(HandloomError) as error:
        program(asks=asks, steps=1)(function).compile()
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith("test_refusals.py, line ")
    assert message.endswith(f": {text}: {why}" if text else f": {why}")


def test_a_failing_function_is_named_with_its_line_and_its_argument():
    with pytest.raises(
        HandloomError, match=r"test_refusals.py, line \d+: .*: the function failed for \'b\': .*ZeroDiv"
    ):
        program(asks="[ab]{1,3}", steps=1)(fails).compile()


def test_a_loop_without_an_end_is_refused():
    with pytest.raises(HandloomError, match="does not end, or computes very much; give its loops an end"):
        program(asks="[ab]{1,3}", steps=1)(loops_for_ever)


def test_answers_that_make_ever_new_tokens_are_refused():
    with pytest.raises(HandloomError, match=r"every answer may make a new token, such as .*; limit what is computed"):
        program(asks="[0-9]{1,3}", steps=1)(makes_ever_new_tokens).compile()


def test_an_answer_that_does_not_end_is_refused():
    endless = program(asks="[ab]{1,3}")(lambda: "a")
    with pytest.raises(HandloomError, match="the answer to 'a' does not end within 512 tokens; return END at last"):
        endless("a")


@pytest.mark.parametrize(
    ("asks", "why"),
    [
        ("[a-z]*", "it has words of more than 511 characters; limit what repeats, as in"),
        ("[a-z]{1,600}", "it has words of more than 511 characters; limit what repeats, as in"),
        ("[^a]", "it leaves open which characters there are; list them, as in"),
        ("(a|b){0,30}a(a|b){20}", "it is too hard to count its words; write it with fewer choices that overlap"),
        ("[ab", "asks="),
    ],
)
def test_what_is_asked_must_be_finite_and_not_empty(asks, why):
    with pytest.raises(HandloomError, match=r"^test_refusals.py, line \d+: ") as error:
        program(asks=asks, steps=1)(lambda: END)
    assert why in str(error.value) or "format" in str(error.value)


def test_a_run_of_more_than_512_tokens_is_refused():
    with pytest.raises(HandloomError, match=r"have 530 tokens \(expected up to 512"):
        program(asks="[ab]{1,510}", steps=20)(lambda: back(1)).compile()


def test_an_answer_that_an_input_would_split_is_refused():
    with pytest.raises(HandloomError, match="the answer may be '10', which an input may have as several tokens"):
        program(asks="[01]{1,10}", steps=1)(lambda: count(there(position) > 0)).compile()


def test_an_input_of_another_form_is_refused():
    known = program(asks="[ab]{1,3}", steps=1)(lambda: END)
    with pytest.raises(HandloomError, match=r"takes \[ab\]\{1,3\}, such as .*; it was given 'abab'"):
        known("abab")
