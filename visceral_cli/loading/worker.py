"""One piece of a file into rows."""

from __future__ import annotations

from collections.abc import Iterator

from visceral_cli.calls.call_columns import CallColumns
from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.read_columns import read_columns
from visceral_cli.calls.read_spans import SpansTold, read_spans
from visceral_cli.ingest.json_lines import decode_json_line
from visceral_cli.ingest.otlp_json import read_by_column
from visceral_cli.ingest.pieces import Piece
from visceral_cli.ingest.read_file import read_piece
from visceral_cli.ingest.span import Reading, Span
from visceral_cli.ingest.span_columns import SpanColumns
from visceral_cli.loading.piece_rows import PieceRows, UnreadRequests
from visceral_cli.loading.rows import (
    SpanRows,
    arguments_batch,
    hashes_of_kept_arguments,
    mention_batch,
    results_batch,
    short_call_batch,
)
from visceral_cli.settings import ExtractSettings, Settings


def read_rows(
    piece: Piece, settings: Settings, extractor: Extractor, *, lazily: bool = False
) -> Iterator[PieceRows]:
    """Read one piece and find the calls in it; several results where it is read as a stream.

    ``lazily``: what model spans ask for may be left unread, if the piece can be read once more.
    """
    input_bytes = piece.length
    again = piece if lazily and piece.can_be_read_again else None
    rows = _Rows(extractor, settings.extract, again)
    for reading in read_piece(
        piece,
        settings,
        decode_line=rows.decode_line,
        decode_message=rows.decode_message,
        each=rows.take,
    ):
        rows.take(reading)
        yield rows.result(reading, input_bytes)
        input_bytes = 0


SPANS_AT_ONCE = 2000
"""How many spans are held before they are read for calls: enough that many are alike."""


class _Rows:
    """The rows of one reading, collected while it is read."""

    def __init__(
        self, extractor: Extractor, settings: ExtractSettings, again: Piece | None
    ) -> None:
        self._extractor = extractor
        self._settings = settings
        self._again = again
        self._begin()

    def _begin(self) -> None:
        self._waiting: list[Span] = []
        self._in_columns = SpanColumns()
        self._spans = SpanRows()
        self._told = SpansTold()
        self._log_records = 0

    def decode_line(self, line: bytes, reading: Reading, seed: str) -> None:
        """Read one line: by column where it is clean OTLP, else with patience."""
        if not read_by_column(line, reading, self._in_columns):
            decode_json_line(line, reading, seed)

    def decode_message(self, data: bytes, reading: Reading, *, seed: str) -> None:
        """Read one protobuf message: by column where its spans fit in."""
        # Most inputs are JSON, and protobuf's library is large: they do not wait for it.
        from visceral_cli.ingest.otlp_proto import read_message  # noqa: PLC0415

        read_message(data, reading, seed=seed, columns=self._in_columns)

    def take(self, reading: Reading) -> None:
        """Move the spans and log records of a reading into rows, in the order of reading."""
        if reading.spans or self._waiting:
            # Lines of both kinds take turns: small batches of each would cost more than objects.
            self._waiting += self._in_columns.spans()
            self._waiting += reading.spans
            self._in_columns, reading.spans = SpanColumns(), []
            if len(self._waiting) >= SPANS_AT_ONCE:
                self._read_waiting()
        elif len(self._in_columns) >= SPANS_AT_ONCE:
            self._read_columns()
        for log in reading.logs:
            self._told.mentions += self._extractor.mentions_of_log(log)
        self._log_records += len(reading.logs)
        reading.logs = []

    def _read_waiting(self) -> None:
        if self._waiting:
            spans, self._waiting = self._waiting, []
            who = read_spans(spans, self._extractor, len(self._spans), self._told)
            self._spans.add(spans, who)

    def _read_columns(self) -> None:
        if len(self._in_columns):
            spans, self._in_columns = self._in_columns, SpanColumns()
            who = read_columns(
                spans,
                self._extractor,
                len(self._spans),
                self._told,
                lazily=self._again is not None,
            )
            self._spans.add_columns(spans, who)

    def result(self, reading: Reading, input_bytes: int) -> PieceRows:
        """Return the rows collected since the last result."""
        self._read_waiting()
        self._read_columns()
        calls = self._told.calls
        hashes = hashes_of_kept_arguments(calls, self._settings)
        rows = PieceRows(
            spans=self._spans.batch(),
            calls=short_call_batch(calls, hashes),
            mentions=mention_batch(self._told.mentions),
            arguments=arguments_batch(hashes, calls),
            results=results_batch(calls if self._settings.keep_text else CallColumns()),
            damage=reading.damage,
            damage_counts=reading.damage_counts,
            lines=reading.lines,
            log_records=self._log_records + reading.skipped.pop("logs", 0),
            skipped=reading.skipped,
            input_bytes=input_bytes,
            unread=UnreadRequests(self._again, list(self._told.unread))
            if self._again is not None and self._told.unread
            else None,
        )
        self._begin()
        return rows
