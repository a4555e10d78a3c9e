"""A Certificate: how a model was checked against its task, and the result."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from handloom.core import Model
from handloom.core.callbacks import Progress
from handloom.core.registry import offered

ORDERS = 3  # of summation, besides the order of the model's dimensions


@dataclass(frozen=True)
class Certificate:
    """`method` is exhaustive (every input was run), proof (an argument, which `how` names, covers them all) or sampled
    (the hard cases and random ones). `wrong` is the number of inputs with a wrong output, and `counterexample` the
    first of them, with the model's output and the right one.

    The margin is the least by which the logit of a right token exceeded that of the next best; it is below 0 if an
    output is wrong. `ties` is the number of inputs that rounding errors decide, because the two logits differ by no
    more than these: of equal logits greedy decoding takes the token with the lower id, and another machine, which
    rounds differently, may take the other. `orders` is in how many of three other orders of summation, tried on some of
    the inputs, an output is wrong: rounding decides there too."""

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
        inputs = f"{self.inputs:,}" if self.inputs < 10**24 else f"{self.inputs:.2e}"
        ties, margin = (" by ties", "0") if self.ties else ("", f"{self.margin:.2g}")
        order = f"; wrong in {self.orders} of {ORDERS} other orders of summation" if self.orders else ""
        return f"right on {every}{inputs} {which}{ties} ({method}), {self.dtype}, smallest margin {margin}{order}"

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


Prove = Callable[[Model, Progress | None], Certificate]  # or a HandloomError: there is no proof
