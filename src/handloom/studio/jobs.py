"""Stand-in until jobs lands: no jobs."""

from handloom.studio.events import Events


class Jobs:
    def __init__(self, events: Events) -> None:
        self.events = events

    def close(self) -> None:
        """Nothing runs."""
