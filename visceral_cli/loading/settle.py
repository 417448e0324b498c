"""Records into calls: copies set aside, calls completed and joined, and put in the order of time.

Everything here is computed anew from the records, in one transaction, so that a store that grew
and a store filled at once hold the same rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import duckdb

from visceral_cli.loading.call_order import order_calls
from visceral_cli.loading.join import Told, join_calls, read_told
from visceral_cli.loading.span_tree import SpanTree, read_span_keys, span_tree
from visceral_cli.settings import ExtractSettings
from visceral_cli.store.database import run_file


def settle(store: duckdb.DuckDBPyConnection, settings: ExtractSettings) -> SpanTree:
    """Fill ``_copy``, ``_call_joined`` and ``_call_key``; return the tree of the distinct spans."""
    run_file(store, "visceral_cli.loading", "settle.sql")
    store.execute("BEGIN TRANSACTION")
    for table in ("_copy", "_call_joined", "_call_key"):
        store.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
    tree, told = _tree_and_told(store)
    if tree.has_copies:  # seldom: they are set aside before anything is told apart
        store.execute("INSERT INTO _copy SELECT record FROM _copies_found")
        tree, told = _tree_and_told(store)
    join_calls(store, tree, told, settings)
    order_calls(store)
    store.execute("COMMIT")
    return tree


def _tree_and_told(store: duckdb.DuckDBPyConnection) -> tuple[SpanTree, Told]:
    """Build the tree of the spans that are no copies while the store is asked for the rest."""
    spans = read_span_keys(store)
    with ThreadPoolExecutor(1) as beside:
        told = beside.submit(read_told, store)
        return span_tree(spans), told.result()
