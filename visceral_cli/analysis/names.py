"""The texts of single calls, looked up for what is shown."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from visceral_cli.store.database import run_file

_FEW = 100


@dataclass(frozen=True, slots=True)
class CallName:
    """The texts of one call."""

    call_key: int
    namespace: str
    tool: str
    kind: str
    version: str | None
    input_hash: str | None
    hash_v: int | None
    trace_id: str
    span_id: str


def call_names(store: duckdb.DuckDBPyConnection, rows: NDArray[np.int64]) -> dict[int, CallName]:
    """Return the texts of the calls in ``rows``, by their ``call_key``."""
    columns = [column.to_pylist() for column in name_table(store, rows).columns]
    return {texts[0]: CallName(*texts) for texts in zip(*columns, strict=True)}


def name_table(store: duckdb.DuckDBPyConnection, rows: NDArray[np.int64]) -> pa.Table:
    """Return the texts of the calls whose ``call_key`` is in ``rows``, in the order of ``rows``.

    Its columns are the members of `CallName`.
    """
    wanted, place = np.unique(rows, return_inverse=True)
    store.register("_wanted_call", pa.table({"call_key": wanted}))
    run_file(store, "visceral_cli.analysis", "names.sql")
    if len(wanted) <= _FEW:
        query, params = "SELECT * FROM _few_call_names($keys)", {"keys": wanted.tolist()}
    else:
        query, params = "SELECT * FROM _call_names()", {}
    found = store.sql(query, params=params).to_arrow_table()
    store.unregister("_wanted_call")
    by_key = np.argsort(found.column("call_key").to_numpy())
    return found.take(by_key[place])
