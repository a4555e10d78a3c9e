"""Records verified again, each by its problem, in plain Python; nothing of the search is used.

verify(store, select(store, "isosceles"))    # [Checked(record=…, reason=None), …]
"""

from collections.abc import Sequence
from dataclasses import dataclass

from handloom.core import HandloomError
from handloom.core.callbacks import Progress
from handloom.discover.records.selection import Asked, by_problem, problem_of
from handloom.discover.records.store import Record, Store, wrong


@dataclass(frozen=True)
class Checked:
    """A record, and what is wrong with it, if anything; or why it could not be verified."""

    record: Record
    reason: str | None = None
    unknown: str | None = None  # why its problem could not be had

    @property
    def right(self) -> bool:
        return self.reason is None and self.unknown is None


def verify(
    store: Store, records: Sequence[Record], asked: Asked = None, progress: Progress = lambda done, most: None
) -> list[Checked]:
    """Verify records of a store again. A damaged file raises an error."""
    store.check_whole()
    checked: list[Checked] = []
    for name, some in by_problem(records):
        try:
            problem = problem_of(name, asked)
        except HandloomError as error:
            checked += [Checked(record, unknown=str(error)) for record in some]
            continue
        for record in some:
            progress(len(checked), len(records))
            checked.append(Checked(record, wrong(problem, record)))
    return checked
