"""What is said where a tool gets no bound."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from visceral_cli.analysis.binomial import upper
from visceral_cli.analysis.missing import Shortfall, what_is_missing
from visceral_cli.analysis.stale_curve import CurvePoint, Guard, StaleCurve
from visceral_cli.settings import FreshnessSettings

SECOND = 1_000_000_000
HOUR = 3600 * SECOND


def point(seconds: float, observations: float, stale_rate: float = 0, *guards: Guard, **more):
    bound = upper(observations * stale_rate, observations, 0.05)
    plain = CurvePoint(
        freshness_ns=round(seconds * SECOND),
        serves=1000,
        stale=round(1000 * stale_rate),
        observations=observations,
        runs=29 if Guard.RUNS in guards else 30,
        near_results=29 if Guard.RESULTS in guards else 30,
        largest_age_ns=round(seconds * SECOND),
        counted_serves=1000,
        counted_stale=round(1000 * stale_rate),
        counted_results=1000,
        counted_observations=observations,
        stale_rate_bound=bound,
        passes_at=bound,
        failed_guards=guards,
    )
    return replace(plain, **more)


def messages(*points: CurvePoint, level: float = 0.05, span_ns: int = HOUR) -> list[str]:
    curve = StaleCurve(points, 1000, 30, span_ns, None)
    return [each.message for each in what_is_missing(curve, level, FreshnessSettings()).missing]


RUNS, RESULTS, SPAN = Guard.RUNS, Guard.RESULTS, Guard.SPAN


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([point(60, 187)], ["187 clean observations, needs 299"]),
        ([point(60, 298.9)], ["298 clean observations, needs 299"]),
        (
            [point(60, 100), point(120, 250, 0, RUNS)],
            ["100 clean observations, needs 299"],
        ),
        (
            [point(60, 100, 0, SPAN, RUNS), point(120, 250, 0, RUNS)],
            ["250 clean observations, needs 299", "29 of 30 runs"],
        ),
        (
            [point(60, 300, 0, RUNS, RESULTS), point(120, 300, 0, RESULTS)],
            ["29 of 30 stored results compared at an age near 2 min"],
        ),
        (
            [point(7200, 300, 0, SPAN)],
            ["needs 2.5 d of traces, has 1 h"],
        ),
        (
            [point(0.5, 300, 0, SPAN)],
            ["needs 15 s of traces, has 1 h"],
        ),
        (
            [point(60, 500, 0.02), point(120, 300, 0, RUNS)],
            ["10 stale of 500 observations; with no further stale one it needs 1693"],
        ),
        (
            [point(60, 250, 0.001)],
            ["0.3 stale of 250 observations; with no further stale one it needs 473"],
        ),
    ],
    ids=[
        "few",
        "a fraction is not rounded up",
        "a supported one is named first",
        "the most observations, with all that fails",
        "the fewest failed guards",
        "too long for the traces",
        "under a minute",
        "what stopped the climb",
        "a fraction of a stale one",
    ],
)
def test_what_is_missing(points, expected):
    assert messages(*points) == expected


@pytest.mark.parametrize("observations", [299, 300, 527])
def test_what_only_the_shared_confidence_withholds(observations):
    curve = StaleCurve((point(60, observations),), 1000, 30, HOUR, None)
    (missing,) = what_is_missing(curve, 0.005, FreshnessSettings()).missing
    assert missing.kind is Shortfall.SHARED_CONFIDENCE
    assert (missing.has, missing.needs) == (observations, 528)


def test_a_declared_never_and_no_repeat_need_no_candidate():
    never = what_is_missing(StaleCurve((), 9, 1, HOUR, 0), 0.05, FreshnessSettings())
    assert (never.missing[0].kind, never.point) == (Shortfall.DECLARED_NEVER, None)
    idle = replace(point(60, 0), serves=0)
    nothing = what_is_missing(StaleCurve((idle,), 9, 1, HOUR, None), 0.05, FreshnessSettings())
    assert (nothing.missing[0].kind, nothing.point) == (Shortfall.NO_REPEAT, None)
