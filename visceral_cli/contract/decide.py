"""May this stored result answer this call: pure, no clock, no storage.

The same function answers live and over recorded calls, which is what makes a replay honest. All
times are integer nanoseconds of one clock; a call is decided at the moment it starts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

WRITER_RUNNING = 2**63 - 1
"""The end of a writer that has not ended: the far future."""


class Decision(StrEnum):
    """What to do with one call, and why."""

    SERVE = "serve"
    """Answer with the stored result."""
    NO_RESULT = "no-result"
    """Nothing is stored for its identity."""
    IN_FLIGHT = "in-flight"
    """The execution had not ended by then, or begins in the future: clocks that disagree."""
    EXPIRED = "expired"
    """The result is older than the freshness, or the freshness is zero or less: never."""
    WRITER = "writer"
    """A writer has overtaken the result."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """When the execution ran whose result is kept."""

    start_ns: int
    """A result is as old as the moment its execution began: it read the world no earlier."""
    end_ns: int


@dataclass(frozen=True, slots=True)
class Write:
    """One execution of a writer, whatever its outcome."""

    start_ns: int
    end_ns: int = WRITER_RUNNING


def decide(
    stored: StoredResult | None,
    *,
    now_ns: int,
    freshness_ns: int,
    last_write_end_ns: int | None,
) -> Decision:
    """Serve only a finished result that is fresh and that no writer has overtaken.

    ``freshness_ns`` is the greatest age that may be served, that age included.
    ``last_write_end_ns`` is that of `last_write_end` at ``now_ns``; ``None``: no writer yet. A
    result whose execution began at the very moment the writer ended is overtaken.
    """
    if stored is None:
        return Decision.NO_RESULT
    if stored.start_ns > now_ns or stored.end_ns > now_ns:
        return Decision.IN_FLIGHT
    if freshness_ns <= 0 or now_ns - stored.start_ns > freshness_ns:
        return Decision.EXPIRED
    if is_overtaken(stored.start_ns, last_write_end_ns=last_write_end_ns):
        return Decision.WRITER
    return Decision.SERVE


def may_store(start_ns: int, end_ns: int, writes: Iterable[Write]) -> bool:
    """Whether the result of an execution may be kept: no writer of its run overlapped it.

    Touching counts as overlapping. Writers that had ended before it began do no harm.
    """
    return not is_overtaken(start_ns, last_write_end_ns=last_write_end(writes, by_ns=end_ns))


def is_overtaken(start_ns: int, *, last_write_end_ns: int | None) -> bool:
    """Whether what began at ``start_ns`` may have read the world of before the write."""
    return last_write_end_ns is not None and start_ns <= last_write_end_ns


def last_write_end(writes: Iterable[Write], *, by_ns: int) -> int | None:
    """Return the latest end among the writers that had started by then; ``None`` if none had.

    The barrier stands from the start of a writer on. A writer that was still running then has an
    end after ``by_ns``, known or not, and so overtakes every result.
    """
    return max((write.end_ns for write in writes if write.start_ns <= by_ns), default=None)
