"""Only the calls that were asked for: of some tools, of some time."""

from __future__ import annotations

import duckdb

from visceral_cli.calls.names import looks_like_writer
from visceral_cli.settings import Settings
from visceral_cli.store.database import run_file


def narrow(store: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Let ``tool_call`` be the calls that the settings choose, for this connection.

    Calls of writers stay whatever their tool: without them a stored result would seem to hold that
    they void.
    """
    if not settings.only_tools and settings.since_ns is None and settings.until_ns is None:
        return
    store.execute(
        """
        CREATE OR REPLACE TEMP TABLE _chosen_call AS
        SELECT call_key AS old_key
        FROM main.tool_call
        WHERE ($since IS NULL OR start_ns >= $since)
          AND ($until IS NULL OR start_ns < $until)
          AND (len($tools) = 0 OR tool IN (SELECT unnest($tools)))
        """,
        {
            "since": settings.since_ns,
            "until": settings.until_ns,
            "tools": [*settings.only_tools, *writer_names(store, settings)]
            if settings.only_tools
            else [],
        },
    )
    run_file(store, "visceral_cli.loading", "narrow.sql")


def widen(store: duckdb.DuckDBPyConnection) -> None:
    """Let ``tool_call`` be all calls again."""
    store.execute("DROP TABLE IF EXISTS temp.tool_call")


def writer_names(store: duckdb.DuckDBPyConnection, settings: Settings) -> list[str]:
    """Return the tools that change something, by what is declared of them or by their name."""
    told = store.execute("SELECT tool, bool_and(readonly) FROM main.tool_call GROUP BY tool")
    writers = []
    for tool, attested in told.fetchall():
        declaration = settings.extract.tools.get(tool)
        declared = declaration.read_only if declaration is not None else None
        readonly = attested if declared is None else declared
        if readonly is False or (readonly is None and looks_like_writer(tool)):
            writers.append(tool)
    return writers
