"""All calls in the order of time, and whom they belong to where only other spans of a trace say."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Columns = dict[str, NDArray[np.int64]]


def order_calls(store: duckdb.DuckDBPyConnection) -> None:
    """Fill ``_call_key``: calls by start, end, trace, span and position; without a start, last."""
    read = store.sql(
        """
        SELECT
            record,
            position,
            hash(trace_id)                          AS run_key,
            coalesce(start_ns, 9223372036854775807) AS start_ns,
            session IS NULL                         AS lacks_session,
            user_id IS NULL                         AS lacks_user,
            agent IS NULL                           AS lacks_agent
        FROM _call_to_order
        """
    ).to_arrow_table()  # sooner read than by `fetchnumpy`
    calls = {name: read.column(name).to_numpy() for name in read.column_names}
    del read
    pa.default_memory_pool().release_unused()
    order = _in_order(store, calls)
    del calls["start_ns"]
    ordered = {name: column[order] for name, column in calls.items()}
    store.register("_ordered_call", pa.table({"call_key": np.arange(len(order)), **ordered}))
    store.execute(
        """
        INSERT INTO _call_key
        SELECT
            call_key,
            record,
            position,
            CASE WHEN lacks_session THEN session END,
            CASE WHEN lacks_user THEN user_id END,
            CASE WHEN lacks_agent THEN agent END
        FROM _ordered_call
        LEFT JOIN _trace_who USING (run_key)
        """
    )
    store.unregister("_ordered_call")


def _in_order(store: duckdb.DuckDBPyConnection, calls: Columns) -> NDArray[np.int64]:
    """Return the places of the calls in their order: texts are compared where starts are equal."""
    order = np.argsort(calls["start_ns"])
    start_ns = calls["start_ns"][order]
    same = start_ns[1:] == start_ns[:-1]
    tied = np.zeros(len(order), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    if tied.any():
        order[tied] = _in_full_order(store, calls, order[tied])
    return order


def _in_full_order(
    store: duckdb.DuckDBPyConnection, calls: Columns, places: NDArray[np.int64]
) -> NDArray[np.int64]:
    tied = {"place": places, **{name: calls[name][places] for name in ("record", "position")}}
    store.register("_tied_call", pa.table(tied))
    found = store.execute(
        """
        SELECT place
        FROM _tied_call
        JOIN _call_to_order USING (record, position)
        ORDER BY start_ns NULLS LAST, end_ns, trace_id, span_id, position
        """
    ).fetchnumpy()
    store.unregister("_tied_call")
    return found["place"]
