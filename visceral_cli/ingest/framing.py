"""What a file is, told by its first bytes and never by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from visceral_cli.ingest.json_text import NotJson, next_document, raw_decode
from visceral_cli.ingest.proto_frames import (
    LONGEST_HEAD,
    bare_messages,
    fits,
)
from visceral_cli.ingest.proto_wire import BadMessage, read_varint
from visceral_cli.ingest.span import Reading

HEAD = 256 << 10
"""How many of the first bytes are looked at."""

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Framing(StrEnum):
    """How the records of a file are held."""

    JSON_LINES = "json-lines"
    """One document of JSON on each line."""
    JSON = "json"
    """One document over several lines, or several one after the other."""
    PROTO = "otlp-proto"
    """One protobuf message, or several joined."""
    PROTO_FRAMED = "otlp-proto-framed"
    """Each message after its 4-byte big-endian length."""
    PROTO_DELIMITED = "otlp-proto-delimited"
    """Each message after its varint length."""
    ZSTD_FRAMED = "zstd-framed"
    """Each message a zstd frame after its 4-byte big-endian length: the Collector's older
    compression."""
    PARQUET = "parquet"
    EMPTY = "empty"
    JAVASCRIPT_CONSOLE = "javascript-console"
    DOTNET_CONSOLE = "dotnet-console"
    JAVA_CONSOLE = "java-console"
    UNKNOWN = "unknown"


ADVICE: Mapping[Framing, str] = {
    Framing.JAVASCRIPT_CONSOLE: (
        "the text of JavaScript's console exporter, which leaves values out; export with "
        "@opentelemetry/exporter-trace-otlp-http to a Collector with a file exporter"
    ),
    Framing.DOTNET_CONSOLE: (
        "the text of .NET's console exporter; export with OpenTelemetry.Exporter."
        "OpenTelemetryProtocol to a Collector with a file exporter"
    ),
    Framing.JAVA_CONSOLE: (
        "the text of Java's logging exporter, which leaves values out; set "
        "otel.traces.exporter=experimental-otlp/stdout"
    ),
    Framing.UNKNOWN: (
        "neither JSON nor OTLP protobuf; export spans as OTLP, for example with the Collector's "
        "file exporter"
    ),
}
"""What a file is that cannot be read, and what to export in its place."""

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n\x1e\0"
_JAVASCRIPT = re.compile(
    rb"^\s*\{\s*\n\s+(?:resource|traceId|parentId|traceState|instrumentationScope|name|id)\s*:",
)
_DOTNET = re.compile(rb"^\s*Activity\.(?:TraceId|SpanId|DisplayName|Kind)\s*:", re.MULTILINE)
_JAVA = re.compile(rb"LoggingSpanExporter export|^'[^'\n]*' : [0-9a-f]{32} [0-9a-f]{16} ", re.M)
_JSON = re.compile(rb'\{\s*["}]|\[\s*[\[{\]"]')
_LOGGED = re.compile(rb'^[^{\n]{1,200}\{"(?:resource|scope)[A-Z_s"]', re.MULTILINE)
"""A document behind the prefix of a logger."""
_LINE_START = re.compile(rb"^(?:\xef\xbb\xbf|[\x1e\0])*(?=[{\[])", re.MULTILINE)


def sniff(head: bytes, size: int | None) -> Framing:
    """Return what a file is that begins with ``head``.

    ``size`` is the size of the whole where it is known; ``head`` is all of it or :data:`HEAD`
    bytes.
    """
    is_whole = size is not None and size <= len(head)
    if head.startswith(b"PAR1"):
        return Framing.PARQUET
    if head[4:8] == ZSTD_MAGIC and (size is None or int.from_bytes(head[:4], "big") <= size - 4):
        return Framing.ZSTD_FRAMED
    framing = _protobuf(head, is_whole)
    if framing is not None:
        return framing
    content = head.lstrip(_BLANK).removeprefix(_BOM).lstrip(_BLANK)
    if not content and is_whole:
        return Framing.JSON_LINES if b"\0" in head else Framing.EMPTY
    return _json(content) or _text(content)


def _protobuf(head: bytes, is_whole: bool) -> Framing | None:
    """Return how protobuf messages of OTLP are framed in ``head``; ``None`` if it holds none."""
    end = len(head)
    length = int.from_bytes(head[:4], "big")
    if head[4:5] == b"\x0a" and length and _is_message(head, 4, 4 + length, is_whole):
        return Framing.PROTO_FRAMED
    if head[:1] == b"\x0a" and fits(head, 0, end, may_be_cut=not is_whole) and end > 2:
        return Framing.PROTO
    try:
        length, start = read_varint(head, 0, min(end, LONGEST_HEAD))
    except BadMessage:
        return None
    if head[start : start + 1] == b"\x0a" and _is_message(head, start, start + length, is_whole):
        return Framing.PROTO_DELIMITED
    first = next(bare_messages(head, 0, end, Reading()), None)
    return Framing.PROTO if first and first[2] > 2 and head[:1] == b"\x0a" else None


def _is_message(head: bytes, at: int, end: int, is_whole: bool) -> bool:
    """Return whether a message of OTLP can lie between ``at`` and ``end``."""
    if end <= len(head):
        return end - at > 1 and fits(head, at, end)
    return fits(head, at, len(head), may_be_cut=True)


def _json(content: bytes) -> Framing | None:
    """Return how documents of JSON lie in ``content``; ``None`` if none begins a line."""
    if _JAVASCRIPT.match(content):
        return Framing.JAVASCRIPT_CONSOLE
    starts = [found.end() for found in _LINE_START.finditer(content)]
    if starts[:1] == [0]:
        end = content.find(b"\n")
        if end < 0 or _is_document(content[:end]):
            return Framing.JSON_LINES if _JSON.match(content) else None
        if _begins_with_document(content):
            return Framing.JSON
    ends = [content.find(b"\n", start) for start in starts]
    lines = [content[start:end] for start, end in zip(starts, ends, strict=True) if end >= 0]
    if any(map(_is_document, lines)) or _LOGGED.search(content):
        return Framing.JSON_LINES
    if any(_JSON.match(content, start) for start in starts):
        return Framing.JSON
    return None


def _is_document(line: bytes) -> bool:
    """Return whether one line begins with an object or list that is not empty."""
    text = line.decode(errors="replace")
    try:
        document, _ = raw_decode(text, next_document(text, 0))
    except NotJson:
        return False
    return bool(document) and isinstance(document, (dict, list))


def _begins_with_document(content: bytes) -> bool:
    try:
        raw_decode(content.decode(errors="replace"), 0)
    except NotJson:
        return False
    return True


def _text(content: bytes) -> Framing:
    if _DOTNET.search(content):
        return Framing.DOTNET_CONSOLE
    if _JAVA.search(content):
        return Framing.JAVA_CONSOLE
    return Framing.UNKNOWN
