"""Programs that compute with scratch work: long multiplication, and a machine of one instruction."""

from typing import Any

from handloom.core import HandloomError
from handloom.language import (
    END,
    apply,
    at,
    find,
    first,
    greater,
    latest,
    number,
    position,
    program,
    seen,
    there,
    token,
)
from handloom.write.compiler.source import TokenProgram

CARRIES = "abcdefghijklmnopqr"  # 0 to 17


def triangular(s: int) -> int:
    return s * (s - 1) // 2


def multiplication(digits: int = 2) -> TokenProgram:
    """Column by column, least digit first: the carry as a letter, a for 0, then the digit. Behind > the digits again,
    without zeros in front: 12*34= → a8b0a4a0>408.

    Column k is Σ x[i] y[k − i] and the carry before it. A product comes from triangular numbers, x y = △(x + y) − △(x)
    − △(y), of which only the first takes neurons of its own. The last number that is not 0 is a digit, never a carry.
    """
    if not 1 <= digits <= 2:
        raise HandloomError(f"digits: {digits} (expected 1 or 2)")
    letters = CARRIES[: 9 * digits]
    most = 10 * len(letters)
    answers = (*(letters[total // 10] for total in range(most)), *range(10), ">", ">", *range(10), END)

    @program(asks=f"[0-9]{{1,{digits}}}[*][0-9]{{1,{digits}}}=")
    def multiplication() -> Any:
        star, equals, digit = find("*"), find("="), number(token)
        said = position - equals
        is_carry = apply(lambda text: int(text.islower()), token)
        carry = apply(lambda text: letters.index(text) if text.islower() else 0, token)
        second = greater(digit + 9 * seen("*") - 9, 0)  # the digits behind *
        triangle = apply(triangular, second)
        total = at(position - 1 - is_carry, carry)
        for i in range(digits):
            other = apply(lambda said, i=i: min(max(said // 2 - i, -1), digits), said)
            x, y = star - 1 - i, equals - 1 - other
            both = apply(triangular, at(x, digit) + at(y, second))
            total += both - at(x, apply(triangular, digit)) - at(y, triangle)
        nonzero = apply(lambda text: int(text not in ("0", "a", ">")), token)
        highest = greater(latest(position, where=there(nonzero)), equals + 2)
        place = first(highest, where=there(token) == ">", otherwise=0) - 2 * (position - find(">"))
        again = at(place, apply(lambda text: int(text) + 1 if text.isdecimal() else 11 * (text == "="), token))
        done = said >= 2 * equals - 4
        result = total + most * is_carry - 10 * carry + (most + 11) * done + again
        return apply(lambda result: answers[min(max(result, 0), len(answers) - 1)], result)

    return multiplication


def subleq(cells: int = 8, moves: int = 1) -> TokenProgram:
    """A machine whose only instruction subtracts, and jumps if the result is at most 0: moves of it, state by state.

    A state is a digit per cell, then the program counter: 435641225> → 432641220. All arithmetic is modulo the number
    of cells, so that every value is an address too; from half of it on, values are negative. With a, b, c in the cells
    at the counter and behind it, cell b loses what cell a holds. The counter becomes c if cell b is then 0 or negative;
    otherwise it is 3 more.
    """
    if not 4 <= cells <= 10 or moves < 1:
        raise HandloomError(f"cells: {cells}, moves: {moves} (expected 4 to 10 cells, and at least one move)")
    period = cells + 2
    far = (moves + 1) * period  # as much before a place, nothing is found but the first token, which counts as 0

    @program(asks=f"[0-{cells - 1}]{{{cells + 1}}}>", steps=moves * period - 1)
    def subleq() -> Any:
        digit = number(token)
        place = apply(lambda t: t % period, position)  # of the next token, in its state
        base = apply(lambda t: max(t // period - 1, 0) * period + 1, position)  # where the state before it begins
        pointer = at(base + cells, digit)
        a, b, c = (at(base + apply(lambda p, k=k: (p + k) % cells, pointer), digit) for k in range(3))
        last = place == cells
        old = at(base + place - far * (place >= cells), digit)
        taken = at(base + a - far * (place != b), digit)
        jumps = apply(lambda r: int(r == 0 or 2 * r >= cells), at(base + period + b, digit))
        following = apply(lambda p: (p + 3) % cells, pointer)
        counter = greater(c + cells * (jumps + last - 2), 0) + greater(following + cells * (last - jumps - 1), 0)
        result = old - taken + counter + 2 * cells * last + 4 * cells * (place > cells)
        return apply(lambda result: ">" if result >= 4 * cells else result % cells, result)

    return subleq
