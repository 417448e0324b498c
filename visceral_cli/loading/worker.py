"""One piece of a file into rows: what a reading process does."""

from __future__ import annotations

import gc
import pickle
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from visceral_cli.calls.extract import Extractor, SpanContext
from visceral_cli.calls.tool_call import Mention, ToolCall
from visceral_cli.ingest.pieces import Piece
from visceral_cli.ingest.read_file import read_piece
from visceral_cli.ingest.span import Damage, DamageKind, Reading
from visceral_cli.loading.rows import (
    SpanRows,
    arguments_batch,
    call_batch,
    mention_batch,
    results_batch,
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

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes with each batch as one piece of memory.

        Arrow's own pickling makes one of every buffer of every column: twice the time, and memory
        in so many small pieces that what is freed cannot be given back.
        """
        values = [getattr(self, field.name) for field in fields(self)]
        return _unpacked, tuple(map(_packed, values))


def _packed(value: object) -> object:
    if not isinstance(value, pa.RecordBatch):
        return value
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, value.schema) as stream:
        stream.write_batch(value)
    return _Packed(sink.getvalue().to_pybytes())


class _Packed(NamedTuple):
    """A batch as an Arrow IPC stream."""

    stream: bytes

    def batch(self) -> pa.RecordBatch:
        return pa.ipc.open_stream(self.stream).read_next_batch()


def _unpacked(*values: Any) -> PieceRows:
    return PieceRows(*(value.batch() if isinstance(value, _Packed) else value for value in values))


def read_rows(piece: Piece, settings: Settings, extractor: Extractor) -> Iterator[PieceRows]:
    """Read one piece and find the calls in it; several results where it is read as a stream."""
    input_bytes = piece.length
    rows = _Rows(extractor, keep_text=settings.extract.keep_text)
    for reading in read_piece(piece, settings, each=rows.take):
        rows.take(reading)
        yield rows.result(reading, input_bytes)
        input_bytes = 0


def read_all_rows(piece: Piece, pickled_settings: bytes) -> list[PieceRows]:
    """Return the results of :func:`read_rows`, in another process.

    The settings come pickled so that a process can tell that they are those it knows: its extractor
    remembers the texts that it has read.
    """
    settings, extractor = _prepared(pickled_settings)
    rows = list(read_rows(piece, settings, extractor))
    gc.collect()
    return rows


def begin_reading_process() -> None:
    """Prepare a process that does nothing but :func:`read_all_rows`.

    Spans come and go by the thousand and hold no cycles: looking for some after every few hundred
    takes a fifth of the time, so it is done once a piece. Ctrl-C reaches the whole process group;
    only the parent shall answer it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.disable()


@lru_cache(maxsize=1)
def _prepared(pickled_settings: bytes) -> tuple[Settings, Extractor]:
    settings: Settings = pickle.loads(pickled_settings)
    return settings, Extractor(settings.extract)


class _Rows:
    """The rows of one reading, collected while it is read."""

    def __init__(self, extractor: Extractor, *, keep_text: bool) -> None:
        self._extractor = extractor
        self._keep_text = keep_text
        self._begin()

    def _begin(self) -> None:
        self._spans = SpanRows()
        self._calls: list[ToolCall] = []
        self._records: list[int] = []
        self._mentions: list[Mention] = []
        self._log_records = 0

    def take(self, reading: Reading) -> None:
        """Move the spans and log records of a reading into rows."""
        if reading.spans:
            read = self._extractor.read
            told: list[SpanContext] = []
            for record, span in enumerate(reading.spans, len(self._spans)):
                calls, mentions, who = read(span)
                told.append(who)
                if calls:
                    self._calls += calls
                    self._records += [record] * len(calls)
                elif mentions:
                    self._mentions += mentions
            self._spans.add(reading.spans, told)
            reading.spans = []
        for log in reading.logs:
            self._mentions += self._extractor.mentions_of_log(log)
        self._log_records += len(reading.logs)
        reading.logs = []

    def result(self, reading: Reading, input_bytes: int) -> PieceRows:
        """Return the rows collected since the last result."""
        calls = self._calls
        kept = calls if self._keep_text else []
        hashes = [text_hash(call.arguments) for call in kept] if kept else [None] * len(calls)
        rows = PieceRows(
            spans=self._spans.batch(),
            calls=call_batch(calls, self._records, hashes),
            mentions=mention_batch(self._mentions),
            arguments=arguments_batch(kept),
            results=results_batch(kept),
            damage=reading.damage,
            damage_counts=reading.damage_counts,
            lines=reading.lines,
            log_records=self._log_records + reading.skipped.pop("logs", 0),
            skipped=reading.skipped,
            input_bytes=input_bytes,
        )
        self._begin()
        return rows
