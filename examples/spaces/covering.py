"""Required sets: covering designs, as few blocks of k of v points as can be, such that every t points are in a block.

    handloom discover examples/spaces/covering.py:v=7,k=3,t=2 --seconds 10

The least numbers of blocks, C(v, k, t), are in the La Jolla Covering Repository, https://ljcr.dmgordon.org.
"""

from itertools import combinations

from handloom.discover import Problem, set_system

LEAST = {  # C(v, 3, 2), by Fort and Hedlund, 1958
    (v, 3, 2): -(-v * -(-(v - 1) // 2) // 3) for v in range(3, 33)
}


def problem(v: int = 7, k: int = 3, t: int = 2) -> Problem:
    space = set_system(v, k)
    return Problem(
        space,
        required=[
            [block for block in space.elements if {*few} <= {*block}] for few in combinations(range(1, v + 1), t)
        ],
        minimise=True,
        check=lambda blocks: uncovered(blocks, v, t),
        best_known=LEAST.get((v, k, t)),
        source="the minimum: Fort and Hedlund, Pacific J. Math. 8 (1958)" if (v, k, t) in LEAST else "",
        about=f"blocks of {k} of {v} points that contain every {t} of these",
    )


def uncovered(blocks, v, t):
    """The same, checked another way: the sets of t points in blocks are counted."""
    covered = {few for block in blocks for few in combinations(sorted(block), t)}
    for few in combinations(range(1, v + 1), t):
        if few not in covered:
            return f"{few} is in no block"
