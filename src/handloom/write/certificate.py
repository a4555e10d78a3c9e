"""A Certificate: what was checked of a model against its task, and how it came out."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

Progress = Callable[[int, int], None]  # how much is done, of how much


@dataclass(frozen=True)
class Certificate:
    """`method` is exhaustive (every input was run), proof (an argument, which `how` names, covers them all) or sampled
    (the hard cases and random ones). `wrong` is the first input that came out wrong, with what was said and what was
    right. The margin is the least by which the logit of a right token exceeded that of the next best; 0 is a tie, which
    greedy decoding gives to the token with the lower id."""

    method: str
    inputs: int
    right: bool
    margin: float
    dtype: str
    how: str = ""
    wrong: tuple[str, str, str] | None = None

    def __str__(self) -> str:
        which = "sampled inputs" if self.method == "sampled" else "inputs"
        every = "" if self.method == "sampled" else "all "
        method = f"{self.method}: {self.how}" if self.how else self.method
        if self.right:
            return (
                f"right on {every}{self.inputs:,} {which} ({method}), {self.dtype}, smallest margin {self.margin:.2g}"
            )
        given, said, expected = self.wrong or ("", "", "")
        return f"WRONG: {given!r} gave {said!r}, and right is {expected!r} ({method}, {self.dtype})"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
