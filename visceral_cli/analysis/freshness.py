"""How old a stored result of each tool may be: calls in, a proven bound or what is missing out.

A bound says: served up to this age, at most such a share of the results is stale. It is believed
with the user's confidence although many tools are tried at once: each tool is held to so much more
that among the bounds found the share of wrong ones stays within the allowed error (Benjamini and
Hochberg 1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec
import numpy as np

from visceral_cli.analysis import binomial
from visceral_cli.analysis.candidates import block_of, measure_curve, with_identity
from visceral_cli.analysis.change_pattern import (
    ChangePattern,
    SharedChanges,
    expected_moments,
    find_change_pattern,
)
from visceral_cli.analysis.comparison import Compared, Cut, compare, cut
from visceral_cli.analysis.history import Codes, Flags, Places, ToolCalls, Writers
from visceral_cli.analysis.lanes import Lanes, lay_out
from visceral_cli.analysis.missing import Missing, what_is_missing
from visceral_cli.analysis.proof import observations_needed
from visceral_cli.analysis.stability import Instability, find_instability
from visceral_cli.analysis.stale_curve import (
    Climb,
    CurvePoint,
    StaleCurve,
    allowed_error,
    climb,
    smallest_passing_rate,
)
from visceral_cli.settings import FreshnessSettings

_CLOCK_NOTE_NS = 5 * 1_000_000_000


class Scope(StrEnum):
    """Which calls a bound speaks for."""

    TOOL = "tool"
    """Any arguments, those never seen included; less the identities that changed."""
    IDENTITIES = "identities"
    """The identities that were compared."""


class IdentityEvidence(msgspec.Struct, frozen=True):
    """What each identity contributed at one freshness: one element per identity with a serve."""

    identity: Codes
    """Codes of ``ToolCalls.identity``, ascending."""
    serves: Places
    stale: Places
    counted_serves: Places
    volatile: Flags
    """Whether it has shown to change too often: excluded."""
    in_scope: Flags
    """Whether a rule names it: its question has a counted serve and is not excluded."""

    @property
    def included(self) -> Codes:
        """Return the identities that a rule of scope ``identities`` names."""
        return self.identity[self.in_scope]

    @property
    def excluded(self) -> Codes:
        """Return the identities that a rule must not serve."""
        return self.identity[self.volatile]


class OldHalf(msgspec.Struct, frozen=True):
    """The counted serves that were older than half the freshness."""

    serves: int
    stale: int
    worse: bool
    """They are worse than tolerated: fewer quick repeats would raise the share of stale ones."""


class Bound(msgspec.Struct, frozen=True):
    """A freshness that the evidence supports."""

    freshness_ns: int
    """The accepted candidate, or the largest age compared where that is less."""
    stale_rate_bound: float
    """At most this share of serves is stale, at confidence 1 - ``level``."""
    level: float
    """1 - confidence, after sharing it over the tools."""
    scope: Scope
    point: CurvePoint
    """The accepted candidate: serves, stale ones, observations, results and runs."""
    identities: IdentityEvidence
    old_half: OldHalf
    shared_change_rate: float
    """The share of stale serves that remains possible if identities change at once: all of them,
    or as many as were seen to."""
    clocks_differ: bool
    """The freshness is under 5 s and calls of one identity come from several hosts."""
    instability: Instability | None
    changes: ChangePattern
    tolerated_rate: float
    """The share of stale serves that the user allows."""
    curve: StaleCurve

    @property
    def late_stale_rate(self) -> float | None:
        """Return the share of stale serves if results go on to change as fast as at the end.

        ``None``: they changed no faster then.
        """
        late = self.changes.late
        return None if late is None else min(1.0, self.stale_rate_bound * late.factor)

    @property
    def freshness_seconds(self) -> float:
        """Return the freshness in seconds."""
        return self.freshness_ns / 1e9


class NoBound(msgspec.Struct, frozen=True):
    """Evidence that supports no freshness, and what it lacks; the tool remains a candidate."""

    missing: tuple[Missing, ...]
    """The first is the one to name; the others fail at the same candidate."""
    level: float
    point: CurvePoint | None
    """The candidate that comes closest; ``None`` where no serve was compared."""
    largest_age_ns: int
    """The largest age at which anything was compared; 0: nothing was."""
    passes_at: float | None
    """The smallest tolerated stale rate at which this tool, analysed alone, gets a bound today.
    Round it up when printing."""
    passing_point: CurvePoint | None
    """The candidate it would get there."""
    identities: IdentityEvidence | None
    """At ``point``."""
    instability: Instability | None
    curve: StaleCurve

    @property
    def largest_age_seconds(self) -> float:
        """Return the largest age compared in seconds."""
        return self.largest_age_ns / 1e9


def freshness_bounds(
    tools: Sequence[ToolCalls], writers: Writers | None, settings: FreshnessSettings
) -> list[Bound | NoBound]:
    """Return the bound of each tool, or what it lacks, in the order of ``tools``."""
    curves = [measure_curve(calls, writers, settings) for calls in tools]
    level, climbs = share_confidence(curves, settings)
    return [
        conclude(calls, writers, curve, found, level, settings)
        for calls, curve, found in zip(tools, curves, climbs, strict=True)
    ]


def share_confidence(
    curves: Sequence[StaleCurve], settings: FreshnessSettings
) -> tuple[float, list[Climb]]:
    """Return the level at which each tool is held to the evidence, and how far each one climbs.

    With R of M tools getting a bound, each is held to R/M of the allowed error. Tools without
    evidence enough for any bound do not count among the M.
    """
    delta = allowed_error(settings)
    enough = observations_needed(0, settings.max_stale_rate, delta, anytime=settings.anytime)
    level, climbs = delta, [climb(curve, delta, settings) for curve in curves]
    tested = sum(_is_tested(curve, enough) for curve in curves)
    bounds = _count(climbs)
    while settings.false_discovery_control and 0 < bounds < tested:
        level = delta * bounds / tested
        climbs = [climb(curve, level, settings) for curve in curves]
        before, bounds = bounds, _count(climbs)
        if bounds == before:
            break
    return level, climbs


def _is_tested(curve: StaleCurve, enough: int) -> bool:
    return any(
        point.supported and max(point.observations, point.counted_observations) >= enough
        for point in curve.points
    )


def _count(climbs: Sequence[Climb]) -> int:
    return sum(found.accepted is not None for found in climbs)


def conclude(
    calls: ToolCalls,
    writers: Writers | None,
    curve: StaleCurve,
    found: Climb,
    level: float,
    settings: FreshnessSettings,
) -> Bound | NoBound:
    """Return what the climb of one tool comes to."""
    calls = with_identity(calls)
    lanes = lay_out(calls, writers)
    if found.accepted is None:
        return _no_bound(calls, lanes, curve, level, settings)
    point = found.accepted
    freshness_ns = min(point.freshness_ns, point.largest_age_ns)
    detail = _Detail.at(lanes, freshness_ns, len(calls.start_ns), settings)
    identities = detail.identities(calls)
    delta = allowed_error(settings)
    enough = observations_needed(0, settings.max_stale_rate, delta, anytime=settings.anytime)
    pooled = binomial.effective(_by_question(calls, identities)) >= enough
    changes = find_change_pattern(calls, lanes, freshness_ns, detail.cut.volatile, delta)
    return Bound(
        freshness_ns=freshness_ns,
        stale_rate_bound=point.bound_at(level),
        level=level,
        scope=Scope.TOOL if pooled else Scope.IDENTITIES,
        point=point,
        identities=identities,
        old_half=detail.old_half(freshness_ns, settings),
        shared_change_rate=shared_change_rate(
            freshness_ns, curve.span_ns, delta, seen=changes.shared
        ),
        clocks_differ=freshness_ns < _CLOCK_NOTE_NS and _has_several_hosts(calls, lanes),
        instability=find_instability(lanes, settings),
        changes=changes,
        tolerated_rate=settings.max_stale_rate,
        curve=curve,
    )


def _by_question(calls: ToolCalls, identities: IdentityEvidence) -> Places:
    """Return the counted serves of each question, whoever asked it."""
    if calls.question is None:
        return identities.counted_serves
    _, nth = np.unique(_question_of(calls)[identities.identity], return_inverse=True)
    return np.bincount(nth, weights=identities.counted_serves).astype(np.int64)


def questions_of(calls: ToolCalls, identities: Codes) -> Codes:
    """Return the distinct questions of some identities, whoever asked them."""
    return identities if calls.question is None else np.unique(_question_of(calls)[identities])


def _question_of(calls: ToolCalls) -> Codes:
    """Return the question by identity."""
    assert calls.question is not None
    known = calls.identity >= 0
    question = np.zeros(int(calls.identity.max(initial=0)) + 1, np.int32)
    question[calls.identity[known]] = calls.question[known]
    return question


def _no_bound(
    calls: ToolCalls, lanes: Lanes, curve: StaleCurve, level: float, settings: FreshnessSettings
) -> NoBound:
    lack = what_is_missing(curve, level, settings)
    passing = smallest_passing_rate(curve, settings)
    detail = None
    if lack.point is not None:
        detail = _Detail.at(lanes, lack.point.freshness_ns, len(calls.start_ns), settings)
    return NoBound(
        missing=lack.missing,
        level=level,
        point=lack.point,
        largest_age_ns=max((point.largest_age_ns for point in curve.points), default=0),
        passes_at=None if passing is None else passing[0],
        passing_point=None if passing is None else passing[1],
        identities=None if detail is None else detail.identities(calls),
        instability=find_instability(lanes, settings),
        curve=curve,
    )


def shared_change_rate(
    freshness_ns: int, span_ns: int, delta: float, *, seen: SharedChanges | None = None
) -> float:
    """Return the share of stale serves that is not ruled out if identities change together.

    Then only the time span is evidence: changes that come at random and were not seen once in the
    span come, at confidence 1 - delta, at most ``-ln(delta)`` times in it, and each makes half a
    freshness of serves stale. Those that were seen come oftener, but not to every identity.
    """
    if not span_ns:
        return 1.0
    moments = expected_moments(0, delta)
    if seen is not None:
        moments = max(moments, expected_moments(seen.moments, delta) * seen.share)
    return min(1.0, moments / 2 * freshness_ns / span_ns)


class _Detail(msgspec.Struct, frozen=True):
    """The serves of one freshness, and which of them count."""

    compared: Compared
    cut: Cut

    @classmethod
    def at(
        cls, lanes: Lanes, freshness_ns: int, calls: int, settings: FreshnessSettings
    ) -> _Detail:
        compared = compare(lanes, freshness_ns, block_of(calls, settings.blocks))
        rate, delta = settings.max_stale_rate, allowed_error(settings)
        return cls(compared, cut(compared.cells, rate, delta))

    def identities(self, calls: ToolCalls) -> IdentityEvidence:
        cells = self.compared.cells
        first = np.flatnonzero(np.diff(cells.lane, prepend=-1))
        counted = np.add.reduceat(cells.serves * self.cut.counted, first)
        lane = cells.lane[first]
        volatile = np.isin(lane, self.cut.volatile)
        asked, nth = np.unique(cells.asked[first], return_inverse=True)
        counted_of_question = np.bincount(nth, weights=counted, minlength=len(asked))[nth]
        row = self.compared.lanes.row[np.searchsorted(self.compared.lanes.lane, lane)]
        return IdentityEvidence(
            identity=calls.identity[row],
            serves=np.add.reduceat(cells.serves, first),
            stale=np.add.reduceat(cells.stale, first),
            counted_serves=counted,
            volatile=volatile,
            in_scope=(counted_of_question > 0) & ~volatile,
        )

    def old_half(self, freshness_ns: int, settings: FreshnessSettings) -> OldHalf:
        counted = np.repeat(self.cut.counted, self.compared.cells.serves)
        old = counted & (2 * self.compared.ages_ns > freshness_ns)
        serves = int(np.count_nonzero(old))
        stale = int(np.count_nonzero(old & self.compared.stale))
        at_least = binomial.lower(stale, serves, allowed_error(settings))
        return OldHalf(serves, stale, at_least > settings.max_stale_rate)


def _has_several_hosts(calls: ToolCalls, lanes: Lanes) -> bool:
    if calls.host is None or not len(lanes.row):
        return False
    host = calls.host[lanes.row]
    return bool(np.any((host[1:] != host[:-1]) & (lanes.lane[1:] == lanes.lane[:-1])))
