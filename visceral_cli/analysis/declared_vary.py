"""A declared ``vary``, tested: equal on it and different in the result is one time too many."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import msgspec
import numpy as np

from visceral_cli.analysis.argument_values import ArgumentValues
from visceral_cli.analysis.figures import Finding, FindingKind
from visceral_cli.analysis.history import Flags, Places, Writers
from visceral_cli.analysis.names import name_table
from visceral_cli.analysis.tools import ToolName
from visceral_cli.analysis.vary import Pairs, find_pairs
from visceral_cli.settings import ToolDeclaration

NEAR_NS = 60 * 1_000_000_000
"""Results of calls further apart may differ because the world changed."""
_EXAMPLES = 5


class UnkeyedArgument(msgspec.Struct, frozen=True):
    """A declared ``vary`` that the traces refute."""

    name: ToolName
    message: str
    finding: Finding


def declared_vary(
    store: duckdb.DuckDBPyConnection, declarations: Mapping[str, ToolDeclaration]
) -> set[ToolName]:
    """Return the tools whose spans declare a ``vary``, and those the settings declare one for.

    Reads the view ``_declared_vary``.
    """
    told = store.execute("SELECT namespace, tool, kind FROM _declared_vary").fetchall()
    found = {ToolName(*row) for row in told}
    by_settings = [name for name, tool in declarations.items() if tool.vary is not None]
    if by_settings:
        found |= {
            ToolName(*row)
            for row in store.execute(
                "SELECT DISTINCT namespace, tool, kind FROM tool_call "
                "WHERE list_contains($names, tool)",
                {"names": by_settings},
            ).fetchall()
        }
    return found


def check_declared_vary(
    store: duckdb.DuckDBPyConnection, arguments: ArgumentValues, writers: Writers | None
) -> UnkeyedArgument | None:
    """Compare calls of one identity within a minute whose other arguments differ.

    One pair with different results refutes the declaration: another argument decides the result.
    """
    identity = arguments.calls.identity
    alone = np.where(identity < 0, len(identity) + np.arange(len(identity)), identity)
    apart = arguments.only_within(alone).apart
    pairs = find_pairs(arguments, apart, writers, within_ns=NEAR_NS)
    if not pairs.differing:
        return None
    names, pair = _culprits(arguments, pairs)
    shown = ", ".join(names)
    message = (
        f"the declared vary leaves out {shown}: {pairs.differing} of {len(pairs.later)} pairs of "
        "calls that are equal on it and at most a minute apart have different results"
    )
    return UnkeyedArgument(
        arguments.facts.name, message, _finding(store, arguments, message, pairs, pair)
    )


def _culprits(arguments: ArgumentValues, pairs: Pairs) -> tuple[list[str], Places]:
    """Return the arguments that differ where fewest do, and the refuting pairs, those first."""
    refuting = np.flatnonzero(pairs.differs)
    earlier, later = (
        arguments.values[:, arguments.which[side[refuting]]]
        for side in (pairs.earlier, pairs.later)
    )
    differs: Flags = earlier != later
    count = np.count_nonzero(differs, axis=0)
    order = np.argsort(count, kind="stable")
    nearest = np.flatnonzero(count == count[order[0]])
    names = [
        name for name, one in zip(arguments.names, differs[:, nearest], strict=True) if np.any(one)
    ]
    return names, refuting[order]


def _finding(
    store: duckdb.DuckDBPyConnection,
    arguments: ArgumentValues,
    message: str,
    pairs: Pairs,
    refuting: Places,
) -> Finding:
    shown = refuting[:_EXAMPLES]
    rows = arguments.rows[np.stack((pairs.earlier[shown], pairs.later[shown]), axis=1).ravel()]
    told = name_table(store, rows).to_pylist()
    name = arguments.facts.name
    return Finding(
        kind=FindingKind.UNKEYED_ARGUMENT,
        namespace=name.namespace,
        tool=name.tool,
        message=message,
        calls=len(refuting),
        trace_ids=tuple(dict.fromkeys(one["trace_id"] for one in told)),
        span_ids=tuple(dict.fromkeys(one["span_id"] for one in told)),
        input_hash=told[0]["input_hash"],
    )
