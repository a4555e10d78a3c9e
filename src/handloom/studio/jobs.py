"""Stand-in until jobs lands: no jobs."""

from typing import Any

from handloom.studio.events import Events


class Jobs:
    def __init__(self, events: Events) -> None:
        self.events = events

    def start(self, spec: dict[str, Any]) -> Any:
        raise NotImplementedError

    def halt(self, number: int) -> None:
        raise NotImplementedError

    def list(self) -> list[dict[str, Any]]:
        return []

    def close(self) -> None:
        """Nothing runs."""
