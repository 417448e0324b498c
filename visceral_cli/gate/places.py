"""Where evidence lies: the input file of a span that shows it."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa
from msgspec.structs import replace

from visceral_cli.gate.finding import Case, Evidence
from visceral_cli.store.database import run_file


def with_places(store: duckdb.DuckDBPyConnection, cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return the cases with trace, span and file in their evidence, where the store has them."""
    wanted = [evidence for case in cases for evidence in case.evidence]
    if not wanted:
        return tuple(cases)
    columns = ("tool", "input_hash", "trace_id", "span_id")
    table = {name: pa.array([getattr(each, name) for each in wanted]) for name in columns}
    store.register("_wanted_evidence", pa.table({"place": range(len(wanted)), **table}))
    run_file(store, "visceral_cli.gate", "places.sql")
    found = {row[0]: row[1:] for row in store.execute("SELECT * FROM _evidence_place").fetchall()}
    store.unregister("_wanted_evidence")
    placed = iter(_placed(each, found.get(place)) for place, each in enumerate(wanted))
    return tuple(
        replace(case, evidence=tuple(next(placed) for _ in case.evidence)) for case in cases
    )


def _placed(evidence: Evidence, found: tuple[str, str, str] | None) -> Evidence:
    if found is None:
        return evidence
    trace_id, span_id, path = found
    return replace(evidence, trace_id=trace_id, span_id=span_id, file=path)
