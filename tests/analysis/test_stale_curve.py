"""The climb over the candidates."""

from __future__ import annotations

import pytest

from visceral_cli.analysis.binomial import upper
from visceral_cli.analysis.stale_curve import (
    CurvePoint,
    Guard,
    StaleCurve,
    climb,
    smallest_passing_rate,
)
from visceral_cli.settings import FreshnessSettings


def point(seconds: int, observations: float, stale: float = 0, *, uncut=None, guards=()):
    bound = upper(stale, observations, 0.05)
    return CurvePoint(
        freshness_ns=seconds * 1_000_000_000,
        serves=1000,
        stale=round(1000 * stale / observations),
        observations=observations if uncut is None else uncut,
        runs=30,
        near_results=30,
        largest_age_ns=seconds * 1_000_000_000,
        counted_serves=1000,
        counted_stale=round(1000 * stale / observations),
        counted_results=1000,
        counted_observations=observations,
        stale_rate_bound=bound,
        passes_at=bound,
        failed_guards=guards,
    )


def climbed(*points: CurvePoint) -> tuple[float | None, float | None]:
    curve = StaleCurve(points, 1000, 30, 10**15, None)
    found = climb(curve, 0.05, FreshnessSettings())
    ends = (found.accepted, found.stopped_by)
    return tuple(None if end is None else end.freshness_seconds for end in ends)


@pytest.mark.parametrize(
    ("points", "accepted", "stopped_by"),
    [
        ([], None, None),
        ([point(1, 298)], None, None),
        ([point(1, 299)], 1, None),
        ([point(1, 300), point(2, 298), point(5, 300)], 5, None),
        ([point(1, 300), point(2, 1000, 20), point(5, 300)], 1, 2),
        ([point(1, 472, 5), point(2, 300)], 2, None),
        ([point(1, 473, 5), point(2, 300)], None, 1),
        ([point(1, 310, 5, uncut=473), point(2, 300)], None, 1),
        ([point(1, 298, uncut=473), point(2, 300)], 2, None),
        ([point(1, 1000, 20, guards=(Guard.RUNS,)), point(2, 300)], 2, None),
        ([point(1, 300), point(2, 300, guards=(Guard.SPAN,))], 1, None),
    ],
    ids=[
        "nothing",
        "one too few",
        "just enough",
        "thin in between",
        "stale in between",
        "stale, but too thin to stop",
        "stale, and just firm enough to stop",
        "firm before the cut",
        "too few after the cut",
        "unsupported ones do not stop",
        "unsupported ones are not accepted",
    ],
)
def test_the_climb(points, accepted, stopped_by):
    assert climbed(*points) == (accepted, stopped_by)


def test_the_smallest_passing_rate_minds_what_would_stop_the_climb():
    settings = FreshnessSettings()
    stale, clean = point(1, 1000, 20), point(2, 200)
    curve = StaleCurve((stale, clean), 1000, 30, 10**15, None)
    assert smallest_passing_rate(curve, settings) == (stale.passes_at, stale)
    alone = StaleCurve((clean,), 1000, 30, 10**15, None)
    assert smallest_passing_rate(alone, settings) == (clean.passes_at, clean)
    unsupported = StaleCurve((point(2, 200, guards=(Guard.RUNS,)),), 1000, 30, 10**15, None)
    assert smallest_passing_rate(unsupported, settings) is None
