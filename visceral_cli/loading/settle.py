"""Records into calls: copies set aside, calls completed and joined, and put in the order of time.

Everything here is computed anew from the records, in one transaction, so that a store that grew
and a store filled at once hold the same rows.
"""

from __future__ import annotations

import duckdb

from visceral_cli.loading.join import join_calls
from visceral_cli.loading.span_tree import SpanTree, span_tree
from visceral_cli.settings import ExtractSettings
from visceral_cli.store.database import run_file


def settle(store: duckdb.DuckDBPyConnection, settings: ExtractSettings) -> SpanTree:
    """Fill ``_copy``, ``_call_joined`` and ``_call_key``; return the tree of the distinct spans."""
    run_file(store, "visceral_cli.loading", "settle.sql")
    store.execute("BEGIN TRANSACTION")
    for table in ("_copy", "_call_joined", "_call_key"):
        store.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
    _set_copies_aside(store)
    tree = span_tree(store)
    join_calls(store, tree, settings)
    _order_calls(store)
    store.execute("COMMIT")
    return tree


def _set_copies_aside(store: duckdb.DuckDBPyConnection) -> None:
    records, distinct = store.execute(
        "SELECT count(*), count(DISTINCT hash(trace_id, span_id)) FROM _span_record"
    ).fetchall()[0]
    if records != distinct:
        store.execute("INSERT INTO _copy SELECT record FROM _copies_found")


def _order_calls(store: duckdb.DuckDBPyConnection) -> None:
    """Number the calls in the order of time, and say who they belong to where others tell."""
    told, untold = store.execute(
        """
        SELECT
            EXISTS (
                SELECT 1 FROM _span_record
                WHERE session IS NOT NULL OR user_id IS NOT NULL OR agent IS NOT NULL
            ),
            EXISTS (
                SELECT 1 FROM _call_record
                WHERE session IS NULL OR user_id IS NULL OR agent IS NULL
            )
        """
    ).fetchall()[0]
    if told and untold:
        store.execute("INSERT INTO _call_key SELECT * FROM _call_order_with_who")
    else:
        store.execute(
            "INSERT INTO _call_key "
            "SELECT call_key, record, position, NULL, NULL, NULL FROM _call_order"
        )
