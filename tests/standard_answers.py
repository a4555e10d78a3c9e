"""The standard programs in plain Python: what their answers are, without the language and without the compiler."""

from collections import Counter
from itertools import accumulate, pairwise
from string import ascii_lowercase


def hopped(text: str, times: int) -> str:
    found = text[-1]
    for _ in range(times):
        places = [i for i in range(1, len(text)) if text[i - 1] == found]
        if not places:
            return ""
        found = text[places[-1]]
    return found


def pointed(text: str, times: int) -> str:
    """Each hop goes from where the last one ended to what followed the latest occurrence before."""
    place = len(text) - 1
    for _ in range(times):
        before = text.rfind(text[place], 0, place)
        if before < 0:
            return ""
        place = before + 1
    return text[place]


def balanced(text: str) -> bool:
    while any(pair in text for pair in ("()", "[]")):
        text = text.replace("()", "").replace("[]", "")
    return not text


def shuffled(text: str) -> bool:
    return all(balanced("".join(c for c in text if c in kind)) for kind in ("()", "[]"))


def yes(verdict: bool) -> str:
    return "Y" if verdict else "N"


def palindrome(word: str) -> str:
    pairs = [word[i] == word[-1 - i] for i in range(len(word) // 2)]
    agree = pairs.index(False) if False in pairs else len(pairs)
    return "." * agree + yes(agree == len(pairs))


def automaton(word: str) -> str:
    permutations = {"a": "120453", "b": "345012"}
    return "".join(accumulate(word, lambda state, letter: permutations[letter][int(state)], initial="0"))[1:]


def added(text: str) -> str:
    left, right = text[:-1].split("+")
    return str(int(left) + int(right)).zfill(max(len(left), len(right)))


def multiplied(text: str) -> str:
    """Carry and digit of every column, then the product."""
    left, right = text[:-1].split("*")
    columns, carry = "", 0
    for k in range(len(left) + len(right)):
        pairs = [(i, k - i) for i in range(len(left)) if 0 <= k - i < len(right)]
        total = carry + sum(int(left[-1 - i]) * int(right[-1 - j]) for i, j in pairs)
        carry = total // 10
        columns += ascii_lowercase[carry] + str(total % 10)
    return f"{columns}>{int(left) * int(right)}"


def subleq(text: str) -> str:
    cells, pointer = [int(digit) for digit in text[:-2]], int(text[-2])
    a, b, c = (cells[(pointer + k) % len(cells)] for k in range(3))
    cells[b] = (cells[b] - cells[a]) % len(cells)
    positive = 0 < cells[b] < len(cells) / 2
    return "".join(map(str, [*cells, (pointer + 3) % len(cells) if positive else c]))


def fibonacci(text: str) -> str:
    digits = [int(digit) for digit in text]
    while len(digits) < 10:
        digits.append((digits[-1] + digits[-2]) % 10)
    return "".join(map(str, digits[2:]))


def most_frequent(text: str) -> str:
    """Of letters that occur as often, the one that did so first."""
    return max(text, key=lambda letter: (text.count(letter), -text.rindex(letter)))


def ordered(text: str) -> bool:
    return all(a <= b for a, b in pairwise(text))


def caesar(word: str) -> str:
    return "".join(ascii_lowercase[(ascii_lowercase.index(letter) + 3) % 26] for letter in word)


ANSWERS = {
    "hello": lambda text: "Hello World!",
    "lookup": lambda text: "7392516480"["abcdefghij".index(text)],
    "copy": lambda text: text[:-1],
    "shift": lambda text: "_" + text[:-2],
    "reverse": lambda text: text[-2::-1],
    "caesar": lambda text: caesar(text[:-1]),
    "induction": lambda text: hopped(text, 1),
    "2-hop": lambda text: hopped(text, 2),
    "3-hop": lambda text: hopped(text, 3),
    "k-hop": lambda text: pointed(text, 8),
    "dedupe": lambda text: "".join(dict.fromkeys(text[:-1])),
    "first-occurrence": lambda text: str(text.index(text[-1]) + 1),
    "length": lambda text: str(len(text)),
    "histogram": lambda text: "".join(str(text.count(letter)) for letter in text[:-1]),
    "double-histogram": lambda text: str(list(Counter(text).values()).count(text.count(text[-1]))),
    "most-frequent": most_frequent,
    "count-less": lambda text: str(sum(other < text[-1] for other in text)),
    "rank": lambda text: str(sorted(set(text)).index(text[-1]) + 1),
    "min": min,
    "max": max,
    "sort": lambda text: "".join(sorted(text[:-1])),
    "sort-unique": lambda text: "".join(sorted(set(text[:-1]))),
    "frac-prevs": lambda text: str((10 * text.count("x") + len(text)) // (2 * len(text))),
    "majority": lambda text: "a" if text.count("a") > text.count("b") else "b",
    "count-mod": lambda text: str(text.count("a") % 3),
    "is-sorted": lambda text: yes(ordered(text)),
    "contains-ab": lambda text: yes("ab" in text),
    "palindrome": lambda text: palindrome(text[:-1]),
    "dyck-1": lambda text: yes(balanced(text)),
    "dyck-2": lambda text: yes(balanced(text)),
    "shuffle-dyck-2": lambda text: yes(shuffled(text)),
    "parity": lambda text: "".join(map(str, accumulate(map(int, text[:-1]), lambda a, b: (a + b) % 2))),
    "automaton": lambda text: automaton(text[:-1]),
    "increment": lambda text: format(int(text[:-1], 2) + 1, "b").zfill(len(text) - 1),
    "addition": lambda text: added(text)[::-1],
    "scratch-addition": lambda text: f"{added(text)[::-1]}>{added(text)}",
    "multiplication": multiplied,
    "subleq": subleq,
    "fibonacci": fibonacci,
}
