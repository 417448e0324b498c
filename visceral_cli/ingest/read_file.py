"""One input file into readings: what it is, how it is cut, and how each piece is read."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from visceral_cli.ingest.blocks import BLOCK_BYTES, Take, read_blocks
from visceral_cli.ingest.compression import Content, open_content
from visceral_cli.ingest.files import OTHER_FILE, InputFile, one_line_error, printable
from visceral_cli.ingest.framing import ADVICE, HEAD, Framing, sniff
from visceral_cli.ingest.json_documents import read_documents
from visceral_cli.ingest.json_lines import DecodeLine, decode_json_line, read_lines
from visceral_cli.ingest.json_window import WINDOW
from visceral_cli.ingest.otlp_json import read_clean
from visceral_cli.ingest.otlp_proto import read_message
from visceral_cli.ingest.packed_pieces import (
    cut_content_lines,
    cut_content_messages,
    cut_zstd_frames,
)
from visceral_cli.ingest.parquet import read_parquet
from visceral_cli.ingest.pieces import (
    MESSAGES,
    PIECE_BYTES,
    Cutting,
    Piece,
    cut_lines,
    cut_messages,
)
from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.settings import Settings


@dataclass(frozen=True, slots=True)
class Plan:
    """How one file is going to be read."""

    format: str
    """What the file was recognised as, compression included: ``gzip json-lines``."""
    pieces: Iterator[Piece]
    notes: Reading
    """Damage met while cutting; complete once the pieces are exhausted."""


def plan_file(file: InputFile, settings: Settings, *, piece_bytes: int = PIECE_BYTES) -> Plan:
    """Return what ``file`` is and the pieces it is to be read in.

    A file of a kind that cannot be read has no pieces, and a note that says what it is and what to
    export instead, unless it only lay in a folder and is of no kind that is known.
    :class:`~visceral_cli.errors.InputError`: the file cannot be opened.
    """
    notes = Reading()
    cutting = Cutting(str(file.path), file.name, settings.max_document_bytes, notes, piece_bytes)
    with _opened(str(file.path)) as stream:
        content = open_content(stream, limit_bytes=settings.max_decompressed_bytes)
        head = content.peek(HEAD)
    size = file.size if not content.layers else len(head) if len(head) < HEAD else None
    framing = sniff(head, size)
    if framing is Framing.UNKNOWN and file.found_in_folder:
        return Plan(OTHER_FILE, iter(()), notes)
    if advice := ADVICE.get(framing):
        notes.add_damage(DamageKind.UNKNOWN_SHAPE, advice)
    name = " ".join((*content.layers, framing.value))
    pieces = (
        _packed_pieces(file, framing, settings, cutting)
        if content.layers or framing is Framing.ZSTD_FRAMED
        else _plain_pieces(file, framing, cutting)
    )
    return Plan(name, pieces, notes)


def _plain_pieces(file: InputFile, framing: Framing, cutting: Cutting) -> Iterator[Piece]:
    with _opened(str(file.path)) as stream:
        if framing is Framing.JSON_LINES:
            yield from cut_lines(stream, file.size, cutting)
        elif framing in MESSAGES:
            yield from cut_messages(stream, file.size, framing, cutting)
        elif framing in (Framing.JSON, Framing.PARQUET):
            yield cutting.piece(framing, 0, file.size)


def _packed_pieces(
    file: InputFile, framing: Framing, settings: Settings, cutting: Cutting
) -> Iterator[Piece]:
    with _opened(str(file.path)) as stream:
        content = open_content(stream, limit_bytes=settings.max_decompressed_bytes)
        if framing is Framing.JSON_LINES:
            yield from cut_content_lines(content, cutting)
        elif framing in MESSAGES:
            yield from cut_content_messages(content, framing, cutting)
        elif framing is Framing.ZSTD_FRAMED:
            yield from cut_zstd_frames(content, settings.max_decompressed_bytes, cutting)
        elif framing in (Framing.JSON, Framing.PARQUET):
            yield Piece(str(file.path), framing, 0, file.size, file.name, is_packed=True)
            return  # its damage is met where it is read
        cutting.notes.extend(content.notes)


def decode_span_line(line: bytes, reading: Reading, seed: str) -> None:
    """Add what one line holds: the fast way where it is clean OTLP, else with patience."""
    if not read_clean(line, reading):
        decode_json_line(line, reading, seed)


class DecodeMessage(Protocol):
    """Adds what one protobuf message holds to a reading; ``seed`` names its place."""

    def __call__(self, data: bytes, reading: Reading, *, seed: str) -> None:
        """Add it."""


def read_piece(
    piece: Piece,
    settings: Settings,
    *,
    decode_line: DecodeLine = decode_span_line,
    decode_message: DecodeMessage = read_message,
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
    with _opened(piece.path) as stream:
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
    with _opened(piece.path) as stream:
        stream.seek(piece.offset)
        return stream.read(piece.length)


@contextmanager
def _content_of(piece: Piece, settings: Settings) -> Iterator[Content]:
    """Open a piece as a stream."""
    if piece.is_packed:
        with _opened(piece.path) as stream:
            yield open_content(stream, limit_bytes=settings.max_decompressed_bytes)
    elif piece.content is not None:
        yield Content(iter([piece.content]), (), Reading())
    else:
        with _opened(piece.path) as stream:
            yield Content(_slices(stream, piece.offset, piece.length), (), Reading())


def _slices(stream: BinaryIO, offset: int, length: int) -> Iterator[bytes]:
    stream.seek(offset)
    while length > 0 and (data := stream.read(min(length, 1 << 20))):
        length -= len(data)
        yield data


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    with one_line_error(Path(path)), Path(path).open("rb") as stream:
        yield stream


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
