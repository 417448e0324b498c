"""Whether the answer to one question depends on who asks, or has only changed with time.

"Who" is a user, and just so a run, a session or a service. Two things tell a dependence from a
change; neither is a matter of how often results change:

* **At the same time**: between two equal answers to one user, another user was answered
  differently, more often than that user was.
* **Sooner than time explains**: calls of different users in a row differ more often than is
  tolerated, and than calls of one user do.

Results have more time to change between calls that are further apart. So the comparisons of
different users that are at most some time apart are held against those of one user that are at
least that time apart. The one must differ more often by bounds (``binomial.lower`` above
``binomial.upper``) at a level that is shared over the times tried: few calls tell nothing.
"""

from __future__ import annotations

import msgspec
import numpy as np

from visceral_cli.analysis import binomial
from visceral_cli.analysis.candidates import GRID_SECONDS, SECOND_NS
from visceral_cli.analysis.columns import NONE, Numbers, ranked
from visceral_cli.analysis.histories import rows_by_code
from visceral_cli.analysis.history import Codes, Flags, Places, Times, ToolCalls

NEAR_NS = 3600 * SECOND_NS
_APART_SECONDS = tuple(each for each in GRID_SECONDS if each * SECOND_NS <= NEAR_NS)
_LEAST_DIFFERING = 2
_LARGEST = int(np.iinfo(np.int64).max)


class Tally(msgspec.Struct, frozen=True):
    """Comparisons, and those of them with different results."""

    pairs: int
    differing: int

    def at_most(self, delta: float) -> float:
        """Return the share of different results that is not exceeded, at confidence 1 - delta."""
        return binomial.upper(self.differing, self.pairs, delta)

    def at_least(self, delta: float) -> float:
        """Return the share of different results that is exceeded, at confidence 1 - delta."""
        return binomial.lower(self.differing, self.pairs, delta)


class Dependence(msgspec.Struct, frozen=True):
    """What shows that answers depend on who asks."""

    at_the_same_time: bool
    """Comparisons are calls right after the first of two equal answers to one user; else pairs."""
    apart_seconds: float
    others: Tally
    """Of different users at most so far apart ..."""
    own: Tally
    """... and of one, at least so far apart."""


class Answers(msgspec.Struct, frozen=True):
    """The answers to equal questions; pairs are consecutive calls at most an hour apart."""

    others: Tally
    """Pairs of calls of different users."""
    own: Tally
    """Pairs of calls of one user."""
    dependence: Dependence | None


class _Compared(msgspec.Struct, frozen=True):
    """Comparisons: how far apart, and whether the results differ."""

    age_ns: Times
    differs: Flags

    def of(self, chosen: Flags) -> Tally:
        return Tally(int(np.count_nonzero(chosen)), int(np.count_nonzero(self.differs & chosen)))

    @property
    def all(self) -> Tally:
        return self.of(np.ones(len(self.age_ns), np.bool_))


def compare_answers(
    calls: ToolCalls, outer: Numbers, inner: Numbers, *, rate: float, delta: float
) -> Answers:
    """Compare equal questions with equal ``outer``: with equal ``inner``, and with different ones.

    Calls with equal ``inner`` have equal ``outer``. ``rate``: the share of different results that
    is tolerated; ``delta``: 1 - confidence.
    """
    known = np.flatnonzero((calls.identity >= 0) & (calls.content >= 0))
    order, own_order = (_in_order(calls.identity, group, known) for group in (outer, inner))
    others, own = _pairs(calls, outer, order, inner), _pairs(calls, inner, own_order)
    found = None
    if others.differs.any():
        around, alone = _around(calls, inner, order, own_order), _alone(calls, inner, own_order)
        found = _clearest(around, alone, 0.0, delta, at_the_same_time=True)
        found = found or _clearest(others, own, rate, delta, at_the_same_time=False)
    return Answers(others.all, own.all, found)


def _in_order(identity: Codes, group: Numbers, rows: Places) -> Places:
    """Return ``rows``, which ascend, in order of (identity, group, row), by sorting one number."""
    pair = identity[rows].astype(np.int64) * (int(group.max(initial=0)) + 1) + group[rows]
    if int(pair.max(initial=0)) >= _LARGEST // (len(rows) + 1):
        pair = ranked(pair)[0].astype(np.int64)
    return rows[rows_by_code(pair, np.arange(len(rows)))]


def _pairs(
    calls: ToolCalls, group: Numbers, order: Places, unlike: Numbers | None = None
) -> _Compared:
    """Return the calls that follow each other in an identity and group, of different ``unlike``."""
    earlier, later = order[:-1], order[1:]
    fit = _together(calls, group, earlier, later)
    if unlike is not None:
        fit &= unlike[earlier] != unlike[later]
    return _compared(calls, earlier[fit], later[fit], later[fit])


def _around(calls: ToolCalls, inner: Numbers, order: Places, own_order: Places) -> _Compared:
    """Return the calls of others after the first of two equal answers in a row to one user."""
    following = np.full(len(calls.start_ns), NONE)
    following[order[:-1]] = order[1:]
    first, last = own_order[:-1], own_order[1:]
    fit = _together(calls, inner, first, last) & (calls.content[first] == calls.content[last])
    first, last = first[fit], last[fit]
    between = following[first]
    fit = inner[between] != inner[first]
    return _compared(calls, first[fit], between[fit], last[fit])


def _alone(calls: ToolCalls, inner: Numbers, own_order: Places) -> _Compared:
    """Return the calls of one user between two equal answers to it."""
    first, between, last = own_order[:-2], own_order[1:-1], own_order[2:]
    fit = _together(calls, inner, first, last) & (calls.content[first] == calls.content[last])
    return _compared(calls, first[fit], between[fit], last[fit])


def _together(calls: ToolCalls, group: Numbers, first: Places, last: Places) -> Flags:
    together: Flags = (calls.identity[first] == calls.identity[last]) & (
        group[first] == group[last]
    )
    return together & (calls.start_ns[last] - calls.start_ns[first] <= NEAR_NS)


def _compared(calls: ToolCalls, first: Places, second: Places, last: Places) -> _Compared:
    return _Compared(
        calls.start_ns[last] - calls.start_ns[first], calls.content[first] != calls.content[second]
    )


def _clearest(
    others: _Compared, own: _Compared, rate: float, delta: float, *, at_the_same_time: bool
) -> Dependence | None:
    """Return the comparison that leaves least doubt; ``None``: what differs, time may explain."""
    found: list[tuple[float, Dependence]] = []
    delta /= len(_APART_SECONDS)
    for seconds in _APART_SECONDS:
        apart_ns = seconds * SECOND_NS
        near, far = others.of(others.age_ns <= apart_ns), own.of(own.age_ns >= apart_ns)
        gap = near.at_least(delta) - max(far.at_most(delta), rate)
        if gap > 0 and near.differing >= _LEAST_DIFFERING:
            found.append((gap, Dependence(at_the_same_time, seconds, near, far)))
    return max(found, key=lambda one: one[0])[1] if found else None
