"""A clock and the spans that were recorded by it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from story.span_formats import Span, Value

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MONDAY = 1_772_434_800 * SECOND  # 2026-03-02T07:00:00Z


@dataclass(slots=True)
class Recorder:
    """Collects the spans of one service; ``now`` is its clock in nanoseconds."""

    rng: random.Random
    now: int = MONDAY
    spans: list[Span] = field(default_factory=list)
    trace_id: str = ""
    parents: list[str] = field(default_factory=list)

    def span_id(self) -> str:
        """Return a new span id."""
        return f"{self.rng.getrandbits(64):016x}"

    def begin_trace(self, at_ns: int) -> None:
        """Start a new trace at ``at_ns``."""
        self.now = at_ns
        self.trace_id = f"{self.rng.getrandbits(128):032x}"
        self.parents = []

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += int(seconds * SECOND)

    def leaf(self, name: str, attributes: dict[str, Value], seconds: float) -> Span:
        """Record a span without children; the clock moves to its end."""
        start = self.now
        self.wait(seconds)
        span = Span(
            self.trace_id,
            self.span_id(),
            self.parents[-1] if self.parents else "",
            name,
            start,
            self.now,
            attributes,
        )
        self.spans.append(span)
        return span

    def enter(self) -> tuple[str, int]:
        """Open a span with children; give the answer to :meth:`leave`."""
        opened = (self.span_id(), self.now)
        self.parents.append(opened[0])
        return opened

    def leave(self, opened: tuple[str, int], name: str, attributes: dict[str, Value]) -> None:
        """Close what :meth:`enter` opened."""
        self.parents.pop()
        self.wait(0.002)
        parent = self.parents[-1] if self.parents else ""
        span_id, start = opened
        self.spans.append(Span(self.trace_id, span_id, parent, name, start, self.now, attributes))

    def seconds(self, low: float, high: float) -> float:
        """Return a duration between two bounds, short ones more often."""
        return round(low * (high / low) ** self.rng.random(), 6)
