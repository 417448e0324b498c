"""How much shorter traces would be without some of their calls: time that nothing else covers.

Counted is the time covered by the calls in question and by no other leaf span of the trace. A leaf
has no span below it; spans inside of a call are gone with the call. It is a lower bound: a span in
the background hides what would be saved, and calls side by side count once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
from numpy.typing import NDArray

from visceral_cli.analysis.columns import CallColumns
from visceral_cli.analysis.histories import rows_by_code
from visceral_cli.analysis.history import Codes, Flags, Places, Times
from visceral_cli.analysis.spans import SpanTree

_BLOCK = 1 << 16
"""Calls and spans laid out at once: whole traces, so that memory does not grow with the input."""

_BLOCKS_AT_ONCE = 2
"""NumPy sorts and counts without holding up other threads."""


def wall_ns(calls: CallColumns, tree: SpanTree, chosen: Sequence[Flags]) -> list[int]:
    """Return for each set of calls the time, in all traces, that only calls of the set cover."""
    nested = bool((tree.caller >= 0).any())
    gone = [flags | tree.within(flags) if nested else flags for flags in chosen]

    def covered_in(block: tuple[Places, Places]) -> list[int]:
        timeline = _lay_out(calls, tree, *block)
        return [timeline.covered_ns(*flags) for flags in zip(chosen, gone, strict=True)]

    with ThreadPoolExecutor(_BLOCKS_AT_ONCE) as both:
        covered = [*both.map(covered_in, _blocks(calls, tree))]
    return [sum(of_block[nth] for of_block in covered) for nth in range(len(chosen))]


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


class _Timeline(msgspec.Struct, frozen=True):
    """Calls and other leaf spans of some traces; those that meet no other one stand apart."""

    leaf: Flags
    """By ``call_key``."""
    alone: Places
    """The calls beside which nothing else happens in their trace ..."""
    alone_ns: Times
    """... and how long they take."""
    call: Places
    """The calls that overlap another element, and behind them the other spans that do ..."""
    caller: Codes
    """... with the nearest call above each of these spans."""
    moment_of: Codes
    """By the moments at which one of them begins or ends, in order: which one ..."""
    step: NDArray[np.int8]
    """... 1 where it begins, -1 where it ends ..."""
    lasts_ns: Times
    """... and the time until the next moment."""

    def covered_ns(self, chosen: Flags, gone: Flags) -> int:
        """Return the time that only chosen calls cover; ``gone``: chosen, or inside of one."""
        ours = chosen[self.call]
        others = np.concatenate(
            (self.leaf[self.call] & ~gone[self.call], (self.caller < 0) | ~gone[self.caller])
        )
        many = len(others) + 1  # one of the others counts for more than all of ours together
        weight = others * np.int64(many)
        weight[: len(ours)] += ours
        opened = np.cumsum(weight[self.moment_of] * self.step)
        together = int(self.lasts_ns[(opened > 0) & (opened < many)].sum())
        return together + int(self.alone_ns[chosen[self.alone]].sum())


def _lay_out(calls: CallColumns, tree: SpanTree, spans: Places, others: Places) -> _Timeline:
    run = np.concatenate((calls.run[spans], tree.other_run[others]))
    start = np.concatenate((calls.start_ns[spans], tree.other_start_ns[others]))
    end = np.concatenate((calls.end_ns[spans], tree.other_end_ns[others]))
    meets = np.empty(len(run), np.bool_)
    order = _order(run, start)
    meets[order] = _overlapping(run[order], start[order], end[order])
    meets_of_call, meets_of_other = np.split(meets, [len(spans)])
    alone = spans[~meets_of_call]
    times = np.concatenate((start[meets], end[meets]))
    moment = _order(np.tile(run[meets], 2), times)
    met = len(times) // 2
    return _Timeline(
        leaf=tree.leaf,
        alone=alone,
        alone_ns=calls.end_ns[alone] - calls.start_ns[alone],
        call=spans[meets_of_call],
        caller=tree.other_caller[others[meets_of_other]],
        moment_of=np.where(moment < met, moment, moment - met).astype(np.int32),
        step=np.where(moment < met, 1, -1).astype(np.int8),
        lasts_ns=np.append(np.diff(times[moment]), [0])[: len(moment)],
    )


def _order(run: Codes, time_ns: Times) -> Places:
    """Return the positions in order of (run, time), by two sorts of numbers, not one of pairs."""
    by_time = np.argsort(time_ns)
    return by_time[rows_by_code(run[by_time], np.arange(len(run)))]


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
