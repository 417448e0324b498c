"""The candidate freshnesses of a tool, each measured: calls in, stale curve out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import msgspec
import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.comparison import (
    Compared,
    Tally,
    compare,
    counted_tally,
    last_ages_ns,
    passing_rate,
    runs_served,
    tally,
)
from visceral_cli.analysis.history import (
    Codes,
    Places,
    Times,
    ToolCalls,
    Writers,
    count_distinct,
)
from visceral_cli.analysis.lanes import Lanes, lay_out, narrow
from visceral_cli.analysis.proof import observations_needed, upper_bound
from visceral_cli.analysis.stale_curve import CurvePoint, Guard, StaleCurve, allowed_error, climb
from visceral_cli.settings import FreshnessSettings

SECOND_NS = 1_000_000_000
GRID_SECONDS = (
    *(1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 14400, 21600, 28800, 43200),
    *(86400, 172800, 259200, 604800, 1209600, 2592000),
)
"""The candidates: values a person would write."""


def with_identity(calls: ToolCalls) -> ToolCalls:
    """Return the calls whose identity is known."""
    if not np.any(calls.identity < 0):
        return calls
    row = np.flatnonzero(calls.identity >= 0)
    return replace(
        calls,
        start_ns=calls.start_ns[row],
        end_ns=calls.end_ns[row],
        identity=calls.identity[row],
        run=calls.run[row],
        content=calls.content[row],
        host=None if calls.host is None else calls.host[row],
        question=None if calls.question is None else calls.question[row],
    )


def cap_ns(calls: ToolCalls, settings: FreshnessSettings) -> int | None:
    """Return the smaller of the author's and the user's upper limit; 0: never serve."""
    limits = (calls.declared_freshness_seconds, settings.max_freshness_seconds)
    given = [limit for limit in limits if limit is not None]
    if not given:
        return None
    if not all(limit > 0 for limit in given):  # not a number: never, as well
        return 0
    smallest = min(given)
    return None if math.isinf(smallest) else round(smallest * SECOND_NS)


def grid_ns(cap: int | None) -> list[int]:
    """Return the candidates, ascending: those below ``cap``, then ``cap`` itself."""
    grid = [seconds * SECOND_NS for seconds in GRID_SECONDS]
    if cap is None:
        return grid
    return [each for each in grid if each < cap] + ([cap] if cap else [])


def block_of(calls: int, blocks: int) -> Places:
    """Return the block of each call in order of time, from 0; blocks are equal in calls."""
    return np.arange(calls) * blocks // max(calls, 1)


def measure_curve(
    calls: ToolCalls,
    writers: Writers | None,
    settings: FreshnessSettings,
    *,
    unlike: Codes | None = None,
) -> StaleCurve:
    """Replay every candidate that could matter.

    Those too long for the span of the traces are measured only where the others prove nothing, to
    tell what a longer history would give. ``unlike``: as in ``compare``, for each of ``calls``.
    """
    if unlike is not None:
        unlike = unlike[calls.identity >= 0]
    calls = with_identity(calls)
    size = len(calls.start_ns)
    span_ns = int(calls.start_ns[-1] - calls.start_ns[0]) if size else 0
    cap = cap_ns(calls, settings)
    grid = grid_ns(cap)
    limit = longest_supported_ns(span_ns, settings)
    within = sum(each <= limit for each in grid)
    lanes = lay_out(calls, writers)
    measure = _Measure(lanes, block_of(size, settings.blocks), limit, settings, unlike)
    points = measure.points(grid, 0, within)
    curve = StaleCurve(tuple(points), size, count_distinct(calls.run), span_ns, cap)
    found = climb(curve, allowed_error(settings), settings)
    if found.accepted is None and found.stopped_by is None:
        longest = longest_age_ns(lanes)
        beyond = next((nth + 1 for nth, each in enumerate(grid) if each >= longest), len(grid))
        points += measure.points(grid, within, beyond)
        curve = StaleCurve(tuple(points), size, curve.runs, span_ns, cap)
    return curve


def longest_supported_ns(span_ns: int, settings: FreshnessSettings) -> int:
    """Return the longest freshness that the traces span often enough."""
    return math.floor(span_ns / Fraction(settings.span_factor))


def longest_age_ns(lanes: Lanes) -> int:
    """Return the longest time between two calls of one identity."""
    if not len(lanes.row):
        return 0
    first = np.flatnonzero(np.diff(lanes.lane, prepend=-1))
    last = np.append(first[1:], len(lanes.row)) - 1
    return int((lanes.start_ns[last] - lanes.start_ns[first]).max())


class _Counted(msgspec.Struct, frozen=True):
    """What was compared, counted: the same for all candidates that serve the same."""

    compared: Compared
    everything: Tally
    counts: Tally
    """Of the serves that count."""
    bound: float
    runs: int
    ages_ns: Times
    """For each stored result that served, the largest age it was compared at."""
    saved_ns: int


class _Measure:
    """Measures candidates of one tool."""

    def __init__(
        self,
        lanes: Lanes,
        blocks: Places,
        limit_ns: int,
        settings: FreshnessSettings,
        unlike: Codes | None,
    ) -> None:
        self._lanes, self._blocks, self._limit_ns = lanes, blocks, limit_ns
        self._settings, self._unlike = settings, unlike
        self._rate, self._delta = settings.max_stale_rate, allowed_error(settings)
        self._enough = observations_needed(0, self._rate, self._delta, anytime=settings.anytime)

    def points(self, grid: Sequence[int], first: int, end: int) -> list[CurvePoint]:
        """Measure the candidates from ``first`` to before ``end``, from the longest down.

        What a shorter freshness cannot connect is dropped on the way.
        """
        lanes, longest = self._lanes, longest_age_ns(self._lanes)
        counted = None
        points = []
        for nth in range(end - 1, first - 1, -1):
            if counted is None or (grid[nth] < longest and len(lanes.row)):
                lanes = narrow(lanes, grid[nth])
                compared = compare(lanes, grid[nth], self._blocks, unlike=self._unlike)
                counted = self._count(compared)
            points.append(self._point(counted, grid[nth], grid[nth - 1] if nth else 0))
        return points[::-1]

    def _count(self, compared: Compared) -> _Counted:
        counts = counted_tally(compared.cells, self._rate, self._delta)
        bound = upper_bound(
            counts.stale_observations,
            counts.observations,
            self._delta,
            anytime=self._settings.anytime,
        )
        return _Counted(
            compared=compared,
            everything=tally(compared.cells),
            counts=counts,
            bound=bound,
            runs=runs_served(compared),
            ages_ns=last_ages_ns(compared),
            saved_ns=int(compared.lanes.duration_ns[compared.call].sum()),
        )

    def _point(self, counted: _Counted, freshness_ns: int, previous_ns: int) -> CurvePoint:
        everything, counts, bound = counted.everything, counted.counts, counted.bound
        runs, near = counted.runs, int(np.count_nonzero(counted.ages_ns > previous_ns))
        failed = self._failed_guards(freshness_ns, runs, near)
        passes_at = bound
        if not failed and (bound > self._rate or counts.observations < self._enough):
            passes_at = passing_rate(
                counted.compared.cells, self._rate, self._delta, anytime=self._settings.anytime
            )
        return CurvePoint(
            freshness_ns=freshness_ns,
            serves=everything.serves,
            stale=everything.stale,
            observations=everything.observations,
            runs=runs,
            near_results=near,
            largest_age_ns=int(counted.ages_ns.max(initial=0)),
            counted_serves=counts.serves,
            counted_stale=counts.stale,
            counted_results=counts.results,
            counted_observations=counts.observations,
            stale_rate_bound=bound,
            passes_at=passes_at,
            failed_guards=failed,
            anytime=self._settings.anytime,
            saved_ns=counted.saved_ns,
        )

    def _failed_guards(self, freshness_ns: int, runs: int, near: int) -> tuple[Guard, ...]:
        settings = self._settings
        holds = {
            Guard.RUNS: runs >= settings.min_runs,
            Guard.RESULTS: near >= settings.min_results,
            Guard.SPAN: freshness_ns <= self._limit_ns,
        }
        return tuple(guard for guard, held in holds.items() if not held)
