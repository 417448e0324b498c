"""OTLP protobuf: one message into spans, log records and counts.

Decoded by ``opentelemetry-proto``. TracesData, LogsData, MetricsData and ProfilesData have the same
outer fields, so what a message holds is told by the wire types of its first record. Spans out of
the ordinary, and messages that the decoder refuses, take the way of the lenient JSON reader, so
that both encodings of a span give the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from visceral_cli.ingest.otlp_document import read_otlp, read_span
from visceral_cli.ingest.proto_messages import LeanTracesData
from visceral_cli.ingest.proto_signal import Signal, records_in, signal_of
from visceral_cli.ingest.proto_wire import BYTES, BadMessage, fields, read_fields
from visceral_cli.ingest.span import DamageKind, Event, Reading, Resource, Span
from visceral_cli.ingest.times import SURELY_NS

_NO_TRACE = bytes(16)
_NO_SPAN = bytes(8)
_MAX_NS = 2**63 - 1
_SHORT_BYTES = 128
"""Attributes of up to this length are likely to come again, and are remembered."""

_MOST_KNOWN = 8192

_Pair = tuple[str, object]


def read_message(data: bytes, reading: Reading, *, seed: str) -> None:
    """Add what one protobuf message holds; ``seed`` names its place for synthetic ids."""
    reading.begin_document(seed)
    read_message_here(data, reading)


def read_message_here(data: bytes, reading: Reading) -> None:
    """Add what a message holds that is part of the document being read."""
    try:
        message = LeanTracesData.FromString(data)
    except DecodeError:
        _read_patiently(data, reading)
        return
    if _starts_with_a_span(message) or signal_of(data) is Signal.SPANS:
        _add_spans(message, reading)
    else:
        _read_patiently(data, reading)


def _starts_with_a_span(message: Any) -> bool:
    for resource_spans in message.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                return len(span.trace_id) == 16 and span.start_time_unix_nano > 0
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
        kind = DamageKind.CUT if error.cut else DamageKind.PROTO
        reading.add_damage(kind, f"{error}; left out")
        return
    if records_in(data) or any(field.number != 1 or field.wire != BYTES for field in top):
        reading.add_damage(DamageKind.PROTO, "a protobuf message, but none of OTLP; left out")


def _add_spans(message: Any, reading: Reading) -> None:
    for resource_spans in message.resource_spans:
        resource = Resource(_attributes(resource_spans.resource.attributes))
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope.name
            for span in scope_spans.spans:
                _add_span(span, resource, scope, reading)


def _add_span(span: Any, resource: Resource, scope: str, reading: Reading) -> None:
    trace_id, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
    start, end, kind = span.start_time_unix_nano, span.end_time_unix_nano, span.kind
    try:
        pairs = _pairs(span.attributes[:])  # a slice is a list, quicker to go through
        code, message = _status(raw) if (raw := span.status) else (0, "")
        events = [_event(raw) for raw in span.events] if span.events else []
    except DecodeError:
        _add_unusual(span, resource, scope, reading)
        return
    attributes = dict(pairs)
    if (
        len(trace_id) != 16
        or len(span_id) != 8
        or trace_id == _NO_TRACE
        or span_id == _NO_SPAN
        or (parent and len(parent) != 8)
        or not SURELY_NS <= start <= _MAX_NS
        or not SURELY_NS <= end <= _MAX_NS
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
            _hex(parent) if parent and parent != _NO_SPAN else None,
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
    read_span(read_fields(span.SerializeToString(), "Span", reading), resource, scope, reading)


_known: dict[bytes, _Pair] = {}
"""Short attributes that were read before."""


def _pairs(raws: list[bytes]) -> list[_Pair]:
    """Return the attributes of a span."""
    pairs: list[_Pair] = []
    known, add = _known.get, pairs.append
    for raw in raws:
        pair = known(raw) if len(raw) <= _SHORT_BYTES else None
        if pair is None:
            pair = _pair(raw)
            if len(raw) <= _SHORT_BYTES:
                _remember(raw, pair)
        add(pair)
    return pairs


def _remember(raw: bytes, pair: _Pair) -> None:
    """Keep an attribute, unless whoever has it can change it."""
    if not isinstance(pair[1], (list, dict)):
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[raw] = pair


def _pair(raw: bytes) -> _Pair:
    pair = KeyValue.FromString(raw)
    value = pair.value
    return pair.key, value.string_value or _value(value)


def _status(raw: bytes) -> tuple[int, str]:
    status = trace_pb2.Status.FromString(raw)
    return status.code, status.message


def _event(raw: bytes) -> Event:
    event = trace_pb2.Span.Event.FromString(raw)
    return Event(event.name, _attributes(event.attributes))


def _attributes(pairs: Any) -> dict[str, object]:
    return {pair.key: (value := pair.value).string_value or _value(value) for pair in pairs}


def _value(value: Any) -> object:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    if kind == "string_value_strindex":  # into a table that only profiles have
        return None
    found: object = getattr(value, kind)
    return found
