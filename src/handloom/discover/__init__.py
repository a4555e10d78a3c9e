"""Discovering: better constructions for a problem, by search and by a transformer that learns from the best ones."""

from handloom.discover.problem import Problem, Verdict, verdict
from handloom.discover.spaces import copies, graph, grid, permutation, subsets, word

__all__ = ["Problem", "Verdict", "copies", "graph", "grid", "permutation", "subsets", "verdict", "word"]
