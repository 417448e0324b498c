"""What serving would have meant for the tools of one name."""

from __future__ import annotations

from difflib import get_close_matches

import duckdb

from visceral_cli.analysis.columns import read_calls
from visceral_cli.analysis.figures import WhatIf
from visceral_cli.analysis.freshness import freshness_bounds
from visceral_cli.analysis.histories import histories
from visceral_cli.analysis.samples import with_sources
from visceral_cli.analysis.scopes import who_of
from visceral_cli.analysis.sharing import judge_sharing, scoped_histories, split_by_scope
from visceral_cli.analysis.what_if import what_if
from visceral_cli.analysis.writers import writers_of
from visceral_cli.errors import UsageError
from visceral_cli.settings import Settings


def curves_of(store: duckdb.DuckDBPyConnection, tool: str, settings: Settings) -> list[WhatIf]:
    """Return what each freshness and store size would have given, one for each tool of that name.

    Raises:
        UsageError: no tool that only reads has the name.
    """
    calls = read_calls(store, settings)
    writers, who = writers_of(calls), who_of(calls)
    unscoped = [*histories(calls)]
    sharing = judge_sharing(unscoped, who, writers, settings)
    split = split_by_scope(calls, who, sharing)
    tools = scoped_histories(unscoped, split, sharing)
    if all(one.facts.name.tool != tool for one in tools):
        names = sorted({one.facts.name.tool for one in tools})
        near = get_close_matches(tool, names, n=1)
        hint = f'did you mean "{near[0]}"?' if near else "visceral analyze lists the tools"
        raise UsageError(f'no calls of a tool "{tool}" that only reads', hint=hint)
    proofs = [with_sources(one, split) for one in tools]
    bounds = freshness_bounds(proofs, writers, settings.freshness)
    return [
        what_if(one, found, sharing[one.code].scope.value, calls.runs, writers, settings.freshness)
        for one, found in zip(tools, bounds, strict=True)
        if one.facts.name.tool == tool
    ]
