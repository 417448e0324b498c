"""The stale curve of a tool: for each candidate freshness, what serving would have meant.

A **point** holds the evidence for one candidate. The choice of a freshness is a climb over the
points, so a curve also tells what another stale rate or confidence would have given.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from visceral_cli.analysis.proof import observations_needed, upper_bound
from visceral_cli.settings import FreshnessSettings


class Guard(StrEnum):
    """What must hold beside the statistics before a freshness is even considered."""

    RUNS = "runs"
    """Serves came in enough runs."""
    RESULTS = "results"
    """Enough stored results were compared at an age near this freshness."""
    SPAN = "span"
    """The traces span the freshness often enough."""


class CurvePoint(msgspec.Struct, frozen=True):
    """One candidate freshness.

    Only serves whose real result is known are in these figures. If any of them was stale, the
    ``counted`` ones are those in the later blocks of the history, of identities that the blocks
    before had not shown to change; otherwise all are counted.
    """

    freshness_ns: int
    serves: int
    stale: int
    observations: float
    """Effective number of stored results among all serves: each result is one observation."""
    runs: int
    """Runs that had a serve."""
    near_results: int
    """Stored results that were compared at an age above the previous candidate."""
    largest_age_ns: int
    """The largest age compared; 0 if none was."""
    counted_serves: int
    counted_stale: int
    counted_results: int
    """Stored results that the counted serves came from."""
    counted_observations: float
    stale_rate_bound: float
    """With the user's confidence, at most this share of the serves is stale."""
    passes_at: float
    """The smallest tolerated stale rate at which a supported point is accepted; where it passes
    already, or is not supported, just ``stale_rate_bound``."""
    failed_guards: tuple[Guard, ...]
    saved_ns: int = 0
    """The durations of all these serves."""
    anytime: bool = False
    """Whether bounds hold however often one looks."""

    @property
    def freshness_seconds(self) -> float:
        """Return the candidate in seconds."""
        return self.freshness_ns / 1e9

    @property
    def supported(self) -> bool:
        """Return whether all guards hold."""
        return not self.failed_guards

    @property
    def stale_observations(self) -> float:
        """Return how many of the counted observations were stale, in effect."""
        if not self.counted_serves:
            return 0.0
        return self.counted_observations * self.counted_stale / self.counted_serves

    def bound_at(self, level: float) -> float:
        """Return the share of stale serves that is not exceeded, at confidence 1 - level."""
        return upper_bound(
            self.stale_observations, self.counted_observations, level, anytime=self.anytime
        )


class StaleCurve(msgspec.Struct, frozen=True):
    """All candidates of one tool, in ascending order."""

    points: tuple[CurvePoint, ...]
    calls: int
    """Calls with an identity."""
    runs: int
    span_ns: int
    """From the first start to the last."""
    cap_ns: int | None
    """The upper limit that the author or the user declared, if any; may be 0."""

    @property
    def span_seconds(self) -> float:
        """Return the length of the history in seconds."""
        return self.span_ns / 1e9


class Climb(msgspec.Struct, frozen=True):
    """How far up the candidates of a tool are proven."""

    accepted: CurvePoint | None
    """The last accepted one."""
    stopped_by: CurvePoint | None
    """The first one that has enough evidence and is too often stale."""


def allowed_error(settings: FreshnessSettings) -> float:
    """Return 1 - confidence, without the digits that floating point adds."""
    return round(1 - settings.confidence, 12)


def climb(curve: StaleCurve, level: float, settings: FreshnessSettings) -> Climb:
    """Climb the supported points of ``curve`` upwards, each held to confidence 1 - level."""
    rate, delta = settings.max_stale_rate, allowed_error(settings)
    enough = observations_needed(0, rate, delta, anytime=settings.anytime)
    stops = observations_needed(1, rate, delta, anytime=settings.anytime)
    accepted = None
    for point in curve.points:
        if not point.supported or point.counted_observations < enough:
            continue
        if point.bound_at(level) <= rate:
            accepted = point
        elif point.observations >= stops:
            return Climb(accepted, point)
    return Climb(accepted, None)


def smallest_passing_rate(
    curve: StaleCurve, settings: FreshnessSettings
) -> tuple[float, CurvePoint] | None:
    """Return the smallest stale rate at which this tool alone would get a bound, and its point.

    ``None`` if no point is supported or none passes at a rate below 1.
    """
    delta = allowed_error(settings)
    supported = [point for point in curve.points if point.supported]
    for rate in sorted({point.passes_at for point in supported if point.passes_at < 1}):
        for point in supported:
            if point.passes_at <= rate:
                return rate, point
            stops = observations_needed(1, rate, delta, anytime=settings.anytime)
            if point.observations >= stops:
                break
    return None
