"""One input file into readings: each piece read as what it is."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from visceral_cli.ingest.blocks import BLOCK_BYTES, Take, read_blocks
from visceral_cli.ingest.compression import Content, open_content
from visceral_cli.ingest.files import InputFile, printable
from visceral_cli.ingest.framing import Framing
from visceral_cli.ingest.json_documents import read_documents
from visceral_cli.ingest.json_lines import DecodeLine, decode_json_line, read_lines
from visceral_cli.ingest.json_window import WINDOW
from visceral_cli.ingest.otlp_json import read_clean
from visceral_cli.ingest.parquet import read_parquet
from visceral_cli.ingest.pieces import MESSAGES, Piece
from visceral_cli.ingest.plan import opened, plan_file
from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.settings import Settings


def decode_span_line(line: bytes, reading: Reading, seed: str) -> None:
    """Add what one line holds: the fast way where it is clean OTLP, else with patience."""
    if not read_clean(line, reading):
        decode_json_line(line, reading, seed)


def decode_span_message(data: bytes, reading: Reading, *, seed: str) -> None:
    """Add what one protobuf message holds; ``seed`` names its place."""
    # Most inputs are JSON, and protobuf's library is large: they do not wait for it.
    from visceral_cli.ingest.otlp_proto import read_message  # noqa: PLC0415

    read_message(data, reading, seed=seed)


class DecodeMessage(Protocol):
    """Adds what one protobuf message holds to a reading; ``seed`` names its place."""

    def __call__(self, data: bytes, reading: Reading, *, seed: str) -> None:
        """Add it."""


def read_piece(
    piece: Piece,
    settings: Settings,
    *,
    decode_line: DecodeLine = decode_span_line,
    decode_message: DecodeMessage = decode_span_message,
    each: Callable[[Reading], None] | None = None,
) -> Iterator[Reading]:
    """Yield what a piece holds: one reading, or several of a piece that is read as a stream.

    ``each`` is called after lines and messages, and may take away what the reading holds by then.
    """
    if piece.framing is Framing.JSON:
        yield from _read_json(piece, settings)
    elif piece.framing is Framing.PARQUET:
        yield from _read_parquet(piece, settings)
    elif piece.framing is Framing.JSON_LINES:
        yield _read_lines(piece, decode_line if each is None else _then(each, decode_line))
    else:
        yield _read_messages(piece, decode_message, each)


def _then(each: Callable[[Reading], None], decode_line: DecodeLine) -> DecodeLine:
    def decode(line: bytes, reading: Reading, seed: str) -> None:
        decode_line(line, reading, seed)
        each(reading)

    return decode


def _read_lines(piece: Piece, decode_line: DecodeLine) -> Reading:
    reading = Reading()

    def take(data: bytes, at: int, *, more: bool) -> int:
        return read_lines(
            data, reading, seed=piece.seed, first_byte=at, more=more, decode_line=decode_line
        )

    _read_blocks(piece, take)
    return reading


def _read_messages(
    piece: Piece, decode_message: DecodeMessage, each: Callable[[Reading], None] | None
) -> Reading:
    reading = Reading()

    def take(data: bytes, at: int, *, more: bool) -> int:
        used = 0
        reading.byte = at
        for _, start, length in MESSAGES[piece.framing](data, 0, len(data), reading, more=more):
            used = start + length
            reading.byte = at + start
            decode_message(data[start:used], reading, seed=f"{piece.seed}:{reading.byte}")
            reading.byte = at
            if each is not None:
                each(reading)
        return used

    _read_blocks(piece, take)
    reading.byte = None
    return reading


def _read_blocks(piece: Piece, take: Take) -> None:
    """Give ``take`` the content of a piece, whole or block by block."""
    if piece.content is not None:
        take(piece.content, piece.offset, more=False)
        return
    with opened(piece.path) as stream:
        # To a bare message the next ones are a part of it: they are found in the whole piece only.
        block_bytes = piece.length if piece.framing is Framing.PROTO else BLOCK_BYTES
        read_blocks(stream, piece.offset, piece.length, take, block_bytes=block_bytes)


def _read_json(piece: Piece, settings: Settings) -> Iterator[Reading]:
    if not piece.is_packed and piece.length <= WINDOW:
        data = _bytes_of(piece)
        reading = Reading()
        if read_clean(data, reading):
            reading.lines = data.count(b"\n") + (not data.endswith(b"\n"))
            yield reading
            return
        piece = Piece(piece.path, piece.framing, piece.offset, piece.length, piece.seed, data)
    seed = f"{piece.seed}:{piece.offset}"
    with _content_of(piece, settings) as content:
        yield from read_documents(content, seed=seed, max_bytes=settings.max_document_bytes)
        yield content.notes


def _read_parquet(piece: Piece, settings: Settings) -> Iterator[Reading]:
    if not piece.is_packed and piece.content is None:
        yield from read_parquet(piece.path, seed=piece.seed)
        return
    with _content_of(piece, settings) as content:
        data = content.read(settings.max_document_bytes)
        if content.peek(1):
            what = f"a Parquet file of more than {settings.max_document_bytes:,} bytes; left out"
            content.notes.add_damage(DamageKind.TOO_LARGE, what)
        else:
            yield from read_parquet(io.BytesIO(data), seed=piece.seed)
        yield content.notes


def _bytes_of(piece: Piece) -> bytes:
    if piece.content is not None:
        return piece.content
    with opened(piece.path) as stream:
        stream.seek(piece.offset)
        return stream.read(piece.length)


@contextmanager
def _content_of(piece: Piece, settings: Settings) -> Iterator[Content]:
    """Open a piece as a stream."""
    if piece.is_packed:
        with opened(piece.path) as stream:
            yield open_content(stream, limit_bytes=settings.max_decompressed_bytes)
    elif piece.content is not None:
        yield Content(iter([piece.content]), (), Reading())
    else:
        with opened(piece.path) as stream:
            yield Content(_slices(stream, piece.offset, piece.length), (), Reading())


def _slices(stream: BinaryIO, offset: int, length: int) -> Iterator[bytes]:
    stream.seek(offset)
    while length > 0 and (data := stream.read(min(length, 1 << 20))):
        length -= len(data)
        yield data


def read_file(file: InputFile, settings: Settings) -> Iterator[Reading]:
    """Yield what one file holds, piece by piece, then what was noted while it was cut."""
    plan = plan_file(file, settings)
    for piece in plan.pieces:
        yield from read_piece(piece, settings)
    yield plan.notes


def read_whole_file(path: Path, settings: Settings | None = None) -> Reading:
    """Return all that one file holds; for files that fit into memory."""
    total = Reading()
    file = InputFile(path, printable(str(path)), path.stat().st_size)
    for reading in read_file(file, settings or Settings()):
        total.extend(reading)
    return total
