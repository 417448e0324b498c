"""What the repeats come to for each 1,000 runs, tool by tool, with intervals.

Runs are all traces with a call, in order of their first call. Two dumps of different length can be
compared by these figures, and by their intervals it can be told whether a difference is noise.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from visceral_cli.analysis.columns import NANO, CallColumns
from visceral_cli.analysis.figures import Projection, Verdict
from visceral_cli.analysis.history import Flags, Places
from visceral_cli.analysis.projection import project
from visceral_cli.analysis.verdicts import CallVerdicts

_RUNS = 1000
_MIN_RUNS = 20
_BATCHES = 10
_T_QUANTILE = 2.262


class RunFigures(msgspec.Struct, frozen=True):
    """The repeats of one tool for each 1,000 runs; without names: of all tools together."""

    namespace: str
    tool: str
    kind: str
    repeats: Projection
    repeat_seconds: Projection
    """Durations of the repeats with the same result."""
    repeat_cost_usd: float | None
    """Cost of the repeats with the same result, of all runs; ``None``: no price is known."""


def run_figures(calls: CallColumns, verdicts: CallVerdicts) -> list[RunFigures]:
    """Return a row for all tools together, then one for each tool, by tool code."""
    rows = np.flatnonzero(verdicts.repeat)
    same = verdicts.is_(Verdict.REUSABLE)
    duration_ns = np.where(same[rows], calls.duration_of(rows), 0)
    tool, run, counts, repeat_ns = _by_tool_and_run(calls, rows, duration_ns)
    repeats, seconds = counts.astype(np.float64), repeat_ns / NANO
    ends = np.searchsorted(tool, np.arange(len(calls.tools) + 1)).tolist()
    edges = np.array([calls.runs * nth // _BATCHES for nth in range(_BATCHES + 1)])

    def projected(values: npt.NDArray[np.float64], first: int, end: int) -> Projection:
        return _projection(values[first:end], run[first:end], edges, calls.runs)

    def projected_of_all(values: npt.NDArray[np.float64]) -> Projection:
        return project(np.bincount(run, values, calls.runs).astype(np.float64))

    costs = _costs(calls, same)
    total = RunFigures(
        namespace="",
        tool="",
        kind="",
        repeats=projected_of_all(repeats),
        repeat_seconds=projected_of_all(seconds),
        repeat_cost_usd=calls.cost_usd(np.flatnonzero(same)),
    )
    return [
        total,
        *(
            RunFigures(
                namespace=facts.name.namespace,
                tool=facts.name.tool,
                kind=facts.name.kind,
                repeats=projected(repeats, ends[code], ends[code + 1]),
                repeat_seconds=projected(seconds, ends[code], ends[code + 1]),
                repeat_cost_usd=costs[code],
            )
            for code, facts in enumerate(calls.tools)
        ),
    ]


def _by_tool_and_run(
    calls: CallColumns, rows: Places, value: npt.NDArray[np.int64]
) -> tuple[Places, Places, Places, Places]:
    """Return tool, run, number of rows and sum of their values, for each pair that occurs."""
    key = calls.tool[rows].astype(np.int64) * max(calls.runs, 1) + calls.run[rows]
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    pairs = ordered[starts]
    counts = np.diff(starts, append=len(rows))
    sums = np.add.reduceat(value[order], starts) if len(starts) else np.zeros(0, np.int64)
    return pairs // max(calls.runs, 1), pairs % max(calls.runs, 1), counts, sums


def _projection(
    values: npt.NDArray[np.float64],
    run: npt.NDArray[np.int64],
    edges: npt.NDArray[np.int64],
    runs: int,
) -> Projection:
    """Return the projection of ``values``, those of all other runs being 0."""
    if not runs:
        return Projection(0.0, None, None, 0)
    total = float(values.sum())
    mean = total / runs
    if runs < _MIN_RUNS:
        return Projection(_RUNS * mean, None, None, runs)
    of_batch = np.bincount(np.searchsorted(edges, run, side="right") - 1, values, _BATCHES)
    batches = of_batch / np.diff(edges)
    squares = float(((values - mean) ** 2).sum()) + (runs - len(values)) * mean * mean
    margin = _T_QUANTILE * max(
        _RUNS * float(np.std(batches, ddof=1)) / math.sqrt(_BATCHES),
        _RUNS * math.sqrt(squares / (runs - 1)) / math.sqrt(runs),
    )
    projected = _RUNS * mean
    return Projection(projected, max(0.0, projected - margin), projected + margin, runs)


def _costs(calls: CallColumns, counted: Flags) -> list[float | None]:
    """Return by tool the known cost of the counted calls; ``None`` where no call has a cost."""
    known = calls.cost_nanousd >= 0
    priced = np.bincount(calls.tool[known], minlength=len(calls.tools)).tolist()
    sums = np.zeros(len(calls.tools), np.int64)
    chosen = known & counted
    np.add.at(sums, calls.tool[chosen], calls.cost_nanousd[chosen])
    return [
        total / NANO if number else None
        for total, number in zip(sums.tolist(), priced, strict=True)
    ]
