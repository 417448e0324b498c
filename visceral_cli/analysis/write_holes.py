"""Writes that the runtime of the Visceral SDK would not notice, as far as spans show them.

Its writer log is one time per run: the start of the last write that the run's own context saw. So
three writes leave a stale result behind: one that a read overlapped, one in a sibling task that was
begun before the run was, and one in a plain thread.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from visceral_cli.analysis.figures import Finding, FindingKind
from visceral_cli.store.database import run_file

_HOLES = (
    (
        FindingKind.READ_DURING_WRITE,
        "_read_during_write",
        "read while a writer of the same trace was at work: such a result may be older than the "
        "write and is not to be stored",
    ),
    (
        FindingKind.WRITE_BESIDE_RUN,
        "_write_beside_run",
        "wrote outside of every @node while another branch of the trace was reading: its results "
        "stay served; put both below one @node",
    ),
    (
        FindingKind.WRITE_IN_OWN_TRACE,
        "_write_in_own_trace",
        "wrote in a trace of its own while a run of the same service was under way, as in a "
        "thread: that run does not learn of it",
    ),
)


def find_write_holes(store: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    """Yield a finding for each tool and kind of hole. Only spans of the SDK tell of its runs."""
    if not store.execute("SELECT 1 FROM tool_call WHERE readonly = false LIMIT 1").fetchall():
        return
    run_file(store, "visceral_cli.analysis", "write_holes.sql")
    for kind, view, message in _HOLES:
        for namespace, tool, _, calls, traces, spans in store.table(view).fetchall():
            yield Finding(
                kind=kind,
                namespace=namespace,
                tool=tool,
                message=message,
                calls=calls,
                trace_ids=tuple(dict.fromkeys(traces)),
                span_ids=tuple(spans),
            )
