"""The calls of one tool after the other, as the history a replay works on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from visceral_cli.analysis.columns import CallColumns
from visceral_cli.analysis.history import Codes, Flags, Places, ToolCalls
from visceral_cli.analysis.tools import ToolFacts


@dataclass(frozen=True, slots=True)
class ToolHistory:
    """What happened to one tool: its executions that did not fail and whose times are known."""

    code: int
    """The tool code in the columns."""
    facts: ToolFacts
    calls: ToolCalls
    rows: Places
    """The ``call_key`` of each row of ``calls``."""
    first_identity: int
    """The identity 0 of ``calls`` is this one of the columns, and so on."""


def histories(calls: CallColumns) -> Iterator[ToolHistory]:
    """Yield the history of every tool that is no writer, one at a time, by tool code."""
    counted = calls.timed & calls.ran & ~calls.failed & ~calls.writer
    by_tool = rows_by_code(calls.tool, np.flatnonzero(counted))
    ends = np.cumsum(np.bincount(calls.tool[by_tool], minlength=len(calls.tools)))
    for code, facts in enumerate(calls.tools):
        if not facts.writer:
            rows = by_tool[ends[code - 1] if code else 0 : ends[code]]
            yield ToolHistory(
                code=code,
                facts=facts,
                calls=tool_calls(calls, rows, calls.identity_starts[code], facts),
                rows=rows,
                first_identity=int(calls.identity_starts[code]),
            )


def tool_calls(
    calls: CallColumns, rows: Places, first_identity: int, facts: ToolFacts
) -> ToolCalls:
    """Return ``rows``, calls of one tool, with its identities counted from 0."""
    identity = calls.identity[rows]
    return ToolCalls(
        start_ns=calls.start_ns[rows],
        end_ns=calls.end_ns[rows],
        identity=np.where(identity < 0, identity, identity - first_identity).astype(np.int32),
        run=calls.run[rows],
        content=calls.content[rows],
        host=calls.service[rows],
        declared_freshness_seconds=facts.freshness_cap_seconds,
        tool=facts.name.tool,
    )


def rows_by_code(codes: Codes, rows: Places) -> Places:
    """Return ``rows``, which ascend, in order of (code, row)."""
    count = len(codes) + 1
    key = codes[rows].astype(np.int64)  # the only column that is made: there may be a million rows
    key *= count
    key += rows
    key.sort()
    key %= count
    return key


def repeated(codes: Codes) -> Flags:
    """Whether each row has a code of 0 or more that another row has too."""
    calls = np.bincount(codes + 1, minlength=1)
    calls[0] = 0
    return calls[codes + 1] > 1
