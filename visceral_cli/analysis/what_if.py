"""What serving would have meant for one tool, whatever freshness and store size one picks."""

from __future__ import annotations

import numpy as np

from visceral_cli.analysis import binomial
from visceral_cli.analysis.candidates import grid_ns, longest_age_ns, with_identity
from visceral_cli.analysis.columns import NANO
from visceral_cli.analysis.figures import WhatIf, WhatIfRow
from visceral_cli.analysis.freshness import Bound, NoBound
from visceral_cli.analysis.histories import ToolHistory
from visceral_cli.analysis.history import ToolCalls, Writers
from visceral_cli.analysis.lanes import Lanes, lay_out
from visceral_cli.analysis.projection import project
from visceral_cli.analysis.replay import replay
from visceral_cli.analysis.stale_curve import allowed_error
from visceral_cli.analysis.store_size import forgetting, others_since_last_use
from visceral_cli.settings import FreshnessSettings

_SIZES = (1, 2, 5)
"""Store sizes shown: these times the powers of ten."""


def what_if(
    tool: ToolHistory,
    found: Bound | NoBound,
    scope: str,
    runs: int,
    writers: Writers | None,
    settings: FreshnessSettings,
) -> WhatIf:
    """Return what each freshness would have saved and how often it would have been stale.

    ``runs`` is the number of runs of all tools: savings are projected to 1,000 of these. Store
    sizes are those of one tool's results, at the proposed freshness or, without one, the largest.
    """
    calls = with_identity(tool.calls)
    lanes = lay_out(calls, writers)
    longest = longest_age_ns(lanes)
    proposed = found.freshness_ns if isinstance(found, Bound) else None
    ages = {0, longest, *(each for each in grid_ns(None) if each < longest)}
    ages |= set() if proposed is None else {proposed}
    chosen = longest if proposed is None else proposed
    others = others_since_last_use(calls.identity)
    largest = len(np.unique(calls.identity))
    name = tool.facts.name

    def row(at: Lanes, freshness_ns: int, size: int | None) -> WhatIfRow:
        return _row(at, freshness_ns, size, runs, settings, proposed=freshness_ns == proposed)

    return WhatIf(
        namespace=name.namespace,
        tool=name.tool,
        kind=name.kind,
        scope=scope,
        calls=len(calls.start_ns),
        identities=largest,
        tool_seconds=int(np.maximum(calls.end_ns - calls.start_ns, 0).sum()) / NANO,
        proposed_freshness_seconds=None if proposed is None else proposed / NANO,
        missing=None
        if isinstance(found, Bound)
        else "; ".join(missing.message for missing in found.missing),
        by_freshness=tuple(row(lanes, freshness_ns, None) for freshness_ns in sorted(ages)),
        by_store_size=tuple(
            row(_held(calls, others, size, writers), chosen, size) for size in _sizes(largest)
        )
        if chosen
        else (),
    )


def _held(calls: ToolCalls, others: np.ndarray, size: int, writers: Writers | None) -> Lanes:
    return lay_out(forgetting(calls, others, size), writers)


def _sizes(largest: int) -> list[int]:
    """Return the sizes below ``largest``, which holds everything, and ``largest``."""
    powers = range(len(str(max(largest, 1))))
    below = [
        first * 10**power for power in powers for first in _SIZES if first * 10**power < largest
    ]
    return [*below, largest] if largest else []


def _row(
    lanes: Lanes,
    freshness_ns: int,
    size: int | None,
    runs: int,
    settings: FreshnessSettings,
    *,
    proposed: bool,
) -> WhatIfRow:
    if freshness_ns:
        serves = replay(lanes, freshness_ns)
        call, source = serves.call, serves.source
    else:
        call = source = np.zeros(0, np.int64)
    known = lanes.content[call] >= 0
    stale = known & (lanes.content[call] != lanes.content[source])
    compared, wrong = int(np.count_nonzero(known)), int(np.count_nonzero(stale))
    observations = binomial.effective(np.unique(source[known], return_counts=True)[1])
    share = observations * wrong / compared if compared else 0.0
    delta = allowed_error(settings) / 2  # both ends together miss with the user's error
    saved = lanes.duration_ns[call]
    by_run = np.zeros(runs, np.int64)
    np.add.at(by_run, lanes.run[call], saved)
    return WhatIfRow(
        freshness_seconds=freshness_ns / NANO,
        store_size=size,
        proposed=proposed,
        served=len(call),
        compared=compared,
        stale=wrong,
        stale_rate_low=binomial.lower(share, observations, delta),
        stale_rate_high=binomial.upper(share, observations, delta),
        saved_seconds=int(saved.sum()) / NANO,
        seconds_per_1000_runs=project(by_run / NANO),
    )
