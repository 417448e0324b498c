"""Which signal a protobuf message of OTLP holds.

TracesData, LogsData, MetricsData and ProfilesData have the same outer fields (resources, in them
scopes, in them records), so a wrong one decodes without an error. A record tells itself apart by
the wire types of its fields, which only one message can have.
"""

from __future__ import annotations

from enum import StrEnum

from visceral_cli.ingest.proto_wire import BYTES, FIXED64, VARINT, Data, Field, readable_fields


class Signal(StrEnum):
    """What kind of record a message holds."""

    SPANS = "spans"
    LOGS = "logs"
    METRICS = "metrics"
    PROFILES = "profiles"


def signal_of(data: Data) -> Signal | None:
    """Return the signal of the first record that tells; ``None`` if none does."""
    return next(filter(None, (_signal_of(data, record) for record in records_in(data))), None)


def records_in(data: Data) -> list[Field]:
    """Return where the records of all resources and scopes of a message lie."""
    return [
        record
        for resource in _inner(data, Field(0, BYTES, 0, len(data), 0), 1)
        for scope in _inner(data, resource, 2)
        for record in _inner(data, scope, 2)
    ]


def _inner(data: Data, outer: Field, number: int) -> list[Field]:
    return [
        field
        for field in readable_fields(data, outer.start, outer.end)
        if field.number == number and field.wire == BYTES
    ]


def _signal_of(data: Data, record: Field) -> Signal | None:
    shape = {
        (field.number, field.wire): field
        for field in readable_fields(data, record.start, record.end)
    }
    first = shape.get((1, BYTES))
    if (7, FIXED64) in shape or (8, FIXED64) in shape or (first and _is_trace_id(data, first)):
        return Signal.SPANS
    if (1, FIXED64) in shape or (11, FIXED64) in shape or (2, VARINT) in shape:
        return Signal.LOGS
    if first and any((number, BYTES) in shape for number in (5, 7, 9, 10, 11)):
        return Signal.METRICS
    if (3, FIXED64) in shape or (4, FIXED64) in shape:
        return Signal.PROFILES
    return None


def _is_trace_id(data: Data, field: Field) -> bool:
    """Return whether a field is a trace id, and not the name of a metric."""
    value = bytes(data[field.start : field.end])
    text = value.decode("latin-1")
    return len(value) == 16 and not (text.isascii() and text.isprintable())
