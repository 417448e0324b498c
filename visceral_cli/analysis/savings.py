"""What the rules would have saved on these calls."""

from __future__ import annotations

import duckdb
import numpy as np

from visceral_cli.analysis.columns import NANO, CallColumns, first_rows
from visceral_cli.analysis.figures import Savings, ToolSaving
from visceral_cli.analysis.history import Flags
from visceral_cli.analysis.names import name_table
from visceral_cli.analysis.projection import project
from visceral_cli.analysis.serving import Serving


def savings_of(
    store: duckdb.DuckDBPyConnection, calls: CallColumns, serving: Serving, *, wall_seconds: float
) -> Savings:
    """Return the savings; ``wall_seconds`` is what the last step of the funnel says.

    Runs are all traces with a call, in order of their first call.
    """
    rows = serving.served
    saved_ns = calls.duration_of(rows)
    by_run = np.zeros(calls.runs, np.int64)
    np.add.at(by_run, calls.run[rows], saved_ns)
    stale = (calls.content[rows] >= 0) & (calls.content[rows] != calls.content[serving.source])
    return Savings(
        calls=len(rows),
        tool_seconds=int(saved_ns.sum()) / NANO,
        wall_seconds=wall_seconds,
        cost_usd=calls.cost_usd(rows),
        absorbed_calls=len(serving.absorbed),
        stale_calls=int(stale.sum()),
        in_flight_calls=len(serving.waiting),
        in_flight_seconds=int(serving.waiting_ns.sum()) / NANO,
        seconds_per_1000_runs=project(by_run / NANO) if len(rows) else None,
        by_identity=_by_identity(store, calls, serving),
        by_tool=_by_tool(calls, serving, stale),
    )


def _by_tool(calls: CallColumns, serving: Serving, stale: Flags) -> tuple[ToolSaving, ...]:
    found = []
    for code in np.unique(calls.tool[serving.served]).tolist():
        nth = np.flatnonzero(calls.tool[serving.served] == code)
        rows = serving.served[nth]
        saved_ns = calls.duration_of(rows)
        by_run = np.zeros(calls.runs, np.int64)
        np.add.at(by_run, calls.run[rows], saved_ns)
        name = calls.tools[code].name
        found.append(
            ToolSaving(
                namespace=name.namespace,
                tool=name.tool,
                kind=name.kind,
                calls=len(rows),
                seconds=int(saved_ns.sum()) / NANO,
                stale_calls=int(stale[nth].sum()),
                seconds_per_1000_runs=project(by_run / NANO),
            )
        )
    return tuple(sorted(found, key=lambda tool: (-tool.seconds, tool.namespace, tool.tool)))


def _by_identity(
    store: duckdb.DuckDBPyConnection, calls: CallColumns, serving: Serving
) -> dict[tuple[str, str, str], tuple[int, float]]:
    served = np.bincount(calls.identity[serving.served], minlength=calls.identities)
    saved_ns = np.zeros(calls.identities, np.int64)
    np.add.at(saved_ns, calls.identity[serving.served], calls.duration_of(serving.served))
    identities = np.flatnonzero(served)
    names = name_table(store, first_rows(calls.identity, calls.identities)[identities])
    keys = zip(
        *(names.column(name).to_pylist() for name in ("namespace", "tool", "input_hash")),
        strict=True,
    )
    found: dict[tuple[str, str, str], tuple[int, float]] = {}
    for key, count, total_ns in zip(
        keys, served[identities].tolist(), saved_ns[identities].tolist(), strict=True
    ):
        before = found.get(key, (0, 0.0))  # one hash in several traces, with the scope ``trace``
        found[key] = (before[0] + count, before[1] + total_ns / NANO)
    return found
