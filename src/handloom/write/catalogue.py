"""All programs by name, each with its task and the function that writes it.

`book/…` are the constructions of The Art of Transformer Programming, `exercise/…` answers to its exercises. A name
without a prefix is the best construction of its task that we have.
"""

from collections.abc import Callable
from dataclasses import dataclass

from handloom.core import Model
from handloom.tasks import Task, message
from handloom.tasks import extremes as extremes_task
from handloom.tasks import lookup as lookup_task
from handloom.tasks import products as products_task
from handloom.tasks import search as search_task
from handloom.tasks import sorting as sorting_task
from handloom.tasks import sums as sums_task
from handloom.write import (
    addition,
    addition_proof,
    big_sort,
    extremes,
    hello,
    hellos,
    lookup,
    products,
    search,
    searches,
    sorting,
    sum_variants,
    sums,
    tiny_addition,
)
from handloom.write.certificate import Certificate, Progress


@dataclass(frozen=True)
class Program:
    """A name, what it does, the task it is for, and a function that writes its Model. The function's parameters are the
    program's; the task takes those of them that it knows. `prove` is there if all inputs can be covered by an argument:
    it gives a Certificate or raises."""

    name: str
    about: str
    task: Callable[..., Task]
    build: Callable[..., Model]
    prove: Callable[[Model, Progress | None], Certificate] | None = None


ALL = (
    Program("hello", "says Hello World!, or any message", message.message, hello.book_hello),
    Program("min", "the smallest of some numbers", extremes_task.minimum, extremes.book_min),
    Program("max", "the largest of some numbers", extremes_task.maximum, extremes.book_max),
    Program("search", "what followed the last tokens before", search_task.search, searches.small_search),
    Program("lookup", "the value of a key in any table", lookup_task.lookup, lookup.any_lookup),
    Program("sort", "numbers in order, with repeats", sorting_task.ascending_with_repeats, big_sort.big_sort),
    Program("addition", "two numbers", sums_task.addition, addition.small_addition, addition_proof.prove),
    Program("tiny-addition", "two numbers, one layer", sums_task.addition, tiny_addition.tiny_addition),
    Program("sum", "two digits, mod 10", sums_task.digit_sum, sum_variants.attention_only_sum),
    Program("modular-sum", "two numbers, mod 10", sums_task.modular_addition, sums.modular_sum),
    Program("unpadded-addition", "no zeros in front", products_task.unpadded_addition, products.unpadded_addition),
    Program("multiplication", "two numbers", products_task.multiplication, products.multiplication),
    Program("book/hello", "chapter 2", message.message, hello.book_hello),
    Program("book/ascii", "chapter 2, 256 characters", message.ascii_message, hello.book_ascii),
    Program("book/lookup", "chapter 3, tied, optimised", lookup_task.lookup, lookup.book_lookup),
    Program("book/lookup-untied", "chapter 3, random hashes", lookup_task.lookup, lookup.untied_lookup),
    Program("book/search", "chapter 4", search_task.search, search.book_search),
    Program("book/min", "chapter 5", extremes_task.minimum, extremes.book_min),
    Program("book/max", "chapter 5", extremes_task.maximum, extremes.book_max),
    Program("book/sort", "chapter 5", sorting_task.ascending, sorting.book_sort),
    Program("book/sum", "chapter 6, two digits mod 10", sums_task.digit_sum, sums.book_sum),
    Program("book/modular-sum", "chapter 6, mod 10", sums_task.modular_addition, sums.book_modular_sum),
    Program("book/addition", "chapter 6", sums_task.addition, sums.book_addition),
    Program("exercise/simpleformer", "2.1: no norms, no tokens", message.message, hellos.simpleformer),
    Program("exercise/hello-sparse", "2.2: few non-zero", message.message, hellos.sparse_hello),
    Program("exercise/hello-chain", "2.4: no positions", message.message, hellos.chain_hello),
    Program("exercise/hello-counting", "2.5: no positions, repeats", message.message, hellos.counting_hello),
    Program("exercise/hello-rms", "2.6: RMS norm", message.message, hellos.rms_hello),
    Program("exercise/hello-integer", "2.7: whole numbers", message.message, hellos.integer_hello),
    Program("exercise/hello-positive", "2.8: all positive", message.message, hellos.positive_hello),
    Program("exercise/search-lean", "4.4: fewer dimensions", search_task.search, searches.lean_search),
    Program("exercise/sort-golden", "5.1: more tokens", sorting_task.ascending, sorting.golden_sort),
    Program("exercise/sum-line", "6.7: along a line", sums_task.digit_sum, sum_variants.line_sum),
    Program("exercise/sum-clean", "6.9: proper cleanup", sums_task.digit_sum, sum_variants.clean_sum),
    Program("exercise/min-million", "5.2: up to millions", sorting_task.smallest, sorting.million_min),
)
PROGRAMS = {program.name: program for program in ALL}
