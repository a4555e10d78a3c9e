"""12+345= → 753: two numbers of up to four digits, the least digit of the sum first. The last digit of the answer tells
whether there is a carry: it is smaller than the two digits that it is the sum of."""

from handloom.language import *


@program(asks="[0-9]{1,4}[+][0-9]{1,4}=")
def addition():
    """The sum, least digit first."""
    plus, equals, digit = find("+"), find("="), number(token)
    k = position - equals  # so many digits are there

    def pair(k):
        return at(plus - 1 - k, digit) + at(greater(equals - 1 - k, plus), digit)

    now, before = pair(k), pair(k - 1)
    carry = before - digit >= 5
    late = k >= greater(plus - 1, equals - plus - 1)

    def answer(total, late):
        if not late:
            return total % 10
        return (END, 1, None)[min(total, 2)]  # None: this cannot occur

    return apply(answer, now + carry, late)
