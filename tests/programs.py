"""The table of programs that tests share: each with an input, the output that is right there, and its size.

Where a formula gives the size it stands in the table. `wrong` says why a construction is not right on every input of
its task, `tied` that right and wrong tokens may have equal logits; the input here is not one of those.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str  # with parameters, if not the defaults
    given: str
    output: str
    total: int  # parameters
    tied: bool = False
    wrong: str = ""


HELLO, NUMBERS, REPEATED = "Hello World!", "9 14 17 1 18 10", "4 0 8 0 1 3 0 8 0"
PHANTOM = "the first token seems to be repeated before the text (docs/book/errata.md)"

CASES = (
    Case("hello", "", HELLO, 72),
    Case("hello:message=abc", "a", "bc", 27),
    Case("min", NUMBERS, "1", 159),
    Case("min:n=5", "3 2 4", "2", 69),
    Case("max", NUMBERS, "18", 159),
    Case("search", REPEATED, "1", 948),
    Case("search:tokens=30,length=3,block=50", "7 16 0 11 14 16 0 11", "14", 1_232),
    Case("lookup", "9 6 8 1 5 0 2 4 4", "6", 927),
    Case("sort", "408 78 530 78 231 0", "78 78 231 408 530", 9_692),
    Case("sort:n=20", "7 12 8 7 19 3 0", "3 7 7 8 12 19", 1_844),
    Case("addition", "447+809=", "1256", 490 + 21 * 3),
    Case("addition:digits=10", "2860385077+8108050244=", "10968435321", 490 + 21 * 10),
    Case("tiny-addition", "567+489=", "1056", 88 + 12 * 3),
    Case("tiny-addition:digits=5", "45790+18923=", "064713", 88 + 12 * 5),
    Case("sum", "86", "4", 8 * 10 + 80),
    Case("modular-sum", "18+69=", "7", 1_240),
    Case("unpadded-addition", "98+5=", "103", 121_072),
    Case("multiplication", "56*97=", "5432", 6_738),
    Case("layer-norm-parity", "1011001111=", "1", 18 * (3 + 11 + 2 * (4 * 2 * 2 + 2 * 8))),
    Case("book/hello", "", HELLO, 72),
    Case("book/ascii", "", HELLO, 807),
    Case("book/lookup", "8 6 5 2 3", "7", 1_408),
    Case("book/lookup-untied", "9 6 8 1 5 0 2 4 4", "6", 81_963),
    Case("book/search", REPEATED, "1", 4_800, wrong=PHANTOM),
    Case("book/min", NUMBERS, "1", 6 * 20 + 39),
    Case("book/max", NUMBERS, "18", 6 * 20 + 39),
    Case("book/sort", "2 8 5 1 0", "1 2 5 8", 6 * (28 + 100) + 150, tied=True),
    Case("book/sum", "86", "4", 629),
    Case("book/modular-sum", "18+69=", "7", 9_508),
    Case("book/addition", "447+809=", "1256", 360_576),
    Case("exercise/simpleformer", "", HELLO, 70),
    Case("exercise/hello-sparse", "", HELLO, 144),
    Case("exercise/hello-chain", "", "Hel Word!", 63),
    Case("exercise/hello-counting", "", HELLO, 235),
    Case("exercise/hello-rms", "", HELLO, 48),
    Case("exercise/hello-integer", "", HELLO, 72),
    Case("exercise/hello-positive", "", HELLO, 72),
    Case("exercise/search-lean", REPEATED, "1", 1_442),
    Case("exercise/sort-golden", "24 13 18 31 0", "13 18 24 31", 948),
    Case("exercise/sort-digits", "59 63 47 59=", "47 59 59 63", 10_410),
    Case(
        "exercise/sort-digits:digits=3,length=4,base=7",
        "016 450 006=",
        "006 016 450",
        25 * (9 + 30) + 2 * (4 * 4 * 25 * 10 + 51 * 15 + 25),
    ),
    Case("exercise/sum-line", "86", "4", 5_797),
    Case("exercise/sum-clean", "86", "4", 693),
    Case("exercise/min-million", "647 257 615 764", "257", 9_477),
)
BY_NAME = {case.name: case for case in CASES}
