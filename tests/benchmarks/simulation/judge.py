"""What a rule does on later calls: how often it is wrong there, and how much it takes.

Serving is replayed call by call, with a store of its own kind, so that a fault of the analysis
would show here and not repeat itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simulation.processes import Chances, Law
from simulation.workload import SECOND, Codes, Times, Workload

CANDIDATES_SECONDS = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600),
    *(28800, 43200, 86400, 172800, 259200, 604800),
)
"""The ages that the oracle may choose from."""


@dataclass(frozen=True, slots=True)
class Served:
    """The calls that a store would have answered, and when their results were stored."""

    call: Codes
    stored: Times


class Later:
    """The calls after the traces, with what each freshness would serve of them."""

    def __init__(self, calls: Workload, *, writers_are_seen: bool) -> None:
        self.calls = calls
        writes: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        if writers_are_seen:
            columns = (calls.writes.run, calls.writes.start, calls.writes.end)
            for run, start, end in zip(*(each.tolist() for each in columns), strict=True):
                writes[run].append((start, end))
        self._writes = dict(writes)
        order = np.argsort(calls.identity, kind="stable")
        bounds = np.searchsorted(calls.identity[order], np.arange(calls.identities + 1))
        self._of_identity = [
            (rows, *(each[rows].tolist() for each in (calls.start, calls.end, calls.run)))
            for rows in (order[a:b] for a, b in pairwise(bounds))
            if len(rows) > 1
        ]
        self._by_freshness: dict[int, Served] = {}

    def renamed(self, first: int) -> Later:
        """Return the same calls, with identities from ``first`` on."""
        other = copy(self)
        other.calls = self.calls.renamed(first)
        return other

    def candidates(self) -> Iterator[tuple[int, Served]]:
        """Yield what each freshness that the oracle may choose serves."""
        for seconds in CANDIDATES_SECONDS:
            freshness_ns = seconds * SECOND
            if freshness_ns not in self._by_freshness:
                self._by_freshness[freshness_ns] = self.served(freshness_ns)
            yield freshness_ns, self._by_freshness[freshness_ns]

    def served(self, freshness_ns: int) -> Served:
        """Return what is served if results may be so old."""
        calls: list[int] = []
        stored: list[int] = []
        for rows, starts, ends, runs in self._of_identity:
            places: list[int] = []
            replay(starts, ends, runs, self._writes, freshness_ns, places, stored)
            calls += rows[places].tolist()
        return Served(np.array(calls, np.int64), np.array(stored, np.int64))


def replay(
    starts: list[int],
    ends: list[int],
    runs: list[int],
    writes: dict[int, list[tuple[int, int]]],
    freshness_ns: int,
    places: list[int],
    stored: list[int],
) -> None:
    """Serve the calls of one identity, and add to ``places`` and ``stored`` which, and from when.

    ``writes``: by run, the start and end of each call of a writer in it.
    """
    newest = -1  # the start of the stored result; times are never negative
    flying: list[tuple[int, int]] = []
    for place, (start, end, run) in enumerate(zip(starts, ends, runs, strict=True)):
        if flying:
            landed = [began for until, began in flying if until <= start]
            if landed:
                newest = max(newest, *landed)
                flying = [each for each in flying if each[0] > start]
        is_served, is_stored = newest >= 0 and start - newest <= freshness_ns, True
        if run in writes:
            voided = any(begins <= start and newest <= until for begins, until in writes[run])
            is_served = is_served and not voided
            is_stored = not any(begins <= end and start <= until for begins, until in writes[run])
        if is_served:
            places.append(place)
            stored.append(newest)
        elif is_stored:
            flying.append((end, start))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What serving a set of calls comes to."""

    served: int
    stale: float
    """How many of them are expected to be stale."""
    saved_seconds: float

    @property
    def stale_rate(self) -> float:
        """Return the share of the served results that are stale."""
        return self.stale / self.served if self.served else 0.0


def judge(law: Law, later: Later, freshness_ns: int, identities: Codes) -> Outcome:
    """Serve these identities up to this age."""
    served = later.served(freshness_ns)
    chosen = np.isin(later.calls.identity[served.call], identities)
    call, stored = served.call[chosen], served.stored[chosen]
    calls = later.calls
    chance = law.stale(calls, calls.identity[call], stored, calls.start[call])
    seconds = (calls.end[call] - calls.start[call]).sum() / SECOND
    return Outcome(len(call), float(chance.sum()), float(seconds))


def oracle_seconds(law: Law, later: Later, rate: float, longest_ns: int) -> tuple[float, float]:
    """Return the most seconds that one freshness and a set of identities save within ``rate``.

    The oracle knows how often each identity is stale at each freshness, and leaves out the worst
    ones; the last one it takes in part. The second number is what it saves with no freshness above
    ``longest_ns``.
    """
    saved = [
        (freshness_ns, _best_identities(law, later.calls, served, rate))
        for freshness_ns, served in later.candidates()
    ]
    within = [seconds for freshness_ns, seconds in saved if freshness_ns <= longest_ns]
    return max(seconds for _, seconds in saved), max(within)


def _best_identities(law: Law, calls: Workload, served: Served, rate: float) -> float:
    identity = calls.identity[served.call]
    chance: Chances = law.stale(calls, identity, served.stored, calls.start[served.call])
    serves = np.bincount(identity, minlength=calls.identities).astype(np.float64)
    stale = np.bincount(identity, chance, minlength=calls.identities)
    seconds = np.bincount(
        identity,
        (calls.end[served.call] - calls.start[served.call]) / SECOND,
        minlength=calls.identities,
    )
    asked = np.flatnonzero(serves)
    order = asked[np.argsort(stale[asked] / serves[asked], kind="stable")]
    excess = np.cumsum(stale[order] - rate * serves[order])
    within = excess <= 1e-9
    taken = float(seconds[order][within].sum())
    if not within.all():
        # Excess falls before it rises, so those within come first.
        nth = int(np.argmin(within))
        room = -(excess[nth - 1] if nth else 0.0)
        more = float(stale[order[nth]] - rate * serves[order[nth]])
        taken += float(seconds[order[nth]]) * max(0.0, room) / more
    return taken
