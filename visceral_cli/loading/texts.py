"""Arguments and results into the store, each text once."""

from __future__ import annotations

import duckdb
import pyarrow as pa

_ARGUMENTS = """
INSERT INTO argument_text
SELECT hash, text FROM batch
WHERE hash NOT IN (SELECT arguments_hash FROM argument_text)
"""
_RESULTS = """
INSERT INTO result_text
SELECT hash, text FROM batch
WHERE hash NOT IN (SELECT content_hash FROM result_text)
"""


def insert_texts(
    store: duckdb.DuckDBPyConnection, arguments: pa.RecordBatch, results: pa.RecordBatch
) -> None:
    """Add distinct (hash, text) rows that are not yet there."""
    for batch, insert in ((arguments, _ARGUMENTS), (results, _RESULTS)):
        if batch.num_rows:
            # DuckDB finds the variable ``batch`` by its name. What is registered instead is a
            # view, which would hold its rows in memory until the transaction of the file ends.
            store.execute(insert)
