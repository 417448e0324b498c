"""Groups: all calls with one identity, and what was seen of their repeats."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, overload

import duckdb
import msgspec
import numpy as np
from numpy.typing import NDArray

from visceral_cli.analysis.columns import NANO, NONE, CallColumns, Numbers
from visceral_cli.analysis.figures import GroupFigures, Verdict
from visceral_cli.analysis.histories import rows_by_code
from visceral_cli.analysis.history import Codes, Flags, Places
from visceral_cli.analysis.names import name_table
from visceral_cli.analysis.verdicts import CODE, VERDICTS, CallVerdicts


class Groups(msgspec.Struct, frozen=True):
    """The groups with a repeat, as columns; most repeated seconds first.

    Groups with equally many are in order of their first call.
    """

    first_row: Places
    """The first call of each group: it has the group's names."""
    calls: Numbers
    verdicts: NDArray[np.int32]
    """By group and verdict code: how many of its calls."""
    repeats: Numbers
    distinct_results: Numbers
    traces: Numbers
    first_start_ns: Numbers
    """The largest integer where no call of the group has a start."""
    last_start_ns: Numbers
    """-1 where no call of the group has a start."""
    tool_ns: Numbers
    repeat_ns: Numbers
    stable_ns: Numbers
    """The largest age of a repeat with the same result, -1 without one."""
    changed_ns: Numbers
    """The smallest age of a repeat with another result, the largest integer without one."""
    empty_result: Flags
    by_trace: bool
    """Whether a group is of one trace only."""

    def __len__(self) -> int:
        return len(self.first_row)

    def only(self, chosen: Flags) -> Groups:
        """Return the groups that are marked, in the same order."""
        columns = {
            name: getattr(self, name)[chosen]
            for name in self.__struct_fields__
            if name != "by_trace"
        }
        return Groups(**columns, by_trace=self.by_trace)


_NEVER = int(np.iinfo(np.int64).max)

_BLOCK = 1 << 18
"""Calls measured at once: whole groups, so that memory does not grow with the input."""


def find_groups(calls: CallColumns, verdicts: CallVerdicts, *, by_trace: bool = False) -> Groups:
    """Return the groups of tools that are no writers; ``by_trace``: the scope of the identities."""
    repeats = np.bincount(calls.identity[verdicts.repeat], minlength=calls.identities + 1)
    repeats[NONE] = 0  # the last one stands for the calls without identity
    rows = rows_by_code(calls.identity, np.flatnonzero((repeats > 0)[calls.identity]))
    starts = np.flatnonzero(np.diff(calls.identity[rows], prepend=NONE))
    cuts = starts[np.flatnonzero(np.diff(starts // _BLOCK, prepend=-1))]
    blocks = [
        _measure(calls, verdicts, rows[first:end], by_trace=by_trace)
        for first, end in itertools.pairwise([*cuts.tolist(), len(rows)])
    ] or [_measure(calls, verdicts, rows, by_trace=by_trace)]
    order = np.lexsort((_joined(blocks, "first_row"), -_joined(blocks, "repeat_ns")))
    columns = {
        name: _joined(blocks, name)[order]
        for name in Groups.__struct_fields__
        if name != "by_trace"
    }
    return Groups(**columns, by_trace=by_trace)


def _joined(blocks: Sequence[Groups], column: str) -> NDArray[Any]:
    return np.concatenate([getattr(block, column) for block in blocks])


def _measure(calls: CallColumns, verdicts: CallVerdicts, rows: Places, *, by_trace: bool) -> Groups:
    """Return the groups of ``rows``, which are in order of (identity, row)."""
    identity = calls.identity[rows]
    new = np.diff(identity, prepend=NONE) != 0
    group, starts = np.cumsum(new) - 1, np.flatnonzero(new)
    count = len(starts)
    verdict = verdicts.verdict[rows]
    reusable = verdict == CODE[Verdict.REUSABLE]
    changed = verdict == CODE[Verdict.CHANGED]
    has_start = calls.has_start[rows]
    start_ns = calls.start_ns[rows]
    age_ns = start_ns - calls.start_ns[verdicts.source[rows]]
    duration_ns = calls.duration_of(rows)

    def reduced(how: np.ufunc, values: NDArray[np.int64]) -> Numbers:
        return how.reduceat(values, starts) if count else np.zeros(0, np.int64)

    tally = np.bincount(group * len(VERDICTS) + verdict, minlength=count * len(VERDICTS))
    return Groups(
        first_row=rows[starts],
        calls=np.bincount(group, minlength=count),
        verdicts=tally.astype(np.int32).reshape(count, len(VERDICTS)),
        repeats=np.bincount(group[verdicts.repeat[rows]], minlength=count),
        distinct_results=_distinct(group, calls.content[rows], count),
        traces=_distinct(group, calls.run[rows], count),
        first_start_ns=reduced(np.minimum, np.where(has_start, start_ns, _NEVER)),
        last_start_ns=reduced(np.maximum, np.where(has_start, start_ns, -1)),
        tool_ns=reduced(np.add, duration_ns),
        repeat_ns=reduced(np.add, np.where(reusable, duration_ns, 0)),
        stable_ns=reduced(np.maximum, np.where(reusable, age_ns, -1)),
        changed_ns=reduced(np.minimum, np.where(changed, age_ns, _NEVER)),
        empty_result=np.bincount(group[calls.empty_result[rows]], minlength=count) > 0,
        by_trace=by_trace,
    )


class GroupList(Sequence[GroupFigures]):
    """The groups as rows, whose names are looked up when they are asked for.

    It works while its store is open; what was looked up once stays.
    """

    def __init__(self, store: duckdb.DuckDBPyConnection, groups: Groups) -> None:
        self._store = store
        self._groups = groups
        self._known: list[GroupFigures] = []

    def __len__(self) -> int:
        return len(self._groups)

    @overload
    def __getitem__(self, place: int) -> GroupFigures: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[GroupFigures]: ...

    def __getitem__(self, place: int | slice) -> GroupFigures | Sequence[GroupFigures]:
        wanted = range(len(self))[place]
        last = wanted if isinstance(wanted, int) else max(wanted, default=-1)
        if last >= len(self._known):
            first = len(self._known)
            limit = max(last + 1 - first, _MORE_NAMES if first else _FIRST_NAMES)
            self._known += group_figures(self._store, self._groups, first=first, limit=limit)
        return self._known[place]


_FIRST_NAMES, _MORE_NAMES = 1000, 32_000
"""Groups whose names are looked up at a time: all calls are gone through for it. Who asks for more
than the first of them asks for all."""


def group_figures(
    store: duckdb.DuckDBPyConnection, groups: Groups, *, first: int = 0, limit: int | None = None
) -> list[GroupFigures]:
    """Return the groups from ``first`` on, at most ``limit`` of them, with their names."""
    shown = slice(first, None if limit is None else first + limit)
    names = name_table(store, groups.first_row[shown])
    verdicts = groups.verdicts[shown]

    def counted(verdict: Verdict) -> list[int]:
        counts: list[int] = verdicts[:, CODE[verdict]].tolist()
        return counts

    trace_ids = names.column("trace_id").to_pylist() if groups.by_trace else [""] * len(names)
    columns: dict[str, list[Any]] = {
        **{
            name: names.column(name).to_pylist()
            for name in ("namespace", "tool", "kind", "version", "input_hash", "hash_v")
        },
        "calls": groups.calls[shown].tolist(),
        "failed": counted(Verdict.FAILED),
        "repeats": groups.repeats[shown].tolist(),
        "same_result": counted(Verdict.REUSABLE),
        "changed": counted(Verdict.CHANGED),
        "in_flight": counted(Verdict.IN_FLIGHT),
        "retries": counted(Verdict.RETRY),
        "after_writer": counted(Verdict.AFTER_WRITER),
        "unverifiable": counted(Verdict.UNVERIFIABLE),
        "distinct_results": groups.distinct_results[shown].tolist(),
        "traces": groups.traces[shown].tolist(),
        "first_start_ns": _known(groups.first_start_ns[shown]),
        "last_start_ns": _known(groups.last_start_ns[shown]),
        "tool_seconds": (groups.tool_ns[shown] / NANO).tolist(),
        "repeat_seconds": (groups.repeat_ns[shown] / NANO).tolist(),
        "largest_stable_age_seconds": _known(groups.stable_ns[shown], NANO),
        "smallest_changed_age_seconds": _known(groups.changed_ns[shown], NANO),
        "empty_result": groups.empty_result[shown].tolist(),
        "trace_id": trace_ids,
    }
    in_order = [columns[name] for name in GroupFigures.__struct_fields__]
    return [GroupFigures(*figures) for figures in zip(*in_order, strict=True)]


def _known(values: Numbers, unit: int | None = None) -> list[Any]:
    """Return the values, in units; ``None`` for the numbers that stand for "none"."""
    units: list[Any] = (values if unit is None else values / unit).tolist()
    missing = (values < 0) | (values == _NEVER)
    for nth in np.flatnonzero(missing).tolist():
        units[nth] = None
    return units


def _distinct(group: Places, codes: Codes, groups: int) -> Numbers:
    """Return how many different codes of 0 or more each group has."""
    known = codes >= 0
    width = int(codes.max(initial=0)) + 1
    pairs = np.sort(group[known] * width + codes[known])
    new = np.ones(len(pairs), np.bool_)
    new[1:] = pairs[1:] != pairs[:-1]
    return np.bincount(pairs[new] // width, minlength=groups)
