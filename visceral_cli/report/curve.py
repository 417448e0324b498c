"""What-if curves to read: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO

from visceral_cli.analysis.figures import WhatIf, WhatIfRow
from visceral_cli.contract.rule import Sharing
from visceral_cli.report.column import Column
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import counted, freshness_text, rate_text, seconds_text
from visceral_cli.report.row_tables import RowTable
from visceral_cli.report.to_json import plain_value
from visceral_cli.report.to_table import write_parts
from visceral_cli.report.view import View

CURVE_FORMAT = 1
"""The number of the JSON format; within one number keys are only added."""


def curve_json(curves: Sequence[WhatIf]) -> str:
    """Return the curves as one JSON document in ASCII."""
    document = {"format": CURVE_FORMAT, "curves": [plain_value(curve) for curve in curves]}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def write_curve_table(curves: Sequence[WhatIf], out: BinaryIO, view: View) -> None:
    """Write the curves for a terminal, one under the other, with every row."""
    parts: list[RowTable | str] = []
    for curve in curves:
        parts += ["", *_parts(curve)] if parts else _parts(curve)
    write_parts(parts, out, replace(view, top=0))


def _parts(curve: WhatIf) -> Iterator[RowTable | str]:
    where = f" of {plain(curve.namespace)}" if curve.namespace else ""
    kind = "" if curve.kind == "tool" else f" ({curve.kind})"
    yield (
        f"{plain(curve.tool)}{kind}{where}: {counted(curve.calls, 'call')} of "
        f"{counted(curve.identities, 'identity', 'identities')}, "
        f"{seconds_text(curve.tool_seconds)}; results shared within: {curve.scope}"
    )
    if curve.scope != Sharing.RUN:
        yield "A write voids within its run here; visceral analyze also counts those of other runs."
    if curve.missing is not None:
        yield f"No freshness is proven: {curve.missing}."
    yield ""
    mark = Column("", lambda row: "<- proposed" if row.proposed else "")
    by_age = (Column("freshness", _age, True), *_FIGURES, mark)
    yield RowTable("Freshnesses", by_age, curve.by_freshness)
    if curve.by_store_size:
        at = freshness_text(curve.by_store_size[0].freshness_seconds)
        yield ""
        yield f"With a store of so many results of this tool, at a freshness of {at}:"
        yield ""
        by_size = (Column("results", lambda row: f"{row.store_size:,}", True), *_FIGURES)
        yield RowTable("Store sizes", by_size, curve.by_store_size)


def _age(row: WhatIfRow) -> str:
    return freshness_text(row.freshness_seconds) if row.freshness_seconds else "0s"


def _share(row: WhatIfRow) -> str:
    if not row.compared:
        return "-"
    return f"{rate_text(row.stale_rate_low)} to {rate_text(row.stale_rate_high)}"


def _projected(row: WhatIfRow) -> str:
    of_runs = row.seconds_per_1000_runs
    projected = seconds_text(of_runs.mean)
    if of_runs.low is not None and of_runs.high is not None:
        projected += f" ({_interval(seconds_text(of_runs.low), seconds_text(of_runs.high))})"
    return projected


def _interval(low: str, high: str) -> str:
    """Return ``33.6 to 38.0 min``, or both units where they differ."""
    unit = f" {high.partition(' ')[2]}"
    return f"{low.removesuffix(unit)} to {high}"


_FIGURES = (
    Column("served", lambda row: f"{row.served:,}", True),
    Column("stale", lambda row: f"{row.stale:,}", True),
    Column("stale share", _share, True),
    Column("saved", lambda row: seconds_text(row.saved_seconds), True),
    Column("saved per 1,000 runs", _projected, True),
)
