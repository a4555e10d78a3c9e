"""All programs by name, each with its task and the function that writes it, and programs asked for by name.

    >>> program("hello")()
    'Hello World!'
    >>> program("hello:message=Good morning")()
    'Good morning'

`book/…` are the constructions of The Art of Transformer Programming, `exercise/…` answers to its exercises, and
`compiled/…` the standard programs of the compiler's language. A name without a prefix is the best construction of its
task that we have.

Functions are named as module:function and loaded when they are used, so that to run one program does not load all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from handloom.core import HandloomError, Model
from handloom.core.errors import shown
from handloom.core.finding import nearest
from handloom.core.registry import loaded
from handloom.tasks import naming
from handloom.tasks.catalogue import TASKS, resolve
from handloom.tasks.certificate import Prove
from handloom.tasks.of_model import noted
from handloom.tasks.task import Task
from handloom.write.standard import STANDARD, standard


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
    Program("hello", "Hello World!, or any message", "message", "book.hello:book_hello"),
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
    Program("layer-norm-parity", "is the number of 1s odd?", "parity", "ours.layer_norm_parity:layer_norm_parity"),
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


class CompiledProgram(Program):
    """A standard program of the language. Its task is its own, with the interpreter as oracle."""

    @property
    def build(self) -> Callable[..., Model]:
        make = STANDARD[self.writer].make

        @wraps(make)
        def built(**parameters: Any) -> Model:
            compiled: Model = loaded("handloom.write.compiler:compile")(standard(self.writer, **parameters))
            return compiled

        return built

    @property
    def make_task(self) -> Callable[..., Task]:
        make = STANDARD[self.writer].make

        @wraps(make)
        def made(**parameters: Any) -> Task:
            return standard(self.writer, **parameters).task

        return made


COMPILED = {
    f"compiled/{name}": CompiledProgram(f"compiled/{name}", one.about, f"compiled/{name}", name)
    for name, one in STANDARD.items()
}
NAMED: dict[str, Program] = PROGRAMS | COMPILED


def compiled_task_maker(name: str) -> Callable[..., Task]:
    """The function that makes the task of a compiled program."""
    return COMPILED[name].make_task


def program(name: str, **parameters: Any) -> Model:
    """The model of a program. Parameters may stand in the name: `addition:digits=3,base=10`."""
    chosen, given = find(name, parameters)
    if chosen.name in COMPILED:
        model = chosen.build(**given)
        return model.with_(notes={"program": chosen.name, "parameters": given, **model.notes})
    task, values = task_of_program(chosen.name, given)
    TASKS[task].make(**values)  # refuses sizes that no memory would hold, before anything is made
    model = chosen.build(**given)
    notes = {"made": "written", "program": chosen.name, "parameters": given, **note_of(task, values)}
    return model.with_(notes={**notes, **model.notes})


def note_of(task: str, values: Mapping[str, Any]) -> dict[str, str]:
    """The note of a program's task; none if it would be read otherwise, as of a message with ",message=" in it."""
    text = naming.written(task, values)
    try:
        _, read = resolve(text, {}) or ("", {})
    except HandloomError:
        read = {}
    return {"task": text} if read == {key: value for key, value in values.items() if value is not None} else {}


def task_of_program(name: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of a program's task, and those of the program's parameters that the task has too."""
    chosen, given = find(name, parameters)
    if chosen.name in COMPILED:
        return chosen.name, given
    values = {key: p.default for key, p in naming.parameters(chosen.name, chosen.build).items()} | given
    known = naming.parameters(chosen.task, TASKS[chosen.task].make)
    defaults = {key: p.default for key, p in known.items()}
    return chosen.task, defaults | {key: value for key, value in values.items() if key in known}


def prover_of(model: Model) -> Prove | None:
    """What can prove a model right, if its notes hold a compiled program, or name one that has such a thing."""
    if "compiled" in model.notes:
        prove: Prove = loaded("handloom.write.compiler.proving:prove_compiled")
        return prove
    name, task = model.notes.get("program"), noted(model)
    if not isinstance(name, str) or name not in PROGRAMS or task is None:
        return None
    return PROGRAMS[name].prove if task[0].partition(":")[0] == PROGRAMS[name].task else None


def find(name: str, parameters: Mapping[str, Any]) -> tuple[Program, dict[str, Any]]:
    """A program and the parameters given for it, in its name and beside it."""
    name, _, text = str(name).partition(":")
    if name not in NAMED:
        hint = f"did you mean {near}?" if (near := nearest(name, NAMED)) else f"there are {', '.join(NAMED)}"
        raise HandloomError(f"no program {shown(name)}; {hint}")
    chosen = NAMED[name]
    return chosen, naming.given(name, chosen.build, text, parameters)
