"""handloom prove: an upper bound for a problem, and whether the best construction reaches it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handloom.cli.live.progress import PAUSE, screen
from handloom.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from handloom.discover.proof.proof import Progress


def prove(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="A problem with its parameters (isosceles:n=6), or a Python file that defines `problem`.",
            show_default=False,
        ),
    ],
    seconds: Annotated[
        float | None, typer.Option(help="Stop after S seconds, with the bound so far.", metavar="S", min=0)
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Count the optimal constructions too.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the first run; the second has the next.", metavar="N", min=0)] = 0,
    store: Annotated[Path, typer.Option(help="The file of records.", metavar="FILE")] = Path("records.sqlite"),
    as_json: JsonOption = False,
) -> None:
    """Prove an upper bound for a problem, twice, from all its forbidden sets. Where a construction reaches the bound,
    both are optimal, and `handloom records` says so. Ctrl-C ends it with the bound so far. A range of sizes, such as
    n=1..6, is proved one by one. A problem with a score of its own, required sets or a required symmetry has no proof
    here.

    \b
    handloom prove isosceles:n=6
    handloom prove four-cycle-free:n=10 --count
    handloom prove my_problem.py:n=8 --seconds 60
    handloom prove 'isosceles:n=1..6'
    """
    from handloom.discover.proof import prove
    from handloom.discover.size_ranges import has_range, names_in_range

    proofs = []
    for name in names_in_range(problem):
        view = ProofView()
        try:
            proof = prove(name, seconds, count=count, seed=seed, store=store, watch=view)
        finally:
            view.close()
        proofs.append(proof.to_json())
        if not as_json:
            print(proof, flush=True)
        if proof.interrupted:
            break
    if as_json:
        print_json(proofs if has_range(problem) else proofs[0])
    if proof.interrupted:
        raise typer.Exit(130)


class ProofView:
    """The progress of a proof on standard error: on a terminal one line that changes, elsewhere a line for each new
    bound or best construction, and every ten seconds."""

    def __init__(self) -> None:
        self.live: Any = screen()
        self.last, self.told = 0.0, (None, None)

    def __call__(self, progress: "Progress") -> None:
        news = (progress.best, progress.bound)
        if self.live is not None:
            self.live.update(str(progress), refresh=True)
        elif progress.seconds - self.last >= PAUSE or (progress.bound is not None and news != self.told):
            self.last, self.told = progress.seconds, news  # type: ignore[assignment]
            print(progress, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()
