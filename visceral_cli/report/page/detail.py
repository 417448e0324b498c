"""``PageDetail``: what the page shows beside the report, single calls of a few groups and traces.

A report holds figures; a page that is looked at also draws calls one by one. They are few: the
groups and traces with most to save, and of each so many calls as can be told apart.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from visceral_cli.report.explain.difference import Difference

GROUPS = 6
"""Groups that are drawn."""
TRACES = 10
"""Traces that are drawn."""
CALLS_OF_A_GROUP = 40
TRACES_OF_A_GROUP = 18
WRITERS_OF_A_GROUP = 24
SPANS_OF_A_TRACE = 24


class Mark(StrEnum):
    """How a call of a group came to its result."""

    RAN = "ran"
    SERVED = "served"
    """The runtime answered it from a stored result."""
    MATCHED = "verify match"
    """Answered and really run as well: the results were equal ..."""
    MISMATCHED = "verify mismatch"
    """... or were not."""
    FAILED = "failed"


class CallMark(msgspec.Struct, frozen=True):
    """One call of a group."""

    trace: int
    """Which trace of the group, from 0 in order of time."""
    trace_id: str
    span_id: str
    after_seconds: float
    """Since the first call of the group."""
    in_trace_seconds: float
    """Since the first call or write of its trace that is shown."""
    seconds: float
    mark: Mark
    verdict: str
    result: int | None
    """Which result of the group, from 1 in order of first appearance; ``None`` where unknown."""
    would_serve: bool
    """Whether the proposed rules would have answered it."""


class WriterMark(msgspec.Struct, frozen=True):
    """A write in a trace of the group, between the calls that are shown."""

    trace: int
    in_trace_seconds: float
    tool: str


class GroupTimeline(msgspec.Struct, frozen=True):
    """The calls of one group, the first ones in order of time."""

    place: int
    """Its place among the groups of the report."""
    calls: tuple[CallMark, ...]
    calls_in_all: int
    """Calls of the group whose start is known."""
    writers: tuple[WriterMark, ...]
    changed_span_ids: tuple[str, str] | None
    """The first two calls with different results."""
    difference: Difference | None
    """Where these results first differ; ``None`` where they do not, or their texts are unknown."""


class Bar(StrEnum):
    """What is to be said of one span of a trace."""

    WOULD_SERVE = "would have been served"
    ABSORBED = "inside a served call"
    REPEAT = "same result again"
    WRITER = "writer"
    CALL = "tool call"
    OTHER = "other span"


class SpanBar(msgspec.Struct, frozen=True):
    """One span of a trace."""

    name: str
    """The tool, or the name of a span that is no call."""
    span_id: str
    depth: int
    after_seconds: float
    """Since the trace began."""
    seconds: float
    bar: Bar
    verdict: str | None
    """``None`` for a span that is no call."""
    critical: tuple[tuple[float, float], ...]
    """Its parts on the critical path, in seconds since the trace began."""


class Waterfall(msgspec.Struct, frozen=True):
    """One trace: calls first of all, then what else is on its critical path."""

    trace_id: str
    seconds: float
    spans_in_all: int
    calls: int
    saved_calls: int
    """Calls that the proposed rules would have answered; without rules, calls with a result that
    was known already."""
    saved_seconds: float
    spans: tuple[SpanBar, ...]
    """In order of time."""


class PageDetail(msgspec.Struct, frozen=True):
    """Single calls of the groups and traces with most to save."""

    groups: tuple[GroupTimeline, ...]
    traces: tuple[Waterfall, ...]
    under_rules: bool
    """Whether the traces are ranked by what the proposed rules would have saved; else, there being
    none, by the time of repeats with the same result."""
    shows_values: bool
