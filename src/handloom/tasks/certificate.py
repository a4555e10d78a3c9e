"""A Certificate: what was checked of a model against its task, and how it came out."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from handloom.core import Model
from handloom.core.registry import offered

ORDERS = 3  # of summation, besides the one that the model's dimensions are in
Progress = Callable[[int, int], None]  # how much is done, of how much


@dataclass(frozen=True)
class Certificate:
    """`method` is exhaustive (every input was run), proof (an argument, which `how` names, covers them all) or sampled
    (the hard cases and random ones). `wrong` is the number of inputs that came out wrong, and `counterexample` the
    first of them, with what the model gave and what is right.

    The margin is the least by which the logit of a right token exceeded that of the next best; it is below 0 where the
    answer is wrong. `ties` is the number of inputs that rounding errors decide, as the two logits are equal but for
    these: greedy decoding takes the token with the lower id where they are equal, and another machine, which rounds
    otherwise, may take the other one. `orders` tells in how many other orders of summation, of the three that are tried
    on some of the inputs, an answer comes out wrong: there, too, rounding decides."""

    method: str
    inputs: int
    right: bool
    margin: float
    dtype: str
    how: str = ""
    wrong: int = 0
    ties: int = 0
    orders: int = 0
    counterexample: tuple[str, str, str] | None = None

    def __str__(self) -> str:
        which = "sampled inputs" if self.method == "sampled" else "inputs"
        method = f"{self.method}: {self.how}" if self.how else self.method
        if not self.right:
            given, output, expected = self.counterexample or ("", "", "")
            ties = f", {self.ties:,} decided by ties" if self.ties else ""
            return (
                f"WRONG on {self.wrong:,} of {self.inputs:,} {which} ({method}), {self.dtype}{ties}: "
                f"{given!r} gave {output!r}, and right is {expected!r}"
            )
        every = "" if self.method == "sampled" else "all "
        ties, margin = (" by ties", "0") if self.ties else ("", f"{self.margin:.2g}")
        order = f"; wrong in {self.orders} of {ORDERS} other orders of summation" if self.orders else ""
        return (
            f"right on {every}{self.inputs:,} {which}{ties} ({method}), {self.dtype}, smallest margin {margin}{order}"
        )

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


Prove = Callable[[Model, Progress | None], Certificate]  # or a HandloomError: there is no proof
