"""Stand-in until jobs lands: no jobs."""

from typing import Any

from handloom.studio.events import Events


class Jobs:
    def __init__(self, events: Events) -> None:
        self.events = events

    def close(self) -> None:
        """Nothing runs."""

    def list(self) -> "list[dict[str, Any]]":
        return []
