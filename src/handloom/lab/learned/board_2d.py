"""Does a transformer learn a board faster if a cell's position vector is its row's plus its column's? Here it does not.

Transformers read a board as a string, and must learn from data which places are neighbours. Vision transformers keep a
free table of positions all the same; Swin (Liu et al. 2021) and Graphormer (Ying et al. 2021) give the geometry. That
it helps is said without a number, so the bound is ours: the table takes 1.5 times as many steps, or more. Boards are
those of the task `grid`: 8 × 8, of 0 and 1, without two 1s at distance 4 or 5 (6 × 6 and distance 2 in the quick form).
The network sees the whole board, and predicts for each cell that is 0 whether a 1 may be set there. One layer, fresh
boards at every step.

The first control has rows and columns of another board, with 4 rows. The second shuffles the cells, in the same way for
all boards, before the network sees them: to a table of positions that is all the same, and rows and columns no longer
mean anything. Both start with position vectors as large as those of the right geometry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from handloom.core import Config
from handloom.core.arrays import Array
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.predictions import accuracy, first_step
from handloom.learn.data import NOTHING
from handloom.learn.forms import RowsAndColumns
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.tasks import task
from handloom.tasks.grids import squares
from handloom.tasks.language import Language
from handloom.view.figures.panels import Bars, Lines, Mark, Panel, band

CLAIM = Claim(
    name="board-2d",
    says="positions made of rows and columns help on a board: a free table takes 1.5 times as many steps to 95 %",
    source="Swin, Liu et al. 2021; Graphormer, Ying et al. 2021",
    papers=("2103.14030", "2106.05234"),
    seed="Wagner",
    number="geometry helps (no number is given)",
    quick=1.8,
    full=40,
)
FREE, TAKEN = 2, 3  # the tokens of the labels, behind those of the cells
ENOUGH, FASTER = 0.95, 1.5
EVERY = 10  # steps between looks
TABLE, RIGHT_FORM, OTHER_WIDTH, SHUFFLED = "table", "rows and columns", "in 4 rows", "cells shuffled"
KINDS = (TABLE, RIGHT_FORM, OTHER_WIDTH, SHUFFLED)


@dataclass(frozen=True)
class Board:
    """Squares of cells in which no two 1s are at these distances."""

    side: int
    distances: str

    @cached_property
    def task(self) -> Language:
        made = task("grid", side=self.side, distances=self.distances)
        assert isinstance(made, Language)
        return made

    @cached_property
    def neighbours(self) -> Array:
        """1 for cells at one of the distances from each other, else 0."""
        cells = np.stack(np.divmod(np.arange(self.side**2), self.side), 1)
        apart = ((cells[:, None] - cells) ** 2).sum(-1)
        return np.isin(apart, list(squares(self.side, self.distances))).astype(int)

    def draw(self, rng: np.random.Generator, count: int, order: Array) -> tuple[Array, Array]:
        """Boards, and for each cell that is 0 whether a 1 may be set there, with the cells in this order."""
        drawn = np.array([list(self.task.draw(rng)) for _ in range(count)], int)
        labels = np.where(drawn @ self.neighbours, TAKEN, FREE)
        return drawn[:, order], np.where(drawn, NOTHING, labels)[:, order]

    def form(self, kind: str) -> RowsAndColumns | None:
        """What the positions of this kind are made of."""
        return None if kind == TABLE else RowsAndColumns(self.side**2 // 4 if kind == OTHER_WIDTH else self.side)


def run(lab: Lab) -> Finding:
    curves = {}
    for done, kind in enumerate(KINDS):
        curves[kind] = watched(kind, lab)
        lab.progress(done + 1, len(KINDS))
    took = {kind: first_step(one["steps"], [right >= ENOUGH for right in one["right"]]) for kind, one in curves.items()}
    most = curves[TABLE]["steps"][-1]
    return Finding(
        checks=[
            Check("steps of the table, per step with rows and columns", gain(took, RIGHT_FORM, most), least=FASTER),
            Check(
                "per step with rows and columns of 4 rows", gain(took, OTHER_WIDTH, most), least=FASTER, control=True
            ),
            Check("per step with cells shuffled", gain(took, SHUFFLED, most), least=FASTER, control=True),
        ],
        series={"curves": curves, "took": took},
    )


def gain(took: Mapping[str, int | None], kind: str, most: int) -> float | None:
    """Steps of the table per step of this kind. What was not learned in time counts as learned with the last step; None
    if the table was not, nor was the right geometry."""
    if took[TABLE] is None and took[RIGHT_FORM] is None:
        return None
    return (took[TABLE] or most) / (took[kind] or most)


def watched(kind: str, lab: Lab) -> dict[str, Any]:
    """The share of cells that are right, as a network with such positions learns."""
    board = Board(*lab.pick((6, "2"), (8, "4,5")))
    cells = board.side**2
    config = Config(
        vocab=4, block=cells, d_model=32, layers=1, heads=8, d_head=8, d_ff=128, causal=False, tied=False
    )  # fmt: skip
    order = lab.rng(2).permutation(cells) if kind == SHUFFLED else np.arange(cells)
    exam = board.draw(lab.rng(1), lab.pick(50, 100), order)
    settings = Settings(steps=lab.pick(40, 500), rate=4e-3, seed=lab.seed)
    found: dict[str, Any] = {"steps": [], "right": []}
    for step in steps(
        config, lambda rng: board.draw(rng, lab.pick(16, 32), order), settings, form=board.form(kind), engine="torch"
    ):
        if step.number % EVERY == 0:
            found["steps"].append(step.number)
            found["right"].append(accuracy(step.model(), *exam))
    return found


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    controls = [OTHER_WIDTH, SHUFFLED]
    curves = [
        band(name, one["steps"], [seed["curves"][name]["right"] for seed in seeds], control=name in controls)
        for name, one in seeds[0]["curves"].items()
    ]
    values = [[seed["took"][name] for seed in seeds] for name in KINDS]
    return [
        Lines("May a 1 be set here?", "step", "share of cells", curves, [Mark(ENOUGH, "95 %")]),
        Bars("Steps to 95 %", "steps", KINDS, values, controls),
    ]
