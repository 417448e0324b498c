"""Every call that a rule matches, decided again as if the rules had been active.

The decision is `contract.decide`, the one that the runtime takes. The calls of one identity are
walked in order of time with a store of their own: a call is served, or it runs and its result is
stored once it has ended. Calls inside of served calls would not have been made, and neither store
nor void anything; which these are follows from the walk, so it is repeated until nothing changes.

Writes void as `analysis.barriers` says: those of the call's run, and those of other runs as far as
the rule shares results, or as it says. What only a write of another
run has voided is not served, but remembered: a client that hears of its own run alone, as the
Visceral SDK does, would have served it, so comparing it holds the rule to what it was proven for.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

import msgspec
import numpy as np
from numpy.typing import NDArray

from visceral_cli.analysis.barriers import OWN_RUN, Barriers
from visceral_cli.analysis.columns import NONE, CallColumns
from visceral_cli.analysis.histories import rows_by_code
from visceral_cli.analysis.history import NEVER_NS, Flags, Places, Times
from visceral_cli.analysis.scopes import Who
from visceral_cli.analysis.spans import SpanTree
from visceral_cli.contract.decide import Decision, StoredResult, decide
from visceral_cli.verify.outcome import Outcome
from visceral_cli.verify.rule_cover import CODE, Cover, allowed_column

_MAX_ROUNDS = 100
"""As deep as served calls may lie inside of each other; only damaged times would go on for ever."""

_REFUSED = {
    Decision.NO_RESULT: CODE[Outcome.NO_RESULT],
    Decision.IN_FLIGHT: CODE[Outcome.IN_FLIGHT],
    Decision.EXPIRED: CODE[Outcome.EXPIRED],
    Decision.WRITER: CODE[Outcome.WRITER],
}


class Replay(msgspec.Struct, frozen=True):
    """The outcome of every call; position i is ``call_key`` i."""

    outcome: NDArray[np.int16]
    """An index of `OUTCOMES`; `NONE` where no rule matches, or outside of what is verified."""
    source: Places
    """The execution whose stored result answers; `NONE` where the call is not served."""
    voided: Places
    """The execution whose stored result would answer but for a write of another run; `NONE` where
    there is none."""

    def is_(self, outcome: Outcome) -> Flags:
        """Whether each call has this outcome."""
        is_it: Flags = self.outcome == CODE[outcome]
        return is_it


def replay_rules(
    calls: CallColumns, tree: SpanTree, cover: Cover, who: Who, *, from_ns: int | None = None
) -> Replay:
    """Decide every call that a rule matches; with ``from_ns`` only what happened from then on.

    Writers count whenever they ran. A call that the runtime answered without running it has no
    result and is no part of the replay.
    """
    known = (cover.rule >= 0) & calls.ran
    if from_ns is not None:
        known &= calls.has_start & (calls.start_ns >= from_ns)
    freshness, reason = allowed_column(cover, calls)
    fixed = np.select(
        [~known, reason >= 0, calls.failed, ~calls.timed],
        [NONE, reason, CODE[Outcome.FAILED], CODE[Outcome.UNTIMED]],
        NONE,
    ).astype(np.int16)
    open_ = known & (fixed < 0)
    absorbed = np.zeros(len(calls), np.bool_)
    found = Replay(fixed, *(np.full(len(calls), NONE, np.int64) for _ in range(2)))
    outcome, source = found.outcome, found.source
    for _ in range(_MAX_ROUNDS):
        outcome[:], source[:], found.voided[:] = fixed, NONE, NONE
        outcome[known & absorbed] = CODE[Outcome.ABSORBED]
        barriers = Barriers.of(calls, who, without=absorbed)
        _walk_all(calls, cover, freshness, open_ & ~absorbed, barriers, found)
        inside = tree.within((source >= 0) & ~calls.verified)
        if np.array_equal(inside, absorbed):
            break
        absorbed = inside
    served = np.flatnonzero(source >= 0)
    outcome[served] = _compared(calls, served, source[served])
    return found


def _compared(calls: CallColumns, served: Places, source: Places) -> NDArray[np.int16]:
    real, stored = calls.content[served], calls.content[source]
    return np.select(
        [(real < 0) | (stored < 0), real == stored],
        [CODE[Outcome.NOT_COMPARED], CODE[Outcome.MATCHED]],
        CODE[Outcome.MISMATCHED],
    ).astype(np.int16)


def _walk_all(
    calls: CallColumns,
    cover: Cover,
    freshness: Times,
    open_: Flags,
    barriers: Barriers,
    found: Replay,
) -> None:
    rows = rows_by_code(calls.identity, np.flatnonzero(open_))
    if not len(rows):
        return
    reach = cover.reach(rows)
    start_ns, end_ns = calls.start_ns[rows], calls.end_ns[rows]
    barrier = barriers.latest_end(rows, start_ns, reach)
    own = barriers.latest_end(rows, start_ns, np.full_like(reach, OWN_RUN))
    kept = (calls.content[rows] >= 0) & (start_ns > barriers.latest_end(rows, end_ns, reach))
    starts = np.flatnonzero(np.diff(calls.identity[rows], prepend=NONE))
    ends = np.append(starts[1:], len(rows))
    columns = (rows, start_ns, end_ns, barrier, own, kept, freshness[rows])
    for first, end in zip(starts.tolist(), ends.tolist(), strict=True):
        steps = [column[first:end].tolist() for column in columns]
        for row, decision, stored_row, by_another in _walk(*steps):
            if decision is Decision.SERVE:
                found.source[row] = stored_row
                continue
            found.outcome[row] = _REFUSED[decision]
            if by_another:
                found.voided[row] = stored_row


def _walk(
    rows: list[int],
    start_ns: list[int],
    end_ns: list[int],
    barrier_ns: list[int],
    own_ns: list[int],
    kept: list[bool],
    freshness_ns: list[int],
) -> Iterator[tuple[int, Decision, int, bool]]:
    """Yield each call of one identity with what is decided, and the row of the stored result.

    And whether a write of another run alone has voided that.
    """
    running: list[tuple[int, int, StoredResult]] = []
    stored: StoredResult | None = None
    stored_row = NONE
    steps = zip(rows, start_ns, end_ns, barrier_ns, own_ns, kept, freshness_ns, strict=True)
    for row, start, end, barrier, own, may_keep, freshness in steps:
        while running and running[0][0] <= start:
            _, place, result = heappop(running)
            if place > stored_row:  # rows are in order of their start: the newest result counts
                stored, stored_row = result, place
        decision = decide(
            stored if stored is not None or not running else running[0][2],
            now_ns=start,
            freshness_ns=freshness,
            last_write_end_ns=None if barrier == NEVER_NS else barrier,
        )
        if decision is not Decision.SERVE and may_keep:
            heappush(running, (end, row, StoredResult(start, end)))
        by_another = decision is Decision.WRITER and stored is not None and own < stored.start_ns
        yield row, decision, stored_row, by_another
