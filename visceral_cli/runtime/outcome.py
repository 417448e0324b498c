"""``Outcome``: what became of one call at the tool boundary, and why; counted and told."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from visceral_cli.runtime.forking import begin_afresh_after_fork

logger = logging.getLogger("visceral_cli.runtime")


class Kind(StrEnum):
    """What became of a call."""

    HIT = "hit"
    """Answered with a stored result."""
    VERIFIED = "verified"
    """Answered with a stored result, and the tool ran as well."""
    MISS = "miss"
    """The tool ran; nothing usable was stored."""
    STALE = "stale"
    """The tool ran; what was stored is too old."""
    INVALIDATED = "invalidated"
    """The tool ran; a writer has overtaken what was stored."""
    BYPASS = "bypass"
    """The tool ran; the caller asked not to use the cache."""
    UNCACHEABLE = "uncacheable"
    """The tool ran; its arguments have no identity, or its result cannot be kept."""
    ERROR = "error"
    """The tool raised, or its result says that it failed."""
    COALESCED = "coalesced"
    """Answered with the result of an equal call that was running already."""
    EVICTED = "evicted"
    """Older results were removed to make room; no call of its own."""
    FAIL_OPEN = "fail-open"
    """A step of the runtime failed and the tool ran; the reason names the step."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call; never carries an argument or a result."""

    kind: Kind
    tool: str
    namespace: str = ""
    reason: str = ""
    """A short fixed word or the name of an exception type."""
    age_seconds: float | None = None
    """Of the stored result, where there is one."""
    remaining_seconds: float | None = None
    """How long it may still be served."""
    count: int = 1


Listener = Callable[[Outcome], object]


class Outcomes:
    """Counts outcomes by tool, kind and reason, and hands each to a listener if there is one."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._counts: dict[tuple[str, str, str], int] = {}
        self.begin_afresh()
        begin_afresh_after_fork(self)

    def begin_afresh(self) -> None:
        """Begin afresh in a forked process; the counts so far are kept."""
        self._lock = threading.Lock()

    def add(
        self,
        kind: Kind,
        tool: str,
        namespace: str,
        reason: str = "",
        *,
        age_ns: int | None = None,
        remaining_ns: int | None = None,
        count: int = 1,
    ) -> None:
        """Count an `Outcome`, and tell it to the listener; one that raises is ignored."""
        place = tool, kind._value_, reason  # a member hashes by a call of its own
        with self._lock:
            self._counts[place] = self._counts.get(place, 0) + count
        if self._listener is None:
            return
        age = None if age_ns is None else age_ns / 1e9
        remaining = None if remaining_ns is None else remaining_ns / 1e9
        try:
            self._listener(Outcome(kind, tool, namespace, reason, age, remaining, count))
        except Exception:  # noqa: BLE001 - a listener is the user's code
            logger.debug("visceral: the outcome listener raised")

    def counts(self) -> dict[tuple[str, Kind, str], int]:
        """Return the number of outcomes by (tool, kind, reason)."""
        with self._lock:
            counts = list(self._counts.items())
        return {(tool, Kind(value), reason): count for (tool, value, reason), count in counts}

    def of_kind(self, kind: Kind) -> int:
        """Return how many outcomes of one kind there were."""
        return sum(number for (_, found, _), number in self.counts().items() if found is kind)

    def reasons(self, kind: Kind) -> dict[str, int]:
        """Return the outcomes of one kind by reason."""
        found: Counter[str] = Counter()
        for (_, of_kind, reason), number in self.counts().items():
            if of_kind is kind:
                found[reason] += number
        return dict(found)
