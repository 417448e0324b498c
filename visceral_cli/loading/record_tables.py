"""Rows of pieces into the tables of records: spans, calls, and what is told of calls elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa

from visceral_cli.loading.piece_rows import PieceRows
from visceral_cli.loading.rows import SPAN_COLUMNS

_BESIDE_CALLS = ("name", "status", "attributes")
"""Columns of a span that say nothing of its call."""

_MAY_DIFFER = (("kind", "span_kind"), *((name, name) for name in ("session", "user_id", "agent")))
"""Columns of a span, and those of its call that mostly say the same."""


def insert_records(
    store: duckdb.DuckDBPyConnection,
    file_id: int,
    first_record: int,
    pieces: Sequence[PieceRows],
) -> int:
    """Insert the rows of ``pieces``, their spans counted on from ``first_record``.

    Returns the record that follows the last one.
    """
    spans, calls = [], []
    for rows in pieces:
        plain, told = spans_told_once(rows.spans, rows.calls)
        spans.append(_counted_from(first_record, plain))
        calls.append(_counted_from(first_record, told))
        first_record += rows.spans.num_rows
    _insert(store, file_id, "_plain_span_record", spans)
    _insert(store, file_id, "_call_record", calls)
    insert_mentions(store, file_id, [rows.mentions for rows in pieces])
    return first_record


def insert_mentions(
    store: duckdb.DuckDBPyConnection, file_id: int, mentions: Sequence[pa.RecordBatch]
) -> None:
    """Insert what is told of calls elsewhere than in their own spans."""
    _insert(store, file_id, "_mention", mentions)


def spans_told_once(
    spans: pa.RecordBatch, calls: pa.RecordBatch
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Complete calls from the rows of their spans; return the other spans, and the calls.

    ``record`` of a call is the place of its row in ``spans``. In most stores more than half of the
    spans are calls: texts that stood in two rows would be a fifth of a store. Where one call of
    these cannot stand for its span, since that tells of several or belongs to someone else, all
    spans remain, and the columns that only spans have are NULL.
    """
    record = calls.column("record")
    own = spans.take(record)
    columns = dict(zip(calls.schema.names, calls.columns, strict=True))
    columns |= {name: own.column(name) for name in SPAN_COLUMNS}
    if _stand_for_spans(calls, own):
        columns |= {name: own.column(name) for name in _BESIDE_CALLS}
        spans = _without(spans, record)
    else:
        columns |= {name: pa.nulls(len(record), own.column(name).type) for name in _BESIDE_CALLS}
    return spans, pa.RecordBatch.from_pydict(columns)


def _stand_for_spans(calls: pa.RecordBatch, own: pa.RecordBatch) -> bool:
    return not calls.column("position").to_numpy().any() and all(
        own.column(of_span).equals(calls.column(of_call)) for of_span, of_call in _MAY_DIFFER
    )


def _without(spans: pa.RecordBatch, places: pa.Array) -> pa.RecordBatch:
    remain = np.ones(spans.num_rows, np.bool_)
    remain[places.to_numpy()] = False
    return spans.take(pa.array(np.flatnonzero(remain)))


def _counted_from(start: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose ``record``, counted from 0 in it, is counted from ``start``."""
    place = batch.schema.get_field_index("record")
    records = pa.array(batch.column(place).to_numpy() + start)
    return batch.set_column(place, "record", records)


def _insert(
    store: duckdb.DuckDBPyConnection, file_id: int, table: str, batches: Sequence[pa.RecordBatch]
) -> None:
    rows = pa.Table.from_batches(batches) if batches else None
    if rows is None or not rows.num_rows:
        return
    columns = ", ".join(rows.schema.names)
    # DuckDB finds the variable ``rows`` by its name. What is registered instead is a view, which
    # would hold its rows in memory until the transaction of the file ends.
    store.execute(
        f"INSERT INTO {table} (file_id, {columns}) "  # noqa: S608 - our own names
        f"SELECT $1, {columns} FROM rows",
        [file_id],
    )
