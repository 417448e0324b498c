"""OTLP JSON in any dress: from a parsed object to spans and log records.

Reads what the Collector's own reader does and more: ``TracesData`` and the request message of
OTLP/HTTP, their fragments, camelCase and snake_case names, the names of older versions
(``instrumentationLibrarySpans``, ``deprecatedScopeSpans``, ``batches``), enums as names, ids in any
encoding. The same dictionaries come from protobuf messages that only a patient reader can read
(``ingest.proto_wire``); their ids are bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from visceral_cli.ingest import times
from visceral_cli.ingest.enums import span_kind
from visceral_cli.ingest.ids import record_ids
from visceral_cli.ingest.span import DamageKind, LogRecord, Reading, Resource, Span
from visceral_cli.ingest.span_fields import (
    Object,
    add_span,
    dropped_count,
    first_of,
    objects_in,
    read_events,
    read_status,
    scope_name,
    text_of,
)
from visceral_cli.ingest.values import BadValue, any_value, name_of, read_attributes

_SCOPE_SPANS = (
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
    "deprecatedScopeSpans",
)
_SCOPE_LOGS = ("scopeLogs", "scope_logs", "instrumentationLibraryLogs", "deprecatedScopeLogs")
_SCOPE = ("scope", "instrumentationLibrary", "instrumentation_library")
_METRICS = (("scopeMetrics", "scope_metrics", "instrumentationLibraryMetrics"), ("metrics",))
_PROFILES = (("scopeProfiles", "scope_profiles"), ("profiles",))


def read_otlp(document: Object, reading: Reading) -> bool:
    """Add what an OTLP message or a fragment of one holds; ``False`` if it is neither."""
    found = False
    for key, read in _SIGNALS.items():
        if key in document:
            found = True
            if document[key] is not None:
                read(document[key], reading)
    if found:
        return True
    for keys, read_fragment in _FRAGMENTS:
        if any(key in document for key in keys):
            read_fragment(document, reading)
            return True
    return False


def read_resource_spans(entries: object, reading: Reading) -> None:
    """Add the spans of a list of ResourceSpans."""
    for entry in objects_in(entries, reading, "resourceSpans"):
        _read_resource_fragment(entry, reading)


def _read_resource_fragment(entry: Object, reading: Reading) -> None:
    resource = read_resource(entry.get("resource"), reading)
    if not any(key in entry for key in _SCOPE_SPANS):
        _note_unknown_lists(entry, "resourceSpans", reading)
    for key in _SCOPE_SPANS:
        if (scopes := entry.get(key)) is not None:
            for scope_spans in objects_in(scopes, reading, key):
                _read_scope_spans(scope_spans, resource, reading)


def _note_unknown_lists(entry: Object, what: str, reading: Reading) -> None:
    """Note lists under names that OTLP does not know where spans were expected, and none are."""
    names = sorted(key for key, value in entry.items() if isinstance(value, list))
    if names:
        shown = ", ".join(name_of(name) for name in names[:3])
        reading.add_damage(
            DamageKind.UNKNOWN_SHAPE, f"{what} without spans, but with {shown}; left out"
        )


def _read_scope_spans(scope_spans: Object, resource: Resource, reading: Reading) -> None:
    scope = scope_name(first_of(scope_spans, _SCOPE))
    spans = scope_spans.get("spans")
    if isinstance(spans, list):
        for span in spans:
            read_span(span, resource, scope, reading)
    elif spans is not None:
        reading.add_damage(DamageKind.FIELD, "spans is no list; left out")
    else:
        _note_unknown_lists(scope_spans, "scopeSpans", reading)


def read_resource(value: object, reading: Reading) -> Resource:
    """Return the resource in an OTLP resource object."""
    if not isinstance(value, dict):
        if value is not None:
            reading.add_damage(DamageKind.FIELD, "resource is no object; left out")
        return Resource({})
    return Resource(read_attributes(value.get("attributes"), reading, "resource attributes"))


def read_span(span: object, resource: Resource, scope: str, reading: Reading) -> None:
    """Add one OTLP span, or count why it is none."""
    if not isinstance(span, dict):
        reading.add_damage(DamageKind.SPAN, "a span is no object; left out")
        return
    get = span.get
    trace_id, span_id, parent = record_ids(
        _either(span, "traceId", "trace_id"),
        _either(span, "spanId", "span_id"),
        _either(span, "parentSpanId", "parent_span_id"),
    )
    start = _either(span, "startTimeUnixNano", "start_time_unix_nano")
    end = _either(span, "endTimeUnixNano", "end_time_unix_nano")
    dropped = _either(span, "droppedAttributesCount", "dropped_attributes_count")
    name = get("name")
    if name is not None and not isinstance(name, str):
        reading.add_damage(DamageKind.FIELD, "span name is no text; left out")
    status, message = read_status(get("status"), reading)
    add_span(
        Span(
            trace_id or "",
            span_id or "",
            parent,
            text_of(name),
            times.nanoseconds(start, reading, "startTimeUnixNano"),
            times.nanoseconds(end, reading, "endTimeUnixNano"),
            read_attributes(get("attributes"), reading, "span attributes"),
            resource,
            span_kind(get("kind"), reading),
            status,
            message,
            read_events(get("events"), reading),
            scope,
            dropped_count(dropped, reading),
        ),
        reading,
    )


def _either(span: Object, camel: str, snake: str) -> object:
    value = span.get(camel)
    return value if value is not None else span.get(snake)


def _read_resource_logs(entries: object, reading: Reading) -> None:
    for entry in objects_in(entries, reading, "resourceLogs"):
        _read_log_fragment(entry, reading)


def _read_log_fragment(entry: Object, reading: Reading) -> None:
    for scope_logs in objects_in(first_of(entry, _SCOPE_LOGS) or [], reading, "scopeLogs"):
        records = first_of(scope_logs, ("logRecords", "log_records", "logs")) or []
        for record in objects_in(records, reading, "logRecords"):
            _read_log(record, reading)


def _read_log(record: Object, reading: Reading) -> None:
    """Add one log record if it names a span, else count it as skipped."""
    trace_id, span_id, _ = record_ids(
        _either(record, "traceId", "trace_id"), _either(record, "spanId", "span_id"), None
    )
    if not trace_id or not span_id:
        reading.skipped["logs"] += 1
        return
    attributes = read_attributes(record.get("attributes"), reading, "log attributes")
    event_name = _either(record, "eventName", "event_name") or attributes.get("event.name")
    try:
        body = any_value(record.get("body"))
    except BadValue as error:
        reading.add_damage(DamageKind.FIELD, f"log body: {error}; left out")
        body = None
    reading.logs.append(LogRecord(trace_id, span_id, text_of(event_name), body, attributes))


def _skip_metrics(entries: object, reading: Reading) -> None:
    reading.skipped["metrics"] += _count(entries, _METRICS)


def _skip_profiles(entries: object, reading: Reading) -> None:
    reading.skipped["profiles"] += _count(entries, _PROFILES)


def _skip_metric_fragment(entry: Object, reading: Reading) -> None:
    _skip_metrics([entry], reading)


def _count(entries: object, path: tuple[tuple[str, ...], ...]) -> int:
    """Return how many records lie in ``entries`` below lists under the keys of ``path``."""
    if not isinstance(entries, list):
        return 0
    if not path:
        return len(entries)
    return sum(
        _count(first_of(entry, path[0]), path[1:]) for entry in entries if isinstance(entry, dict)
    )


_SIGNALS: dict[str, Callable[[object, Reading], None]] = {
    "resourceSpans": read_resource_spans,
    "resource_spans": read_resource_spans,
    "batches": read_resource_spans,
    "resourceLogs": _read_resource_logs,
    "resource_logs": _read_resource_logs,
    "resourceMetrics": _skip_metrics,
    "resource_metrics": _skip_metrics,
    "resourceProfiles": _skip_profiles,
    "resource_profiles": _skip_profiles,
}
"""The keys of whole messages."""

_FRAGMENTS: tuple[tuple[tuple[str, ...], Callable[[Object, Reading], None]], ...] = (
    (_SCOPE_SPANS, _read_resource_fragment),
    (_SCOPE_LOGS, _read_log_fragment),
    (_METRICS[0], _skip_metric_fragment),
)
"""The keys of one entry of a message, as some loggers write it without the message around."""
