"""OTLP protobuf: one message into spans, log records and counts.

Decoded by ``opentelemetry-proto``. TracesData, LogsData, MetricsData and ProfilesData have the same
outer fields, so what a message holds is told by the wire types of its first record. Spans out of
the ordinary, and messages that the decoder refuses, take the way of the lenient JSON reader, so
that both encodings of a span give the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import repeat
from typing import Any

from google.protobuf.message import DecodeError

from visceral_cli.ingest.otlp_document import read_otlp, read_span
from visceral_cli.ingest.proto_columns import MAX_NS, NO_SPAN, NO_TRACE, ScopeSpans, spans_by_column
from visceral_cli.ingest.proto_messages import LeanTracesData, TracesColumns
from visceral_cli.ingest.proto_parts import (
    event_of,
    pairs_of,
    resource_of,
    scope_name,
    status_of,
)
from visceral_cli.ingest.proto_shapes import Odd
from visceral_cli.ingest.proto_signal import Signal, records_in, signal_of
from visceral_cli.ingest.proto_wire import BYTES, BadMessage, fields, read_fields
from visceral_cli.ingest.span import DamageKind, Reading, Resource, Span
from visceral_cli.ingest.span_columns import SpanColumns
from visceral_cli.ingest.times import SURELY_NS

_ENOUGH = 12
"""From this many spans in a scope on, reading them column by column is quicker."""

_MOST_BYTES = 2**25
"""Of a longer message no columns are made: they hold all of it once more."""


def read_message(
    data: bytes, reading: Reading, *, seed: str, columns: SpanColumns | None = None
) -> None:
    """Add what one protobuf message holds; ``seed`` names its place for synthetic ids.

    Spans go to ``columns`` where they are given, and all of the message fit in there.
    """
    reading.begin_document(seed)
    read_message_here(data, reading, columns)


def read_message_here(data: bytes, reading: Reading, columns: SpanColumns | None = None) -> None:
    """Add what a message holds that is part of the document being read."""
    try:
        scopes = _scopes(LeanTracesData.FromString(data))
    except DecodeError:
        _read_patiently(data, reading)
        return
    if _starts_with_a_span(scopes) or signal_of(data) is Signal.SPANS:
        _add_spans(scopes, data, reading, columns)
    else:
        _read_patiently(data, reading)


_Scope = tuple[Resource, str, list[Any]]
"""Resource, name and spans of a ScopeSpans."""


def _scopes(message: Any) -> list[_Scope]:
    return [
        (resource, scope_name(scope_spans.scope), scope_spans.spans[:])
        for resource_spans in message.resource_spans
        for resource in [resource_of(resource_spans.resource)]
        for scope_spans in resource_spans.scope_spans
    ]


def _starts_with_a_span(scopes: list[_Scope]) -> bool:
    for _, _, spans in scopes:
        if spans:
            return len(spans[0].trace_id) == 16 and spans[0].start_time_unix_nano > 0
    return False


def _read_patiently(data: bytes, reading: Reading) -> None:
    signal = signal_of(data)
    if signal is Signal.SPANS:
        read_otlp(read_fields(data, "TracesData", reading), reading)
    elif signal is Signal.LOGS:
        read_otlp(read_fields(data, "LogsData", reading), reading)
    elif signal is not None:
        reading.skipped[signal] += len(records_in(data))
    else:
        _note_no_signal(data, reading)


def _note_no_signal(data: bytes, reading: Reading) -> None:
    """Say why a message without a known record is damaged; one without any record is not."""
    try:
        top = list(fields(data, 0, len(data)))
    except BadMessage as error:
        _note(error, reading)
        return
    if records_in(data) or any(field.number != 1 or field.wire != BYTES for field in top):
        reading.add_damage(DamageKind.PROTO, "a protobuf message, but none of OTLP; left out")


def _add_spans(
    scopes: list[_Scope], data: bytes, reading: Reading, into: SpanColumns | None
) -> None:
    """Add the spans to ``into`` where all of them fit in, else to the reading."""
    read = [
        _by_column(scope, columns)
        for scope, columns in zip(scopes, _columns(scopes, data), strict=False)
    ]
    fitting = [one.columns for one in read if one is not None and one.beside is None]
    if into is not None and len(fitting) == sum(bool(spans) for _, _, spans in scopes):
        for columns in fitting:
            into.add(columns)
        return
    for (resource, scope, spans), one in zip(scopes, read, strict=True):
        if one is not None:
            reading.spans += one.objects()
        else:
            for span in spans:
                _add_span(span, resource, scope, reading)


def _by_column(scope: _Scope, columns: Any) -> ScopeSpans | None:
    resource, name, spans = scope
    if columns is not None and len(spans) >= _ENOUGH:
        with suppress(Odd, DecodeError):
            return spans_by_column(spans, columns, resource, name)
    return None


def _columns(scopes: list[_Scope], data: bytes) -> Iterable[Any]:
    """Return the columns of each scope of a message, ``None`` where there is no use for them."""
    if len(data) > _MOST_BYTES or all(len(spans) < _ENOUGH for _, _, spans in scopes):
        return repeat(None)
    try:
        message = TracesColumns.FromString(data)
    except DecodeError:
        return repeat(None)
    return [scope.spans for resource in message.resource_spans for scope in resource.scope_spans]


def _add_span(span: Any, resource: Resource, scope: str, reading: Reading) -> None:
    trace_id, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
    start, end, kind = span.start_time_unix_nano, span.end_time_unix_nano, span.kind
    try:
        pairs = pairs_of(span.attributes[:])
        code, message = status_of(span.status)
        events = [event_of(raw) for raw in span.events] if span.events else []
    except DecodeError:
        _add_unusual(span, resource, scope, reading)
        return
    attributes = dict(pairs)
    if (
        len(trace_id) != 16
        or len(span_id) != 8
        or trace_id == NO_TRACE
        or span_id == NO_SPAN
        or (parent and len(parent) != 8)
        or not SURELY_NS <= start <= MAX_NS
        or not SURELY_NS <= end <= MAX_NS
        or not 0 <= kind <= 5
        or not 0 <= code <= 2
        or len(attributes) != len(pairs)
    ):
        _add_unusual(span, resource, scope, reading)
        return
    reading.spans.append(
        Span(
            _hex(trace_id),
            span_id.hex(),
            _hex(parent) if parent and parent != NO_SPAN else None,
            span.name,
            start,
            end,
            attributes,
            resource,
            kind,
            code,
            message,
            events,
            scope,
            span.dropped_attributes_count,
        )
    )


@lru_cache(maxsize=64)
def _hex(identifier: bytes) -> str:
    """Return the digits of an id that the spans around probably have too: one text for all."""
    return identifier.hex()


def _add_unusual(span: Any, resource: Resource, scope: str, reading: Reading) -> None:
    """Let the lenient reader judge a span that has anything out of the ordinary."""
    try:
        fields_of_span = read_fields(span.SerializeToString(), "Span", reading)
    except BadMessage as error:
        _note(error, reading)
    else:
        read_span(fields_of_span, resource, scope, reading)


def _note(error: BadMessage, reading: Reading) -> None:
    kind = DamageKind.CUT if error.cut else DamageKind.PROTO
    reading.add_damage(kind, f"{error}; left out")
