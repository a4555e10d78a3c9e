"""A range in a parameter of a problem's name: several sizes of one problem, as a sweep and its table take them.

    >>> names_in_range("isosceles:n=6..8")
    ['isosceles:n=6', 'isosceles:n=7', 'isosceles:n=8']
    >>> names_in_range("words:length=20..30..5,pattern=xx")
    ['words:length=20,pattern=xx', 'words:length=25,pattern=xx', 'words:length=30,pattern=xx']
    >>> has_range("isosceles:n=6")
    False

The third number, if there is one, is the step. One parameter of a name may have a range.
"""

import re

from handloom.core import HandloomError
from handloom.core.errors import shown

RANGE = re.compile(r"(?<==)(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})(?:\.\.([0-9]{1,9}))?(?=,|$)")
MOST_SIZES = 1_000


def has_range(name: str) -> bool:
    """Whether a name stands for several sizes."""
    return RANGE.search(parameters_in(name)) is not None


def names_in_range(name: str) -> list[str]:
    """The names that a name with a range stands for, in their order; of one without, itself."""
    text = parameters_in(name)
    found = list(RANGE.finditer(text))
    if not found:
        return [name]
    if len(found) > 1:
        raise HandloomError(f"{shown(name)} has two ranges (expected one); give the other parameter one value")
    first, last, step = (int(part) if part else 1 for part in found[0].groups())
    if first > last or not step:
        wrong = "the last size is below the first" if first > last else "a step of 0"
        raise HandloomError(
            f"{shown(name)}: {wrong} (expected a range FIRST..LAST or FIRST..LAST..STEP); write n=6..16"
        )
    sizes = range(first, last + 1, step)
    if len(sizes) > MOST_SIZES:
        raise HandloomError(
            f"{shown(name)}: a range of {len(sizes):,} sizes (expected 1 to {MOST_SIZES:,}); write it as n=6..16"
        )
    before, after = name[: len(name) - len(text)] + text[: found[0].start()], text[found[0].end() :]
    return [f"{before}{size}{after}" for size in sizes]


def parameters_in(name: str) -> str:
    """The parameters of a name: what follows `isosceles:` or `my_problem.py:`.

    >>> parameters_in("folder/my_problem.py:n=12")
    'n=12'
    """
    file = re.match(r".+?\.py(?=:|$)", name, re.DOTALL)
    return name[len(file[0]) + 1 :] if file else name.partition(":")[2]
