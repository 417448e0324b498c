"""The verdict on every call: could a stored result have answered it, and would it have been right?

Of two executions of one identity the one that began later is the newer result, also when it ended
first. A result is stored unless a writer of its own run was at work meanwhile; for a call it is
voided if a writer of the call's run had started by then and ended after the result's execution
began. Failed calls store nothing. A write of another run voids nothing here: both results are
known, so what it changed shows as changed. What may be served under rules is for `barriers`.
"""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from visceral_cli.analysis.columns import NONE, CallColumns
from visceral_cli.analysis.figures import Verdict
from visceral_cli.analysis.histories import ToolHistory, histories
from visceral_cli.analysis.history import Codes, Flags, Places, Times, Writers, latest_writer_end
from visceral_cli.analysis.in_flight import first_end_of_running, running_beside
from visceral_cli.analysis.lanes import Lanes, lay_out

VERDICTS = tuple(Verdict)
"""Verdicts by the code that stands for them in columns."""

CODE = {verdict: code for code, verdict in enumerate(VERDICTS)}


class CallVerdicts(msgspec.Struct, frozen=True):
    """The verdict on every call; position i is ``call_key`` i."""

    verdict: NDArray[np.uint8]
    """An index of `VERDICTS`."""
    repeat: Flags
    """An earlier call of the identity really ran and did not fail. The verdict on the repeat is
    ``reusable``, ``changed``, ``in-flight``, ``after-writer`` or ``unverifiable``: writers, failed
    calls and what the runtime answered from a stored result are no repeats."""
    source: Codes
    """The execution whose result was stored when the call began, voided or not; `NONE` without."""
    in_flight_ns: Times
    """What a call in flight would have saved by waiting for the first of the executions it found
    running; 0 for all other calls."""

    def is_(self, verdict: Verdict) -> Flags:
        """Whether each call has this verdict."""
        is_it: Flags = self.verdict == CODE[verdict]
        return is_it


def judge_calls(
    calls: CallColumns, writers: Writers, tools: Iterable[ToolHistory] | None = None
) -> CallVerdicts:
    """Return the verdict on every call, by the calls before it in row order.

    ``tools``: the `histories` of ``calls``, where they are needed for more than this.
    """
    verdict = np.select(
        [calls.writer, calls.failed, ~calls.ran, calls.verified, calls.identity < 0, ~calls.timed],
        [
            CODE[Verdict.WRITER],
            CODE[Verdict.FAILED],
            CODE[Verdict.SERVED],
            CODE[Verdict.VERIFY],
            CODE[Verdict.NO_IDENTITY],
            CODE[Verdict.UNVERIFIABLE],
        ],
        CODE[Verdict.FIRST],
    ).astype(np.uint8)
    timed = verdict == CODE[Verdict.FIRST]
    verdict[timed & _after(calls, calls.failed)] = CODE[Verdict.RETRY]
    repeat = timed | (verdict == CODE[Verdict.UNVERIFIABLE])
    repeat &= _after(calls, calls.ran & ~calls.failed)
    # What no lane judges follows an execution that no time can be compared with.
    verdict[repeat] = CODE[Verdict.UNVERIFIABLE]

    source = np.full(len(calls), NONE, np.int32)
    in_flight_ns = np.zeros(len(calls), np.int64)
    for history in histories(calls) if tools is None else tools:
        lanes = lay_out(history.calls, writers)
        judged = _judge_lanes(lanes, history, writers)
        rows = history.rows[lanes.row]
        open_ = timed[rows] & (judged.verdict != CODE[Verdict.FIRST])
        verdict[rows[open_]] = judged.verdict[open_]
        stored = open_ & (judged.source >= 0)
        source[rows[stored]] = rows[judged.source[stored]]
        waiting = np.flatnonzero(timed[rows] & (judged.verdict == CODE[Verdict.IN_FLIGHT]))
        in_flight_ns[rows[waiting]] = _waiting_saves(lanes, waiting)
    return CallVerdicts(verdict, repeat, source, in_flight_ns)


def _after(calls: CallColumns, event: Flags) -> Flags:
    """Whether an earlier row of each call's identity has the event."""
    first = np.full(calls.identities + 1, len(calls), np.int64)
    rows = np.flatnonzero(event & (calls.identity >= 0))[::-1]
    first[calls.identity[rows]] = rows  # where an identity comes again, the last one stays
    return first[calls.identity] < np.arange(len(calls))


class _Judged(msgspec.Struct, frozen=True):
    """One element per place of the lanes."""

    verdict: NDArray[np.uint8]
    source: Places
    """-1 without one."""


def _judge_lanes(lanes: Lanes, history: ToolHistory, writers: Writers) -> _Judged:
    place = np.arange(len(lanes.row))
    first = np.searchsorted(lanes.lane, lanes.lane)
    source = _latest_stored(lanes, history, writers)
    source[source < first] = NONE
    everything_ran = np.ones(len(place), np.bool_)
    result = lanes.content[source]
    verdict = np.select(
        [
            (source < 0) & (running_beside(lanes, everything_ran) > 0),
            (source < 0) & (first < place),
            source < 0,
            source <= lanes.voided,
            (lanes.content < 0) | (result < 0),
            lanes.content == result,
        ],
        [
            CODE[Verdict.IN_FLIGHT],
            CODE[Verdict.AFTER_WRITER],
            CODE[Verdict.FIRST],
            CODE[Verdict.AFTER_WRITER],
            CODE[Verdict.UNVERIFIABLE],
            CODE[Verdict.REUSABLE],
        ],
        CODE[Verdict.CHANGED],
    )
    return _Judged(verdict.astype(np.uint8), source)


def _latest_stored(lanes: Lanes, history: ToolHistory, writers: Writers) -> Places:
    """Return per place the last execution before it, of any lane, that was finished and stored."""
    writers = writers.of_tool(history.facts.name.tool)
    run = history.calls.run[lanes.row]
    end_ns = lanes.start_ns + lanes.duration_ns
    stored = np.flatnonzero(latest_writer_end(writers, run, end_ns) < lanes.start_ns)
    arrived = np.full(len(lanes.row) + 1, NONE, np.int64)
    arrived[lanes.finished[stored]] = stored  # of several that end before one call, the last stays
    return np.maximum.accumulate(arrived)[:-1]


def _waiting_saves(lanes: Lanes, waiting: Places) -> Times:
    end_ns = lanes.start_ns[waiting] + lanes.duration_ns[waiting]
    executed = np.ones(len(lanes.row), np.bool_)
    saved: Times = np.maximum(0, end_ns - first_end_of_running(lanes, executed, waiting))
    return saved


def verdict_table(calls: CallColumns, verdicts: CallVerdicts) -> pa.Table:
    """Return one row per call: ``call_key``, ``verdict``, ``source_call_key``, ``age_ns``.

    Source and age are NULL unless a stored result could have answered the call.
    """
    answered = (verdicts.source >= 0) & ~verdicts.is_(Verdict.AFTER_WRITER)
    age_ns = calls.start_ns - calls.start_ns[verdicts.source]
    names = pa.array([str(verdict) for verdict in VERDICTS])
    return pa.table(
        {
            "call_key": np.arange(len(calls), dtype=np.int64),
            "verdict": pa.DictionaryArray.from_arrays(pa.array(verdicts.verdict), names),
            "source_call_key": pa.array(verdicts.source, pa.int64(), mask=~answered),
            "age_ns": pa.array(age_ns, pa.int64(), mask=~answered),
        }
    )


def store_verdicts(store: duckdb.DuckDBPyConnection, table: pa.Table) -> None:
    """Make the temporary table ``call_verdict`` of `verdict_table`."""
    store.register("_verdict_row", table)
    store.execute("CREATE OR REPLACE TEMP TABLE call_verdict AS SELECT * FROM _verdict_row")
    store.unregister("_verdict_row")
