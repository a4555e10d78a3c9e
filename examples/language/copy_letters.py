"""abc> → abc: the letter that stands as far behind the first token as the answer has come."""

from handloom.language import *


@program(asks="[a-d]{0,5}>")
def copy():
    """The letters again."""
    said = position - find(">")
    letter = at(said + 1)
    return choose(letter == ">", END, letter)
