"""Write spans of busy agents, as a Collector would export them, as large as asked for.

    python tests/benchmarks/generate.py DIR --size-mb 1000
    python tests/benchmarks/generate.py DIR --tool-calls 1000000 --identities one --formats json

Four services stand for four ways to instrument an agent: OpenTelemetry GenAI names, OpenInference,
Visceral (encrypted captures) and Traceloop. A span is about 2 kB, three of five spans are tool
calls, and three of ten tool calls repeat an earlier one: half of these one of the last dozen calls,
half an older one, picked as words are in a text (Zipf). Model spans carry their messages.

``NAME.jsonl`` has one ExportTraceServiceRequest of 50 spans a line (Collector file exporter,
``format: json``); ``NAME.pb`` has the same messages as protobuf, each behind its length in four
big-endian bytes (``format: proto``). The same arguments give the same bytes.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson
from agent_spans import Attributes, MadeSpan, Service, Value, batches, is_tool, make_services
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def _json_value(value: Value) -> dict[str, object]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value}


def _json_attributes(attributes: Attributes) -> list[dict[str, object]]:
    return [{"key": key, "value": _json_value(value)} for key, value in attributes]


def resource_attributes(service: Service) -> Attributes:
    return [
        ("telemetry.sdk.language", "python"),
        ("telemetry.sdk.name", "opentelemetry"),
        ("telemetry.sdk.version", "1.45.2"),
        ("service.instance.id", f"00000000-0000-4000-8000-{service.number:012d}"),
        ("service.name", service.name),
    ]


def json_line(service: Service, spans: list[MadeSpan]) -> bytes:
    """Return one line of OTLP JSON, as the Collector writes it."""
    made = []
    for span in spans:
        row: dict[str, object] = {
            "traceId": span.trace_id.hex(),
            "spanId": span.span_id.hex(),
            "parentSpanId": span.parent_id.hex(),
            "flags": 256,
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": str(span.start_ns),
            "endTimeUnixNano": str(span.end_ns),
            "attributes": _json_attributes(span.attributes),
            "status": {"code": 2} if span.failed else {},
        }
        if not span.parent_id:
            del row["parentSpanId"]
        made.append(row)
    resource = {"attributes": _json_attributes(resource_attributes(service))}
    scope = {"scope": {"name": f"instrumentation.{service.convention}"}, "spans": made}
    document = {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
    return orjson.dumps(document) + b"\n"


def proto_message(service: Service, spans: list[MadeSpan]) -> bytes:
    """Return the same spans as one protobuf message behind its length."""
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    _add_attributes(resource_spans.resource.attributes, resource_attributes(service))
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = f"instrumentation.{service.convention}"
    for span in spans:
        made = scope_spans.spans.add(
            trace_id=span.trace_id,
            span_id=span.span_id,
            parent_span_id=span.parent_id,
            flags=256,
            name=span.name,
            kind=span.kind,
            start_time_unix_nano=span.start_ns,
            end_time_unix_nano=span.end_ns,
        )
        _add_attributes(made.attributes, span.attributes)
        if span.failed:
            made.status.code = 2
    message = request.SerializeToString()
    return len(message).to_bytes(4, "big") + message


def _add_attributes(target: object, attributes: Attributes) -> None:
    add = target.add  # type: ignore[attr-defined]
    for key, value in attributes:
        made = add(key=key).value
        if isinstance(value, str):
            made.string_value = value
        elif isinstance(value, bool):
            made.bool_value = value
        elif isinstance(value, int):
            made.int_value = value
        else:
            made.double_value = value


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    paths: tuple[Path, ...]
    spans: int
    tool_calls: int


def write(
    folder: Path,
    name: str,
    *,
    size_bytes: int | None = None,
    tool_calls: int | None = None,
    identities: str = "zipf",
    formats: tuple[str, ...] = ("json", "proto"),
    seed: int = 1,
) -> Written:
    """Write spans until the JSON is ``size_bytes`` long, or exactly ``tool_calls`` tool spans.

    With ``tool_calls`` there is one service and nothing but tool spans of some 800 bytes.
    ``identities`` is ``zipf``, ``one`` (every call equal) or ``many`` (no call equal).
    """
    tools_only = tool_calls is not None
    services = make_services(seed, identities, tools_only=tools_only, spread=not tools_only)
    folder.mkdir(parents=True, exist_ok=True)
    suffixes = {"json": ".jsonl", "proto": ".pb"}
    paths = {kind: folder / f"{name}{suffixes[kind]}" for kind in formats}
    files: dict[str, BinaryIO] = {kind: path.open("wb") for kind, path in paths.items()}
    length = spans_written = calls_written = 0
    try:
        for service, spans in batches(services):
            if tool_calls is not None:
                spans = spans[: tool_calls - calls_written]
            line = json_line(service, spans)
            length += len(line)
            if "json" in files:
                files["json"].write(line)
            if "proto" in files:
                files["proto"].write(proto_message(service, spans))
            spans_written += len(spans)
            calls_written += sum(is_tool(span) for span in spans)
            if size_bytes is not None and length >= size_bytes:
                break
            if tool_calls is not None and calls_written >= tool_calls:
                break
    finally:
        for file in files.values():
            file.close()
    return Written(tuple(paths.values()), spans_written, calls_written)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write large files of agent spans.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size-mb", type=float, help="length of the JSON in 10^6 bytes")
    parser.add_argument("--tool-calls", type=int, help="instead: so many small tool spans")
    parser.add_argument("--identities", choices=("zipf", "one", "many"), default="zipf")
    parser.add_argument("--formats", default="json,proto")
    parser.add_argument("--name", default="agents")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if (options.size_mb is None) == (options.tool_calls is None):
        parser.error("give either --size-mb or --tool-calls")
    began = time.perf_counter()
    written = write(
        options.folder,
        options.name,
        size_bytes=None if options.size_mb is None else int(options.size_mb * 1e6),
        tool_calls=options.tool_calls,
        identities=options.identities,
        formats=tuple(options.formats.split(",")),
        seed=options.seed,
    )
    took = time.perf_counter() - began
    for path in written.paths:
        size = path.stat().st_size
        a_span = size / written.spans
        sys.stdout.write(f"{path}: {size:,} bytes, {a_span:,.0f} a span\n")
    share = written.tool_calls / written.spans
    sys.stdout.write(f"{written.spans:,} spans, {share:.1%} tool calls, {took:.1f} s\n")


if __name__ == "__main__":
    main()
