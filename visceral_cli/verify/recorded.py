"""What the runtime recorded of the calls it answered, held against what these traces tell.

A verify sample was answered from a stored result and run as well, and says whether the two were
equal; a served call was not run, and names the rule. Spans do not say which stored result it was.
The newest execution that the store can have held by then is compared instead: what the replay makes
of it is either what was recorded, or the difference has a cause that can be named.
"""

from __future__ import annotations

from bisect import bisect_left

import duckdb
import msgspec
import numpy as np

from visceral_cli.analysis.barriers import OWN_RUN, Barriers
from visceral_cli.analysis.columns import NANO, NONE, CallColumns
from visceral_cli.analysis.history import NEVER_NS, Codes, Places
from visceral_cli.analysis.names import call_names
from visceral_cli.contract.decide import Decision, StoredResult, decide
from visceral_cli.verify.outcome import Cause, Outcome, Recorded, RecordedServe
from visceral_cli.verify.rule_cover import Cover, reuses

EXPORT_DELAY_NS = 5 * NANO
"""The SDK sends its spans every five seconds; a backend knows no younger result."""


class _Executions(msgspec.Struct, frozen=True):
    """The executions whose results can answer one question."""

    calls: CallColumns
    rows: list[int]
    """In order of their start."""
    first: dict[int, tuple[int, int]]
    """By result: when the first execution that gave it ended, and its row."""

    @classmethod
    def of(cls, calls: CallColumns, rows: Places) -> _Executions:
        """Return those of some rows, all of which can be stored."""
        first: dict[int, tuple[int, int]] = {}
        told = zip(
            calls.content[rows].tolist(), calls.end_ns[rows].tolist(), rows.tolist(), strict=True
        )
        for content, end, row in told:
            first[content] = min(first.get(content, (end, row)), (end, row))
        return cls(calls, rows.tolist(), first)

    def newest(self, row: int, *, ended_by_ns: int) -> int:
        """Return the row of the last one before the call ``row`` that had ended; or `NONE`."""
        for place in range(bisect_left(self.rows, row) - 1, -1, -1):
            if self.calls.end_ns[self.rows[place]] <= ended_by_ns:
                return self.rows[place]
        return NONE

    def can_have_given(self, content: int, row: int, *, equal: bool) -> bool:
        """Return whether one before the call ``row`` gave this result, or another one."""
        now = int(self.calls.start_ns[row])
        if equal:
            end, first = self.first.get(content, (now + 1, row))
            return end <= now and first != row
        return any(end <= now for other, (end, _) in self.first.items() if other != content)


def recorded_serves(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    cover: Cover,
    barriers: Barriers,
    *,
    from_ns: int | None,
) -> tuple[Places, tuple[RecordedServe, ...]]:
    """Return the rows of the calls that the runtime answered, and what the traces tell of each."""
    asked = (calls.verified | ~calls.ran) & calls.has_start
    if from_ns is not None:
        asked &= calls.start_ns >= from_ns
    rows = np.flatnonzero(asked)
    if not len(rows):
        return rows, ()
    matches = _recorded_matches(store)
    names = call_names(store, rows)
    decisions = _decision_ids(store)
    reach = cover.reach(rows)
    barrier = barriers.latest_end(rows, calls.start_ns[rows], reach)
    own = barriers.latest_end(rows, calls.start_ns[rows], np.full_like(reach, OWN_RUN))
    history = _History(calls, cover, barriers)
    serves = []
    for row, write_end, own_end in zip(rows.tolist(), barrier.tolist(), own.tolist(), strict=True):
        place = int(cover.decided_by[row])
        name = names[row]
        told = matches.get(row)
        recorded = Recorded.SERVED
        if told is not None:
            recorded = Recorded.MATCH if told else Recorded.MISMATCH
        executions = history.of(row, place)
        newest = executions.newest(row, ended_by_ns=int(calls.start_ns[row]))
        replayed, cause = _compare(executions, row, recorded, newest)
        if cause is Cause.NOT_IN_TRACES and _is_possible(
            history.of_anyone(row, place), row, recorded
        ):
            replayed, cause = recorded, Cause.OUTSIDE_SCOPE
        if cause is None:
            cause = _decided(calls, cover, row, newest, write_end, own_end)
        age_ns = None if newest < 0 else calls.start_ns[row] - calls.start_ns[newest]
        if calls.served_start_ns[row]:
            age_ns = calls.start_ns[row] - calls.served_start_ns[row]
        serves.append(
            RecordedServe(
                decision_id=cover.rules[place].decision_id if place >= 0 else decisions.get(row),
                namespace=name.namespace,
                tool=name.tool,
                trace_id=name.trace_id,
                span_id=name.span_id,
                start_ns=int(calls.start_ns[row]),
                recorded=recorded,
                replayed=replayed,
                age_seconds=None if age_ns is None else float(age_ns) / NANO,
                cause=Cause.NO_RULE if place < 0 else cause,
            )
        )
    return rows, tuple(serves)


def _recorded_matches(store: duckdb.DuckDBPyConnection) -> dict[int, bool]:
    found = store.execute(
        "SELECT call_key, verify_match FROM tool_call WHERE verify_match IS NOT NULL"
    )
    return dict(found.fetchall())


def _decision_ids(store: duckdb.DuckDBPyConnection) -> dict[int, str]:
    found = store.execute(
        "SELECT call_key, served_decision_id FROM tool_call WHERE served_decision_id IS NOT NULL"
    )
    return dict(found.fetchall())


class _History:
    """Finds the executions whose results a store can have held."""

    def __init__(self, calls: CallColumns, cover: Cover, barriers: Barriers) -> None:
        self._calls = calls
        self._cover = cover
        rows = np.flatnonzero(calls.ran & calls.timed & ~calls.failed & ~calls.writer)
        own_run = np.full(len(rows), OWN_RUN, np.int32)  # more no runtime need have heard of
        write_end = barriers.latest_end(rows, calls.end_ns[rows], own_run)
        self._rows = rows[(calls.content[rows] >= 0) & (calls.start_ns[rows] > write_end)]
        self._known: dict[tuple[str, int], _Executions] = {}

    def of(self, row: int, place: int) -> _Executions:
        """Return what can have answered the call ``row`` under the rule at ``place``."""
        if place >= 0 and not reuses(self._cover.rules[place]):
            return self._chosen("tool", self._calls.tool, int(self._calls.tool[row]))
        return self._chosen("identity", self._calls.identity, self._code(row, place, scoped=True))

    def of_anyone(self, row: int, place: int) -> _Executions:
        """Return the same without regard to the scope of the rule."""
        code = self._code(row, place, scoped=False)
        return self._chosen("question", self._cover.question, code)

    def _code(self, row: int, place: int, *, scoped: bool) -> int:
        """Return the identity of a call; that of its rule where its span names none."""
        cover, calls = self._cover, self._calls
        codes = calls.identity if scoped else cover.question
        if codes[row] >= 0 or place < 0:
            return int(codes[row])
        named = (cover.rule == place) & (calls.tool == calls.tool[row])
        if scoped:
            named &= cover.within == cover.within[row]
        rows = np.flatnonzero(named)
        return int(codes[rows[0]]) if len(rows) else NONE

    def _chosen(self, column: str, codes: Codes, code: int) -> _Executions:
        if (column, code) not in self._known:
            chosen = self._rows[codes[self._rows] == code] if code >= 0 else self._rows[:0]
            self._known[column, code] = _Executions.of(self._calls, chosen)
        return self._known[column, code]


def _is_possible(executions: _Executions, row: int, recorded: Recorded) -> bool:
    """Return whether any of the stored results fits what was recorded."""
    if recorded is Recorded.SERVED:
        now = int(executions.calls.start_ns[row])
        return executions.newest(row, ended_by_ns=now) >= 0
    real = int(executions.calls.content[row])
    return executions.can_have_given(real, row, equal=recorded is Recorded.MATCH)


def _compare(
    executions: _Executions, row: int, recorded: Recorded, newest: int
) -> tuple[Recorded | None, Cause | None]:
    """Return what the stored results make of the call, and why that is not what was recorded."""
    calls = executions.calls
    real, matched = int(calls.content[row]), recorded is Recorded.MATCH
    if real < 0 and recorded is not Recorded.SERVED:
        return None, Cause.RESULT_UNKNOWN
    if not _is_possible(executions, row, recorded):
        return None, Cause.NOT_IN_TRACES
    if recorded is Recorded.SERVED:
        return recorded, None
    exported = executions.newest(row, ended_by_ns=int(calls.start_ns[row]) - EXPORT_DELAY_NS)
    for source, cause in ((newest, None), (exported, Cause.EXPORT_DELAY)):
        if source >= 0 and (int(calls.content[source]) == real) is matched:
            return recorded, cause
    return recorded, Cause.OLDER_RESULT


def _decided(
    calls: CallColumns, cover: Cover, row: int, source: int, write_end_ns: int, own_end_ns: int
) -> Cause | None:
    """Return why the rule would not have let the newest result answer; ``None`` if it would."""
    place, tool = int(cover.decided_by[row]), int(calls.tool[row])
    if place < 0:
        return Cause.NO_RULE
    if cover.allowed[place, tool] is Outcome.NO_FRESHNESS:
        return Cause.NO_FRESHNESS
    decision = decide(
        StoredResult(int(calls.start_ns[source]), int(calls.end_ns[source])),
        now_ns=int(calls.start_ns[row]),
        freshness_ns=cover.freshness_ns(place, tool),
        last_write_end_ns=None if write_end_ns == NEVER_NS else write_end_ns,
    )
    if decision is Decision.WRITER:
        of_own_run = own_end_ns >= calls.start_ns[source]
        return Cause.AFTER_WRITER if of_own_run else Cause.AFTER_WRITER_ELSEWHERE
    return Cause.BEYOND_FRESHNESS if decision is Decision.EXPIRED else None
