"""The built-in problems, one file each: what is forbidden, a second way to check it, the best known values.

    >>> from handloom.discover.problems.isosceles import isosceles
    >>> isosceles(n=16).best_known
    28

The search compiles what is forbidden, and a score; the verifier runs them as plain Python. So they are whole numbers,
loops and comparisons, nothing else. `check` is written in another way, so that it finds a mistake in the first. A new
problem also needs a line in catalogue.py.
"""
