"""A file cut into pieces that can be read apart from each other, in any order and process.

Lines and messages are never cut. Where a plain file can be cut by looking at a few of its bytes, a
piece names a place in it; of compressed input a piece holds its bytes, since only a reader from the
front can find the borders. What cannot be cut is one piece, read as a stream.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import msgspec

from visceral_cli.ingest.framing import Framing
from visceral_cli.ingest.json_window import WINDOW
from visceral_cli.ingest.proto_frames import (
    Place,
    bare_messages,
    delimited_messages,
    framed_messages,
)
from visceral_cli.ingest.span import DamageKind, Reading

PIECE_BYTES = 8 << 20
"""About how much content a piece has."""

MESSAGES = {
    Framing.PROTO: bare_messages,
    Framing.PROTO_FRAMED: framed_messages,
    Framing.PROTO_DELIMITED: delimited_messages,
}
"""How the messages of each framing of protobuf are found."""


class Piece(msgspec.Struct, frozen=True):
    """Some of the content of a file, whole records only."""

    path: str
    framing: Framing
    offset: int
    """Where in the (unpacked) content it begins."""
    length: int
    """How long it is; of a packed piece, how long the compressed file is."""
    seed: str
    """Names the file, for the synthetic ids of spans without any."""
    content: bytes | None = None
    """The bytes themselves; ``None``: they are to be read from ``path``."""
    is_packed: bool = False
    """Whether ``path`` is compressed, and the piece all of what it holds."""

    @property
    def can_be_read_again(self) -> bool:
        """Whether it is a part of a plain file whose records are read one by one."""
        is_plain = self.content is None and not self.is_packed
        return is_plain and (self.framing is Framing.JSON_LINES or self.framing in MESSAGES)


@dataclass(frozen=True, slots=True)
class Cutting:
    """What the pieces of one file have in common while it is cut."""

    path: str
    seed: str
    max_message_bytes: int
    notes: Reading
    piece_bytes: int = PIECE_BYTES

    def piece(
        self, framing: Framing, offset: int, length: int, content: bytes | None = None
    ) -> Piece:
        """Return one piece."""
        return Piece(self.path, framing, offset, length, self.seed, content)

    def note(self, kind: DamageKind, offset: int, what: str) -> None:
        """Note damage at ``offset``."""
        self.notes.byte = offset
        self.notes.add_damage(kind, what)
        self.notes.byte = None


def cut_lines(stream: BinaryIO, size: int, cutting: Cutting) -> Iterator[Piece]:
    """Yield pieces of whole lines of the first ``size`` bytes of a plain file.

    A line too long for a piece is a piece of its own, to be read as a stream.
    """
    offset = 0
    while offset < size:
        aim = offset + _aimed_bytes(size - offset, cutting.piece_bytes)
        end = _line_end(stream, aim, size, WINDOW)
        if end is None:
            end = _last_line_end(stream, offset, aim)
        if end is not None:
            yield cutting.piece(Framing.JSON_LINES, offset, end - offset)
        else:
            end = _line_end(stream, aim, size, size) or size
            yield cutting.piece(Framing.JSON, offset, end - offset)
        offset = end


def _aimed_bytes(left: int, piece_bytes: int) -> int:
    """Return how long a piece is to be: the last ones are shorter, so that all readers end at once.

    Never so short that a piece costs more than what is in it.
    """
    return max(min(piece_bytes, left // 3), piece_bytes // 4, 1)


def _line_end(stream: BinaryIO, at: int, size: int, limit: int) -> int | None:
    """Return where the line at ``at`` ends, the end of the file included.

    ``None`` where this is more than ``limit`` bytes away.
    """
    if at >= size:
        return size
    stream.seek(at - 1)
    read = 0
    while read <= limit:
        line = stream.readline(1 << 20)
        read += len(line)
        if line.endswith(b"\n") or not line or stream.tell() >= size:
            return min(stream.tell(), size)
    return None


def _last_line_end(stream: BinaryIO, start: int, end: int) -> int | None:
    """Return where the last line that ends between ``start`` and ``end`` ends."""
    stream.seek(start)
    found = stream.read(end - start).rfind(b"\n")
    return start + found + 1 if found >= 0 else None


def cut_messages(
    stream: BinaryIO, size: int, framing: Framing, cutting: Cutting
) -> Iterator[Piece]:
    """Yield pieces of whole protobuf messages of the first ``size`` bytes of a plain file."""
    size = min(size, os.fstat(stream.fileno()).st_size)
    if not size:
        return
    with mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ) as data:
        places = MESSAGES[framing](data, 0, size, cutting.notes)
        for first, end in group_messages(places, cutting):
            yield cutting.piece(framing, first, end - first)
            _forget_pages(data, first, end)


def _forget_pages(data: mmap.mmap, first: int, end: int) -> None:
    """Let go of the memory that holds what lies between; else the whole file would stay in it."""
    if hasattr(mmap, "MADV_DONTNEED"):  # not on every system
        first -= first % mmap.PAGESIZE
        data.madvise(mmap.MADV_DONTNEED, first, end - end % mmap.PAGESIZE - first)


def group_messages(places: Iterator[Place], cutting: Cutting) -> Iterator[tuple[int, int]]:
    """Yield where runs of messages begin and end, lengths before them included.

    A run ends where damage or a message that is too large follows.
    """
    first = end = None
    for head, start, length in places:
        after = start + length
        if length > cutting.max_message_bytes:
            cutting.note(
                DamageKind.TOO_LARGE,
                start,
                f"a message of more than {cutting.max_message_bytes:,} bytes; left out",
            )
            continue
        if first is not None and end is not None:
            if head == end and after - first <= cutting.piece_bytes:
                end = after
                continue
            yield first, end
        first, end = head, after
    if first is not None and end is not None:
        yield first, end
