"""All programs by name, each with its task and the function that writes it.

`book/…` are the constructions of The Art of Transformer Programming, `exercise/…` answers to its exercises. A name
without a prefix is the best construction of its task that we have.

Functions are named as module:function and loaded when they are used, so that to run one program does not load all.
"""

from collections.abc import Callable
from dataclasses import dataclass

from handloom.core import Model
from handloom.core.registry import loaded
from handloom.tasks.certificate import Prove


@dataclass(frozen=True)
class Program:
    """A name, what it does, the name of the task it is for, and a function that writes its Model. The function's
    parameters are the program's; the task takes those of them that it knows. A prover is there if an argument covers
    all inputs: it gives a Certificate or raises."""

    name: str
    about: str
    task: str
    writer: str  # in handloom.write
    prover: str = ""

    @property
    def build(self) -> Callable[..., Model]:
        made: Callable[..., Model] = loaded(f"handloom.write.{self.writer}")
        return made

    @property
    def prove(self) -> Prove | None:
        return loaded(f"handloom.write.{self.prover}") if self.prover else None


ALL = (
    Program("hello", "says Hello World!, or any message", "message", "book.hello:book_hello"),
    Program("min", "the smallest of some numbers", "min", "book.extremes:book_min"),
    Program("max", "the largest of some numbers", "max", "book.extremes:book_max"),
    Program("search", "what followed the last tokens before", "search", "ours.small_search:small_search"),
    Program("lookup", "the value of a key in any table", "lookup", "book.lookup:any_lookup"),
    Program("sort", "numbers in order, with repeats", "sort", "ours.big_sort:big_sort"),
    Program("addition", "two numbers", "addition", "ours.addition:small_addition", "ours.addition_proof:prove"),
    Program("tiny-addition", "two numbers, one layer", "addition", "ours.tiny_addition:tiny_addition"),
    Program("sum", "two digits, mod 10", "sum", "exercises.sum_variants:attention_only_sum"),
    Program("modular-sum", "two numbers, mod 10", "modular-sum", "book.sums:modular_sum"),
    Program("unpadded-addition", "no zeros in front", "unpadded-addition", "ours.unpadded_addition:unpadded_addition"),
    Program("multiplication", "two numbers", "multiplication", "ours.multiplication:multiplication"),
    Program("book/hello", "chapter 2", "message", "book.hello:book_hello"),
    Program("book/ascii", "chapter 2, 256 characters", "ascii-message", "book.hello:book_ascii"),
    Program("book/lookup", "chapter 3, tied, optimised", "lookup", "book.lookup:book_lookup"),
    Program("book/lookup-untied", "chapter 3, random hashes", "lookup", "book.lookup:untied_lookup"),
    Program("book/search", "chapter 4", "search", "book.search:book_search"),
    Program("book/min", "chapter 5", "min", "book.extremes:book_min"),
    Program("book/max", "chapter 5", "max", "book.extremes:book_max"),
    Program("book/sort", "chapter 5", "sort-distinct", "book.sorting:book_sort"),
    Program("book/sum", "chapter 6, two digits mod 10", "sum", "book.sums:book_sum"),
    Program("book/modular-sum", "chapter 6, mod 10", "modular-sum", "book.sums:book_modular_sum"),
    Program("book/addition", "chapter 6", "addition", "book.sums:book_addition"),
    Program("exercise/simpleformer", "2.1: no norms, no tokens", "message", "exercises.hellos:simpleformer"),
    Program("exercise/hello-sparse", "2.2: few non-zero", "message", "exercises.hellos:sparse_hello"),
    Program("exercise/hello-chain", "2.4: no positions", "message", "exercises.hellos:chain_hello"),
    Program("exercise/hello-counting", "2.5: no positions, repeats", "message", "exercises.hellos:counting_hello"),
    Program("exercise/hello-rms", "2.6: RMS norm", "message", "exercises.hellos:rms_hello"),
    Program("exercise/hello-integer", "2.7: whole numbers", "message", "exercises.hellos:integer_hello"),
    Program("exercise/hello-positive", "2.8: all positive", "message", "exercises.hellos:positive_hello"),
    Program("exercise/search-lean", "4.4: fewer dimensions", "search", "exercises.searches:lean_search"),
    Program("exercise/sort-golden", "5.1: more tokens", "sort-distinct", "book.sorting:golden_sort"),
    Program("exercise/sort-digits", "5.7: several digits", "sort-digits", "ours.digit_sort:digit_sort"),
    Program("exercise/sum-line", "6.7: along a line", "sum", "exercises.sum_variants:line_sum"),
    Program("exercise/sum-clean", "6.9: proper cleanup", "sum", "exercises.sum_variants:clean_sum"),
    Program("exercise/min-million", "5.2: up to millions", "min", "book.extremes:million_min"),
)
PROGRAMS = {program.name: program for program in ALL}
