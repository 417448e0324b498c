"""Spans in the forms that exporters write them: used by ``make_samples.py`` only."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

import zstandard
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

Value: TypeAlias = str | int | float | bool


@dataclass(slots=True)
class Span:
    """One span; ids are hex, ``parent_id`` is empty for a root, times are nanoseconds."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Value]
    failed: bool = False
    exception: str = ""
    """The type of the exception that the span recorded, if any."""


@dataclass(slots=True)
class Batch:
    """Spans that are exported together."""

    service: str
    language: str
    scope: str
    spans: list[Span] = field(default_factory=list)

    def resource(self) -> dict[str, Value]:
        """Return the attributes of what produced the spans."""
        return {
            "telemetry.sdk.language": self.language,
            "telemetry.sdk.name": "opentelemetry",
            "service.name": self.service,
        }


def cut(spans: Sequence[Span], batch: Batch, size: int) -> list[Batch]:
    """Return ``spans`` in batches of ``size``, in the order in which they ended."""
    ended = sorted(spans, key=lambda span: (span.end_ns, span.span_id))
    return [
        Batch(batch.service, batch.language, batch.scope, ended[at : at + size])
        for at in range(0, len(ended), size)
    ]


# --- OTLP JSON ---------------------------------------------------------------------------------


def _json_value(value: Value, *, numbers: bool) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": value if numbers else str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value}


def _json_attributes(attributes: dict[str, Value], *, numbers: bool) -> list[object]:
    return [
        {"key": key, "value": _json_value(value, numbers=numbers)}
        for key, value in attributes.items()
    ]


def _json_span(span: Span, *, numbers: bool) -> dict[str, object]:
    row: dict[str, object] = {"traceId": span.trace_id, "spanId": span.span_id}
    if span.parent_id:
        row["parentSpanId"] = span.parent_id
    row |= {
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _json_attributes(span.attributes, numbers=numbers),
    }
    if span.exception:
        row["events"] = [
            {
                "name": "exception",
                "timeUnixNano": str(span.end_ns),
                "attributes": _json_attributes({"exception.type": span.exception}, numbers=numbers),
            }
        ]
    row["status"] = {"code": 2} if span.failed else {}
    return row


def otlp_json(batches: Iterable[Batch], *, numbers: bool = False) -> dict[str, object]:
    """Return one TracesData object; with ``numbers`` integers as JavaScript writes them."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _json_attributes(batch.resource(), numbers=numbers)},
                "scopeSpans": [
                    {
                        "scope": {"name": batch.scope},
                        "spans": [_json_span(span, numbers=numbers) for span in batch.spans],
                    }
                ],
            }
            for batch in batches
        ]
    }


def json_lines(batches: Iterable[Batch], *, numbers: bool = False) -> list[bytes]:
    """Return a line for each batch, as the Collector's file exporter writes JSON."""
    lines = []
    for batch in batches:
        document = otlp_json([batch], numbers=numbers)
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        lines.append(text.encode() + b"\n")
    return lines


def pretty_json(batches: Iterable[Batch]) -> bytes:
    """Return one indented document, as a person saves it."""
    return json.dumps(otlp_json(batches), ensure_ascii=False, indent=1).encode() + b"\n"


# --- OTLP protobuf -----------------------------------------------------------------------------


def _proto_attributes(attributes: dict[str, Value]) -> list[KeyValue]:
    made = []
    for key, value in attributes.items():
        pair = KeyValue(key=key)
        if isinstance(value, bool):
            pair.value.bool_value = value
        elif isinstance(value, int):
            pair.value.int_value = value
        elif isinstance(value, float):
            pair.value.double_value = value
        else:
            pair.value.string_value = value
        made.append(pair)
    return made


def proto_message(batch: Batch) -> bytes:
    """Return a batch as one ExportTraceServiceRequest."""
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    resource_spans.resource.attributes.extend(_proto_attributes(batch.resource()))
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = batch.scope
    for span in batch.spans:
        made = scope_spans.spans.add(
            trace_id=bytes.fromhex(span.trace_id),
            span_id=bytes.fromhex(span.span_id),
            parent_span_id=bytes.fromhex(span.parent_id),
            name=span.name,
            kind=1,
            start_time_unix_nano=span.start_ns,
            end_time_unix_nano=span.end_ns,
            attributes=_proto_attributes(span.attributes),
        )
        if span.exception:
            event = made.events.add(name="exception", time_unix_nano=span.end_ns)
            event.attributes.extend(_proto_attributes({"exception.type": span.exception}))
        if span.failed:
            made.status.code = 2
    return request.SerializeToString(deterministic=True)


def framed(messages: Iterable[bytes]) -> bytes:
    """Return messages, each behind its length in four big-endian bytes (Collector, ``proto``)."""
    return b"".join(len(message).to_bytes(4, "big") + message for message in messages)


# --- compression -------------------------------------------------------------------------------


def gzipped(data: bytes) -> bytes:
    """Return ``data`` as one gzip member without name and time."""
    return gzip.compress(data, 9, mtime=0)


def zstd_frames(data: bytes, size: int) -> bytes:
    """Return ``data`` as zstd frames of ``size`` bytes each, so that lines cross them."""
    compressor = zstandard.ZstdCompressor(level=19)
    parts = (data[at : at + size] for at in range(0, len(data), size))
    return b"".join(compressor.compress(part) for part in parts)


def zstd_framed(messages: Iterable[bytes]) -> bytes:
    """Return what the Collector writes with ``compression: zstd``: a length, then one frame."""
    compressor = zstandard.ZstdCompressor(level=19)
    return framed(compressor.compress(message) for message in messages)


# --- the Python SDK's console exporter ---------------------------------------------------------


def _iso(at_ns: int) -> str:
    moment = datetime.fromtimestamp(at_ns // 10**9, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ns % 10**9 // 1000:06d}Z"


def console_text(batches: Iterable[Batch]) -> bytes:
    """Return indented objects one after another, as ``ConsoleSpanExporter`` prints them."""
    parts = []
    for batch in batches:
        for span in batch.spans:
            row = {
                "name": span.name,
                "context": {
                    "trace_id": f"0x{span.trace_id}",
                    "span_id": f"0x{span.span_id}",
                    "trace_state": "[]",
                },
                "kind": "SpanKind.INTERNAL",
                "parent_id": f"0x{span.parent_id}" if span.parent_id else None,
                "start_time": _iso(span.start_ns),
                "end_time": _iso(span.end_ns),
                "status": {"status_code": "ERROR" if span.failed else "UNSET"},
                "attributes": span.attributes,
                "events": [],
                "links": [],
                "resource": {"attributes": batch.resource(), "schema_url": ""},
            }
            parts.append(json.dumps(row, indent=4) + "\n")
    return "".join(parts).encode()
