"""Spans that stand alone, with field names in any casing: ``trace_id``, ``traceId``, ``TraceId``.

What ad-hoc exporters, test fixtures and columnar stores write: one span a line, a list of spans,
or ``{"session_id": ..., "spans": [...]}``. Names are compared without case and underscores, so one
table of names serves all. Where a name does not say the unit of a time, the number does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from visceral_cli.ingest import times
from visceral_cli.ingest.ids import record_ids
from visceral_cli.ingest.otlp_document import read_resource
from visceral_cli.ingest.span import LogRecord, Reading, Resource, Span
from visceral_cli.ingest.span_fields import (
    Object,
    add_span,
    dropped_count,
    first_of,
    objects_in,
    read_events,
    read_kind,
    read_status,
    scope_name,
    text_of,
)
from visceral_cli.ingest.values import read_attributes

_TRACE_ID = ("traceid",)
_SPAN_ID = ("spanid", "id")
_PARENT_ID = ("parentspanid", "parentid")
_NAME = ("name", "spanname", "operationname")
_NANO_STARTS = ("starttimeunixnano", "startunixnano", "starttimens", "startns")
_NANO_ENDS = ("endtimeunixnano", "endunixnano", "endtimens", "endns")
_STARTS = ("starttime", "start", "starttimestamp", "timestamp")
_ENDS = ("endtime", "end", "endtimestamp")
_DURATIONS = (("durationns", 1), ("durationnano", 1), ("durationus", 10**3), ("durationms", 10**6))
_ATTRIBUTES = ("attributes", "spanattributes", "tags")
_SCOPE = ("scope", "instrumentationscope", "instrumentationlibrary", "scopename")
_EVENTS = ("events", "spanevents")
_STATUS = ("status", "statuscode")
_MESSAGE = ("statusmessage", "statusdescription")
_CHILDREN = ("childspans", "children")

_ISO_DURATION = re.compile(
    r"P(?:(\d{1,5})D)?T?(?:(\d{1,7})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.(\d{1,18}))?S)?",
    re.ASCII,
)


def is_bare_span(document: Object) -> bool:
    """Return whether ``document`` has the least that tells a span: ids and a name or times."""
    names = {_plain(key) for key in document}
    return "traceid" in names and (
        any(name in names for name in _NAME) or any(name in names for name in _STARTS)
    )


def is_span_list(document: Object) -> bool:
    """Return whether ``document`` is an object around a list of spans."""
    return isinstance(document.get("spans"), list)


def read_span_list(
    document: Object, reading: Reading, read_other: Callable[[object], None]
) -> None:
    """Add the spans of ``{"spans": [...]}``; ``read_other`` takes entries of other shapes.

    A trace id, resource or scope beside the list holds for spans without their own.
    """
    fields = {_plain(key): value for key, value in document.items()}
    shared = {
        key: fields[key] for key in ("traceid", "resource", "scope") if fields.get(key) is not None
    }
    for span in objects_in(document.get("spans"), reading, "spans"):
        if is_bare_span(span) or "traceid" in shared:
            _read_fields(shared | _fields(span), reading)
        else:
            read_other(span)


def read_bare_span(span: Object, reading: Reading) -> None:
    """Add one span, and those nested in it."""
    _read_fields(_fields(span), reading)


def is_span_event(document: Object) -> bool:
    """Return whether ``document`` tells of the start or the end of a span, which it holds."""
    return document.get("event") in ("start", "end") and isinstance(document.get("span"), dict)


def read_span_event(document: Object, reading: Reading) -> None:
    """Add the span that has ended; count the start of one as skipped."""
    span = document.get("span")
    if document.get("event") == "start" or not isinstance(span, dict):
        reading.skipped["span-starts"] += 1
        return
    read_bare_span(span, reading)


def _plain(key: str) -> str:
    return key.replace("_", "").lower()


def _fields(span: Object) -> dict[str, object]:
    return {_plain(key): value for key, value in span.items() if value is not None}


def _read_fields(fields: dict[str, object], reading: Reading) -> None:
    waiting = [fields]
    while waiting:
        fields = waiting.pop()
        _read_one(fields, reading)
        children = first_of(fields, _CHILDREN)
        if isinstance(children, list):
            nested = [_fields(child) for child in children if isinstance(child, dict)]
            trace = {"traceid": fields.get("traceid")}
            waiting += [trace | child for child in reversed(nested)]


def _read_one(fields: dict[str, object], reading: Reading) -> None:
    trace_id, span_id, parent = record_ids(
        first_of(fields, _TRACE_ID), first_of(fields, _SPAN_ID), first_of(fields, _PARENT_ID)
    )
    attributes = read_attributes(first_of(fields, _ATTRIBUTES), reading, "span attributes")
    start, end = _times(fields, reading)
    status, message = read_status(first_of(fields, _STATUS), reading)
    before = len(reading.spans)
    add_span(
        Span(
            trace_id or "",
            span_id or "",
            parent,
            text_of(first_of(fields, _NAME)),
            start,
            end,
            attributes,
            _resource(fields, reading),
            read_kind(first_of(fields, ("kind", "spankind")), attributes, reading),
            status,
            message or text_of(first_of(fields, _MESSAGE)),
            read_events(_entries(fields, with_body=False), reading),
            scope_name(first_of(fields, _SCOPE)),
            dropped_count(fields.get("droppedattributescount"), reading),
        ),
        reading,
    )
    if len(reading.spans) > before:
        _add_logs(reading.spans[-1], fields, reading)


def _times(fields: Object, reading: Reading) -> tuple[int | None, int | None]:
    nano_start, nano_end = first_of(fields, _NANO_STARTS), first_of(fields, _NANO_ENDS)
    if nano_start is not None or nano_end is not None:
        return (
            times.nanoseconds(nano_start, reading, "start time"),
            times.nanoseconds(nano_end, reading, "end time"),
        )
    start = times.any_time(first_of(fields, _STARTS), reading, "start time")
    end = times.any_time(first_of(fields, _ENDS), reading, "end time")
    if end is None:
        end = times.end_after(start, _duration(fields, reading))
    return start, end


def _duration(fields: Object, reading: Reading) -> int | None:
    for name, unit in _DURATIONS:
        if name in fields:
            return times.scaled(fields[name], unit, reading, "duration")
    duration = fields.get("duration")
    if isinstance(duration, str) and (found := _ISO_DURATION.fullmatch(duration)):
        days, hours, minutes, seconds, fraction = found.groups()
        whole = ((int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)) * 60
        nanoseconds = int((fraction or "")[:9].ljust(9, "0"))
        return (whole + int(seconds or 0)) * 10**9 + nanoseconds
    if "spanattributes" in fields:  # the Collector's ClickHouse exporter: nanoseconds
        return times.scaled(duration, 1, reading, "duration")
    return None


def _resource(fields: Object, reading: Reading) -> Resource:
    resource, attributes = fields.get("resource"), fields.get("resourceattributes")
    if attributes is not None:
        return Resource(read_attributes(attributes, reading, "resource attributes"))
    if isinstance(resource, dict) and "attributes" not in resource:
        return Resource(read_attributes(resource, reading, "resource attributes"))
    if isinstance(resource, str):
        return Resource({"service.name": resource})
    found = read_resource(resource, reading)
    service = first_of(fields, ("servicename", "service"))
    if isinstance(service, str):
        found.attributes.setdefault("service.name", service)
    return found


def _entries(fields: Object, *, with_body: bool) -> list[object]:
    entries = first_of(fields, _EVENTS)
    if not isinstance(entries, list):
        return []
    return [
        entry
        for entry in entries
        if (isinstance(entry, dict) and entry.get("body") is not None) == with_body
    ]


def _add_logs(span: Span, fields: Object, reading: Reading) -> None:
    """Add the events with a body: log records of the span, as CloudWatch keeps them."""
    for entry in objects_in(_entries(fields, with_body=True), reading, "span events"):
        attributes = read_attributes(entry.get("attributes"), reading, "event attributes")
        name = first_of(entry, ("event_name", "eventName", "name"))
        reading.logs.append(
            LogRecord(span.trace_id, span.span_id, text_of(name), entry.get("body"), attributes)
        )
