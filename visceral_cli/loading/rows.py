"""Spans and calls as Arrow batches, in the columns of the store's record tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa

from visceral_cli.calls.extract import SpanContext
from visceral_cli.calls.tool_call import Mention, ToolCall
from visceral_cli.ingest.span import Span

LATEST_NS = 2**63 - 1
"""The last instant a column of nanoseconds holds (in the year 2262)."""

_CALL_COLUMNS: tuple[tuple[str, pa.DataType, str], ...] = (
    # column, type, field of ToolCall
    ("trace_id", pa.string(), "trace_id"),
    ("span_id", pa.string(), "span_id"),
    ("parent_span_id", pa.string(), "parent_span_id"),
    ("position", pa.int32(), "position"),
    ("tool", pa.string(), "tool"),
    ("kind", pa.string(), "kind"),
    ("convention", pa.string(), "convention"),
    ("start_ns", pa.int64(), "start_ns"),
    ("end_ns", pa.int64(), "end_ns"),
    ("failed", pa.bool_(), "failed"),
    ("service", pa.string(), "service"),
    ("scope", pa.string(), "scope"),
    ("span_kind", pa.int8(), "span_kind"),
    ("version", pa.string(), "version"),
    ("input_hash", pa.string(), "input_hash"),
    ("hash_v", pa.int32(), "hash_v"),
    ("recorded_hash", pa.bool_(), "recorded_hash"),
    ("hash_disagrees", pa.bool_(), "hash_disagrees"),
    ("identity_missing", pa.string(), "identity_missing"),
    ("content_hash", pa.string(), "content_hash"),
    ("content_missing", pa.string(), "content_missing"),
    ("content_bytes", pa.int64(), "content_bytes"),
    ("empty_result", pa.bool_(), "empty_result"),
    ("call_id", pa.string(), "call_id"),
    ("session", pa.string(), "session"),
    ("user_id", pa.string(), "user"),
    ("agent", pa.string(), "agent"),
    ("readonly", pa.bool_(), "readonly"),
    ("replay_safe", pa.bool_(), "replay_safe"),
    ("vary", pa.string(), "vary"),
    ("freshness_override", pa.float64(), "freshness_override"),
    ("served_decision_id", pa.string(), "served_decision_id"),
    ("verify_match", pa.bool_(), "verify_match"),
    ("cost_usd", pa.float64(), "cost_usd"),
    ("namespace", pa.string(), "principal"),
    ("unnamed_arguments", pa.bool_(), "unnamed_arguments"),
)

CALL_FIELDS = {column: field for column, _, field in _CALL_COLUMNS}
"""Column of ``_call_record`` to field of :class:`ToolCall`."""


def span_batch(spans: Sequence[Span], told: Sequence[SpanContext]) -> pa.RecordBatch:
    """One row per span, in order; ``told[i]`` belongs to ``spans[i]``. ``record`` starts at 0."""
    services = {id(span.resource): span.resource.service for span in spans}
    starts, ends = _intervals(spans)
    return pa.RecordBatch.from_pydict(
        {
            "record": pa.array(range(len(spans)), pa.int64()),
            "trace_id": _texts([span.trace_id for span in spans]),
            "span_id": _texts([span.span_id for span in spans]),
            "parent_span_id": _texts([span.parent_span_id for span in spans]),
            "name": _texts([span.name for span in spans]),
            "kind": pa.array([span.kind for span in spans], pa.int8()),
            "start_ns": starts,
            "end_ns": ends,
            "status": pa.array([span.status for span in spans], pa.int8()),
            "service": _texts([services[id(span.resource)] for span in spans]),
            "scope": _texts([span.scope for span in spans]),
            "session": _texts([row.session for row in told]),
            "user_id": _texts([row.user for row in told]),
            "agent": _texts([row.agent for row in told]),
            "attributes": pa.array([len(span.attributes) for span in spans], pa.int32()),
        }
    )


def call_batch(
    calls: Sequence[ToolCall],
    records: Sequence[int],
    arguments_hashes: Sequence[str | None],
) -> pa.RecordBatch:
    """One row per call; the ``i``-th record and hash belong to ``calls[i]``."""
    columns: dict[str, pa.Array] = {
        "record": pa.array(records, pa.int64()),
        "arguments_hash": _texts(list(arguments_hashes)),
    }
    starts, ends = _intervals(calls)
    for column, type_, field in _CALL_COLUMNS:
        if column == "start_ns":
            columns[column] = starts
        elif column == "end_ns":
            columns[column] = ends
        else:
            values = list(map(attrgetter(field), calls))
            columns[column] = _texts(values) if type_ == pa.string() else pa.array(values, type_)
    return pa.RecordBatch.from_pydict(columns)


def mention_batch(mentions: Sequence[Mention]) -> pa.RecordBatch:
    """One row per mention, in order."""
    fields = ("trace_id", "span_id", "call_id", "tool", "what", "text")
    return pa.RecordBatch.from_pydict(
        {field: _texts(list(map(attrgetter(field), mentions))) for field in fields}
    )


def arguments_batch(calls: Iterable[ToolCall]) -> pa.RecordBatch:
    """Distinct (hash, text) rows of the arguments that are known."""
    return _distinct_texts((text_hash(call.arguments), call.arguments) for call in calls)


def results_batch(calls: Iterable[ToolCall]) -> pa.RecordBatch:
    """Distinct (hash, text) rows of the results that are known."""
    return _distinct_texts((call.content_hash, call.result) for call in calls)


def _distinct_texts(rows: Iterable[tuple[str | None, str | None]]) -> pa.RecordBatch:
    texts = {key: text for key, text in rows if key is not None and text is not None}
    return pa.RecordBatch.from_pydict(
        {"hash": _texts(list(texts)), "text": _texts(list(texts.values()))}
    )


def text_hash(text: str | None) -> str | None:
    """sha256 in hex of a canonical (hence ASCII) text."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def _intervals(timed: Sequence[Span] | Sequence[ToolCall]) -> tuple[pa.Array, pa.Array]:
    """Start and end columns; both NULL where an interval is missing or impossible."""
    starts: list[int | None] = []
    ends: list[int | None] = []
    for item in timed:
        start, end = item.start_ns, item.end_ns
        if start is None or end is None or not 0 < start <= end <= LATEST_NS:
            start = end = None
        starts.append(start)
        ends.append(end)
    return pa.array(starts, pa.int64()), pa.array(ends, pa.int64())


def _texts(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:  # a lone surrogate, out of a JSON text within an attribute
        clean = [value and value.encode(errors="replace").decode() for value in values]
        return pa.array(clean, pa.string())
