"""(()) → Y: whether brackets match. The mean of +1 and −1 has the sign of the depth, and no prefix may be below 0."""

from handloom.language import *


@program(asks="[()]{1,10}", steps=1)
def balanced():
    """Whether brackets match."""
    depth = mean(table({"(": 1, ")": -1}, token, otherwise=0))
    below = seen(there(depth) < 0)
    return choose((depth == 0) & ~below, "Y", "N")
