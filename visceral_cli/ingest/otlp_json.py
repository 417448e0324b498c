"""OTLP JSON as exporters write it, decoded by type: the fast way in.

The structs below name every field of ``opentelemetry/proto/trace/v1/trace.proto`` that OTLP JSON
may carry and forbid all others, so what decodes here is clean; anything else (snake case, enum
names, unknown fields, surrogates, damage) is left to the lenient reader, which costs more and
loses less.
"""

from __future__ import annotations

import base64

import msgspec

from visceral_cli.ingest.span import Event, Reading, Resource, Span
from visceral_cli.ingest.span_columns import Shape, Shapes, SpanColumns
from visceral_cli.ingest.times import SURELY_NS

_HEX = "0123456789abcdef"
_NO_TRACE = "0" * 32
_NO_SPAN = "0" * 16
_TOO_LATE_NS = 2**63


class _Strict(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    pass


class _AnyValue(_Strict, frozen=True):
    stringValue: str | None = None  # noqa: N815 - OTLP's name
    intValue: str | int | None = None  # noqa: N815
    doubleValue: float | None = None  # noqa: N815
    boolValue: bool | None = None  # noqa: N815
    arrayValue: _ArrayValue | None = None  # noqa: N815
    kvlistValue: _KvlistValue | None = None  # noqa: N815
    bytesValue: str | None = None  # noqa: N815


class _KeyValue(_Strict, frozen=True):
    key: str
    value: _AnyValue = _AnyValue()


class _ArrayValue(_Strict, frozen=True):
    values: list[_AnyValue] = []


class _KvlistValue(_Strict, frozen=True):
    values: list[_KeyValue] = []


class _Resource(_Strict, frozen=True):
    attributes: list[_KeyValue] = []
    droppedAttributesCount: int = 0  # noqa: N815
    entityRefs: msgspec.Raw = msgspec.Raw()  # noqa: N815


class _Scope(_Strict, frozen=True):
    name: str = ""
    version: str = ""
    attributes: msgspec.Raw = msgspec.Raw()
    droppedAttributesCount: int = 0  # noqa: N815


class _Event(_Strict, frozen=True):
    timeUnixNano: msgspec.Raw = msgspec.Raw()  # noqa: N815
    name: str = ""
    attributes: list[_KeyValue] = []
    droppedAttributesCount: int = 0  # noqa: N815


class _Status(_Strict, frozen=True):
    message: str = ""
    code: int = 0


class _Span(_Strict, frozen=True):
    traceId: str  # noqa: N815
    spanId: str  # noqa: N815
    startTimeUnixNano: str | int  # noqa: N815
    endTimeUnixNano: str | int  # noqa: N815
    traceState: msgspec.Raw = msgspec.Raw()  # noqa: N815
    parentSpanId: str | None = None  # noqa: N815
    flags: msgspec.Raw = msgspec.Raw()
    name: str = ""
    kind: int = 0
    attributes: list[_KeyValue] = []
    droppedAttributesCount: int = 0  # noqa: N815
    events: list[_Event] = []
    droppedEventsCount: int = 0  # noqa: N815
    links: msgspec.Raw = msgspec.Raw()
    droppedLinksCount: int = 0  # noqa: N815
    status: _Status = _Status()


class _ScopeSpans(_Strict, frozen=True):
    spans: list[_Span]
    scope: _Scope = _Scope()
    schemaUrl: str = ""  # noqa: N815


class _ResourceSpans(_Strict, frozen=True):
    scopeSpans: list[_ScopeSpans]  # noqa: N815
    resource: _Resource = _Resource()
    schemaUrl: str = ""  # noqa: N815


class _TracesData(_Strict, frozen=True):
    resourceSpans: list[_ResourceSpans]  # noqa: N815


_decoder = msgspec.json.Decoder(_TracesData)
_shapes = Shapes()


class _Unclean(Exception):
    """A value that only the lenient reader may judge."""


def read_clean(document: bytes, reading: Reading) -> bool:
    """Add the spans of one OTLP JSON document to ``reading``; ``False`` if it is not clean.

    ``document`` is one ExportTraceServiceRequest. Nothing is added when it is not clean.
    """
    try:
        data = _decoder.decode(document)
        spans = _spans(data)
    except (msgspec.MsgspecError, _Unclean, ValueError):
        return False
    reading.spans += spans
    return True


def read_by_column(document: bytes, reading: Reading, columns: SpanColumns) -> bool:
    """As :func:`read_clean`, but add the spans to ``columns``, if all fit in and they are many."""
    try:
        data = _decoder.decode(document)
        if _fit_in_columns(data):
            columns.add(_columns(data))
        else:
            reading.spans += _spans(data)
    except (msgspec.MsgspecError, _Unclean, ValueError):
        return False
    return True


_FEW_SPANS = 8
"""Columns of fewer cost more than an object for each."""


def _fit_in_columns(data: _TracesData) -> bool:
    spans = [
        span
        for resource_spans in data.resourceSpans
        for scope_spans in resource_spans.scopeSpans
        for span in scope_spans.spans
    ]
    return len(spans) >= _FEW_SPANS and not any(
        span.events or span.droppedAttributesCount for span in spans
    )


def _columns(data: _TracesData) -> SpanColumns:
    columns = SpanColumns()
    for resource_spans in data.resourceSpans:
        resource = Resource(_attributes(resource_spans.resource.attributes))
        for scope_spans in resource_spans.scopeSpans:
            if scope_spans.spans:
                _add_columns(scope_spans.spans, resource, scope_spans.scope.name, columns)
    return columns


def _add_columns(found: list[_Span], resource: Resource, scope: str, columns: SpanColumns) -> None:
    columns.trace_id += _trace_ids([span.traceId for span in found])
    columns.span_id += _span_ids([span.spanId for span in found])
    columns.parent_span_id += _parents([span.parentSpanId for span in found])
    columns.name += [span.name for span in found]
    columns.start_ns += _times([span.startTimeUnixNano for span in found])
    columns.end_ns += _times([span.endTimeUnixNano for span in found])
    columns.kind += _codes([span.kind for span in found], 5)
    columns.status += _codes([span.status.code for span in found], 2)
    columns.status_message += [span.status.message for span in found]
    columns.resource += [resource] * len(found)
    columns.shape += _shapes_of(scope, found)
    columns.values += [_values(span.attributes) for span in found]


def _shapes_of(scope: str, found: list[_Span]) -> list[Shape]:
    shapes = _shapes.of_each(scope, [[pair.key for pair in span.attributes] for span in found])
    for shape in set(shapes):
        if len(shape.place_of) != len(shape.keys):
            raise _Unclean  # a key twice: which one wins is the lenient reader's to say
    return shapes


def _values(pairs: list[_KeyValue]) -> list[object]:
    values: list[object] = [pair.value.stringValue for pair in pairs]
    if not all(values):  # few values are no text
        for place, value in enumerate(values):
            if value is None:
                values[place] = _value(pairs[place].value)
    return values


def _trace_ids(ids: list[str]) -> list[str]:
    for one in set(ids):
        if len(one) != 32 or one.strip(_HEX) or one == _NO_TRACE:
            raise _Unclean
    return ids


def _span_ids(ids: list[str]) -> list[str]:
    if set(map(len, ids)) != {16} or "".join(ids).strip(_HEX) or _NO_SPAN in ids:
        raise _Unclean
    return ids


def _parents(ids: list[str | None]) -> list[str | None]:
    parents = {one: _parent(one) for one in set(ids)}
    return [parents[one] for one in ids]


def _times(told: list[str | int]) -> list[int]:
    times = list(map(int, told))
    if min(times) < SURELY_NS or max(times) >= _TOO_LATE_NS:
        raise _Unclean
    return times


def _codes(codes: list[int], highest: int) -> list[int]:
    if min(codes) < 0 or max(codes) > highest:
        raise _Unclean
    return codes


def _spans(data: _TracesData) -> list[Span]:
    spans: list[Span] = []
    for resource_spans in data.resourceSpans:
        resource = Resource(_attributes(resource_spans.resource.attributes))
        for scope_spans in resource_spans.scopeSpans:
            _add_spans(scope_spans.spans, resource, scope_spans.scope.name, spans)
    return spans


def _add_spans(found: list[_Span], resource: Resource, scope: str, spans: list[Span]) -> None:
    add = spans.append
    last_trace = last_parent = None  # ids that the span before had, so that they are known good
    for span in found:
        trace_id, parent, span_id = span.traceId, span.parentSpanId, span.spanId
        if trace_id != last_trace:
            if len(trace_id) != 32 or trace_id.strip(_HEX) or trace_id == _NO_TRACE:
                raise _Unclean
            last_trace = trace_id
        if len(span_id) != 16 or span_id.strip(_HEX) or span_id == _NO_SPAN:
            raise _Unclean
        if parent != last_parent:
            parent = last_parent = _parent(parent)
        start_ns, end_ns = int(span.startTimeUnixNano), int(span.endTimeUnixNano)
        kind, status = span.kind, span.status
        code = status.code
        if (
            not SURELY_NS <= start_ns < _TOO_LATE_NS
            or not SURELY_NS <= end_ns < _TOO_LATE_NS
            or not 0 <= kind <= 5
            or not 0 <= code <= 2
        ):
            raise _Unclean
        add(
            Span(
                trace_id,
                span_id,
                parent,
                span.name,
                start_ns,
                end_ns,
                _attributes(span.attributes),
                resource,
                kind,
                code,
                status.message,
                _events(span.events) if span.events else [],
                scope,
                _not_negative(span.droppedAttributesCount) if span.droppedAttributesCount else 0,
            )
        )


def _parent(parent: str | None) -> str | None:
    if not parent or parent == _NO_SPAN:
        return None
    if len(parent) != 16 or parent.strip(_HEX):
        raise _Unclean
    return parent


def _events(events: list[_Event]) -> list[Event]:
    return [Event(event.name, _attributes(event.attributes)) for event in events]


def _not_negative(count: int) -> int:
    if count < 0:
        raise _Unclean
    return count


def _attributes(pairs: list[_KeyValue]) -> dict[str, object]:
    attributes: dict[str, object] = {pair.key: pair.value.stringValue for pair in pairs}
    if len(attributes) != len(pairs):
        raise _Unclean  # a key twice: which one wins is the lenient reader's to say
    if None in attributes.values():  # few values are no text
        for pair in pairs:
            if pair.value.stringValue is None:
                attributes[pair.key] = _value(pair.value)
    return attributes


def _value(value: _AnyValue) -> object:
    if value.intValue is not None:
        number = int(value.intValue)
        if not -(2**63) <= number < 2**63:
            raise _Unclean
        return number
    if value.boolValue is not None:
        return value.boolValue
    if value.doubleValue is not None:
        return value.doubleValue
    if value.stringValue is not None:
        return value.stringValue
    if value.kvlistValue is not None:
        return _attributes(value.kvlistValue.values)
    if value.arrayValue is not None:
        return [_value(item) for item in value.arrayValue.values]
    if value.bytesValue is not None:
        return base64.b64decode(value.bytesValue, validate=True)
    raise _Unclean  # an empty value, or one spelt in another way
