"""Verify samples of known age as evidence: the executions whose stored results they were held to.

A verify sample is an execution like any other, and where the one that gave the stored result is in
the traces as well, the replay compares the two anyway. Where it is not, because it was recorded in
other files or before them, the sample still tells when it began and whether its result was the
same. Then it is put back: one execution for each stored result, however many samples it answered.
Of a sample that did not match only that is known of its result, so it equals nothing, which may
count one change too many and never one too few.

Only spans that tell when the stored result was made can be used; those of the Visceral SDK do not.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.columns import CallColumns
from visceral_cli.analysis.histories import ToolHistory
from visceral_cli.analysis.history import (
    Codes,
    Flags,
    Places,
    Times,
    ToolCalls,
    find_writers,
    latest_writer_end,
)


def with_sources(tool: ToolHistory, calls: CallColumns) -> ToolCalls:
    """Return the calls of a tool with the executions that its verify samples were held to.

    ``calls`` are all calls, with the identities of ``tool``.
    """
    own = tool.calls
    made_ns, matched = calls.served_start_ns[tool.rows], calls.matched[tool.rows]
    samples = np.flatnonzero(
        calls.verified[tool.rows]
        & (made_ns > 0)
        & (made_ns <= own.start_ns)
        & (own.identity >= 0)
        & (own.content >= 0)
    )
    if len(samples):
        samples = samples[~_is_known(own, own.identity[samples], made_ns[samples])]
    if not len(samples):
        return own
    # Of samples of one stored result one that did not match is believed.
    order = np.lexsort((matched[samples], made_ns[samples], own.identity[samples]))
    samples = samples[order]
    first = np.ones(len(samples), np.bool_)
    first[1:] = own.identity[samples[1:]] != own.identity[samples[:-1]]
    first[1:] |= made_ns[samples[1:]] != made_ns[samples[:-1]]
    return _with(own, samples[first], made_ns[samples[first]], matched[samples[first]])


def _is_known(calls: ToolCalls, identity: Codes, at_ns: Times) -> Flags:
    """Return whether an execution of each identity was under way at that time."""
    rows = np.flatnonzero(calls.identity >= 0)
    # Asked as writers are: when did the last one end that had begun by then?
    executions = find_writers(calls.identity[rows], calls.start_ns[rows], calls.end_ns[rows])
    known: Flags = latest_writer_end(executions, identity, at_ns) >= at_ns
    return known


def _with(calls: ToolCalls, samples: Places, made_ns: Times, matched: Flags) -> ToolCalls:
    """Return the calls with one more execution for each of these samples, in order of time."""
    unlike = int(calls.content.max()) + 1 + np.arange(len(samples))
    content = np.where(matched, calls.content[samples], unlike).astype(np.int32)
    start_ns = np.concatenate((calls.start_ns, made_ns))
    end_ns = np.concatenate((calls.end_ns, made_ns))
    order = np.lexsort((end_ns, start_ns))

    def column(values: Codes, added: Codes) -> Codes:
        return np.concatenate((values, added))[order]

    return replace(
        calls,
        start_ns=start_ns[order],
        end_ns=end_ns[order],
        identity=column(calls.identity, calls.identity[samples]),
        run=column(calls.run, calls.run[samples]),
        content=column(calls.content, content),
        host=None if calls.host is None else column(calls.host, calls.host[samples]),
        question=None
        if calls.question is None
        else column(calls.question, calls.question[samples]),
    )
