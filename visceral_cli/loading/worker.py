"""One piece of a file into rows: what a reading process does."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.tool_call import Mention, ToolCall
from visceral_cli.ingest.pieces import Piece
from visceral_cli.ingest.read_file import read_piece
from visceral_cli.ingest.span import Damage, DamageKind, Reading
from visceral_cli.loading.rows import (
    arguments_batch,
    call_batch,
    mention_batch,
    results_batch,
    span_batch,
    text_hash,
)
from visceral_cli.settings import Settings


@dataclass(frozen=True, slots=True)
class PieceRows:
    """The rows of one piece; ``record`` counts from 0 within it."""

    spans: pa.RecordBatch
    calls: pa.RecordBatch
    mentions: pa.RecordBatch
    arguments: pa.RecordBatch
    """Distinct (hash, text); empty unless texts are kept."""
    results: pa.RecordBatch
    damage: list[Damage]
    damage_counts: Counter[DamageKind]
    lines: int
    log_records: int
    skipped: Counter[str]
    input_bytes: int
    """Length of what was read, for the progress bar."""


def read_rows(piece: Piece, settings: Settings, extractor: Extractor) -> Iterator[PieceRows]:
    """Read one piece and find the calls in it; several results where it is read as a stream."""
    input_bytes = piece.length
    for reading in read_piece(piece, settings):
        yield _rows_of(reading, extractor, settings, input_bytes)
        input_bytes = 0


def read_all_rows(piece: Piece, pickled_settings: bytes) -> list[PieceRows]:
    """Return the results of :func:`read_rows`, in another process.

    The settings come pickled so that a process can tell that they are those it knows: its extractor
    remembers the texts that it has read.
    """
    settings, extractor = _prepared(pickled_settings)
    return list(read_rows(piece, settings, extractor))


@lru_cache(maxsize=1)
def _prepared(pickled_settings: bytes) -> tuple[Settings, Extractor]:
    settings: Settings = pickle.loads(pickled_settings)
    return settings, Extractor(settings.extract)


def _rows_of(
    reading: Reading, extractor: Extractor, settings: Settings, input_bytes: int
) -> PieceRows:
    find = extractor.calls
    calls: list[ToolCall] = []
    records: list[int] = []
    mentions: list[Mention] = []
    for record, span in enumerate(reading.spans):
        if found := find(span):
            calls += found
            records += [record] * len(found)
        else:
            mentions += extractor.mentions(span)
    for log in reading.logs:
        mentions += extractor.mentions_of_log(log)
    kept = calls if settings.extract.keep_text else []
    hashes = [text_hash(call.arguments) for call in kept] if kept else [None] * len(calls)
    return PieceRows(
        spans=span_batch(reading.spans, [extractor.context(span) for span in reading.spans]),
        calls=call_batch(calls, records, hashes),
        mentions=mention_batch(mentions),
        arguments=arguments_batch(kept),
        results=results_batch(kept),
        damage=reading.damage,
        damage_counts=reading.damage_counts,
        lines=reading.lines,
        log_records=len(reading.logs) + reading.skipped.pop("logs", 0),
        skipped=reading.skipped,
        input_bytes=input_bytes,
    )
