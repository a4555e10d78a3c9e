"""Answers to the exercises of The Art of Transformer Programming, chapter 4. (`ours/small_search.py` answers 4 and 5,
`book/search.py` 1.)"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from handloom.core import HandloomError, Model
from handloom.tasks.task import Ids
from handloom.write.ours.small_search import narrow_search, small_search


def lean_search(tokens: int = 10, length: int = 3, block: int = 100) -> Model:
    """One dimension per token, and none shared. (Exercise 4.)"""
    return narrow_search(tokens, length, block, sharing=False)


def norms_behind(model: Model) -> Model:
    """The same weights with the layer norms behind the sublayers. (Exercise 2.) The searches need no more: layer norm
    keeps what they embed, and what it would do in front of a sublayer it now does behind the one before."""
    weights = {name: value for name, value in model.params.items() if name != "ln_final"}
    return model.with_(config=replace(model.config, place="post"), params=weights)


Table = Mapping[tuple[int, ...], int]


def table_search(table: Table, tokens: int) -> Model:
    """A search that looks things up in any table that is written in front of the question. (Exercise 3.)"""
    lengths = {len(key) for key in table}
    if len(lengths) != 1 or 0 in lengths:
        raise HandloomError("a table to look up in needs at least one key, and keys of one length, 1 or more")
    return small_search(tokens + 1, lengths.pop() + 1, len(table_question(table, next(iter(table)), tokens)))


def table_question(table: Table, key: tuple[int, ...], tokens: int) -> Ids:
    """The table, entry by entry, and the key. In front of each key stands the token after the last, which is in none
    of them: so the question stands where an entry begins and nowhere else."""
    entries = [[tokens, *known, value] for known, value in table.items()]
    return [*chain.from_iterable(entries), tokens, *key]
