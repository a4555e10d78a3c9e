"""The language of compiled programs, to be imported whole: `from handloom.language import *`.

    >>> @program(asks="[a-d]{0,5}>")
    ... def reverse():
    ...     return at(2 * find(">") - position - 1)
    >>> reverse("abc>")
    'cba'

docs/language.md teaches it; `handloom.write.compiler` has its words, and compiles it.
"""

from handloom.write.compiler.operations import *  # noqa: F403
from handloom.write.compiler.operations import __all__ as __all__
