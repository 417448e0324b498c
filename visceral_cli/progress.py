"""How a long run tells what it is doing; the command line draws it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """What a stage tells while it works. A call costs little; it need not be one per span."""

    def start(self, total_bytes: int | None) -> None:
        """Reading begins; ``None`` where the length of the inputs is not known, as from a pipe."""

    def advance(self, bytes_done: int, spans: int) -> None:
        """Add what was read since the last call: bytes as they lie on the disk, and spans."""

    def stage(self, name: str) -> None:
        """A stage without a known length begins, such as ``measuring freshness``."""

    def done(self) -> None:
        """All is done, or was given up; calling it twice is fine."""


class Silent:
    """A progress that nobody sees."""

    def start(self, total_bytes: int | None) -> None:
        """Tell nobody."""

    def advance(self, bytes_done: int, spans: int) -> None:
        """Tell nobody."""

    def stage(self, name: str) -> None:
        """Tell nobody."""

    def done(self) -> None:
        """Tell nobody."""
