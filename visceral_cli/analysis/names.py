"""The texts of single calls, looked up for what is shown."""

from __future__ import annotations

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_FEW = 100

_COLUMNS = pa.schema(
    [
        ("call_key", pa.int64()),
        ("namespace", pa.string()),
        ("tool", pa.string()),
        ("kind", pa.string()),
        ("version", pa.string()),
        ("input_hash", pa.string()),
        ("hash_v", pa.int32()),
        ("trace_id", pa.string()),
        ("span_id", pa.string()),
    ]
)


class CallName(msgspec.Struct, frozen=True):
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
    if not len(rows):
        return _COLUMNS.empty_table()
    wanted, place = np.unique(rows, return_inverse=True)
    if len(wanted) <= _FEW:
        # The list is searched for each call, but before anything is joined.
        chosen = "WHERE list_contains($keys, call_key)"
        found = _names(store, chosen, {"keys": wanted.tolist()})
    else:
        store.register("_wanted_call", pa.table({"call_key": wanted}))
        found = _names(store, "SEMI JOIN _wanted_call USING (call_key)", {})
        store.unregister("_wanted_call")
    by_key = np.argsort(found.column("call_key").to_numpy())
    return found.take(by_key[place])


def _names(store: duckdb.DuckDBPyConnection, chosen: str, params: dict[str, list[int]]) -> pa.Table:
    columns = ", ".join(_COLUMNS.names)
    query = f"SELECT {columns} FROM tool_call {chosen}"  # noqa: S608 - our own names
    return store.sql(query, params=params).to_arrow_table()
