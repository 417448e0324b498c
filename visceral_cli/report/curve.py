"""What-if curves to read: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from visceral_cli.analysis.figures import WhatIf, WhatIfRow
from visceral_cli.contract.rule import Sharing
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import counted, freshness_text, rate_text, seconds_text
from visceral_cli.report.to_json import plain_value

CURVE_FORMAT = 1
"""The number of the JSON format; within one number keys are only added."""
_GAP = "  "


def curve_json(curves: Sequence[WhatIf]) -> str:
    """Return the curves as one JSON document in ASCII."""
    document = {"format": CURVE_FORMAT, "curves": [plain_value(curve) for curve in curves]}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def curve_text(curves: Sequence[WhatIf]) -> str:
    """Return the curves as text, one under the other."""
    return "\n".join("\n".join(_lines(curve)) + "\n" for curve in curves)


def _lines(curve: WhatIf) -> Iterator[str]:
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
    yield from _table("freshness", [(_age(row), row) for row in curve.by_freshness])
    if curve.by_store_size:
        at = freshness_text(curve.by_store_size[0].freshness_seconds)
        yield ""
        yield f"With a store of so many results of this tool, at a freshness of {at}:"
        yield ""
        sizes = [(f"{row.store_size:,}", row) for row in curve.by_store_size]
        yield from _table("results", sizes, mark=False)


def _age(row: WhatIfRow) -> str:
    return freshness_text(row.freshness_seconds) if row.freshness_seconds else "0s"


def _table(
    first: str, rows: Sequence[tuple[str, WhatIfRow]], *, mark: bool = True
) -> Iterator[str]:
    heading = (first, "served", "stale", "stale share", "saved", "saved per 1,000 runs", "")
    cells = [heading] + [
        (name, *_cells(row), "<- proposed" if mark and row.proposed else "") for name, row in rows
    ]
    widths = [max(len(line[place]) for line in cells) for place in range(len(heading))]
    for line in cells:
        aligned = [text.rjust(width) for text, width in zip(line[:-1], widths, strict=False)]
        yield _GAP.join([*aligned, line[-1]]).rstrip()


def _cells(row: WhatIfRow) -> tuple[str, str, str, str, str]:
    share = "-"
    if row.compared:
        share = f"{rate_text(row.stale_rate_low)} to {rate_text(row.stale_rate_high)}"
    of_runs = row.seconds_per_1000_runs
    projected = seconds_text(of_runs.mean)
    if of_runs.low is not None and of_runs.high is not None:
        projected += f" ({seconds_text(of_runs.low)} to {seconds_text(of_runs.high)})"
    return f"{row.served:,}", f"{row.stale:,}", share, seconds_text(row.saved_seconds), projected
