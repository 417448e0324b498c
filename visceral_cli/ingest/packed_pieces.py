"""Pieces of content that can only be read from front to back: what compressed files hold."""

from __future__ import annotations

from collections.abc import Iterator

from visceral_cli.ingest.compression import Content, unpack_frame
from visceral_cli.ingest.framing import HEAD, ZSTD_MAGIC, Framing, sniff
from visceral_cli.ingest.json_window import WINDOW
from visceral_cli.ingest.pieces import MESSAGES, Cutting, Piece, group_messages
from visceral_cli.ingest.span import DamageKind, Reading

_LENGTH_BYTES = 4


def cut_content_lines(content: Content, cutting: Cutting) -> Iterator[Piece]:
    """Yield pieces of whole lines, each with its bytes."""
    offset = 0
    rest = b""
    while data := content.read(cutting.piece_bytes):
        data = rest + data
        end = data.rfind(b"\n") + 1
        if not end and len(data) <= cutting.max_message_bytes:
            rest = data
            continue
        if not end:
            cutting.note(
                DamageKind.TOO_LARGE,
                offset,
                f"a line of more than {cutting.max_message_bytes:,} bytes; left out",
            )
            skipped, rest = _skip_line(content, cutting)
            offset += len(data) + skipped
            continue
        yield _line_piece(data[:end], offset, cutting)
        offset += end
        rest = data[end:]
    if rest:
        yield _line_piece(rest, offset, cutting)


def _line_piece(data: bytes, offset: int, cutting: Cutting) -> Piece:
    """Return a piece of lines, or of one line so long that it is to be read as a stream."""
    is_long = len(data) > WINDOW and data.find(b"\n", 0, -1) < 0
    framing = Framing.JSON if is_long else Framing.JSON_LINES
    return cutting.piece(framing, offset, len(data), data)


def _skip_line(content: Content, cutting: Cutting) -> tuple[int, bytes]:
    """Leave the present line; return how much was left, and what was read of the next line."""
    skipped = 0
    while data := content.read(cutting.piece_bytes):
        end = data.find(b"\n") + 1
        if end:
            return skipped + end, data[end:]
        skipped += len(data)
    return skipped, b""


def cut_content_messages(content: Content, framing: Framing, cutting: Cutting) -> Iterator[Piece]:
    """Yield pieces of whole protobuf messages, each with its bytes."""
    offset = 0
    data = b""
    ended = False
    while not ended:
        chunk = content.read(max(cutting.piece_bytes, len(data)))
        ended = not chunk
        data += chunk
        found = Reading()
        found.byte = offset
        places = list(MESSAGES[framing](data, 0, len(data), found, more=not ended))
        cutting.notes.extend(found)
        for first, end in group_messages(iter(places), cutting):
            yield cutting.piece(framing, offset + first, end - first, data[first:end])
        _, start, length = places[-1] if places else (0, 0, 0)
        offset += start + length
        data = data[start + length :]
        if len(data) > cutting.max_message_bytes:
            what = (
                f"a message of more than {cutting.max_message_bytes:,} bytes; the rest is left out"
            )
            cutting.note(DamageKind.TOO_LARGE, offset, what)
            return


def cut_zstd_frames(content: Content, max_bytes: int, cutting: Cutting) -> Iterator[Piece]:
    """Yield pieces of the messages that lie in zstd frames after their lengths.

    ``max_bytes`` limits what all of them unfold to.
    """
    group = _Group(cutting)
    unpacked_bytes = 0
    for message in _frame_messages(content, cutting):
        unpacked_bytes += len(message)
        if unpacked_bytes > max_bytes:
            cutting.note(
                DamageKind.TOO_LARGE,
                unpacked_bytes,
                f"unfolds to more than the limit of {max_bytes:,} bytes; the rest is left out",
            )
            break
        yield from group.add(message)
    yield from group.flush()


class _Group:
    """Messages of one kind that are going to be one piece."""

    def __init__(self, cutting: Cutting) -> None:
        self._cutting = cutting
        self._framing = Framing.JSON_LINES
        self._parts: list[bytes] = []
        self._length = 0
        self._offset = 0

    def add(self, message: bytes) -> Iterator[Piece]:
        """Add a message; yield the group so far where it is full or of another kind."""
        framing, part = _as_part(message)
        is_full = self._length + len(part) > self._cutting.piece_bytes
        if framing is not self._framing or is_full:
            yield from self.flush()
        self._framing = framing
        self._parts.append(part)
        self._length += len(part)

    def flush(self) -> Iterator[Piece]:
        """Yield the group, unless it is empty, and begin another."""
        if self._parts:
            content = b"".join(self._parts)
            yield self._cutting.piece(self._framing, self._offset, self._length, content)
            self._offset += self._length
            self._parts, self._length = [], 0


def _as_part(message: bytes) -> tuple[Framing, bytes]:
    framing = sniff(message[:HEAD], len(message))
    if framing is Framing.PROTO:
        return Framing.PROTO_FRAMED, len(message).to_bytes(_LENGTH_BYTES, "big") + message
    if framing is Framing.JSON:
        return framing, message + b"\n"
    return Framing.JSON_LINES, message.removesuffix(b"\n") + b"\n"


def _frame_messages(content: Content, cutting: Cutting) -> Iterator[bytes]:
    """Yield what each zstd frame holds; note what is no frame, and skip to the next one."""
    at = 0
    while head := content.peek(_LENGTH_BYTES + len(ZSTD_MAGIC)):
        length = int.from_bytes(head[:_LENGTH_BYTES], "big")
        if head[_LENGTH_BYTES:] != ZSTD_MAGIC:
            cutting.note(DamageKind.COMPRESSION, at, "no zstd frame; skipped to the next one")
            at += _skip_to_frame(content)
            continue
        if length > cutting.max_message_bytes:
            what = f"a frame of more than {cutting.max_message_bytes:,} bytes; skipped"
            cutting.note(DamageKind.TOO_LARGE, at, what)
            content.read(_LENGTH_BYTES + 1)
            at += _LENGTH_BYTES + 1 + _skip_to_frame(content)
            continue
        content.read(_LENGTH_BYTES)
        frame = content.read(length)
        if len(frame) < length:
            cutting.note(DamageKind.CUT, at, "the last zstd frame ends early; left out")
            return
        message = unpack_frame(frame, limit_bytes=cutting.max_message_bytes)
        if message is None:
            cutting.note(DamageKind.COMPRESSION, at, "a damaged or too large zstd frame; left out")
        else:
            yield message
        at += _LENGTH_BYTES + length


def _skip_to_frame(content: Content) -> int:
    """Move to the next length before a zstd frame; return how far that was."""
    skipped = len(content.read(1))
    while True:
        data = content.peek(HEAD)
        found = data.find(ZSTD_MAGIC, _LENGTH_BYTES)
        if found >= 0:
            return skipped + len(content.read(found - _LENGTH_BYTES))
        if len(data) < HEAD:
            return skipped + len(content.read(len(data)))
        skipped += len(content.read(HEAD - _LENGTH_BYTES - len(ZSTD_MAGIC)))
