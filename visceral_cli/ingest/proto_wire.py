"""Protobuf messages of OTLP, read field by field: patient where the real decoder gives up.

The decoder of ``opentelemetry-proto`` refuses a whole message for one text that is not UTF-8, or
for the missing end of a message that was cut. Here such a message becomes the dictionaries of OTLP
JSON, for ``ingest.otlp_document``, with what can be read of it.

Encoding: protobuf.dev/programming-guides/encoding. Field numbers:
``opentelemetry/proto/trace/v1/trace.proto``, ``logs/v1/logs.proto``, ``metrics/v1/metrics.proto``.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.ingest.values import MAX_DEPTH

Data = bytes | mmap.mmap

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
CUT = -1

_fixed64 = struct.Struct("<Q").unpack_from
_double = struct.Struct("<d").unpack_from


class BadMessage(ValueError):
    """Bytes that are no protobuf message; ``cut`` if only their end is missing."""

    def __init__(self, message: str, *, cut: bool = False) -> None:
        super().__init__(message)
        self.cut = cut


class Field(NamedTuple):
    """One field as it lies in a message: the bytes from ``start`` to ``end`` are its value."""

    number: int
    wire: int
    start: int
    end: int
    integer: int
    """The value of a varint; :data:`CUT` where the end of the field is missing."""


def read_varint(data: Data, at: int, end: int) -> tuple[int, int]:
    """Return the varint at ``at`` and where it ends."""
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2**64 - 1), at
        shift += 7
        if shift > 63:
            raise BadMessage("a varint is too long")
    raise BadMessage("the message ends early", cut=True)


def fields(data: Data, at: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message between ``at`` and ``end``.

    Of a message that ends early the last field is yielded as far as it goes, then
    :class:`BadMessage` is raised.
    """
    while at < end:
        tag, at = read_varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise BadMessage("a field without a number")
        value = 0
        if wire == VARINT:
            start = at
            value, after = read_varint(data, at, end)
        elif wire == BYTES:
            length, start = read_varint(data, at, end)
            after = start + length
        elif wire in (FIXED64, FIXED32):
            start, after = at, at + (8 if wire == FIXED64 else 4)
        else:
            raise BadMessage("a field of an unknown wire type")
        if after > end:
            if wire == BYTES:
                yield Field(number, wire, start, end, CUT)
            raise BadMessage("the message ends early", cut=True)
        yield Field(number, wire, start, after, value)
        at = after


def readable_fields(data: Data, at: int, end: int) -> list[Field]:
    """Return the fields between ``at`` and ``end`` up to the first damage, a cut one included."""
    found: list[Field] = []
    with suppress(BadMessage):
        found.extend(fields(data, at, end))
    return found


_SCHEMAS: dict[str, dict[int, tuple[str, str]]] = {
    "TracesData": {1: ("resourceSpans", "ResourceSpans*")},
    "ResourceSpans": {1: ("resource", "Resource"), 2: ("scopeSpans", "ScopeSpans*")},
    "ScopeSpans": {1: ("scope", "Scope"), 2: ("spans", "Span*")},
    "Resource": {1: ("attributes", "KeyValue*")},
    "Scope": {1: ("name", "text")},
    "Span": {
        1: ("traceId", "bytes"),
        2: ("spanId", "bytes"),
        4: ("parentSpanId", "bytes"),
        5: ("name", "text"),
        6: ("kind", "integer"),
        7: ("startTimeUnixNano", "fixed64"),
        8: ("endTimeUnixNano", "fixed64"),
        9: ("attributes", "KeyValue*"),
        10: ("droppedAttributesCount", "integer"),
        11: ("events", "Event*"),
        15: ("status", "Status"),
    },
    "Event": {2: ("name", "text"), 3: ("attributes", "KeyValue*")},
    "Status": {2: ("message", "text"), 3: ("code", "integer")},
    "KeyValue": {1: ("key", "text"), 2: ("value", "AnyValue")},
    "AnyValue": {
        1: ("stringValue", "text"),
        2: ("boolValue", "boolean"),
        3: ("intValue", "signed"),
        4: ("doubleValue", "double"),
        5: ("arrayValue", "ArrayValue"),
        6: ("kvlistValue", "KeyValueList"),
        7: ("bytesValue", "bytes"),
    },
    "ArrayValue": {1: ("values", "AnyValue*")},
    "KeyValueList": {1: ("values", "KeyValue*")},
    "LogsData": {1: ("resourceLogs", "ResourceLogs*")},
    "ResourceLogs": {2: ("scopeLogs", "ScopeLogs*")},
    "ScopeLogs": {2: ("logRecords", "LogRecord*")},
    "LogRecord": {
        5: ("body", "AnyValue"),
        6: ("attributes", "KeyValue*"),
        9: ("traceId", "bytes"),
        10: ("spanId", "bytes"),
        12: ("eventName", "text"),
    },
}
_CONTAINERS = {
    "TracesData",
    "ResourceSpans",
    "ScopeSpans",
    "LogsData",
    "ResourceLogs",
    "ScopeLogs",
}
"""Messages of which a beginning is of use: each holds whole records."""

_OF_PARTS = _CONTAINERS | {"Resource", "Span", "Event", "LogRecord"}
"""Messages of which the rest is of use where one part is damaged."""

_WIRE_TYPES = {
    "integer": VARINT,
    "signed": VARINT,
    "boolean": VARINT,
    "fixed64": FIXED64,
    "double": FIXED64,
}


def read_fields(data: Data, message: str, reading: Reading) -> dict[str, object]:
    """Return one message of type ``message`` as OTLP JSON would have it; ids stay bytes.

    Damage in a record costs this record and is noted; of a message that ends early the records
    before its end are returned. Fields that Visceral has no use for are left out. Raises
    :class:`BadMessage` where ``message`` is itself one record and damaged.
    """
    return _read(data, 0, len(data), message, reading, 0)


def _read(
    data: Data, at: int, end: int, message: str, reading: Reading, depth: int
) -> dict[str, object]:
    if depth > MAX_DEPTH:
        raise BadMessage("a message is nested too deep")
    found: dict[str, object] = {"key": ""} if message == "KeyValue" else {}
    try:
        for field in fields(data, at, end):
            if _read_part(data, field, message, found, reading, depth):
                break  # it was cut, and noted inside
    except BadMessage as error:
        if message not in _CONTAINERS:
            raise
        _note(error, "its beginning was read", reading)
    return found


def _read_part(
    data: Data,
    field: Field,
    message: str,
    found: dict[str, object],
    reading: Reading,
    depth: int,
) -> bool:
    """Add one field of a message; return whether it was a cut one of which the beginning is."""
    is_cut = field.integer == CUT
    _, kind = _SCHEMAS[message].get(field.number, ("", ""))
    if is_cut and kind.removesuffix("*") not in _CONTAINERS:
        return False
    try:
        _add(data, field, message, found, reading, depth)
    except BadMessage as error:
        if message not in _OF_PARTS:
            raise
        _note(error, "left out", reading)
    return is_cut


def _add(
    data: Data,
    field: Field,
    message: str,
    found: dict[str, object],
    reading: Reading,
    depth: int,
) -> None:
    name, kind = _SCHEMAS[message].get(field.number, ("", ""))
    repeated = kind.endswith("*")
    kind = kind.removesuffix("*")
    if not name or field.wire != _WIRE_TYPES.get(kind, BYTES):
        return
    value = _value(data, field, kind, reading, depth)
    if not repeated:
        found[name] = value
        return
    items = found.setdefault(name, [])
    assert isinstance(items, list)
    items.append(value)


def _note(error: BadMessage, done: str, reading: Reading) -> None:
    kind = DamageKind.CUT if error.cut else DamageKind.PROTO
    reading.add_damage(kind, f"{error}; {done}")


def _value(data: Data, field: Field, kind: str, reading: Reading, depth: int) -> object:
    if kind == "text":
        return _text(bytes(data[field.start : field.end]), reading)
    if kind == "bytes":
        return bytes(data[field.start : field.end])
    if kind == "fixed64":
        return _fixed64(data, field.start)[0]
    if kind == "double":
        return _double(data, field.start)[0]
    if kind == "boolean":
        return field.integer != 0
    if kind == "signed":
        return field.integer - 2**64 if field.integer >= 2**63 else field.integer
    if kind == "integer":
        return field.integer
    return _read(data, field.start, field.end, kind, reading, depth + 1)


def _text(value: bytes, reading: Reading) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        reading.add_damage(DamageKind.ENCODING, "a text is not UTF-8; the bad bytes are replaced")
        return value.decode(errors="replace")
