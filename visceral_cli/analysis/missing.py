"""Why a tool gets no freshness bound: what is missing, with both numbers."""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

from visceral_cli.analysis.proof import observations_needed
from visceral_cli.analysis.stale_curve import CurvePoint, Guard, StaleCurve, allowed_error, climb
from visceral_cli.settings import FreshnessSettings


class Shortfall(StrEnum):
    """What kind of evidence is missing."""

    DECLARED_NEVER = "declared-never"
    """The author or the user allows no freshness at all."""
    NO_REPEAT = "no-repeat"
    """No serve could be compared."""
    RUNS = "runs"
    RESULTS = "results"
    SPAN = "span"
    OBSERVATIONS = "observations"
    """All clean so far, but too few."""
    STALE = "stale"
    """Some serves were stale, more than the rest can make up for."""
    SHARED_CONFIDENCE = "shared-confidence"
    """Proven alone, but not with the confidence shared over several tools."""


class Missing(msgspec.Struct, frozen=True):
    """One thing that is missing."""

    kind: Shortfall
    has: float
    needs: float
    """In the unit of ``kind``: runs, stored results, seconds of traces, or observations."""
    message: str
    """The same as a sentence without a full stop."""


class Lack(msgspec.Struct, frozen=True):
    """Everything that is missing at the candidate that comes closest."""

    missing: tuple[Missing, ...]
    """The first is the one to name."""
    point: CurvePoint | None
    """The candidate; ``None`` where nothing was measured."""


def what_is_missing(curve: StaleCurve, level: float, settings: FreshnessSettings) -> Lack:
    """Return what a tool lacks that has no bound at confidence 1 - level."""
    if curve.cap_ns == 0:
        never = Missing(Shortfall.DECLARED_NEVER, 0, 0, "declared never to be served")
        return Lack((never,), None)
    if not any(point.serves for point in curve.points):
        nothing = "no call repeats an earlier one within the bound"
        return Lack((Missing(Shortfall.NO_REPEAT, 0, 1, nothing),), None)
    for find in (_unshared, _stopped, _unguarded):
        lack = find(curve, level, settings)
        if lack is not None:
            return lack
    return _too_few(curve, settings)


def _unshared(curve: StaleCurve, level: float, settings: FreshnessSettings) -> Lack | None:
    point = climb(curve, allowed_error(settings), settings).accepted
    if point is None:
        return None
    needs = _needed(point, level, settings)
    message = f"{_observations(point)}, needs {needs} with the confidence shared over several tools"
    has = point.counted_observations
    return Lack((Missing(Shortfall.SHARED_CONFIDENCE, has, needs, message),), point)


def _stopped(curve: StaleCurve, _level: float, settings: FreshnessSettings) -> Lack | None:
    point = climb(curve, allowed_error(settings), settings).stopped_by
    return None if point is None else Lack((_evidence(point, settings),), point)


def _unguarded(curve: StaleCurve, _level: float, settings: FreshnessSettings) -> Lack | None:
    """Find the candidate with proof enough but a failed guard: the fewest, then the shortest."""
    delta, rate = allowed_error(settings), settings.max_stale_rate
    enough = observations_needed(0, rate, delta, anytime=settings.anytime)
    proven = [
        point
        for point in curve.points
        if point.stale_rate_bound <= rate and point.counted_observations >= enough
    ]
    if not proven:
        return None
    point = min(proven, key=lambda each: (len(each.failed_guards), each.freshness_ns))
    return Lack(missing_guards(curve, point, settings), point)


def _too_few(curve: StaleCurve, settings: FreshnessSettings) -> Lack:
    """Find the candidate with the most observations, a supported one if there is any."""
    served = [point for point in curve.points if point.serves]
    candidates = [point for point in served if point.supported] or served
    point = max(candidates, key=lambda each: (each.counted_observations, -each.freshness_ns))
    return Lack((_evidence(point, settings), *missing_guards(curve, point, settings)), point)


def _evidence(point: CurvePoint, settings: FreshnessSettings) -> Missing:
    needs = _needed(point, allowed_error(settings), settings)
    has = point.counted_observations
    if not point.counted_stale:
        message = f"{_observations(point)}, needs {needs}"
        return Missing(Shortfall.OBSERVATIONS, has, needs, message)
    message = f"{_observations(point)}; with no further stale one it needs {needs}"
    return Missing(Shortfall.STALE, has, needs, message)


def _needed(point: CurvePoint, level: float, settings: FreshnessSettings) -> int:
    stale = math.ceil(point.stale_observations)
    return observations_needed(stale, settings.max_stale_rate, level, anytime=settings.anytime)


def _observations(point: CurvePoint) -> str:
    seen = math.floor(point.counted_observations)
    if not point.counted_stale:
        return f"{seen} clean observation{'' if seen == 1 else 's'}"
    stale = math.ceil(point.stale_observations * 10 - 1e-6) / 10
    return f"{stale:g} stale of {seen} observation{'' if seen == 1 else 's'}"


def missing_guards(
    curve: StaleCurve, point: CurvePoint, settings: FreshnessSettings
) -> tuple[Missing, ...]:
    """Return what the guards miss that fail at a candidate."""
    return tuple(_guard(guard, curve, point, settings) for guard in point.failed_guards)


def _guard(
    guard: Guard, curve: StaleCurve, point: CurvePoint, settings: FreshnessSettings
) -> Missing:
    if guard is Guard.RUNS:
        message = f"{point.runs} of {settings.min_runs} runs"
        return Missing(Shortfall.RUNS, point.runs, settings.min_runs, message)
    if guard is Guard.RESULTS:
        longest = _duration(point.freshness_seconds)
        message = (
            f"{point.near_results} of {settings.min_results} stored results"
            f" compared at an age near {longest}"
        )
        return Missing(Shortfall.RESULTS, point.near_results, settings.min_results, message)
    needs = point.freshness_seconds * settings.span_factor
    message = f"needs {_duration(needs)} of traces, has {_duration(curve.span_seconds)}"
    return Missing(Shortfall.SPAN, curve.span_seconds, needs, message)


def _duration(seconds: float) -> str:
    """Return a duration in its largest unit, rounded down to a tenth."""
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{_number(seconds / unit)} {name}"
    return f"{_number(seconds)} s"


def _number(value: float) -> str:
    return f"{math.floor(value * 10 + 1e-6) / 10:g}"
