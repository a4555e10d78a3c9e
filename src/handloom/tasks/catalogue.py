"""All tasks by name, with parameters: `strings:rule=s[13]==s[22],length=30-40`.

    >>> task("fibonacci:terms=5").about
    'the first 5 terms of x, y, x + y, … with x and y below 1000'
    >>> task("book/sort:n=5").answer("3 1 4 0")
    '1 3 4'
    >>> full_name("book/sort:n=5")
    'sort-distinct:n=5,block=100'

A rule alone, `s[13]==s[22]`, is short for strings:rule=s[13]==s[22]. A file may stand in place of a name: any text file
with one string per line, of characters or of words (`poems.txt:tokens=words`); or a user's Python file that defines
`task`, a Task or a Language, or a function that makes one (examples/task.py). The name of a program stands for its
task, with the program's parameters. If a program and a task have the same name, they mean the same task.
"""

import functools
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.core.finding import is_program, nearest
from handloom.core.registry import offered
from handloom.tasks.language import Language
from handloom.tasks.naming import Entry, given, written
from handloom.tasks.naming import parameters as parameters_of
from handloom.tasks.task import Task
from handloom.tasks.textfile import text_file
from handloom.tasks.user_file import Wanted, defined, python_file

TASKS = {
    "strings": Entry("random strings under a rule such as s[13]==s[22]", "strings:strings"),
    "one-two": Entry("strings of 0 and 1 with exactly one 2", "strings:one_two"),
    "two-twos": Entry("strings of 0 and 1, half of them with two 2s", "strings:two_twos"),
    "fibonacci": Entry("sequences in which each number is the sum of the two before it", "fibonacci:fibonacci"),
    "mangled": Entry("such sequences with their digits tampered with", "fibonacci:mangled"),
    "grid": Entry("grids of 0 and 1 with no two 1s at certain distances", "grids:grid"),
    "addition": Entry("the sum of two numbers of a given number of digits", "sums:addition"),
    "unpadded-addition": Entry("the same without leading zeros", "products:unpadded_addition"),
    "multiplication": Entry("the product of two numbers", "products:multiplication"),
    "sort": Entry("numbers in ascending order", "sorting:ascending_with_repeats"),
    "sort-distinct": Entry("the same, with all numbers different", "sorting:ascending"),
    "sort-digits": Entry("numbers of several digits in ascending order", "digit_sorting:ascending_digits"),
    "min": Entry("the smallest of some numbers", "extremes:minimum"),
    "max": Entry("the largest of some numbers", "extremes:maximum"),
    "search": Entry("what followed the last tokens when they occurred before", "search:search"),
    "lookup": Entry("the value of a key in a random table", "lookup:lookup"),
    "sum": Entry("the sum of two digits, modulo their base", "sums:digit_sum"),
    "modular-sum": Entry("the last digit of the sum of two numbers", "sums:modular_addition"),
    "message": Entry("a message, or the rest of it", "message:message"),
    "ascii-message": Entry("the same in an alphabet of 256 characters", "message:ascii_message"),
    "gcd": Entry("the greatest common divisor of two numbers", "numbers:gcd"),
    "modular-addition": Entry("the sum of two numbers, modulo a third", "numbers:addition_modulo"),
    "matrix-product": Entry("the product of two small matrices", "matrices:matrix_product"),
    "matrix-inverse": Entry("the inverse of a small matrix", "matrices:matrix_inverse"),
    "eigenvalues": Entry("the eigenvalues of a small symmetric matrix", "matrices:eigenvalues"),
    "induction": Entry("what followed the last token when it occurred before", "sequences:induction"),
    "hops": Entry("the same, several times in a row", "sequences:hops"),
    "markov": Entry("Markov chains, each with its own transition probabilities", "sequences:markov"),
    "parity": Entry("whether the number of 1s is odd", "sequences:parity"),
    "dyck": Entry("balanced brackets", "sequences:dyck"),
}

RULE = re.compile(r"s\[|[=!<>]=|[<>]|\b(?:sum|count)\(")  # every rule has one of these, few names of files do
USERS = Wanted("task", (Task, Language), "a Task or a Language")


def task(name: str | Path, **parameters: Any) -> Task | Language:
    """A Task or a Language, by its name or from a file. Parameters may be part of the name."""
    name = str(name)
    if named := resolve(name, parameters):
        known, values = named
        made: Task | Language = maker_of(known)(**values)
        return made
    if file := users_file(name):
        return from_file(*file, **parameters)
    known = name.partition(":")[0]
    near = nearest(known, [*TASKS, *offered("programs")])
    hint = f"did you mean {near}?" if near else f"the tasks are {', '.join(TASKS)}; or give a file"
    raise HandloomError(f"no task and no file {shown(known)}; {hint}")


def resolve(name: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The task of the catalogue that a name stands for, and the parameters that are given; None if it is not in the
    catalogue, so that it must be a file."""
    known, _, text = name.partition(":")
    if known in TASKS:
        return known, given(known, TASKS[known].make, text, parameters)
    if is_rule(name):
        return resolve(f"strings:rule={name}", parameters)
    if is_program(name):
        named: tuple[str, dict[str, Any]] = offered("task_of_program")(name, parameters)
        return named
    return None


def maker_of(known: str) -> Callable[..., Task | Language]:
    """The function that makes a task of the catalogue, or the task of a compiled program."""
    made: Callable[..., Task | Language] = (
        TASKS[known].make if known in TASKS else offered("compiled_task_maker")(known)
    )
    return made


def full_name(name: str) -> str:
    """A task's name as a model's notes have it: with all parameters, including defaults; of a user's file, the file's
    name without the folder."""
    if named := resolve(name, {}):
        known, values = named
        defaults = {key: p.default for key, p in parameters_of(known, maker_of(known)).items()}
        return written(known, defaults | values)
    file = users_file(name)
    return name if file is None else f"{file[0].name}:{file[1]}".removesuffix(":")


def from_file(path: Path, text: str = "", **parameters: Any) -> Task | Language:
    """The task in a user's own file, with the parameters behind the file's name."""
    make: Callable[..., Task | Language] = functools.partial(text_file, path)
    if path.suffix == ".py":
        make = defined(path, USERS, bool(text or parameters))
    return make(**given(str(path), make, text, parameters))


def users_file(name: str) -> tuple[Path, str] | None:
    """The user's own file that a name stands for, and its parameters; None for a task, a program or a rule."""
    if name.partition(":")[0] in TASKS or is_program(name):
        return None
    if python := python_file(name):
        return python
    if os.path.exists(name):
        return Path(name), ""
    colons = [found.start() for found in re.finditer(":", name)]
    return next(((Path(name[:i]), name[i + 1 :]) for i in reversed(colons) if os.path.exists(name[:i])), None)


def is_rule(name: str) -> bool:
    """Whether a name is a rule by itself, such as s[13]==s[22] or count(1)%2==0."""
    known = name.partition(":")[0]
    return bool(RULE.search(known)) and known not in TASKS and not users_file(name)
