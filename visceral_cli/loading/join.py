"""Calls that other records complete, and spans that tell one execution together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from visceral_cli.calls.call_columns import CallColumns, columns_of
from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.mentions import comparable
from visceral_cli.calls.one_call import Joined, one_call_each
from visceral_cli.calls.tool_call import CallKind, ContentMissing, IdentityMissing, ToolCall
from visceral_cli.loading.rows import (
    CALL_FIELDS,
    arguments_batch,
    call_batch,
    hashes_of_kept_arguments,
    results_batch,
)
from visceral_cli.loading.span_tree import SpanTree
from visceral_cli.loading.texts import insert_texts
from visceral_cli.settings import ExtractSettings

SETS_AT_A_TIME = 2000
"""Sets of traces that are held in memory together."""

_FIELDS = ("record", "file_id", "arguments_hash", *CALL_FIELDS)

Place = tuple[int, int]
"""Record and position of a call."""

TracePair = tuple[str, str]


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
    def place(self) -> Place:
        """Where its row stands."""
        return self.record, self.call.position


@dataclass(slots=True)
class _Set:
    """Traces that are judged together: all their calls, parents, and what others tell of them."""

    calls: list[RecordedCall]
    parents: dict[str, dict[str, str | None]]
    told: dict[Place, dict[str, str | None]]
    """Place to ``arguments`` or ``result`` to its text; ``None``: the tellers contradict."""


@dataclass(frozen=True, slots=True)
class Told:
    """What tells which calls may have to be completed or joined, beside the tree of the spans."""

    together: list[TracePair]
    """Traces to be judged, each with one to be judged with it, or itself."""
    records: NDArray[np.int64]
    """The spans of all calls."""


def read_told(store: duckdb.DuckDBPyConnection) -> Told:
    """Return the traces in which several may tell of one call, or other records complete one."""
    together = store.execute(
        """
        SELECT trace_before, trace_id FROM _same_id_at_once
        UNION
        SELECT trace_id, trace_id FROM _told_elsewhere
        """
    ).fetchall()
    # In most stores nowhere: then the calls need not be gone through a second time.
    if store.execute("SELECT 1 FROM _perhaps_told_by_several LIMIT 1").fetchall():
        together += store.execute("SELECT trace_id, trace_id FROM _told_by_several").fetchall()
    records = store.execute("SELECT record FROM _call_told").fetchnumpy()["record"]
    return Told(together, records)


def join_calls(
    store: duckdb.DuckDBPyConnection, tree: SpanTree, told: Told, settings: ExtractSettings
) -> None:
    """Fill ``_call_joined``, and ``_replaced`` with the places that its rows stand for.

    First calls are completed by what other records tell, then those of one execution are joined.
    """
    count = _choose_sets(store, tree, told)
    extractor = Extractor(settings)
    for first in range(0, count, SETS_AT_A_TIME):
        changed: list[RecordedCall] = []
        replaced: list[Place] = []
        for judged in _sets(store, first, first + SETS_AT_A_TIME):
            _complete(judged, extractor)
            replaced += _join(judged)
            changed += [recorded for recorded in judged.calls if recorded.changed]
        replaced += [recorded.place for recorded in changed]
        _insert(store, changed, replaced, settings)


def _choose_sets(store: duckdb.DuckDBPyConnection, tree: SpanTree, told: Told) -> int:
    """Put the traces to be judged into ``_judged``, each with the number of its set; count these.

    Sets are traces in which several spans may tell one execution, or whose calls other records
    complete.
    """
    pairs = [*told.together]
    nested = _records_of_nested_calls(store, tree, told.records)
    if len(nested):
        store.register("_nested", pa.table({"record": nested}))
        pairs += store.execute(
            "SELECT DISTINCT trace_id, trace_id FROM _call_told SEMI JOIN _nested USING (record)"
        ).fetchall()
        store.unregister("_nested")
    sets = _connected(pairs)
    store.execute("DELETE FROM _judged")
    if sets:
        rows = [(number, trace) for number, traces in enumerate(sets) for trace in traces]
        numbers, traces = zip(*rows, strict=True)
        batch = pa.table({"nth": pa.array(numbers, pa.int64()), "trace_id": pa.array(traces)})
        store.register("_batch", batch)
        store.execute("INSERT INTO _judged SELECT nth, trace_id FROM _batch")
        store.unregister("_batch")
        for table, view in (
            ("_judged_call", "_call_to_judge"),
            ("_judged_span", "_span_to_judge"),
            ("_judged_text", "_text_to_judge"),
        ):
            store.execute(
                f"CREATE OR REPLACE TEMP TABLE {table} AS "  # noqa: S608 - our own names
                f"SELECT * FROM {view} ORDER BY ALL"
            )
    return len(sets)


def _records_of_nested_calls(
    store: duckdb.DuckDBPyConnection, tree: SpanTree, records: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Calls below a call of the same tool, or below any call when the kind is no plain tool."""
    spans = tree.index_of(records)
    called = np.zeros(len(tree.record), dtype=bool)
    called[spans] = True
    if not (tree.nearest_marked_ancestor(spans, called) >= 0).any():
        return records[:0]  # as in most inputs: no texts need to be read
    columns = store.execute(
        "SELECT record, hash(tool) AS tool, kind <> 'tool' AS other_kind FROM _call_told"
    ).fetchnumpy()
    spans = tree.index_of(columns["record"])
    tool = np.zeros(len(tree.record), dtype=np.uint64)
    tool[spans] = columns["tool"]
    above = tree.nearest_marked_ancestor(spans, called)
    nested = (above >= 0) & ((tool[above] == columns["tool"]) | columns["other_kind"].astype(bool))
    found: NDArray[np.int64] = columns["record"][nested]
    return found


def _connected(pairs: Iterable[TracePair]) -> list[list[str]]:
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


def _sets(store: duckdb.DuckDBPyConnection, first: int, end: int) -> Iterator[_Set]:
    """Yield the sets ``first`` to ``end`` - 1, their calls in the order of their records."""
    sets: dict[int, _Set] = defaultdict(lambda: _Set([], defaultdict(dict), defaultdict(dict)))
    condition, values = "WHERE nth >= ? AND nth < ? ORDER BY ALL", [first, end]
    for nth, recorded in _load(store, condition, values):
        sets[nth].calls.append(recorded)
    for nth, trace, span, parent in store.execute(
        f"SELECT nth, trace_id, span_id, parent_span_id FROM _judged_span {condition}",  # noqa: S608
        values,
    ).fetchall():
        sets[nth].parents[trace][span] = parent
    for nth, record, position, what, text in store.execute(
        f"SELECT nth, record, position, what, text FROM _judged_text {condition}",  # noqa: S608
        values,
    ).fetchall():
        told = sets[nth].told[record, position]
        text = comparable(text)
        told[what] = text if told.get(what, text) == text else None
    return iter(sets.values())


def _complete(judged: _Set, extractor: Extractor) -> None:
    """Give the calls what their own spans lack, where other records agree on it."""
    for recorded in judged.calls if judged.told else ():
        told = judged.told.get(recorded.place)
        if told is None:
            continue
        if "arguments" in told and told["arguments"] is None:
            recorded.call.identity_missing = IdentityMissing.CONFLICT
        recorded.call = extractor.complete(recorded.call, told.get("arguments"), told.get("result"))
        recorded.changed = True


def _join(judged: _Set) -> list[Place]:
    """Let one call of each execution stay in ``judged``; return the places of the others."""
    by_key = {_key(recorded.call): recorded for recorded in judged.calls}
    absorbed: list[Place] = []
    for joined in one_call_each([one.call for one in judged.calls], judged.parents):
        if joined.absorbed:
            absorbed += _absorb(joined, by_key)
    if absorbed:
        gone = set(absorbed)
        judged.calls = [recorded for recorded in judged.calls if recorded.place not in gone]
    return absorbed


def _absorb(joined: Joined, by_key: dict[tuple[str, str, int], RecordedCall]) -> list[Place]:
    survivor = by_key[_key(joined.call)]
    others = [by_key[key] for key in joined.absorbed]
    survivor.call = joined.call
    survivor.spans = 1 + len(others)
    survivor.changed = True
    if survivor.arguments_hash is None:
        survivor.arguments_hash = next(filter(None, (o.arguments_hash for o in others)), None)
    return [other.place for other in others]


def _key(call: ToolCall) -> tuple[str, str, int]:
    return call.trace_id, call.span_id, call.position


def _insert(
    store: duckdb.DuckDBPyConnection,
    changed: Sequence[RecordedCall],
    replaced: Sequence[Place],
    settings: ExtractSettings,
) -> None:
    calls = columns_of([item.call for item in changed], [-1 - item.record for item in changed])
    told = hashes_of_kept_arguments(calls, settings)  # of texts that completed a call just now
    if changed:
        known = [one.arguments_hash or new for one, new in zip(changed, told, strict=True)]
        rows = _rows(changed, calls, known)
        columns = ", ".join(rows.schema.names)
        store.register("_batch", rows)
        store.execute(
            f"INSERT INTO _call_joined ({columns}) SELECT {columns} FROM _batch"  # noqa: S608
        )
        store.unregister("_batch")
    if replaced:
        records, positions = zip(*replaced, strict=True)
        places = {"record": pa.array(records, pa.int64()), "position": pa.array(positions)}
        store.register("_batch", pa.table(places))
        store.execute("INSERT INTO _replaced SELECT record, position FROM _batch")
        store.unregister("_batch")
    results = calls if settings.keep_text else CallColumns()
    insert_texts(store, arguments_batch(told, calls), results_batch(results))


def _load(
    store: duckdb.DuckDBPyConnection, condition: str, values: list[int]
) -> Iterator[tuple[int, RecordedCall]]:
    """Call records as calls, without the texts of arguments and results, each with its set."""
    query = f"SELECT nth, {', '.join(_FIELDS)} FROM _judged_call {condition}"  # noqa: S608 - ours
    for row in store.execute(query, values).fetchall():
        nth, record, file_id, arguments_hash, *columns = row
        call = ToolCall(**dict(zip(CALL_FIELDS.values(), columns, strict=True)))
        call.kind = CallKind(call.kind)
        if call.identity_missing is not None:
            call.identity_missing = IdentityMissing(call.identity_missing)
        if call.content_missing is not None:
            call.content_missing = ContentMissing(call.content_missing)
        yield nth, RecordedCall(record, file_id, arguments_hash, call)


def _rows(
    recorded: Sequence[RecordedCall], calls: CallColumns, arguments_hashes: Sequence[str | None]
) -> pa.Table:
    """Rows of ``_call_joined``; the calls of ``recorded`` and the hashes of their arguments."""
    table = pa.Table.from_batches([call_batch(calls, arguments_hashes)])
    return table.append_column(
        "file_id", pa.array([item.file_id for item in recorded], pa.int32())
    ).append_column("spans", pa.array([item.spans for item in recorded], pa.int32()))
