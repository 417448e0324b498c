"""Jaeger's JSON: the download of its UI, and the answer of ``/api/traces``.

``jaeger/internal/uimodel``: ``{"data": [{"traceID", "spans", "processes"}]}``; times and durations
in microseconds, parents as references, everything OpenTelemetry-specific in typed tags.
"""

from __future__ import annotations

from collections.abc import Mapping

from visceral_cli.ingest import times
from visceral_cli.ingest.enums import span_kind, status_code
from visceral_cli.ingest.ids import record_ids
from visceral_cli.ingest.span import ERROR, UNSET, DamageKind, Event, Reading, Resource, Span
from visceral_cli.ingest.span_fields import Object, add_span, objects_in, text_of
from visceral_cli.ingest.values import BadValue, any_value, name_of

_MICROSECOND = 1000
_ONE_PROCESS = ""

_TAG_TYPES = {
    "string": "stringValue",
    "bool": "boolValue",
    "int64": "intValue",
    "float64": "doubleValue",
    "binary": "bytesValue",
}
_SCOPE_TAGS = ("otel.scope.name", "otel.library.name")


def is_jaeger_trace(document: Object) -> bool:
    """Return whether ``document`` is one trace of Jaeger: its spans, and their processes."""
    return isinstance(document.get("spans"), list) and "processes" in document


def is_jaeger_span(document: Object) -> bool:
    """Return whether ``document`` is one span of Jaeger."""
    return "operationName" in document and "spanID" in document


def read_jaeger_trace(document: Object, reading: Reading) -> None:
    """Add the spans of one trace."""
    processes = document.get("processes")
    resources: dict[object, Resource] = {}
    if isinstance(processes, dict):
        resources = {key: _resource(one, reading) for key, one in processes.items()}
    for span in objects_in(document.get("spans") or [], reading, "spans"):
        process = span.get("processID")
        resource = resources.get(process) if isinstance(process, str) else None
        _read_span(span, resource, reading)


def read_jaeger_span(document: Object, reading: Reading) -> None:
    """Add one span that carries its own process."""
    _read_span(document, None, reading)


def _read_span(span: Object, resource: Resource | None, reading: Reading) -> None:
    trace_id, span_id, parent = record_ids(
        span.get("traceID"), span.get("spanID"), _parent(span, reading)
    )
    start = times.scaled(span.get("startTime"), _MICROSECOND, reading, "startTime") or None
    duration = times.scaled(span.get("duration"), _MICROSECOND, reading, "duration")
    tags = _tags(span.get("tags"), reading)
    status, message = _status(tags, reading)
    add_span(
        Span(
            trace_id or "",
            span_id or "",
            parent,
            text_of(span.get("operationName")),
            start,
            times.end_after(start, duration),
            tags,
            resource or _resource(span.get("process"), reading),
            span_kind(tags.get("span.kind"), reading),
            status,
            message,
            _events(span.get("logs"), reading),
            next((text_of(tags[tag]) for tag in _SCOPE_TAGS if tags.get(tag)), ""),
        ),
        reading,
    )


def _parent(span: Object, reading: Reading) -> object:
    for reference in objects_in(span.get("references") or [], reading, "references"):
        if reference.get("refType") == "CHILD_OF":
            return reference.get("spanID")
    return span.get("parentSpanID")


def _resource(process: object, reading: Reading) -> Resource:
    if not isinstance(process, dict):
        return Resource({})
    attributes = _tags(process.get("tags"), reading)
    if service := text_of(process.get("serviceName")):
        attributes["service.name"] = service
    return Resource(attributes)


def _status(tags: Mapping[str, object], reading: Reading) -> tuple[int, str]:
    """Return the status in the tags that OpenTelemetry's Jaeger mapping defines."""
    message = text_of(tags.get("otel.status_description"))
    status = status_code(tags.get("otel.status_code"), reading)
    if status == UNSET and tags.get("error") in (True, "true"):
        status = ERROR
    return status, message


def _events(entries: object, reading: Reading) -> list[Event]:
    events = []
    for entry in objects_in(entries or [], reading, "logs"):
        fields = _tags(entry.get("fields"), reading)
        name = fields.pop("event", None) or fields.get("message")
        events.append(Event(text_of(name), fields))
    return events


def _tags(entries: object, reading: Reading) -> dict[str, object]:
    tags: dict[str, object] = {}
    for entry in objects_in(entries or [], reading, "tags"):
        key, kind = entry.get("key"), entry.get("type")
        if not isinstance(key, str):
            reading.add_damage(DamageKind.FIELD, "a tag without a key; left out")
            continue
        try:
            tags[key] = any_value({_TAG_TYPES.get(text_of(kind), "stringValue"): entry["value"]})
        except KeyError:
            tags[key] = None
        except BadValue as error:
            reading.add_damage(DamageKind.FIELD, f"{name_of(key)}: {error}; left out")
    return tags
