"""abcab → c: what followed the last letter when it occurred before."""

from handloom.language import *


@program(asks="[a-j]{1,31}", steps=1)
def induction():
    """What followed the last letter before."""
    before = back(1)
    return latest(token, where=there(before) == token, otherwise=END)
