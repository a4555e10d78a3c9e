"""Programs that count, order and compare."""

from typing import Any

from handloom.core import HandloomError
from handloom.language import (
    END,
    apply,
    at,
    back,
    choose,
    count,
    find,
    greater,
    greatest,
    latest,
    least,
    mean,
    number,
    position,
    program,
    seen,
    there,
    token,
)
from handloom.write.compiler.source import TokenProgram
from handloom.write.compiler.standard.moving import letters_up_to
from handloom.write.compiler.values import Value

FEW_ORDERED = 30  # counts up to which a head orders them all


def digits_below(digits: int) -> str:
    """The digits below a number, as a class of a regular expression."""
    if not 2 <= digits <= 10:
        raise HandloomError(f"digits: {digits} (expected 2 to 10)")
    return f"[0-{digits - 1}]"


def one_digit(n: int) -> int:
    if not 1 <= n <= 9:
        raise HandloomError(f"n: {n} (expected 1 to 9, for a number of one digit)")
    return n


def is_digit(text: str) -> bool:
    return text.isdecimal()


def histogram(n: int = 5, letters: int = 4) -> TokenProgram:
    @program(asks=f"{letters_up_to(letters)}{{1,{one_digit(n)}}}>")
    def histogram() -> Any:
        letter = at(position - find(">") + 1)
        is_letter = apply(lambda text: int(text.isalpha()), token)
        often = count((there(token) == letter) & there(is_letter))  # at last, of > itself, none
        return apply(lambda often: END if often == 0 else often, often)

    return histogram


def length(n: int = 5) -> TokenProgram:
    @program(asks=f"[a-d]{{1,{one_digit(n)}}}", steps=1)
    def length() -> Any:
        return position

    return length


def double_histogram(n: int = 5, letters: int = 3) -> TokenProgram:
    @program(asks=f"{letters_up_to(letters)}{{1,{one_digit(n)}}}", steps=1)
    def double_histogram() -> Any:
        every = "abcdefghijklmnopqrstuvwxyz"[:letters]
        often = [mean(token == letter) for letter in every]
        mine = [greater(share + (token == letter) - 1, 0) for share, letter in zip(often, every, strict=True)]
        return sum(share - sum(mine) == 0 for share in often)

    return double_histogram


def most_frequent(n: int = 10, letters: int = 10) -> TokenProgram:
    """Of letters that occur as often, the one that did so first. In long inputs it is the latest that took the lead:
    to order many counts, and equal ones by position, takes counts that are exact to a part of their number."""

    @program(asks=f"{letters_up_to(letters)}{{1,{n}}}", steps=1)
    def most_frequent() -> Any:
        often = count(there(token) == token)
        if n <= FEW_ORDERED:
            return greatest(often, token)
        leads = often > back(1, greatest(often, often))
        return latest(token, where=there(leads) == 1)

    return most_frequent


def count_less(n: int = 5, digits: int = 4) -> TokenProgram:
    @program(asks=f"{digits_below(digits)}{{1,{one_digit(n)}}}", steps=1)
    def count_less() -> Any:
        x = number(token)
        less = sum(count((there(x) < value) & (x == value)) for value in range(1, digits))
        return apply(lambda less: min(less, n - 1), less)  # one of them is the last itself

    return count_less


def rank(n: int = 5, digits: int = 4) -> TokenProgram:
    @program(asks=f"{digits_below(digits)}{{1,{n}}}", steps=1)
    def rank() -> Any:
        x = number(token)
        return sum((mean(token == str(value)) > 0) & (x > value) for value in range(digits - 1)) + 1

    return rank


def minimum(n: int = 10, digits: int = 10) -> TokenProgram:
    @program(asks=f"{digits_below(digits)}{{1,{n}}}", steps=1)
    def minimum() -> Any:
        return least(number(token), token)

    return minimum


def maximum(n: int = 10, digits: int = 10) -> TokenProgram:
    @program(asks=f"{digits_below(digits)}{{1,{n}}}", steps=1)
    def maximum() -> Any:
        return greatest(number(token), token)

    return maximum


def sort(n: int = 10, digits: int = 10) -> TokenProgram:
    """As many numbers are said as there are up to v, or more: then the next one is above v."""

    @program(asks=f"{digits_below(digits)}{{0,{n}}}>")
    def sort() -> Any:
        said = seen(">")
        left = [mean(choose(said, -1, number_up_to(value))) for value in range(digits)]
        above = sum(one < 0 for one in left)
        return apply(lambda above: END if above == digits else above, above)

    return sort


def number_up_to(value: int) -> Value:
    return apply(lambda text: int(is_digit(text) and int(text) <= value), token)


def sort_unique(n: int = 5, digits: int = 4) -> TokenProgram:
    @program(asks=f"{digits_below(digits)}{{0,{n}}}>")
    def sort_unique() -> Any:
        last = apply(lambda text: int(text) if is_digit(text) else -1, token)
        later = [(mean(token == str(value)) > 0) & (last < value) for value in range(digits)]
        next = sum((value - digits) * greater(one - sum(later[:value]), 0) for value, one in enumerate(later))
        return apply(lambda next: END if next == 0 else next + digits, next)

    return sort_unique


def frac_prevs(n: int = 5) -> TokenProgram:
    @program(asks=f"[a-cx]{{1,{n}}}", steps=1)
    def frac_prevs() -> Any:
        return apply(lambda share: int(5 * share + 1 / 2), mean(token == "x"))

    return frac_prevs


def majority(n: int = 9) -> TokenProgram:
    @program(asks=f"[ab]{{1,{n}}}", steps=1)
    def majority() -> Any:
        return choose(mean((token == "a") - (token == "b")) > 0, "a", "b")

    return majority


def count_mod(n: int = 10, modulus: int = 3) -> TokenProgram:
    if not 2 <= modulus <= 10:
        raise HandloomError(f"modulus: {modulus} (expected 2 to 10)")

    @program(asks=f"[ab]{{1,{n}}}", steps=1)
    def count_mod() -> Any:
        return count(there(token) == "a") % modulus

    return count_mod
