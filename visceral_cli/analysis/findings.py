"""What else an analysis finds: repeated writes, hashes that disagree, names with two meanings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import duckdb
import numpy as np

from visceral_cli.analysis.columns import CallColumns
from visceral_cli.analysis.figures import Finding, FindingKind
from visceral_cli.analysis.histories import repeated, rows_by_code
from visceral_cli.analysis.names import name_table
from visceral_cli.store.database import run_file

EXAMPLES = 10
"""Traces and spans that a finding names; its message and counts speak of all."""


def find_findings(store: duckdb.DuckDBPyConnection, calls: CallColumns) -> list[Finding]:
    """Return all findings, in order of kind, most calls first, then by name.

    What needs the texts of arguments is found only in a store that keeps them.
    """
    run_file(store, "visceral_cli.analysis", "findings.sql")
    found = [*_repeated_writes(store, calls), *_hash_disagrees(store)]
    if store.execute("SELECT 1 FROM argument_text LIMIT 1").fetchall():
        run_file(store, "visceral_cli.analysis", "argument_findings.sql")
        found += [*_disjoint_arguments(store), *_near_duplicates(store)]
    if calls.verified.any():
        found += _verify_mismatches(store)
    if not calls.timed.all():
        found += _missing_times(store)
    return in_order(found)


def in_order(found: Iterable[Finding]) -> list[Finding]:
    """Return findings in order of kind, most calls first, then by name."""
    kinds = list(FindingKind)
    return sorted(
        found,
        key=lambda one: (
            kinds.index(one.kind),
            -one.calls,
            one.namespace,
            one.tool,
            one.input_hash or "",
            one.message,
            one.span_ids,
        ),
    )


def _repeated_writes(store: duckdb.DuckDBPyConnection, calls: CallColumns) -> Iterator[Finding]:
    """Yield one finding per identity of a writer that was written twice in a trace.

    Writes that failed are left out: what follows them is a retry.
    """
    rows = np.flatnonzero(calls.writer & calls.ran & ~calls.failed & (calls.identity >= 0))
    in_trace = calls.identity[rows].astype(np.int64) * calls.runs + calls.run[rows]
    _, same = np.unique(in_trace, return_inverse=True)
    rows = rows[repeated(same.astype(np.int32))]
    rows = rows_by_code(calls.identity, rows)
    starts = np.flatnonzero(np.diff(calls.identity[rows], prepend=-1))
    groups = np.split(rows, starts[1:]) if len(rows) else []
    shown = [group[:EXAMPLES] for group in groups]
    names = iter(name_table(store, np.concatenate([rows[:0], *shown])).to_pylist())
    for group, examples in zip(groups, shown, strict=True):
        named = list(itertools.islice(names, len(examples)))
        traces = len(np.unique(calls.run[group]))
        yield Finding(
            kind=FindingKind.REPEATED_WRITE,
            namespace=named[0]["namespace"],
            tool=named[0]["tool"],
            message=(
                f"a write with equal arguments was made {len(group)} times in "
                + ("one trace" if traces == 1 else f"{traces} traces, more than once in each")
            ),
            calls=len(group),
            trace_ids=tuple(dict.fromkeys(name["trace_id"] for name in named)),
            span_ids=tuple(name["span_id"] for name in named),
            input_hash=named[0]["input_hash"],
        )


def _hash_disagrees(store: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    for namespace, tool, _, calls, traces, spans in store.execute(
        "SELECT * FROM _hash_disagrees"
    ).fetchall():
        yield Finding(
            kind=FindingKind.HASH_DISAGREES,
            namespace=namespace,
            tool=tool,
            message="the recorded input hash is not that of the recorded arguments",
            calls=calls,
            trace_ids=tuple(dict.fromkeys(traces)),
            span_ids=tuple(spans),
        )


def _verify_mismatches(store: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    for namespace, tool, _, input_hash, calls, verified, traces, spans in store.execute(
        "SELECT * FROM _verify_mismatch"
    ).fetchall():
        yield Finding(
            kind=FindingKind.VERIFY_MISMATCH,
            namespace=namespace,
            tool=tool,
            message=f"the stored result was wrong in {calls} of {verified} verify samples",
            calls=calls,
            trace_ids=tuple(dict.fromkeys(traces)),
            span_ids=tuple(spans),
            input_hash=input_hash,
        )


def _missing_times(store: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    for namespace, tool, _, calls, traces, spans in store.execute(
        "SELECT * FROM _missing_times"
    ).fetchall():
        yield Finding(
            kind=FindingKind.CLOCKS,
            namespace=namespace,
            tool=tool,
            message="start or end is missing or impossible; such calls prove nothing",
            calls=calls,
            trace_ids=tuple(dict.fromkeys(traces)),
            span_ids=tuple(spans),
        )


def _disjoint_arguments(store: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    for namespace, tool, _, calls in store.execute("SELECT * FROM _disjoint_arguments").fetchall():
        yield Finding(
            kind=FindingKind.SAME_NAME_OTHER_SCHEMA,
            namespace=namespace,
            tool=tool,
            message="called with argument names that have nothing in common: perhaps two tools",
            calls=calls,
        )


def _near_duplicates(store: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    ways = ("letter case", "white space", "Unicode form", "1 and 1.0")
    for namespace, tool, _, questions, texts, calls, *differ, first_calls in store.execute(
        "SELECT * FROM _near_duplicate"
    ).fetchall():
        named = name_table(store, np.array(first_calls)).to_pylist()
        how = ", ".join(way for way, does in zip(ways, differ, strict=True) if does)
        asked = "one question" if questions == 1 else f"{questions} questions"
        yield Finding(
            kind=FindingKind.NEAR_DUPLICATE,
            namespace=namespace,
            tool=tool,
            message=f"{texts} spellings of {asked}, kept apart: they differ only in {how}",
            calls=calls,
            trace_ids=tuple(dict.fromkeys(name["trace_id"] for name in named)),
            span_ids=tuple(name["span_id"] for name in named),
        )
