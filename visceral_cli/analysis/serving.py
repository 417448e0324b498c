"""One pass over all calls under all rules together: which calls would have been served.

A call whose identity a rule covers is served if the newest stored result of its identity is fresh
and no writer within reach voids it (`barriers`); else it runs. A call inside of a served call is
absorbed: it would not have run, so it stores nothing and voids nothing.

Every tool is replayed by itself; what was served tells which calls are absorbed, and if that
changes anything for a tool, all are replayed without these. A decision depends on earlier ones
only, so each round makes more of the past final, and when nothing changes any more all of it is
what one pass in order of time would have decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import msgspec
import numpy as np
import pyarrow as pa

from visceral_cli.analysis.barriers import Barriers
from visceral_cli.analysis.columns import NONE, CallColumns
from visceral_cli.analysis.freshness import Bound, Scope
from visceral_cli.analysis.histories import ToolHistory, histories
from visceral_cli.analysis.history import Codes, Places, Times, WriterEnds
from visceral_cli.analysis.in_flight import first_end_of_running, running_beside
from visceral_cli.analysis.lanes import lay_out
from visceral_cli.analysis.replay import replay
from visceral_cli.analysis.scopes import Who
from visceral_cli.analysis.spans import SpanTree
from visceral_cli.contract.rule import Sharing

_MAX_ROUNDS = 100
"""Calls are seldom inside of each other more than a few deep. Only a trace that says a call began
before the call it lies inside of could go on without end."""


class Permission(msgspec.Struct, frozen=True):
    """How old the stored results of one tool may be; with 0 or less none is served."""

    tool: int
    """The tool code in the columns."""
    freshness_ns: int
    only: Codes | None = None
    """The identities it holds for, as coded in the columns; ``None``: all of the tool."""
    excluded: Codes | None = None
    """Identities it does not hold for."""


def permission_of(history: ToolHistory, bound: Bound) -> Permission:
    """Return what the bound that was found for this history permits."""
    included = bound.identities.included + history.first_identity
    return Permission(
        tool=history.code,
        freshness_ns=bound.freshness_ns,
        only=included if bound.scope is Scope.IDENTITIES else None,
        excluded=bound.identities.excluded + history.first_identity,
    )


class Serving(msgspec.Struct, frozen=True):
    """What would have been served. All members are rows, ascending, and what belongs to each."""

    served: Places
    source: Places
    """The execution whose stored result would have answered."""
    absorbed: Places
    """Calls inside of served calls."""
    waiting: Places
    """Calls that run beside an equal execution: with single-flight one of them were enough ..."""
    waiting_ns: Times
    """... and what waiting for the first of these executions would have saved."""


def freshness_by_identity(calls: CallColumns, permissions: Sequence[Permission]) -> Times:
    """Return the greatest age in nanoseconds for each identity, `NONE` where nothing is allowed."""
    freshness = np.full(calls.identities, NONE, np.int64)
    for permission in permissions:
        allowed = permission.freshness_ns
        first, end = calls.identity_starts[permission.tool : permission.tool + 2]
        only = np.arange(first, end) if permission.only is None else permission.only
        freshness[only] = allowed if allowed > 0 else NONE
        if permission.excluded is not None:
            freshness[permission.excluded] = NONE
    return freshness


def serve_calls(
    calls: CallColumns,
    tree: SpanTree,
    freshness: Times,
    who: Who | None = None,
    reach: Mapping[int, Sharing] | None = None,
) -> Serving:
    """Return what stored results would have answered; ``freshness`` as `freshness_by_identity`.

    ``reach``: by tool code, how far writes of other runs void its results, which takes ``who``; not
    at all for tools without one.

    A call that the runtime answered and ran as well, to compare the two, is not counted as served:
    it would run again.
    """
    allowed = np.append(freshness, NONE)[calls.identity]
    allowed[calls.writer | calls.failed | ~calls.ran | ~calls.timed] = NONE
    source = np.full(len(calls), NONE, np.int64)
    waiting_ns = np.full(len(calls), NONE, np.int64)
    absorbed = np.zeros(len(calls), np.bool_)
    matters = calls.writer | (allowed >= 0)
    for _ in range(_MAX_ROUNDS if (allowed >= 0).any() else 0):
        barriers = Barriers.of(calls, who, without=absorbed)
        may_serve = np.where(absorbed, NONE, allowed)
        _serve_all(calls, may_serve, barriers, reach or {}, source, waiting_ns)
        inside = tree.within((source >= 0) & ~calls.verified)
        settled = np.array_equal(inside & matters, absorbed & matters)
        absorbed = inside
        if settled:
            break

    rows = np.flatnonzero((source >= 0) & ~calls.verified)
    waiting = np.flatnonzero(waiting_ns >= 0)
    return Serving(rows, source[rows], np.flatnonzero(absorbed), waiting, waiting_ns[waiting])


def store_serving(store: duckdb.DuckDBPyConnection, serving: Serving) -> None:
    """Make the temporary table ``served_call``: ``call_key``, ``source_call_key``."""
    rows = pa.table({"call_key": serving.served, "source_call_key": serving.source})
    store.register("_served_row", rows)
    store.execute("CREATE OR REPLACE TEMP TABLE served_call AS SELECT * FROM _served_row")
    store.unregister("_served_row")


def _serve_all(
    calls: CallColumns,
    allowed: Times,
    barriers: Barriers,
    reach: Mapping[int, Sharing],
    source: Places,
    waiting_ns: Times,
) -> None:
    """Replay every tool, and write what came of it into ``source`` and ``waiting_ns``."""
    source[:] = NONE
    waiting_ns[:] = NONE
    for history in histories(calls):
        if (allowed[history.rows] >= 0).any():
            ends = barriers.of_history(history.rows, reach.get(history.code, Sharing.RUN))
            _serve_tool(history, ends, allowed[history.rows], source, waiting_ns)


def _serve_tool(
    history: ToolHistory, ends: WriterEnds, allowed: Times, source: Places, waiting_ns: Times
) -> None:
    identity = np.where(allowed >= 0, history.calls.identity, NONE).astype(np.int32)
    lanes = lay_out(msgspec.structs.replace(history.calls, identity=identity), ends)
    rows = history.rows[lanes.row]
    serves = replay(lanes, int(allowed.max()))
    source[rows[serves.call]] = rows[serves.source]
    ran = source[rows] < 0
    beside = np.flatnonzero(ran & (running_beside(lanes, ran) > 0))
    end_ns = lanes.start_ns[beside] + lanes.duration_ns[beside]
    waiting_ns[rows[beside]] = np.maximum(0, end_ns - first_end_of_running(lanes, ran, beside))
