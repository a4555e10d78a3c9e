"""A task of one's own that asks questions: numbers, to be said in words. What it takes to translate one language into
another, with an encoder that reads the question and a decoder that answers:

    handloom learn examples/translation.py --kind encoder-decoder --until 0.99
    handloom sample runs/translation-1 --prompt "4 0 7 ="

A Task has a vocabulary, a function that draws a question, and an oracle that answers it (None: that is no question).
"""

from handloom import Task, Vocab

ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()  # noqa: SIM905
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905


def words(n):
    """1204: one thousand two hundred four."""
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if n >= size:
            return [*words(n // size), name, *(words(n % size) if n % size else [])]
    if n < 20:
        return [ONES[n]]
    return [TENS[n // 10 - 2], *(words(n % 10) if n % 10 else [])]


def task(most: int = 9999) -> Task:
    vocab = Vocab((*"0123456789=", *ONES, *TENS, "hundred", "thousand", "<eos>"), eos="<eos>")

    def oracle(ids):
        *digits, equals = [vocab.tokens[i] for i in ids] or [""]
        number = "".join(digits)
        if equals != "=" or not number.isdecimal() or number != str(int(number)) or int(number) > most:
            return None
        return [vocab.id(word) for word in [*words(int(number)), "<eos>"]]

    return Task(
        takes=f"a number up to {most} in digits and then =, such as 4 2 =",
        vocab=vocab,
        oracle=oracle,
        draw=lambda rng: vocab.encode(" ".join([*str(rng.integers(most + 1)), "="])),
        count=most + 1,
        every=lambda: (vocab.encode(" ".join([*str(n), "="])) for n in range(most + 1)),
    )
