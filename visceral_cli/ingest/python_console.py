"""What OpenTelemetry Python's ``ConsoleSpanExporter`` and ``ReadableSpan.to_json`` write.

``opentelemetry-sdk``, ``sdk/trace/__init__.py``: ids with ``0x`` in ``context``, times in ISO 8601
with microseconds, ``"SpanKind.INTERNAL"``, attributes as a plain map, no scope in most versions.
"""

from __future__ import annotations

from visceral_cli.ingest import times
from visceral_cli.ingest.ids import record_ids
from visceral_cli.ingest.otlp_document import read_resource
from visceral_cli.ingest.span import Reading, Span
from visceral_cli.ingest.span_fields import (
    Object,
    add_span,
    first_of,
    read_events,
    read_kind,
    read_status,
    scope_name,
    text_of,
)
from visceral_cli.ingest.values import read_attributes


def is_python_console(document: Object) -> bool:
    """Return whether ``document`` is one span as the Python SDK prints it."""
    context = document.get("context")
    return isinstance(context, dict) and "span_id" in context and "trace_id" in context


def read_python_console(document: Object, reading: Reading) -> None:
    """Add the span in ``document``."""
    context = document.get("context")
    ids = context if isinstance(context, dict) else {}
    trace_id, span_id, parent = record_ids(
        ids.get("trace_id"), ids.get("span_id"), document.get("parent_id")
    )
    attributes = read_attributes(document.get("attributes"), reading, "span attributes")
    status, message = read_status(document.get("status"), reading)
    add_span(
        Span(
            trace_id or "",
            span_id or "",
            parent,
            text_of(document.get("name")),
            times.any_time(document.get("start_time"), reading, "start_time"),
            times.any_time(document.get("end_time"), reading, "end_time"),
            attributes,
            read_resource(document.get("resource"), reading),
            read_kind(document.get("kind"), attributes, reading),
            status,
            message,
            read_events(document.get("events"), reading),
            scope_name(first_of(document, ("instrumentation_scope", "instrumentation_info"))),
        ),
        reading,
    )
