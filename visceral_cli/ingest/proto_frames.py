"""Where one protobuf message ends and the next begins, without decoding them.

Four ways in which files hold messages:

* framed: each message after its length, an unsigned 32-bit big-endian integer (the Collector's
  ``fileexporter`` with ``format: proto``);
* delimited: each after its length as a varint (the OTLP file exporter specification);
* bare: one message, or several simply joined, which to protobuf is the same;
* bare with a line feed after each message (the Collector with an ``encoding`` extension and the
  default ``format``). The line feed is also the first byte of every message, so it is told from
  one by what follows.
"""

from __future__ import annotations

from collections.abc import Iterator

from visceral_cli.ingest.proto_wire import (
    BYTES,
    CUT,
    VARINT,
    BadMessage,
    Data,
    fields,
    read_varint,
)
from visceral_cli.ingest.span import DamageKind, Reading

Place = tuple[int, int, int]
"""Where a message and the length before it begin, where the message itself begins, and how long
it is."""

_LINE_FEED = 0x0A
_LENGTH_BYTES = 4
LONGEST_HEAD = 10
"""The most bytes that a length may take."""

_LEVELS: dict[str, dict[int, tuple[int, str]]] = {
    "outer message": {1: (BYTES, "outer records"), 2: (BYTES, "")},
    "outer records": {1: (BYTES, ""), 2: (BYTES, ""), 3: (BYTES, ""), 1000: (BYTES, "")},
    "message": {1: (BYTES, "resource records"), 2: (BYTES, "")},
    "resource records": {
        1: (BYTES, "resource"),
        2: (BYTES, "scope records"),
        3: (BYTES, ""),
        1000: (BYTES, ""),
    },
    "resource": {1: (BYTES, "attribute"), 2: (VARINT, ""), 3: (BYTES, "")},
    "scope records": {1: (BYTES, "scope"), 2: (BYTES, ""), 3: (BYTES, "")},
    "scope": {1: (BYTES, ""), 2: (BYTES, ""), 3: (BYTES, "attribute"), 4: (VARINT, "")},
    "attribute": {1: (BYTES, ""), 2: (BYTES, ""), 3: (VARINT, "")},
}
"""The fields that the outer messages of all OTLP signals may have: wire type, and what lies in
them where that can be told. The "outer" ones do not look inside."""


def fits(
    data: Data, at: int, end: int, *, may_be_cut: bool = False, level: str = "message"
) -> bool:
    """Return whether the bytes from ``at`` to ``end`` have the outer form of an OTLP message.

    ``may_be_cut``: whether what lies behind ``end`` is not known.
    """
    known = _LEVELS[level]
    try:
        for field in fields(data, at, end):
            wire, inner = known.get(field.number, (None, ""))
            if field.wire != wire:
                return False
            is_last = may_be_cut and field.end == end
            if inner and not fits(data, field.start, field.end, may_be_cut=is_last, level=inner):
                return False
    except BadMessage as error:
        return may_be_cut and error.cut
    return True


def framed_messages(
    data: Data, at: int, end: int, reading: Reading, *, more: bool = False
) -> Iterator[Place]:
    """Yield the messages that stand after 4-byte lengths.

    A hole, or a length that makes no sense, is noted and skipped up to the next length after which
    a message stands. ``more``: whether the file goes on behind ``end``; then a last message that is
    not whole yet is left alone.
    """
    while at < end:
        length = int.from_bytes(data[at : at + _LENGTH_BYTES], "big")
        start = at + _LENGTH_BYTES
        if 0 < length <= end - start and data[start] == _LINE_FEED:
            yield at, start, length
            at = start + length
        elif length == 0 and start < end and data[start] != 0:
            at = start  # an empty message
        elif more and (end - at < LONGEST_HEAD or data[start] == _LINE_FEED):
            return
        else:
            at = _skip_damage(data, at, end, reading, more)


def _skip_damage(data: Data, at: int, end: int, reading: Reading, more: bool) -> int:
    """Note what is wrong with the length at ``at``; return where the next good one is."""
    found = _next_framed(data, at + 1, end)
    is_hole = not data[at : min(end, at + _LENGTH_BYTES)].strip(b"\0")
    if found is not None:
        kind = DamageKind.NUL if is_hole else DamageKind.PROTO
        _note(reading, at, kind, "no length of a message; skipped to the next one")
        return found
    if more:
        return end
    if is_hole:
        _note(reading, at, DamageKind.NUL, "the rest is NUL bytes; left out")
    else:
        _note(reading, at, DamageKind.CUT, "the last message ends early; left out")
    return end


def _next_framed(data: Data, at: int, end: int) -> int | None:
    """Return where from ``at`` on a length stands before a message that fits it."""
    found = at + _LENGTH_BYTES - 1
    while (found := data.find(b"\x0a", found + 1, end)) >= 0:
        place = found - _LENGTH_BYTES
        length = int.from_bytes(data[place:found], "big")
        if 2 <= length <= end - found and fits(data, found, found + length):
            return place
    return None


def delimited_messages(
    data: Data, at: int, end: int, reading: Reading, *, more: bool = False
) -> Iterator[Place]:
    """Yield the messages that stand after varint lengths; what follows damage is lost."""
    while at < end:
        try:
            length, start = read_varint(data, at, min(end, at + LONGEST_HEAD))
        except BadMessage as error:
            length, start = 1 if error.cut else 0, end
        starts_well = start >= end or data[start] == _LINE_FEED
        if length <= end - start and (starts_well or not length) and start > at:
            if length:
                yield at, start, length
            at = start + length
            continue
        if more:
            return
        if starts_well and length:
            _note(reading, at, DamageKind.CUT, "the last message ends early; left out")
        else:
            _note(reading, at, DamageKind.PROTO, "no length of a message; the rest is left out")
        return


def bare_messages(
    data: Data, at: int, end: int, reading: Reading, *, more: bool = False
) -> Iterator[Place]:
    """Yield the outermost fields of joined messages: each is a message of its own to protobuf.

    A line feed between messages is skipped. What follows damage is lost; of a last message that
    ends early the beginning is yielded.
    """
    while at < end:
        after = _end_of_field(data, at, end)
        if after is None and data[at] == _LINE_FEED and at + 1 < end:
            after = _end_of_field(data, at + 1, end)
            at += after is not None
        if after is not None:
            yield at, at, after - at
            at = after
            continue
        is_cut = fits(data, at, end, may_be_cut=True, level="outer message")
        if more or (end - at == 1 and data[at] == _LINE_FEED):
            return  # the rest is yet to come, or is the line feed after the last message
        if is_cut:
            yield at, at, end - at
        else:
            _note(reading, at, DamageKind.PROTO, "no protobuf of OTLP; the rest is left out")
        return


def _end_of_field(data: Data, at: int, end: int) -> int | None:
    """Return where the field of a message at ``at`` ends; ``None`` if there is none."""
    try:
        field = next(fields(data, at, end))
    except BadMessage:
        return None
    is_whole = field.integer != CUT and fits(data, at, field.end, level="outer message")
    return field.end if is_whole else None


def _note(reading: Reading, at: int, kind: DamageKind, what: str) -> None:
    before = reading.byte
    reading.byte = (before or 0) + at
    reading.add_damage(kind, what)
    reading.byte = before
