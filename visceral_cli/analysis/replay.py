"""Replay a cache over recorded calls: which calls would have been served, and from which result.

A call is served if, of the results of its identity stored by then, the one whose execution began
last is at most as old as the freshness and is not voided by a writer of the call's run. Otherwise
it runs, and its result is stored if it is known and no writer of its run was at work meanwhile.
Age counts from the start of the execution; serving does not renew it.

Which calls run decides which calls run later, so a plain replay is a walk from call to call, too
slow in Python for a million calls and twenty bounds. Here the calls that run are guessed for all
lanes at once, checked, and repaired. The check is exact: given the calls that ran, the store tells
for each call whether it had to run; and since that depends on earlier calls only, there is just
one set of calls that agrees with itself, the one that a walk finds.

A call that starts more than a freshness after the one before it begins a **stretch** that nothing
earlier can serve. Most stretches are shorter than a freshness, and right at the first guess: their
first call runs, with those that start before it has ended, and serves the rest.
"""

from __future__ import annotations

import msgspec
import numpy as np

from visceral_cli.analysis.history import Flags, Places
from visceral_cli.analysis.lanes import Lanes
from visceral_cli.analysis.walk import Walker

_MAX_ROUNDS = 6
"""Rounds of repairing all lanes at once; stretches of more executions are walked at once."""
_WALK_COST = 20
"""Walking past one execution takes about as long as checking this many calls ..."""
_ROUND_COST = 2000
"""... and a round takes as long as checking this many more."""


class Serves(msgspec.Struct, frozen=True):
    """The served calls of one replay, in order of lane and time; places in the lanes."""

    call: Places
    source: Places
    """The execution whose stored result answered; ascending, as ``call`` is."""


class _View(msgspec.Struct, frozen=True):
    """The lanes as one freshness sees them."""

    freshness_ns: int
    storable: Flags
    """Can serve anything: storable, and not older than the freshness by the time it has ended."""
    all_storable: bool
    bounds: Places
    """The first place of each stretch, and the end of the last one."""
    stretch: Places
    """The first place of each call's stretch."""


def replay(lanes: Lanes, freshness_ns: int) -> Serves:
    """Return the calls that a cache with this freshness would have served."""
    view = _view(lanes, freshness_ns)
    executed = _guess(lanes, view)
    length_ns = lanes.start_ns[view.bounds[1:] - 1] - lanes.start_ns[view.bounds[:-1]]
    executions = length_ns // max(freshness_ns, 1) + 1  # about, for each stretch
    budget = (len(lanes.row) + _ROUND_COST) // _WALK_COST
    doubtful = np.flatnonzero(length_ns > freshness_ns)
    for rounds_left in range(_MAX_ROUNDS, -2, -1):
        to_walk = doubtful
        if rounds_left > 0 and executions[doubtful].sum() > budget:
            to_walk = doubtful[executions[doubtful] > _MAX_ROUNDS]
        if len(to_walk):
            _walk(lanes, view, to_walk, executed)
        source, served = _serve(lanes, view, executed)
        ran = view.storable & ~served
        disagreeing = np.flatnonzero(ran != executed)
        if not len(disagreeing):
            call = np.flatnonzero(served)
            return Serves(call, source[call])
        doubtful = np.searchsorted(view.bounds, np.unique(view.stretch[disagreeing]))
        executed = ran
    raise AssertionError("a walked stretch does not agree with itself")


def _view(lanes: Lanes, freshness_ns: int) -> _View:
    size = len(lanes.row)
    bounds = np.append(np.flatnonzero(lanes.gap_ns > freshness_ns), size)
    storable = lanes.storable
    if lanes.longest_ns > freshness_ns:
        storable = storable & (lanes.duration_ns <= freshness_ns)
    return _View(
        freshness_ns,
        storable,
        bool(storable.all()),
        bounds,
        np.repeat(bounds[:-1], bounds[1:] - bounds[:-1]),
    )


def _guess(lanes: Lanes, view: _View) -> Flags:
    """Let the first storable call of each stretch run, with those that start during it."""
    size = len(lanes.row)
    first = view.bounds[:-1]
    if not view.all_storable:
        able = np.flatnonzero(view.storable)
        first = np.append(able, size)[np.searchsorted(able, first)]
        first = first[first < view.bounds[1:]]
    executed = np.zeros(size, dtype=np.bool_)
    executed[first] = True
    flying = first[lanes.finished[first] > first + 1] if lanes.overlapping else first[:0]
    if len(flying):
        # Until the first of these executions has finished, every call that starts runs as well.
        place, offsets = _places(flying, lanes.finished[flying])
        finish = np.where(view.storable[place], lanes.finished[place], size)
        place, _ = _places(flying, np.minimum.reduceat(finish, offsets))
        executed[place] = view.storable[place]
    return executed


def _serve(lanes: Lanes, view: _View, executed: Flags) -> tuple[Places, Flags]:
    """Return the stored result that each call meets, and whether it is served with it.

    Where nothing is stored the source is a place of another stretch, or -1.
    """
    newest = np.flatnonzero(executed)
    from_place = lanes.finished[newest]
    if lanes.overlapping and np.any(from_place[1:] < from_place[:-1]):
        order = np.argsort(from_place, kind="stable")
        from_place = from_place[order]
        newest = np.maximum.accumulate(newest[order])
    edges = np.concatenate(([0], from_place, [len(executed)]))
    source = np.repeat(np.concatenate(([-1], newest)), edges[1:] - edges[:-1])
    age_ns = lanes.start_ns - lanes.start_ns[source]
    served = (source >= view.stretch) & (age_ns <= view.freshness_ns)
    if lanes.voiding:
        served &= source > lanes.voided
    return source, served


def _walk(lanes: Lanes, view: _View, doubtful: Places, executed: Flags) -> None:
    """Replay some stretches exactly, and write into ``executed`` what ran."""
    first, end = view.bounds[doubtful], view.bounds[doubtful + 1]
    is_busy = lanes.special_before[end] > lanes.special_before[first]
    walker = Walker.over(lanes, view.storable, view.freshness_ns)
    ran: list[int] = []
    for place, until, busy in zip(first.tolist(), end.tolist(), is_busy.tolist(), strict=True):
        executed[place:until] = False
        if busy:
            walker.walk_busy(place, until, ran)
        else:
            walker.walk_chain(place, until, ran)
    executed[ran] = True


def _places(first: Places, end: Places) -> tuple[Places, Places]:
    """Return the places of several ranges, one after the other, and where each range begins."""
    lengths = end - first
    offsets = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(first - offsets, lengths), offsets
