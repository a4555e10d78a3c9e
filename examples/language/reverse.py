"""abc> → cba: a computed position, which at last is that of the first token, <>, and so ends the answer."""

from handloom.language import *


@program(asks="[a-d]{0,5}>")
def reverse():
    """The letters backwards."""
    middle = find(">")
    return at(2 * middle - position - 1)
