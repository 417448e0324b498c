"""Records into calls: copies set aside, calls completed and joined, and put in the order of time.

Everything here is computed anew from the records, in one transaction, so that a store that grew
and a store filled at once hold the same rows.
"""

from __future__ import annotations

import duckdb

from visceral_cli.loading.call_order import order_calls
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
    tree = _distinct_spans(store)
    join_calls(store, tree, settings)
    order_calls(store)
    store.execute("COMMIT")
    return tree


def _distinct_spans(store: duckdb.DuckDBPyConnection) -> SpanTree:
    """Set copies aside, of which most inputs have none, and return the tree of what remains."""
    tree = span_tree(store)
    if tree.has_copies:
        store.execute("INSERT INTO _copy SELECT record FROM _copies_found")
        tree = span_tree(store)
    return tree
