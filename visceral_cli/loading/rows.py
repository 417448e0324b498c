"""Spans and calls as Arrow batches, in the columns of the store's record tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from visceral_cli.calls.call_columns import CallColumns
from visceral_cli.calls.extract import SpanContext
from visceral_cli.calls.read_columns import Who
from visceral_cli.calls.tool_call import Mention
from visceral_cli.ingest.span import Span
from visceral_cli.ingest.span_columns import SpanColumns
from visceral_cli.settings import ExtractSettings

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
    ("result_order", pa.string(), "result_order"),
    ("call_id", pa.string(), "call_id"),
    ("session", pa.string(), "session"),
    ("user_id", pa.string(), "user"),
    ("agent", pa.string(), "agent"),
    ("readonly", pa.bool_(), "readonly"),
    ("replay_safe", pa.bool_(), "replay_safe"),
    ("vary", pa.string(), "vary"),
    ("freshness_override", pa.float64(), "freshness_override"),
    ("invalidates", pa.string(), "invalidates"),
    ("declared_run", pa.string(), "declared_run"),
    ("served_start_ns", pa.int64(), "served_start_ns"),
    ("served_decision_id", pa.string(), "served_decision_id"),
    ("verify_match", pa.bool_(), "verify_match"),
    ("cost_usd", pa.float64(), "cost_usd"),
    ("namespace", pa.string(), "principal"),
    ("unnamed_arguments", pa.bool_(), "unnamed_arguments"),
)

CALL_FIELDS = {column: field for column, _, field in _CALL_COLUMNS}
"""Column of ``_call_record`` to field of :class:`ToolCall`."""

SPAN_COLUMNS = (
    "trace_id",
    "span_id",
    "parent_span_id",
    "start_ns",
    "end_ns",
    "service",
    "scope",
)
"""Columns of ``_call_record`` that every call has from the span that tells it."""

_SPAN_TYPES = {
    "trace_id": pa.string(),
    "span_id": pa.string(),
    "parent_span_id": pa.string(),
    "name": pa.string(),
    "kind": pa.int8(),
    "start_ns": pa.int64(),
    "end_ns": pa.int64(),
    "status": pa.int8(),
    "service": pa.string(),
    "scope": pa.string(),
    "session": pa.string(),
    "user_id": pa.string(),
    "agent": pa.string(),
    "attributes": pa.int32(),
}


class SpanRows:
    """Rows of ``_span_record``, one per span, in order.

    Spans are taken in by the line, so that their attributes need not be kept meanwhile.
    """

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in _SPAN_TYPES}

    def __len__(self) -> int:
        return len(self._columns["span_id"])

    def add(self, spans: Sequence[Span], told: Sequence[SpanContext]) -> None:
        """Add spans; ``told[i]`` belongs to ``spans[i]``."""
        columns = self._columns
        columns["trace_id"] += [span.trace_id for span in spans]
        columns["span_id"] += [span.span_id for span in spans]
        columns["parent_span_id"] += [span.parent_span_id for span in spans]
        columns["name"] += [span.name for span in spans]
        columns["kind"] += [span.kind for span in spans]
        columns["start_ns"] += [span.start_ns for span in spans]
        columns["end_ns"] += [span.end_ns for span in spans]
        columns["status"] += [span.status for span in spans]
        for resource, run in groupby([span.resource for span in spans]):
            columns["service"] += [resource.service] * len(list(run))
        columns["scope"] += [span.scope for span in spans]
        columns["session"] += [row.session for row in told]
        columns["user_id"] += [row.user for row in told]
        columns["agent"] += [row.agent for row in told]
        columns["attributes"] += [len(span.attributes) for span in spans]

    def add_columns(self, spans: SpanColumns, who: Who) -> None:
        """Add spans that are columns already, and whom they belong to."""
        columns = self._columns
        for name in ("trace_id", "span_id", "parent_span_id", "name", "kind", "start_ns", "end_ns"):
            columns[name] += getattr(spans, name)
        columns["status"] += spans.status
        for resource, run in groupby(spans.resource):
            columns["service"] += [resource.service] * len(list(run))
        columns["scope"] += [shape.scope for shape in spans.shape]
        columns["session"] += who.session
        columns["user_id"] += who.user
        columns["agent"] += who.agent
        columns["attributes"] += map(len, spans.values)

    def batch(self) -> pa.RecordBatch:
        """Return the rows as a batch; ``record`` starts at 0."""
        columns = self._columns
        arrays = {"record": pa.array(np.arange(len(self), dtype=np.int64))}
        arrays["start_ns"], arrays["end_ns"] = _intervals(columns["start_ns"], columns["end_ns"])
        for name, type_ in _SPAN_TYPES.items():
            if name not in arrays:
                arrays[name] = _column(columns[name], type_)
        return pa.RecordBatch.from_pydict(arrays)


def call_batch(calls: CallColumns, arguments_hashes: Sequence[str | None]) -> pa.RecordBatch:
    """One row per call; the ``i``-th hash is that of the arguments of call ``i``, if kept."""
    fields = calls.fields
    columns = _columns_of_calls(calls, arguments_hashes)
    columns["start_ns"], columns["end_ns"] = _intervals(fields["start_ns"], fields["end_ns"])
    for column, type_, field in _CALL_COLUMNS:
        if column not in columns:
            columns[column] = _column(fields[field], type_)
    return pa.RecordBatch.from_pydict(columns)


def short_call_batch(calls: CallColumns, arguments_hashes: Sequence[str | None]) -> pa.RecordBatch:
    """The same without what stands in the rows of spans: ``SPAN_COLUMNS``."""
    return pa.RecordBatch.from_pydict(_columns_of_calls(calls, arguments_hashes))


def _columns_of_calls(
    calls: CallColumns, arguments_hashes: Sequence[str | None]
) -> dict[str, pa.Array]:
    columns = {
        "record": pa.array(calls.records, pa.int64()),
        "arguments_hash": _column(arguments_hashes, pa.string()),
    }
    for column, type_, field in _CALL_COLUMNS:
        if column not in SPAN_COLUMNS:
            columns[column] = _column(calls.fields[field], type_)
    return columns


def mention_batch(mentions: Sequence[Mention]) -> pa.RecordBatch:
    """One row per mention, in order."""
    fields = _by_field(mentions, Mention)
    return pa.RecordBatch.from_pydict(
        {field: _column(values, pa.string()) for field, values in fields.items()}
    )


def _by_field(
    items: Sequence[msgspec.Struct], struct: type[msgspec.Struct]
) -> dict[str, Sequence[Any]]:
    """Return the values of each field of all items."""
    names = struct.__struct_fields__
    columns = zip(*map(msgspec.structs.astuple, items), strict=True) if items else [()] * len(names)
    return dict(zip(names, columns, strict=True))


def hashes_of_kept_arguments(calls: CallColumns, settings: ExtractSettings) -> list[str | None]:
    """Return the hash of the arguments of each call, where their text is kept.

    Those of calls with a declared ``vary`` always are: without the arguments that it leaves out,
    the traces could not refute it.
    """
    texts = calls.fields["arguments"]
    if settings.keep_text:
        return list(map(text_hash, texts))
    declared = {name for name, tool in settings.tools.items() if tool.vary is not None}
    vary = calls.fields["vary"]
    if not declared and vary.count(None) == len(vary):
        return [None] * len(texts)
    return [
        text_hash(text) if told is not None or tool in declared else None
        for text, told, tool in zip(texts, vary, calls.fields["tool"], strict=True)
    ]


def arguments_batch(hashes: Sequence[str | None], calls: CallColumns) -> pa.RecordBatch:
    """Distinct (hash, text) rows of the arguments that are kept; ``hashes`` by call."""
    return _distinct_texts(zip(hashes, calls.fields["arguments"], strict=True))


def results_batch(calls: CallColumns) -> pa.RecordBatch:
    """Distinct (hash, text) rows of the results that are known."""
    return _distinct_texts(zip(calls.fields["content_hash"], calls.fields["result"], strict=True))


def _distinct_texts(rows: Iterable[tuple[str | None, str | None]]) -> pa.RecordBatch:
    texts = {key: text for key, text in rows if key is not None and text is not None}
    return pa.RecordBatch.from_pydict(
        {"hash": _texts(list(texts)), "text": _texts(list(texts.values()))}
    )


def text_hash(text: str | None) -> str | None:
    """sha256 in hex of a canonical (hence ASCII) text."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def _intervals(
    starts: Sequence[int | None], ends: Sequence[int | None]
) -> tuple[pa.Array, pa.Array]:
    """Start and end columns; both NULL where an interval is missing or impossible."""
    try:
        start, end = np.array(starts, np.int64), np.array(ends, np.int64)
    except (TypeError, OverflowError):  # one is missing, or no 64-bit number
        pass
    else:
        if ((start > 0) & (start <= end)).all():
            return pa.array(start), pa.array(end)
    intervals = [
        (None, None)
        if start is None or end is None or not 0 < start <= end <= LATEST_NS
        else (start, end)
        for start, end in zip(starts, ends, strict=True)
    ]
    return (
        pa.array([start for start, _ in intervals], pa.int64()),
        pa.array([end for _, end in intervals], pa.int64()),
    )


def _column(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Return the values as an array; where all are one object, without looking at each."""
    count = len(values)
    # Few columns come further than this line that are not all alike.
    if count > 2 and values[0] is values[-1] is values[count // 2]:
        one = values[0]
        if values.count(one) == count:
            return pa.nulls(count, type_) if one is None else _repeated(one, count, type_)
    return _array(values, type_)


def _repeated(value: Any, count: int, type_: pa.DataType) -> pa.Array:
    return pa.repeat(_array([value], type_)[0], count)


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    return _texts(values) if type_ == pa.string() else pa.array(values, type_)


def _texts(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:  # a lone surrogate, out of a JSON text within an attribute
        clean = [value and value.encode(errors="replace").decode() for value in values]
        return pa.array(clean, pa.string())
