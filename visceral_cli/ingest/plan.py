"""What one input file is, and how it is cut: nothing is imported here that reads its spans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from visceral_cli.ingest.compression import open_content
from visceral_cli.ingest.files import OTHER_FILE, InputFile, one_line_error
from visceral_cli.ingest.framing import ADVICE, HEAD, Framing, sniff
from visceral_cli.ingest.packed_pieces import (
    cut_content_lines,
    cut_content_messages,
    cut_zstd_frames,
)
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
    with opened(str(file.path)) as stream:
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
    with opened(str(file.path)) as stream:
        if framing is Framing.JSON_LINES:
            yield from cut_lines(stream, file.size, cutting)
        elif framing in MESSAGES:
            yield from cut_messages(stream, file.size, framing, cutting)
        elif framing in (Framing.JSON, Framing.PARQUET):
            yield cutting.piece(framing, 0, file.size)


def _packed_pieces(
    file: InputFile, framing: Framing, settings: Settings, cutting: Cutting
) -> Iterator[Piece]:
    with opened(str(file.path)) as stream:
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


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open a file to be read; what goes wrong with it is told in one line."""
    with one_line_error(Path(path)), Path(path).open("rb") as stream:
        yield stream
