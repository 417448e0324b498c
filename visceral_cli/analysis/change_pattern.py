"""When results changed: many at the same moment, or more often lately?

A bound takes stored results for independent of each other, and the days to come for like those of
the traces. Both are held here against what was seen. One **pair** is two consecutive executions of
an identity with known results: it changed, at an unknown moment between the two, or it did not.
If each identity changes by itself and steadily, the pace at which its pairs changed as often as
they did says how likely each of them was to. Around one moment, or late in the history, a sum of
such independent chances is exceeded no more often than a Poisson number of the same mean exceeds it
(Hoeffding 1956).
"""

from __future__ import annotations

import math
from types import ModuleType

import msgspec
import numpy as np
import numpy.typing as npt

from visceral_cli.analysis.history import Codes, Flags, Times, ToolCalls
from visceral_cli.analysis.lanes import Lanes

_HOUR_NS = 3600 * 1_000_000_000
_REACHES_NS = (_HOUR_NS, 6 * _HOUR_NS)
"""Pairs that are further apart say too little of the moment. Where calls are dense, near pairs tell
moments apart; where they are few, it takes further ones to see that moments are shared. Both are
tried."""
_FEWEST_TOGETHER = 3
_MOST_MOMENTS = 1000
_LATE_SHARE = 4
"""The last quarter of the calls is late."""

_PACE_STEPS = 30
_FASTEST = 1e9
"""Changes a second: faster than any gap tells."""

Numbers = npt.NDArray[np.float64]


class SharedChanges(msgspec.Struct, frozen=True):
    """Moments at which results of several identities changed together."""

    moments: int
    """At least so many; counting ends at a thousand."""
    changed: int
    """Pairs that changed then ..."""
    compared: int
    """... of those that lie around these moments."""

    @property
    def share(self) -> float:
        """Return how much of what could change did."""
        return self.changed / self.compared


class LateChanges(msgspec.Struct, frozen=True):
    """Changes in the last quarter of the calls, where they came faster than before."""

    changes: int
    expected: float
    """At the pace of the whole history."""

    @property
    def factor(self) -> float:
        """Return how many times as fast as in the whole history they came."""
        return self.changes / self.expected


class ChangePattern(msgspec.Struct, frozen=True):
    """What is unlike independent and steady changes; ``None``: nothing that chance would not do."""

    shared: SharedChanges | None = None
    late: LateChanges | None = None


class _Pairs(msgspec.Struct, frozen=True):
    """Pairs of consecutive executions, each from after ``since_ns`` up to ``until_ns``."""

    since_ns: Times
    until_ns: Times
    changed: Flags
    likely: Numbers
    """How likely each was to change, given how many of its identity did."""
    late: Flags


def find_change_pattern(
    calls: ToolCalls, lanes: Lanes, freshness_ns: int, excluded: Codes, delta: float
) -> ChangePattern:
    """Return what the pairs of all lanes but the excluded ones show, at confidence 1 - delta."""
    shared: SharedChanges | None = None
    late: LateChanges | None = None
    for reach_ns in _REACHES_NS:
        pairs = _pairs(calls, lanes, max(freshness_ns, reach_ns), excluded)
        if not pairs.changed.any():
            continue
        level = delta / len(_REACHES_NS)
        together, alone = _shared(pairs, level)
        if together is not None and (shared is None or together.moments > shared.moments):
            shared = together
        # Of further pairs many change more than once, and still count once.
        lately = _late(pairs, alone, level)
        if lately is not None and (late is None or lately.factor > late.factor):
            late = lately
    return ChangePattern(shared, late)


def _pairs(calls: ToolCalls, lanes: Lanes, longest_ns: int, excluded: Codes) -> _Pairs:
    known = np.flatnonzero(lanes.content >= 0)
    earlier, later = known[:-1], known[1:]
    gap_ns = lanes.start_ns[later] - lanes.start_ns[earlier]
    fit = (lanes.lane[earlier] == lanes.lane[later]) & (lanes.voided[later] < earlier)
    fit &= (gap_ns <= longest_ns) & (gap_ns > 0) & ~np.isin(lanes.lane[later], excluded)
    if calls.question is not None:
        fit &= np.isin(lanes.lane[later], _longest_of_each_question(calls.question, lanes))
    earlier, later, gap_ns = earlier[fit], later[fit], gap_ns[fit]
    changed = lanes.content[earlier] != lanes.content[later]
    size = len(calls.start_ns)
    return _Pairs(
        since_ns=lanes.start_ns[earlier],
        until_ns=lanes.start_ns[later],
        changed=changed,
        likely=likely_to_change(lanes.lane[later], gap_ns / 1e9, changed),
        late=lanes.row[later] >= size - size // _LATE_SHARE,
    )


def likely_to_change(lane: Codes, gap: Numbers, changed: Flags) -> Numbers:
    """Return how likely pairs of these lengths were to change, if each lane has one pace.

    At that pace as many pairs of the lane are expected to change as did. It is approached from
    below, by Newton's method: the expected number is concave in it. A lane that always changed has
    no such pace; its pairs come close to certainty.
    """
    likely = np.zeros(len(lane))
    place = np.flatnonzero(np.isin(lane, lane[changed]))
    _, nth = np.unique(lane[place], return_inverse=True)
    gap = gap[place]
    seen = np.bincount(nth, changed[place])
    pace = seen / np.bincount(nth, gap)
    for _ in range(_PACE_STEPS):
        unchanged = np.exp(-pace[nth] * gap)
        missing = seen - np.bincount(nth, 1 - unchanged)
        slope = np.maximum(np.bincount(nth, gap * unchanged), 1e-300)
        pace = np.minimum(pace + missing / slope, _FASTEST)
    likely[place] = -np.expm1(-pace[nth] * gap)
    return likely


def _longest_of_each_question(question: Codes, lanes: Lanes) -> Codes:
    """Return one lane for each question: what is asked by several users changes for all of them."""
    lane, first, calls = np.unique(lanes.lane, return_index=True, return_counts=True)
    asked = question[lanes.row[first]]
    order = np.lexsort((lane, -calls, asked))
    _, chosen = np.unique(asked[order], return_index=True)
    found: Codes = lane[order[chosen]]
    return found


class _Around:
    """Adds up what belongs to the pairs around some moments."""

    def __init__(self, since_ns: Times, until_ns: Times, moments_ns: Times) -> None:
        self._edges = [
            (order, np.searchsorted(edge_ns[order], moments_ns, side="left"))
            for edge_ns in (since_ns, until_ns)
            for order in [np.argsort(edge_ns, kind="stable")]
        ]

    def sum(self, weight: Numbers, chosen: npt.NDArray[np.int64]) -> Numbers:
        """Return the sum of the weights of the pairs around each of the chosen moments."""
        (begun, before), (over, ended) = self._edges
        total_begun = np.concatenate(([0.0], np.cumsum(weight[begun])))
        total_over = np.concatenate(([0.0], np.cumsum(weight[over])))
        found: Numbers = total_begun[before[chosen]] - total_over[ended[chosen]]
        return found


def _shared(pairs: _Pairs, delta: float) -> tuple[SharedChanges | None, Flags]:
    """Find the moments with the most changes around them, beyond chance, one after the other.

    Return them, and which pairs changed at none of them.
    """
    alone = pairs.changed.copy()
    moments_ns = np.unique(pairs.until_ns[alone])
    everything = _Around(pairs.since_ns, pairs.until_ns, moments_ns)
    left = np.arange(len(moments_ns))
    expected = np.maximum(everything.sum(pairs.likely, left), 1e-300)
    comparable = np.rint(everything.sum(np.ones(len(pairs.likely)), left)).astype(np.int64)
    threshold = delta / len(moments_ns)
    place = np.flatnonzero(pairs.changed)
    since_ns, until_ns = pairs.since_ns[place], pairs.until_ns[place]
    around = _Around(since_ns, until_ns, moments_ns)
    unexplained = np.ones(len(place), np.bool_)
    moments = changed = compared = 0
    while moments < _MOST_MOMENTS:
        together = np.rint(around.sum(unexplained.astype(np.float64), left))
        chance = _special().gammainc(np.maximum(together, 1), expected[left])
        # Fewer changes around a moment never make it less likely, so it need not be asked again.
        unlikely = (chance <= threshold) & (together >= _FEWEST_TOGETHER)
        left, chance = left[unlikely], chance[unlikely]
        if not len(left):
            break
        nth = left[np.argmin(chance)]
        there = (since_ns < moments_ns[nth]) & (moments_ns[nth] <= until_ns)
        moments += 1
        changed += int(np.count_nonzero(there & unexplained))
        compared += int(comparable[nth])
        unexplained &= ~there
    alone[place] = unexplained
    return (SharedChanges(moments, changed, compared) if moments else None), alone


def _late(pairs: _Pairs, alone: Flags, delta: float) -> LateChanges | None:
    """Compare the changes of single identities in the last quarter with all of them.

    Where most changes are shared, the rest is too little to tell.
    """
    share = np.count_nonzero(alone) / np.count_nonzero(pairs.changed)
    expected = float(pairs.likely[pairs.late].sum() * share)
    changes = int(np.count_nonzero(alone & pairs.late))
    if share < 0.5 or not changes or _special().gammainc(changes, max(expected, 1e-300)) > delta:
        return None
    return LateChanges(changes, expected)


def expected_moments(seen: int, delta: float) -> float:
    """Return how many random moments a history may be due, at 1 - delta, in which so many came.

    The upper limit of Garwood (1936) for the mean of a Poisson number; ``-ln(delta)`` for none.
    """
    if not seen:
        return -math.log(delta)
    return float(_special().gammaincinv(seen + 1, 1 - delta))


def _special() -> ModuleType:
    import scipy.special  # noqa: PLC0415 - a quarter of a second, and often not needed

    return scipy.special  # type: ignore[no-any-return]
