import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from visceral_cli.ingest.framing import ADVICE, HEAD, Framing, sniff

Line = Callable[..., bytes]
Build = Callable[..., dict[str, Any]]

JS_CONSOLE = b"""{
  resource: {
    attributes: {
      'service.name': 'web',
    }
  },
  instrumentationScope: { name: 'demo', version: undefined, schemaUrl: undefined },
  traceId: 'f3b0d1f0a1b2c3d4e5f60718293a4b5c',
  attributes: [Object],
}
"""
DOTNET_CONSOLE = b"""Activity.TraceId:            8f0e1d2c3b4a59687766554433221100
Activity.SpanId:             1122334455667788
Activity.DisplayName:        SayHello
"""
JAVA_CONSOLE = b"""Jan 01, 2024 10:00:00 AM io.opentelemetry.exporter.LoggingSpanExporter export
INFO: 'span' : f3b0d1f0a1b2c3d4e5f60718293a4b5c 1122334455667788 INTERNAL [tracer: t:] {}
"""


def message() -> bytes:
    data = TracesData()
    for number in (1, 2, 3):
        resource_spans = data.resource_spans.add()
        span = resource_spans.scope_spans.add().spans.add()
        span.trace_id, span.span_id = bytes([number]) * 16, bytes([number]) * 8
        span.start_time_unix_nano = 1760000000000000001
    return data.SerializeToString()


def kind_of(data: bytes) -> Framing:
    return sniff(data[:HEAD], len(data))


def test_json_lines_are_known_even_when_the_first_is_damaged(line_of: Line) -> None:
    assert kind_of(line_of(1) + line_of(2)) is Framing.JSON_LINES
    assert kind_of(line_of(1).rstrip()) is Framing.JSON_LINES
    assert kind_of(b"\xef\xbb\xbf" + line_of(1)) is Framing.JSON_LINES
    assert kind_of(b"\x1e" + line_of(1)) is Framing.JSON_LINES
    assert kind_of(b"\r\n\r\n" + line_of(1)) is Framing.JSON_LINES
    assert kind_of(line_of(1)[20:] + line_of(2)) is Framing.JSON_LINES
    assert kind_of(b"{broken\n" + line_of(2)) is Framing.JSON_LINES
    assert kind_of(bytes(4096) + line_of(2)) is Framing.JSON_LINES
    assert kind_of(b"INFO: " + line_of(2)) is Framing.JSON_LINES


def test_documents_over_several_lines_are_known(otlp: Build, otlp_span: Build) -> None:
    for indent in (0, 1, 4, "\t"):
        text = json.dumps(otlp(otlp_span()), indent=indent).encode()
        assert kind_of(text) is Framing.JSON
        assert kind_of(text + b"\n" + text) is Framing.JSON
        assert kind_of(b"\xef\xbb\xbf" + text) is Framing.JSON
    many = json.dumps(otlp(*[otlp_span()] * 3000), indent=2).encode()
    assert len(many) > HEAD
    assert kind_of(many) is Framing.JSON


def test_framings_of_protobuf_are_known() -> None:
    data = message()
    delimited = bytes([len(data) & 127 | 128, len(data) >> 7]) + data
    assert kind_of(data) is Framing.PROTO
    assert kind_of(data + b"\n" + data + b"\n") is Framing.PROTO
    assert kind_of(data[:-5]) is Framing.PROTO
    assert kind_of(len(data).to_bytes(4, "big") + data) is Framing.PROTO_FRAMED
    assert kind_of((len(data) + 9).to_bytes(4, "big") + data) is not Framing.PROTO
    assert kind_of(delimited) is Framing.PROTO_DELIMITED
    assert sniff(delimited[:100], None) is Framing.PROTO_DELIMITED
    assert sniff(data[:100], None) is Framing.PROTO


def test_a_line_feed_before_json_is_no_protobuf(line_of: Line) -> None:
    assert kind_of(b"\n" + line_of(1)) is Framing.JSON_LINES


def test_other_files_are_known_by_their_first_bytes() -> None:
    assert kind_of(b"PAR1....PAR1") is Framing.PARQUET
    assert kind_of(b"\0\0\0\x0d\x28\xb5\x2f\xfd" + bytes(9)) is Framing.ZSTD_FRAMED
    assert kind_of(b"") is Framing.EMPTY
    assert kind_of(b" \r\n\n") is Framing.EMPTY


@pytest.mark.parametrize(
    ("data", "framing"),
    [
        (JS_CONSOLE, Framing.JAVASCRIPT_CONSOLE),
        (DOTNET_CONSOLE, Framing.DOTNET_CONSOLE),
        (JAVA_CONSOLE, Framing.JAVA_CONSOLE),
        (b"# Traces\n\n[link](x) and {text}\n", Framing.UNKNOWN),
        (b"[build-system]\nrequires = []\n", Framing.UNKNOWN),
        (b"trace_id,span_id,name\n1,2,n\n", Framing.UNKNOWN),
        (b"\x89PNG\r\n\x1a\n", Framing.UNKNOWN),
    ],
)
def test_what_cannot_be_read_is_refused_with_advice(data: bytes, framing: Framing) -> None:
    assert kind_of(data) is framing
    assert "export" in ADVICE[framing] or "set" in ADVICE[framing]


@given(st.binary(max_size=400), st.booleans())
def test_no_bytes_raise(data: bytes, known: bool) -> None:
    assert sniff(data, len(data) if known else None) in Framing
