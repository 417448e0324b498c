"""JavaScript's console exporter, where its objects were written as JSON.

``opentelemetry-js``, ``ConsoleSpanExporter._exportInfo``: ``id``, ``timestamp`` and ``duration``
in microseconds, and the kinds of the API, which are OTLP's minus one. (What the exporter itself
prints is no JSON and is refused.)
"""

from __future__ import annotations

from visceral_cli.ingest import times
from visceral_cli.ingest.enums import span_kind
from visceral_cli.ingest.ids import record_ids
from visceral_cli.ingest.span import Reading, Resource, Span
from visceral_cli.ingest.span_fields import (
    Object,
    add_span,
    first_of,
    read_events,
    read_status,
    scope_name,
    text_of,
)
from visceral_cli.ingest.values import read_attributes

_MICROSECOND = 1000


def is_js_console(document: Object) -> bool:
    """Return whether ``document`` is one span of JavaScript's console exporter."""
    return all(key in document for key in ("traceId", "id", "timestamp", "duration"))


def read_js_console(document: Object, reading: Reading) -> None:
    """Add the span in ``document``."""
    parent = document.get("parentSpanContext")
    trace_id, span_id, parent_id = record_ids(
        document.get("traceId"),
        document.get("id"),
        parent.get("spanId") if isinstance(parent, dict) else document.get("parentId"),
    )
    kind = document.get("kind")
    start = times.scaled(document.get("timestamp"), _MICROSECOND, reading, "timestamp") or None
    duration = times.scaled(document.get("duration"), _MICROSECOND, reading, "duration")
    status, message = read_status(document.get("status"), reading)
    add_span(
        Span(
            trace_id or "",
            span_id or "",
            parent_id,
            text_of(document.get("name")),
            start,
            times.end_after(start, duration),
            read_attributes(first_of(document, ("attributes", "tags")), reading, "span attributes"),
            _resource(document, reading),
            span_kind(kind + 1 if type(kind) is int else kind, reading),
            status,
            message,
            read_events(document.get("events"), reading),
            scope_name(first_of(document, ("instrumentationScope", "instrumentationLibrary"))),
        ),
        reading,
    )


def _resource(document: Object, reading: Reading) -> Resource:
    resource = document.get("resource")
    if not isinstance(resource, dict):
        return Resource({})
    attributes = first_of(resource, ("attributes", "_attributes", "_syncAttributes"))
    return Resource(read_attributes(attributes, reading, "resource attributes"))
