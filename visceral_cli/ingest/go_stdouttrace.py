"""What OpenTelemetry Go's ``stdouttrace`` exporter writes.

``go.opentelemetry.io/otel/exporters/stdout/stdouttrace``: Go's field names, RFC 3339 times with
nanoseconds, a parent of zeros for a root, attributes as ``{"Key", "Value": {"Type", "Value"}}``.
"""

from __future__ import annotations

from visceral_cli.ingest import times
from visceral_cli.ingest.enums import span_kind
from visceral_cli.ingest.ids import record_ids
from visceral_cli.ingest.span import DamageKind, Event, Reading, Resource, Span
from visceral_cli.ingest.span_fields import (
    Object,
    add_span,
    dropped_count,
    first_of,
    objects_in,
    read_status,
    text_of,
)
from visceral_cli.ingest.values import BadValue, integer, name_of

_TYPES: dict[str, type] = {"STRING": str, "BOOL": bool, "FLOAT64": float, "INT64": int}


def is_go_stdouttrace(document: Object) -> bool:
    """Return whether ``document`` is one span as Go's exporter prints it."""
    return isinstance(document.get("SpanContext"), dict)


def read_go_stdouttrace(document: Object, reading: Reading) -> None:
    """Add the span in ``document``."""
    context, parent = document.get("SpanContext"), document.get("Parent")
    ids = context if isinstance(context, dict) else {}
    trace_id, span_id, parent_id = record_ids(
        ids.get("TraceID"),
        ids.get("SpanID"),
        parent.get("SpanID") if isinstance(parent, dict) else None,
    )
    library = first_of(document, ("InstrumentationScope", "InstrumentationLibrary"))
    status, message = read_status(document.get("Status"), reading)
    add_span(
        Span(
            trace_id or "",
            span_id or "",
            parent_id,
            text_of(document.get("Name")),
            times.from_iso(document.get("StartTime"), reading, "StartTime"),
            times.from_iso(document.get("EndTime"), reading, "EndTime"),
            _attributes(document.get("Attributes"), reading),
            Resource(_attributes(document.get("Resource"), reading)),
            span_kind(document.get("SpanKind"), reading),
            status,
            message,
            _events(document.get("Events"), reading),
            text_of(library.get("Name")) if isinstance(library, dict) else "",
            dropped_count(document.get("DroppedAttributeCount"), reading),
        ),
        reading,
    )


def _events(entries: object, reading: Reading) -> list[Event]:
    return [
        Event(text_of(entry.get("Name")), _attributes(entry.get("Attributes"), reading))
        for entry in objects_in(entries or [], reading, "Events")
    ]


def _attributes(pairs: object, reading: Reading) -> dict[str, object]:
    attributes: dict[str, object] = {}
    for pair in objects_in(pairs or [], reading, "Attributes"):
        key, value = pair.get("Key"), pair.get("Value")
        if not isinstance(key, str) or not isinstance(value, dict):
            reading.add_damage(DamageKind.FIELD, "an attribute without a key; left out")
            continue
        try:
            attributes[key] = _value(value.get("Type"), value.get("Value"))
        except BadValue as error:
            reading.add_damage(DamageKind.FIELD, f"{name_of(key)}: {error}; left out")
    return attributes


def _value(kind: object, value: object) -> object:
    if not isinstance(kind, str):
        raise BadValue("a value without a type")
    if kind.endswith("SLICE"):
        items = value if isinstance(value, list) else []
        return [_value(kind.removesuffix("SLICE"), item) for item in items]
    if kind == "INT64":
        return integer(value)
    if kind == "FLOAT64" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)  # Go prints 2.0 as 2
    expected = _TYPES.get(kind)
    if expected is not None and not isinstance(value, expected):
        raise BadValue(f"the value is no {kind}")
    return value
