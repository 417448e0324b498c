"""The calls of one tool, laid out for replay: the calls of an identity side by side, in time order.

The calls of one identity are a **lane**. Lanes of one call are left out: nothing can serve them.
What does not depend on the freshness is worked out here, once for all bounds: when a call had
ended as seen by the later calls of its lane, which results a writer voids for it, and whether its
result can be stored at all. Places are positions in this layout; an end is the place after the
last.
"""

from __future__ import annotations

import msgspec
import numpy as np

from visceral_cli.analysis.history import (
    NEVER_NS,
    Codes,
    Flags,
    Places,
    Times,
    ToolCalls,
    WriterEnds,
    Writers,
    writer_ends,
)

_NO_GAP = np.iinfo(np.int64).max
_WORTH_NARROWING = 0.75


class Lanes(msgspec.Struct, frozen=True):
    """One element per call, lane after lane, each in order of time."""

    row: Places
    """The row of ``ToolCalls``."""
    lane: Codes
    """0, 1, 2 ... in order of the identity code."""
    start_ns: Times
    duration_ns: Times
    gap_ns: Times
    """Since the start of the call before in the lane; the largest integer where nothing before can
    matter."""
    run: Codes
    content: Codes
    storable: Flags
    """Has a result, and ran beside no writer of its run."""
    finished: Places
    """The place of the first later call of the lane that starts when this one has ended."""
    voided: Places
    """The last place whose result a writer voids for this call; before its lane: none."""

    voids: Places
    """The calls for which a writer voids something, ascending; then an end that no call reaches."""
    special_before: Codes
    """How many calls before a place overlap the next one or are in ``voids``; up to the end."""
    overlapping: bool
    """Whether any call started before an earlier one of its lane had ended."""
    voiding: bool
    """Whether a writer voids anything at all."""
    unknown: bool
    """Whether any result is unknown."""
    changing: bool
    """Whether any lane has two results; may be true where only an unknown one differs."""
    longest_ns: int
    """The longest duration of a storable call."""
    question: Codes | None = None
    """By lane, what was asked, where several lanes are one question (`ToolCalls.question`)."""


def lay_out(calls: ToolCalls, writers: Writers | WriterEnds | None = None) -> Lanes:
    """Return the lanes of ``calls``, under the writers of all tools or what these void."""
    rows = _rows_of_repeated_identities(calls.identity)
    count = len(rows)
    # Sorting this one number sorts by identity and then by time; it also finds a moment in a lane.
    key = np.sort(calls.identity[rows].astype(np.int64) * (count + 1) + np.arange(count))
    identity = key // (count + 1)
    row = rows[key - identity * (count + 1)]
    first = np.ones(count, dtype=np.bool_)
    first[1:] = identity[1:] != identity[:-1]

    start, content = calls.start_ns[row], calls.content[row]
    duration = np.maximum(calls.end_ns[row] - start, 0)
    gap = np.empty_like(start)
    gap[1:] = np.diff(start)
    gap[first] = _NO_GAP
    moments = _Moments(calls.start_ns[rows], key, identity)
    finished = np.arange(1, count + 1)
    flying = np.flatnonzero(duration[:-1] > gap[1:])
    finished[flying] = moments.first_from(flying, (start + duration)[flying])

    storable = content >= 0
    voided = np.full(count, -1)
    written = writer_ends(calls, writers)
    if written is not None:
        storable &= ~(written.by_end_ns >= calls.start_ns)[row]
        writer_end = written.by_start_ns[row]
        touched, voided_until = _last_voided(moments, writer_end)
        voided[touched] = voided_until
        # A call for which all earlier results are void, and which is stored before the next call
        # begins, cuts the lane: nothing before it can serve anything after it.
        anew = (voided_until == touched - 1) & storable[touched]
        gap[touched[anew & (finished[touched] == touched + 1)]] = _NO_GAP
    return _lanes(
        row=row,
        lane=(np.cumsum(first) - 1).astype(np.int32),
        start_ns=start,
        duration_ns=duration,
        gap_ns=gap,
        run=calls.run[row],
        content=content,
        storable=storable,
        finished=finished,
        voided=voided,
        freshness_ns=_NO_GAP - 1,
        question=None if calls.question is None else calls.question[row[first]],
    )


def narrow(lanes: Lanes, freshness_ns: int) -> Lanes:
    """Return the lanes without calls that a freshness up to this one cannot connect to any other.

    May return them as they are, where little would be gained.
    """
    near = lanes.gap_ns <= freshness_ns
    near[:-1] |= near[1:]
    place = np.flatnonzero(near)
    if len(place) > _WORTH_NARROWING * len(near):
        return lanes
    before = np.concatenate(([0], np.cumsum(near)))
    return _lanes(
        row=lanes.row[place],
        lane=lanes.lane[place],
        start_ns=lanes.start_ns[place],
        duration_ns=lanes.duration_ns[place],
        gap_ns=lanes.gap_ns[place],
        run=lanes.run[place],
        content=lanes.content[place],
        storable=lanes.storable[place],
        finished=before[lanes.finished[place]],
        voided=before[lanes.voided[place] + 1] - 1,
        freshness_ns=freshness_ns,
        question=lanes.question,
    )


def _lanes(
    *,
    row: Places,
    lane: Codes,
    start_ns: Times,
    duration_ns: Times,
    gap_ns: Times,
    run: Codes,
    content: Codes,
    storable: Flags,
    finished: Places,
    voided: Places,
    freshness_ns: int,
    question: Codes | None,
) -> Lanes:
    """Add what follows from the columns, for no freshness above this one."""
    count = len(row)
    special = finished > np.arange(1, count + 1)
    overlapping = bool(special.any())
    voids = np.flatnonzero(voided >= 0)
    if len(voids):
        heads = np.flatnonzero(gap_ns > freshness_ns)
        head = heads[np.searchsorted(heads, voids, side="right") - 1]
        voids = voids[voided[voids] >= head]
        special[voids] = True
    special_before = np.zeros(count + 1, dtype=np.int32)
    np.cumsum(special, out=special_before[1:])
    return Lanes(
        row=row,
        lane=lane,
        start_ns=start_ns,
        duration_ns=duration_ns,
        gap_ns=gap_ns,
        run=run,
        content=content,
        storable=storable,
        finished=finished,
        voided=voided,
        voids=np.append(voids, count + 1),
        special_before=special_before,
        overlapping=overlapping,
        voiding=bool(len(voids)),
        unknown=bool((content < 0).any()),
        changing=bool(((content[1:] != content[:-1]) & (lane[1:] == lane[:-1])).any()),
        longest_ns=int(duration_ns[storable].max(initial=0)),
        question=question,
    )


class _Moments(msgspec.Struct, frozen=True):
    """Finds the first call of a lane at or after a moment."""

    starts: Times
    """Of the calls of all lanes, in order of time."""
    key: Places
    identity: Places

    def first_from(self, at: Places, moment_ns: Times) -> Places:
        """Return the place, in the lanes of ``at``, of the first call that starts from then on.

        Where there is none it is the end of the lane.
        """
        rank = np.searchsorted(self.starts, moment_ns, side="left")
        return np.searchsorted(self.key, self.identity[at] * (len(self.key) + 1) + rank)


def _rows_of_repeated_identities(identity: Codes) -> Places:
    calls = np.bincount(identity + 1, minlength=1)
    calls[0] = 0  # unknown identities
    return np.flatnonzero((calls > 1)[identity + 1])


def _last_voided(moments: _Moments, writer_end_ns: Times) -> tuple[Places, Places]:
    """Return the calls after a writer of their run, and the last call that started by its end."""
    touched = np.flatnonzero(writer_end_ns != NEVER_NS)
    last = moments.first_from(touched, writer_end_ns[touched] + 1) - 1
    return touched, np.minimum(last, touched - 1)  # a call is never its own source
