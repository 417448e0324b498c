"""What model spans ask for, read after all where a call turned out to lack its own arguments.

It costs as much to read as a call does, and is of use only where the span of a call lacks its
arguments: in most inputs nowhere. So it is read at once only among spans one of whose calls does,
and of the others the traces are noted. A call and the span that asks for it may lie far apart, in
other files even: what is needed is known when all of them are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from visceral_cli.loading.piece_rows import UnreadRequests
from visceral_cli.loading.pool import reading
from visceral_cli.loading.record_tables import insert_mentions
from visceral_cli.settings import Settings

Unread = Sequence[tuple[int, UnreadRequests]]
"""By the number of its file what was left unread."""


def read_needed_requests(
    store: duckdb.DuckDBPyConnection, unread: Unread, settings: Settings
) -> None:
    """Read the pieces once more in which model spans may tell of a call what it lacks.

    All of them where there is no call at all, so that it can be said what is asked for. Of what was
    read before the same is told twice, which changes nothing.
    """
    pieces = [(file, one.piece) for file, one in _needed(store, unread)]
    if not pieces:
        return
    with reading(sum(piece.length for _, piece in pieces), settings) as read:
        for file, rows_of_piece in read(pieces):
            for rows in rows_of_piece:
                insert_mentions(store, file, [rows.mentions])


def _needed(store: duckdb.DuckDBPyConnection, unread: Unread) -> Unread:
    if not unread:
        return ()
    if not store.execute("SELECT 1 FROM _call_record LIMIT 1").fetchall():
        return unread
    lacking = """
        SELECT trace_id
        FROM _call_record
        WHERE call_id IS NOT NULL AND identity_missing = 'not-captured'
        """
    if not store.execute(f"{lacking} LIMIT 1").fetchall():
        return ()
    traces = [(place, trace) for place, (_, one) in enumerate(unread) for trace in one.traces]
    places, names = zip(*traces, strict=True)
    store.register("_unread", pa.table({"place": pa.array(places), "trace_id": pa.array(names)}))
    found = store.execute(
        f"SELECT DISTINCT place FROM _unread WHERE trace_id IN ({lacking}) ORDER BY place"  # noqa: S608
    ).fetchall()
    store.unregister("_unread")
    return [unread[place] for (place,) in found]
