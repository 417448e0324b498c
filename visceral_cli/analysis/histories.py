"""The calls of one tool after the other, as the history a replay works on."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.columns import NONE, CallColumns, Numbers
from visceral_cli.analysis.history import Codes, Flags, Places, ToolCalls
from visceral_cli.analysis.tools import ToolFacts

_KEPT_CALLS = 300_000


class ToolHistory(msgspec.Struct, frozen=True):
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
                calls=tool_calls(calls, rows, int(calls.identity_starts[code]), facts),
                rows=rows,
                first_identity=int(calls.identity_starts[code]),
            )


class Histories:
    """The `histories` of all calls, to be gone through more than once.

    Those of few calls are kept, which takes 45 bytes a call; of many each one is made anew.
    """

    def __init__(self, calls: CallColumns) -> None:
        self._calls = calls
        self._kept = [*histories(calls)] if len(calls) <= _KEPT_CALLS else None

    def __iter__(self) -> Iterator[ToolHistory]:
        return histories(self._calls) if self._kept is None else iter(self._kept)


def tool_calls(
    calls: CallColumns, rows: Places, first_identity: int, facts: ToolFacts
) -> ToolCalls:
    """Return ``rows``, calls of one tool, with its identities counted from 0."""
    return ToolCalls(
        start_ns=calls.start_ns[rows],
        end_ns=calls.end_ns[rows],
        identity=_from_first(calls.identity[rows], first_identity),
        run=calls.run[rows],
        content=calls.content[rows],
        host=calls.service[rows],
        declared_freshness_seconds=facts.freshness_cap_seconds,
        tool=facts.name.tool,
    )


def with_identities_of(tool: ToolHistory, calls: CallColumns) -> ToolHistory:
    """Return the same history with the identities that these columns give its calls."""
    first = int(calls.identity_starts[tool.code])
    identity = _from_first(calls.identity[tool.rows], first)
    return replace(tool, calls=replace(tool.calls, identity=identity), first_identity=first)


def _from_first(identity: Codes, first: int) -> Codes:
    """Return the identities of one tool counted from 0, `NONE` as it is."""
    from_first: Codes = np.maximum(identity - np.int32(first), NONE)
    return from_first


def rows_by_code(codes: Codes | Numbers, rows: Places) -> Places:
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
