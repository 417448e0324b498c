"""How much shorter traces would be without some of their calls: time that nothing else covers.

Counted is the time covered by the calls in question and by no other leaf span of the trace. A leaf
has no span below it; spans inside of a call are gone with the call. It is a lower bound: a span in
the background hides what would be saved, and calls side by side count once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from visceral_cli.analysis.columns import NONE, CallColumns
from visceral_cli.analysis.histories import rows_by_code
from visceral_cli.analysis.history import Codes, Flags, Places, Times
from visceral_cli.analysis.spans import SpanTree

_BLOCK = 1 << 18
"""Calls and spans laid out at once: whole traces, so that memory does not grow with the input."""


def wall_ns(calls: CallColumns, tree: SpanTree, chosen: Sequence[Flags]) -> list[int]:
    """Return for each set of calls the time, in all traces, that only calls of the set cover."""
    gone = [flags | tree.within(flags) for flags in chosen]
    covered = [0] * len(chosen)
    for spans, others in _blocks(calls, tree):
        timeline = _lay_out(calls, tree, spans, others)
        for nth, flags in enumerate(chosen):
            covered[nth] += timeline.covered_ns(flags, gone[nth])
    return covered


def _blocks(calls: CallColumns, tree: SpanTree) -> Iterator[tuple[Places, Places]]:
    """Yield the calls and the other leaf spans of some traces at a time."""
    timed = rows_by_code(calls.run, np.flatnonzero(calls.timed))
    others = rows_by_code(tree.other_run, np.arange(len(tree.other_run)))
    call_ends = np.cumsum(np.bincount(calls.run[timed], minlength=calls.runs))
    other_ends = np.cumsum(np.bincount(tree.other_run, minlength=calls.runs))
    block = (call_ends + other_ends) // _BLOCK
    first_call = first_other = 0
    for last in np.flatnonzero(np.diff(block, append=-1)).tolist():
        end_call, end_other = int(call_ends[last]), int(other_ends[last])
        yield timed[first_call:end_call], others[first_other:end_other]
        first_call, first_other = end_call, end_other


@dataclass(frozen=True, slots=True)
class _Timeline:
    """Calls and other leaf spans of some traces; those that meet no other one stand apart."""

    leaf: Flags
    """By ``call_key``."""
    alone: Places
    """The calls beside which nothing else happens in their trace ..."""
    alone_ns: Times
    """... and how long they take."""
    call: Places
    """One element per call or leaf span that overlaps another: the call, `NONE` for a span ..."""
    caller: Codes
    """... and the nearest call above."""
    moment_of: Places
    """By the moments at which one of them begins or ends, in order: which one ..."""
    begins: Flags
    lasts_ns: Times
    """... and the time until the next moment."""

    def covered_ns(self, chosen: Flags, gone: Flags) -> int:
        """Return the time that only chosen calls cover; ``gone``: chosen, or inside of one."""
        ours = (self.call >= 0) & chosen[self.call]
        others = np.where(
            self.call >= 0,
            self.leaf[self.call] & ~gone[self.call],
            (self.caller < 0) | ~gone[self.caller],
        )
        covered = (self._open(ours) > 0) & (self._open(others) == 0)
        together = int(self.lasts_ns[covered].sum())
        return together + int(self.alone_ns[chosen[self.alone]].sum())

    def _open(self, counted: Flags) -> Codes:
        """Return how many of the counted elements are open after each moment."""
        step = np.where(self.begins, 1, -1).astype(np.int32)
        step[~counted[self.moment_of]] = 0
        return np.cumsum(step, dtype=np.int32)


def _lay_out(calls: CallColumns, tree: SpanTree, spans: Places, others: Places) -> _Timeline:
    call = np.concatenate((spans, np.full(len(others), NONE)))
    caller = np.concatenate((tree.caller[spans], tree.other_caller[others]))
    run = np.concatenate((calls.run[spans], tree.other_run[others]))
    start = np.concatenate((calls.start_ns[spans], tree.other_start_ns[others]))
    end = np.concatenate((calls.end_ns[spans], tree.other_end_ns[others]))

    order = _order(run, start)
    meets = _overlapping(run[order], start[order], end[order])
    alone = order[~meets]
    alone = alone[call[alone] >= 0]
    met = order[meets]
    times = np.concatenate((start[met], end[met]))
    moment = _order(np.tile(run[met], 2), times)
    return _Timeline(
        leaf=tree.leaf,
        alone=call[alone],
        alone_ns=end[alone] - start[alone],
        call=call[met],
        caller=caller[met],
        moment_of=moment % max(len(met), 1),
        begins=moment < len(met),
        lasts_ns=np.append(np.diff(times[moment]), [0])[: len(moment)],
    )


def _order(run: Codes, time_ns: Times) -> Places:
    """Return the positions in order of (run, time), by two sorts of numbers, not one of pairs."""
    count = len(run)
    by_time = np.argsort(time_ns)
    key = np.sort(run[by_time].astype(np.int64) * count + np.arange(count))
    order: Places = by_time[key % max(count, 1)]
    return order


def _overlapping(run: Codes, start_ns: Times, end_ns: Times) -> Flags:
    """Whether each element, in order of (run, start), shares some time with another of its run."""
    count = len(run)
    rank = np.empty(count, np.int64)
    by_end = np.argsort(end_ns)
    rank[by_end] = np.arange(count)
    floor = run.astype(np.int64) * count
    latest = np.maximum.accumulate(floor + rank) - floor  # starts anew with each run
    meets = np.zeros(count, np.bool_)
    joined = (run[1:] == run[:-1]) & (start_ns[1:] < end_ns[by_end[latest[:-1]]])
    meets[1:] |= joined
    meets[:-1] |= joined
    return meets
