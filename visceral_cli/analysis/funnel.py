"""From all calls to those that the proposed rules avoid, step by step."""

from __future__ import annotations

import numpy as np

from visceral_cli.analysis.columns import NANO, CallColumns
from visceral_cli.analysis.figures import FunnelStep, Verdict
from visceral_cli.analysis.history import Flags, Times
from visceral_cli.analysis.serving import Serving
from visceral_cli.analysis.spans import SpanTree
from visceral_cli.analysis.verdicts import CallVerdicts
from visceral_cli.analysis.wall import wall_ns


def find_funnel(
    calls: CallColumns,
    verdicts: CallVerdicts,
    tree: SpanTree,
    proven: Times,
    serving: Serving,
    voided: Flags | None = None,
) -> tuple[FunnelStep, ...]:
    """Return the steps; each counts the calls of the step before that pass one test more.

    ``proven`` is the freshness in nanoseconds that the traces prove for each identity, declared or
    not (`freshness_by_identity`); ``serving`` is what the proposed rules serve; ``voided`` are the
    calls whose stored result a write of another run has voided (`elsewhere`). Only the last step
    stands for itself: it also holds the calls that would have been served a stale result.
    """
    steps = _steps(calls, verdicts, proven, voided)
    avoidable = np.zeros(len(calls), np.bool_)
    avoidable[serving.served] = True
    steps["avoidable"] = avoidable
    wall = wall_ns(calls, tree, list(steps.values()))
    duration_ns = calls.duration_ns
    return tuple(
        FunnelStep(
            name=name,
            calls=int(counted.sum()),
            tool_seconds=int(duration_ns[counted].sum()) / NANO,
            wall_seconds=covered_ns / NANO,
            cost_usd=calls.cost_usd(np.flatnonzero(counted)),
        )
        for (name, counted), covered_ns in zip(steps.items(), wall, strict=True)
    )


def _steps(
    calls: CallColumns, verdicts: CallVerdicts, proven: Times, voided: Flags | None
) -> dict[str, Flags]:
    source = verdicts.source
    same = (source >= 0) & (calls.content >= 0) & (calls.content == calls.content[source])
    age_ns = calls.start_ns - calls.start_ns[source]
    fresh = age_ns <= np.append(proven, -1)[calls.identity]
    may_be_served = np.array([facts.may_be_served for facts in calls.tools], np.bool_)
    everything = np.ones(len(calls), np.bool_)
    repeats = verdicts.repeat
    same_result = repeats & same
    within_freshness = same_result & fresh
    not_voided = within_freshness & ~verdicts.is_(Verdict.AFTER_WRITER)
    if voided is not None:
        not_voided &= ~voided
    return {
        "calls": everything,
        "repeats": repeats,
        "same-result": same_result,
        "within-freshness": within_freshness,
        "no-writer-between": not_voided,
        "declared": not_voided & may_be_served[calls.tool],
    }
