"""Under which settings the spans of a store became calls: one store, one answer."""

from __future__ import annotations

import json

import duckdb

from visceral_cli.errors import UsageError
from visceral_cli.settings import ExtractSettings, ToolDeclaration


def claim_settings(store: duckdb.DuckDBPyConnection, settings: ExtractSettings) -> None:
    """Note in an empty store under which settings it is filled; hold another one to them.

    Only what shapes the rows counts: whether a tool is declared read-only, or what a call costs,
    may change from one analysis to the next.

    Raises:
        UsageError: the store was filled under others.
    """
    ours = json.dumps(
        {
            "namespace": settings.namespace_attribute,
            "principal": settings.principal_attribute,
            "tools": {
                name: shaping
                for name, tool in sorted(settings.tools.items())
                if (shaping := _what_shapes_calls(tool))
            },
        },
        sort_keys=True,
    )
    (theirs,) = store.execute("SELECT settings FROM _schema").fetchall()[0]
    if theirs is None:
        store.execute("UPDATE _schema SET settings = ?", [ours])
    elif theirs != ours:
        raise UsageError(
            "the store was filled with other settings (namespace, principal, or vary, version, "
            "ignore-result and error marks of tools)",
            hint="load the traces into another file, or use the settings of the first time",
        )


def _what_shapes_calls(tool: ToolDeclaration) -> dict[str, object]:
    shaping = {
        "vary": tool.vary,
        "version": tool.version,
        "error-key": tool.error_key,
        "error-prefix": tool.error_prefix,
        "ignore-result": tool.ignore_result,
    }
    return {name: value for name, value in shaping.items() if value is not None and value != ()}
