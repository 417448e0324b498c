"""Calls that other records complete, and spans that tell one execution together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.one_call import Joined as OneCall
from visceral_cli.calls.one_call import one_call_each
from visceral_cli.calls.tool_call import CallKind, ContentMissing, IdentityMissing, ToolCall
from visceral_cli.loading.rows import (
    CALL_FIELDS,
    arguments_batch,
    call_batch,
    results_batch,
    text_hash,
)
from visceral_cli.loading.span_tree import SpanTree
from visceral_cli.settings import ExtractSettings

_FIELDS = ("record", "file_id", "arguments_hash", *CALL_FIELDS)
TRACES_AT_A_TIME = 1000
"""Sets of traces that are held in memory together."""

_SELECT_CALLS = f"SELECT {', '.join(_FIELDS)} FROM _call_told "  # noqa: S608 - our own names


@dataclass(slots=True)
class RecordedCall:
    """A call with what the store knows beside it."""

    record: int
    file_id: int
    arguments_hash: str | None
    call: ToolCall
    spans: int = 1
    changed: bool = False
    """Whether it differs from its row in ``_call_record``."""

    @property
    def key(self) -> tuple[str, str, int]:
        """What names the call among all calls."""
        return self.call.trace_id, self.call.span_id, self.call.position


@dataclass(frozen=True, slots=True)
class Joined:
    """Rows for ``_call_joined``, and the (record, position) rows that they stand for."""

    rows: pa.Table | None
    replaced: pa.RecordBatch
    arguments: pa.RecordBatch
    """Distinct (hash, text) of the completed calls; empty unless texts are kept."""
    results: pa.RecordBatch


def join_calls(
    store: duckdb.DuckDBPyConnection, tree: SpanTree, settings: ExtractSettings
) -> Joined:
    """Complete the calls that other records tell of, then join those of one execution."""
    calls = _completed(store, settings)
    kept = [call.call for call in calls.values()] if settings.keep_text else []
    traces = _traces_to_judge(store, tree)
    replaced: list[tuple[int, int]] = []
    for first in range(0, len(traces), TRACES_AT_A_TIME):
        replaced += _join_traces(store, traces[first : first + TRACES_AT_A_TIME], calls)
    changed = [call for call in calls.values() if call.changed]
    replaced += [(call.record, call.call.position) for call in changed]
    return Joined(
        rows=_rows(changed) if changed else None,
        replaced=pa.RecordBatch.from_pydict(
            {
                "record": pa.array([record for record, _ in replaced], pa.int64()),
                "position": pa.array([position for _, position in replaced], pa.int32()),
            }
        ),
        arguments=arguments_batch(kept),
        results=results_batch(kept),
    )


def _completed(
    store: duckdb.DuckDBPyConnection, settings: ExtractSettings
) -> dict[tuple[str, str, int], RecordedCall]:
    """The calls whose arguments or results other records tell, completed."""
    told = store.execute(
        "SELECT record, position, what, text, texts FROM _told_elsewhere ORDER BY ALL"
    ).fetchall()
    if not told:
        return {}
    texts: dict[tuple[int, int], dict[str, str]] = defaultdict(dict)
    conflicts: set[tuple[int, int]] = set()
    for record, position, what, text, distinct in told:
        if distinct == 1:
            texts[record, position][what] = text
        elif what == "arguments":
            conflicts.add((record, position))
    extractor = Extractor(settings)
    records = sorted({record for record, *_ in told})
    completed: dict[tuple[str, str, int], RecordedCall] = {}
    for recorded in _load(store, "WHERE record IN (SELECT unnest(?))", [records]):
        place = recorded.record, recorded.call.position
        if place in conflicts:
            recorded.call.identity_missing = IdentityMissing.CONFLICT
        found = texts.get(place, {})
        arguments = None if place in conflicts else found.get("arguments")
        recorded.call = extractor.complete(recorded.call, arguments, found.get("result"))
        if settings.keep_text and recorded.call.arguments is not None:
            recorded.arguments_hash = text_hash(recorded.call.arguments)
        recorded.changed = True
        completed[recorded.key] = recorded
    return completed


def _traces_to_judge(store: duckdb.DuckDBPyConnection, tree: SpanTree) -> list[list[str]]:
    """Sets of trace ids in which several spans may tell one execution."""
    nested = _records_of_nested_calls(store, tree)
    pairs = store.execute(
        """
        SELECT trace_before, trace_id FROM _same_id_at_once
        UNION
        SELECT trace_id, trace_id FROM _told_by_several
        UNION
        SELECT trace_id, trace_id FROM _call_told WHERE record IN (SELECT unnest(?))
        ORDER BY ALL
        """,
        [nested],
    ).fetchall()
    return _connected(pairs)


def _records_of_nested_calls(store: duckdb.DuckDBPyConnection, tree: SpanTree) -> list[int]:
    """Calls below a call of the same tool, or below any call when the kind is no plain tool."""
    columns = store.execute(
        "SELECT record, hash(tool) AS tool, kind <> 'tool' AS other_kind FROM _call_told"
    ).fetchnumpy()
    if not len(columns["record"]):
        return []
    spans = tree.index_of(columns["record"])
    called = np.zeros(len(tree.record), dtype=bool)
    called[spans] = True
    tool = np.zeros(len(tree.record), dtype=np.uint64)
    tool[spans] = columns["tool"]
    above = tree.nearest_marked_ancestor(spans, called)
    nested = (above >= 0) & ((tool[above] == columns["tool"]) | columns["other_kind"].astype(bool))
    return [int(record) for record in columns["record"][nested]]


def _connected(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The sets of traces that the pairs connect, each sorted, in order."""
    leader: dict[str, str] = {}

    def lead(trace: str) -> str:
        while leader.setdefault(trace, trace) != trace:
            leader[trace] = leader[leader[trace]]
            trace = leader[trace]
        return trace

    for one, other in pairs:
        leader[lead(one)] = lead(other)
    sets: dict[str, list[str]] = defaultdict(list)
    for trace in sorted(leader):
        sets[lead(trace)].append(trace)
    return sorted(sets.values())


def _join_traces(
    store: duckdb.DuckDBPyConnection,
    sets: Sequence[Sequence[str]],
    calls: dict[tuple[str, str, int], RecordedCall],
) -> list[tuple[int, int]]:
    """Join the calls of sets of traces; survivors go into ``calls``; return what was absorbed."""
    set_of = {trace: number for number, traces in enumerate(sets) for trace in traces}
    traces = list(set_of)
    groups: list[dict[tuple[str, str, int], RecordedCall]] = [{} for _ in sets]
    for recorded in _load(
        store, "WHERE trace_id IN (SELECT unnest(?)) ORDER BY record, position", [traces]
    ):
        group = groups[set_of[recorded.call.trace_id]]
        group[recorded.key] = calls.get(recorded.key, recorded)
    parents: list[dict[str, dict[str, str | None]]] = [
        {trace: {} for trace in traces} for traces in sets
    ]
    for trace, span, parent in store.execute(
        "SELECT trace_id, span_id, parent_span_id FROM span WHERE trace_id IN (SELECT unnest(?))",
        [traces],
    ).fetchall():
        parents[set_of[trace]][trace][span] = parent
    absorbed: list[tuple[int, int]] = []
    for group, parent_of in zip(groups, parents, strict=True):
        for joined in one_call_each([recorded.call for recorded in group.values()], parent_of):
            if joined.absorbed:
                absorbed += _absorb(joined, group, calls)
    return absorbed


def _absorb(
    joined: OneCall,
    group: dict[tuple[str, str, int], RecordedCall],
    calls: dict[tuple[str, str, int], RecordedCall],
) -> list[tuple[int, int]]:
    survivor = group[joined.call.trace_id, joined.call.span_id, joined.call.position]
    others = [group[key] for key in joined.absorbed]
    survivor.call = joined.call
    survivor.spans = 1 + len(others)
    survivor.changed = True
    if survivor.arguments_hash is None:
        survivor.arguments_hash = next(filter(None, (o.arguments_hash for o in others)), None)
    calls[survivor.key] = survivor
    for other in others:
        calls.pop(other.key, None)
    return [(other.record, other.call.position) for other in others]


def _load(
    store: duckdb.DuckDBPyConnection, condition: str, values: list[object]
) -> Iterable[RecordedCall]:
    """Call records as calls, without the texts of arguments and results."""
    for row in store.execute(_SELECT_CALLS + condition, values).fetchall():
        record, file_id, arguments_hash, *columns = row
        fields = dict(zip(CALL_FIELDS.values(), columns, strict=True))
        call = ToolCall(**fields)
        call.kind = CallKind(call.kind)
        if call.identity_missing is not None:
            call.identity_missing = IdentityMissing(call.identity_missing)
        if call.content_missing is not None:
            call.content_missing = ContentMissing(call.content_missing)
        yield RecordedCall(record, file_id, arguments_hash, call)


def _rows(recorded: Sequence[RecordedCall]) -> pa.Table:
    """Rows of ``_call_joined``."""
    batch = call_batch(
        [item.call for item in recorded],
        [-1 - item.record for item in recorded],
        [item.arguments_hash for item in recorded],
    )
    table = pa.Table.from_batches([batch])
    return table.append_column(
        "file_id", pa.array([item.file_id for item in recorded], pa.int32())
    ).append_column("spans", pa.array([item.spans for item in recorded], pa.int32()))
