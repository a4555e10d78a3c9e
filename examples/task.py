"""A task of one's own: palindromes. Try `hl.task("examples/task.py:letters=abc,longest=12")`.

A Language has strings: one function draws one, another says whether a string is right.
"""

from handloom.tasks import Language


def task(letters: str = "ab", longest: int = 20) -> Language:
    def draw(rng):
        half = "".join(rng.choice(list(letters), rng.integers(1, longest // 2 + 1)))
        return half + half[::-1]

    return Language(
        about=f"palindromes of {' '.join(letters)}, of even length up to {longest}",
        tokens=letters,
        longest=longest,
        draw=draw,
        right=lambda text: text == text[::-1],
        formed=lambda text: len(text) % 2 == 0 and text != "",
    )
