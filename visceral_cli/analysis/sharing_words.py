"""Why a result may pass between some calls and not between others, in words."""

from __future__ import annotations

from visceral_cli.analysis.dependence import Dependence
from visceral_cli.analysis.missing import missing_guards, what_is_missing
from visceral_cli.analysis.stale_curve import CurvePoint, StaleCurve, allowed_error
from visceral_cli.contract.rule import Sharing
from visceral_cli.settings import FreshnessSettings

SAID = "said by the user: answers do not depend on who asks"
NOBODY = "no span names a user, so whether users may share a result could not be judged"


def depends(inner: Sharing, found: Dependence) -> str:
    """Return what shows that answers depend on who asks, or on the run, session or service."""
    one, own, others = inner.value, found.own, found.others
    what = "on who asks" if inner is Sharing.USER else f"on the {one}"
    apart = _duration(found.apart_seconds)
    if found.at_the_same_time:
        return (
            f"answers depend {what}: {others.differing:,} of {others.pairs:,} times another {one} "
            f"was answered differently between two equal answers to one {one} at most {apart} "
            f"apart, {own.differing:,} of {own.pairs:,} times the same {one} at least as far apart"
        )
    return (
        f"answers depend {what}: {others.differing:,} of {others.pairs:,} pairs of calls of "
        f"different {one}s at most {apart} apart differ, "
        f"{own.differing:,} of {own.pairs:,} of one {one} at least as far apart"
    )


def taken(inner: Sharing, point: CurvePoint) -> str:
    """Return what was compared where a result may pass between different users and the like."""
    return (
        f"{point.counted_serves:,} results of other {inner.value}s compared, "
        f"{point.counted_stale:,} stale"
    )


def not_taken(
    inner: Sharing, curve: StaleCurve, settings: FreshnessSettings, *, eased: bool
) -> str:
    """Return what is missing before a result may pass between different users and the like.

    ``eased``: it need not be proven by these comparisons alone.
    """
    return f"sharing between {inner.value}s is not proven: {_lack(inner, curve, settings, eased)}"


def _lack(inner: Sharing, curve: StaleCurve, settings: FreshnessSettings, eased: bool) -> str:
    served = [point for point in curve.points if point.counted_serves]
    if not served:
        return f"no result of another {inner.value} was compared"
    if not eased:
        return what_is_missing(curve, allowed_error(settings), settings).missing[0].message
    rate = settings.max_stale_rate
    clean = [point for point in served if point.counted_stale <= rate * point.counted_serves]
    if not clean or any(point.supported for point in served):
        point = next((each for each in served if each.supported), served[-1])
        stale, serves = point.counted_stale, point.counted_serves
        return f"{stale:,} of {serves:,} results of other {inner.value}s were stale"
    point = max(clean, key=lambda each: (each.runs, -each.freshness_ns))
    return missing_guards(curve, point, settings)[0].message


def _duration(seconds: float) -> str:
    if seconds >= 60:
        return f"{seconds / 60:g} min"
    return f"{seconds:g} s"
