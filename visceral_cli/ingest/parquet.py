"""Parquet files with one span a row: Phoenix's dataframe, Langfuse's export and their like.

Each row becomes the object that the same row would be in JSON lines, and takes its way; times
become whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa

from visceral_cli.ingest.document import read_document
from visceral_cli.ingest.span import DamageKind, Reading

_ROWS = 1000
"""How many rows are held at once."""


def read_parquet(source: str | BinaryIO, *, seed: str) -> Iterator[Reading]:
    """Yield what the rows of a Parquet file hold, some rows at a time.

    The ``line`` of damage is the number of the row, from 1 in each reading.
    """
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - a tenth of the start, seldom needed

    row_number = 0
    reading = Reading()
    try:
        with ParquetFile(source) as file:
            for batch in file.iter_batches(_ROWS):
                reading = Reading()
                for row in _rows(batch):
                    reading.lines += 1
                    reading.line = reading.lines
                    row_number += 1
                    read_document(row, reading, seed=f"{seed}:{row_number}")
                reading.line = None
                yield reading
                reading = Reading()
    except (pa.ArrowException, OSError, ValueError) as error:
        reading.line = None
        reading.add_damage(
            DamageKind.COMPRESSION,
            f"damaged Parquet ({type(error).__name__}); the rest is left out",
        )
        yield reading


def _rows(batch: Any) -> list[dict[str, object]]:
    columns = [_as_plain(column) for column in batch.columns]
    return [
        {name: _present(value) for name, value in zip(batch.schema.names, row, strict=True)}
        for row in zip(*columns, strict=True)
    ]


def _as_plain(column: Any) -> list[object]:
    """Return the values of a column as JSON would hold them, times as whole nanoseconds."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("ns", kind.tz)).cast(pa.int64())
    elif pa.types.is_nested(kind) and (without_times := _without_times(kind)) != kind:
        column = column.cast(without_times)
    values: list[object] = column.to_pylist()
    is_plain = pa.types.is_primitive(kind) or pa.types.is_string(kind)
    return values if is_plain else [_plain(value) for value in values]


def _without_times(kind: Any) -> Any:
    """Return a nested type with integers in place of timestamps: Python's know no nanoseconds."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_times(field.type)) for field in kind])
    return kind


def _plain(value: object) -> object:
    if value is None or isinstance(value, (str, bool, int, float, bytes)):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        pairs = value and all(isinstance(item, tuple) and len(item) == 2 for item in value)
        return {str(key): _plain(item) for key, item in value} if pairs else [*map(_plain, value)]
    return str(value)


def _present(value: object) -> object:
    """Return ``None`` for the NaN with which dataframes fill what a row does not have."""
    return value if value == value else None
