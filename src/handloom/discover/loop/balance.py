"""What a generation's searches start from, and how many: proposals of the model or of what it is compared with, and
nothing. The share of each follows from what has paid so far.

A search has paid if its result is among the best tenth of the pool when the generation ends. The share of proposals is
that of their rate, results that paid per step of search, in both rates together. Nothing here depends on time, so that
a seed gives the same run on every machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from handloom.discover.loop.ledger import Member

FIRST = 250  # searches of the first generation with proposals; each later one has twice as many
LEAST, MOST = 0.1, 0.9  # of all searches, from proposals
BEGIN = 0.75
TOP, FEW = 0.1, 10  # what has paid: this share of the pool, but at least that many

PROPOSED, SEARCHED = "proposals", "search"


@dataclass
class Balance:
    """The share of proposals, and the results of this generation by what they started from."""

    share: float = BEGIN
    generations: int = 0  # with proposals
    steps: dict[str, int] = field(default_factory=lambda: {PROPOSED: 0, SEARCHED: 0})
    members: dict[str, list[Member]] = field(default_factory=lambda: {PROPOSED: [], SEARCHED: []})

    def count(self, source: str, steps: int, member: Member | None) -> None:
        """A search from a source made these steps; its result is a new member of the pool, or not."""
        self.steps[source] += steps
        if member is not None:
            self.members[source].append(member)

    def sizes(self, most: int) -> tuple[int, int]:
        """How many proposals to draw, and how many searches to begin from nothing, of at most `most` together."""
        total = min(most, FIRST << self.generations)
        proposals = max(1, round(self.share * total))
        return proposals, max(1, total - proposals)

    def settle(self, best: Sequence[Member]) -> None:
        """The generation is over, and these are the members of the pool, the best first."""
        top = {member.construction for member in best[: max(FEW, round(TOP * len(best)))]}
        rates = {}
        for source, steps in self.steps.items():
            paid = sum(member.construction in top for member in self.members[source])
            rates[source] = (paid + 1) / max(1, steps)
        wanted = rates[PROPOSED] / (rates[PROPOSED] + rates[SEARCHED])
        self.share = (self.share + min(MOST, max(LEAST, wanted))) / 2
        self.generations += 1
        self.forget()

    def forget(self) -> None:
        self.steps, self.members = {PROPOSED: 0, SEARCHED: 0}, {PROPOSED: [], SEARCHED: []}
