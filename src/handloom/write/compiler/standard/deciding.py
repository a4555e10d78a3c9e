"""Programs that answer yes or no."""

from typing import Any

from handloom.language import (
    END,
    apply,
    at,
    back,
    choose,
    count,
    find,
    latest,
    mean,
    number,
    position,
    program,
    seen,
    there,
    token,
)
from handloom.write.compiler.source import TokenProgram
from handloom.write.compiler.standard.comparing import digits_below
from handloom.write.compiler.standard.moving import letters_up_to
from handloom.write.compiler.values import Value

FEW_DEPTHS = 20  # brackets up to which depths are compared as they are,
DIGITS = 8  # and otherwise by their digits to this base


def is_sorted(n: int = 8, digits: int = 10) -> TokenProgram:
    @program(asks=f"{digits_below(digits)}{{1,{n}}}", steps=1)
    def is_sorted() -> Any:
        falls = number(token) < back(1, number(token))
        return choose(mean(falls) > 0, "N", "Y")

    return is_sorted


def contains_ab(n: int = 8) -> TokenProgram:
    @program(asks=f"[abc]{{1,{n}}}", steps=1)
    def contains_ab() -> Any:
        found = (token == "b") & (back(1) == "a")
        return choose(mean(found) > 0, "Y", "N")

    return contains_ab


def palindrome(n: int = 6, letters: int = 3) -> TokenProgram:
    """Letters are compared from both ends: a point for each pair that is equal, then the verdict."""

    @program(asks=f"{letters_up_to(letters)}{{1,{n}}}>")
    def palindrome() -> Any:
        middle = find(">")
        said = position - middle
        differ = at(said + 1, letter_number()) - at(middle - 1 - said, letter_number())
        over = apply(lambda left: int(left <= 1), middle - 1 - 2 * said)
        verdict = choose(over, "Y", choose(differ == 0, ".", "N"))
        return apply(lambda text, next: END if text in ("Y", "N") else next, token, verdict)

    return palindrome


def letter_number() -> Value:
    return apply(lambda text: ord(text) - 97 if text.isalpha() and text.islower() else 0, token)


def dyck_1(n: int = 12) -> TokenProgram:
    @program(asks=f"[()]{{1,{n}}}", steps=1)
    def dyck_1() -> Any:
        step = apply(lambda text: {"(": 1, ")": -1}.get(text, 0), token)
        below = mean(step) < 0
        wrong = mean(step + 2 * below)  # a walk that ends at −k was below 0 at k positions or more
        return choose(wrong > 0, "N", "Y")

    return dyck_1


def shuffle_dyck_2(n: int = 5) -> TokenProgram:
    """Only a bracket of its own kind can take a kind below 0, so each looks at its own kind alone."""

    @program(asks=f"[()[\\]]{{1,{n}}}", steps=1)
    def shuffle_dyck_2() -> Any:
        step = apply(lambda text: {"(": 1, "[": 1, ")": -1, "]": -1}.get(text, 0), token)
        square = apply(lambda text: int(text in ("[", "]")), token)
        below = mean(step, where=there(square) == square) < 0
        wrong = mean(step + 2 * below)  # as in dyck-1, for each kind
        return choose(wrong > 0, "N", "Y")

    return shuffle_dyck_2


def dyck_2(n: int = 6) -> TokenProgram:
    """A bracket closes the latest one that opened at its depth; they must be of one kind. What is deeper than half of
    the input is never closed, and the first bracket that closes too much finds none."""
    half = n // 2 + 1
    deepest = half if n <= FEW_DEPTHS else half + DIGITS - 1 - half % DIGITS

    @program(asks=f"[()[\\]]{{1,{n}}}", steps=1)
    def dyck_2() -> Any:
        opens = apply(lambda text: int(text in ("(", "[")), token)
        closes = apply(lambda text: int(text in (")", "]")), token)
        closed = apply(lambda closed: min(closed, half), count(there(closes) == 1))
        open = position - 2 * closed  # all others have opened
        depth = apply(lambda depth: min(max(depth, 0), deepest), open + closes)  # of a bracket and of its partner
        kind = apply(lambda text: {"(": 1, "[": 2}.get(text, 0), token)
        alike = there(depth) == depth if n <= FEW_DEPTHS else same_digits(depth)
        opened = latest(kind, where=alike & (there(opens) == 1), otherwise=0)
        wrong = apply(lambda text, kind: int(kind != {")": 1, "]": 2}.get(text, kind)), token, opened)
        return choose(seen(there(wrong) == 1) | (open > 0), "N", "Y")

    return dyck_2


def same_digits(number: Value) -> Any:
    """Whether a number is the same there, compared digit by digit: many points on one circle lie too close together."""
    eights = number // DIGITS
    ones = apply(lambda rest: min(max(rest, 0), DIGITS - 1), number - DIGITS * eights)
    return (there(eights) == eights) & (there(ones) == ones)
