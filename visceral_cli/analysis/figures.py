"""The figures of an analysis: plain rows, which the reports show as they are.

Durations are seconds (``_seconds``), money is USD (``_usd``, ``None`` where no price is known),
times are nanoseconds since the Unix epoch (``_ns``).

A **repeat** is a call of whose identity an earlier call really ran and did not fail, in the same
namespace (scope ``all``) or the same trace (scope ``trace``). The repeat itself ran too and did not
fail; calls of writers and verify samples are none. Every repeat is one of: same result, changed, in
flight, after a writer, unverifiable. A retry is no repeat, and neither is the first call.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Why one call is or is not waste."""

    FIRST = "first"
    """No earlier call of its identity could have answered it."""
    REUSABLE = "reusable"
    """A finished earlier execution gave the same result, and no writer came between."""
    CHANGED = "changed"
    """Same identity, but the earlier execution's result was another one."""
    IN_FLIGHT = "in-flight"
    """It started while earlier executions were running and none had finished."""
    RETRY = "retry"
    """Every earlier call of its identity had failed."""
    AFTER_WRITER = "after-writer"
    """A writer voids the earlier result: one of this call's run, or one of the run of each earlier
    execution that was at work beside it."""
    WRITER = "writer"
    """A call of a tool that changes something."""
    FAILED = "failed"
    NO_IDENTITY = "no-identity"
    UNVERIFIABLE = "unverifiable"
    """One of the two results, or the times of either, are unknown: nothing can be compared."""
    SERVED = "served"
    """Answered by the runtime from a stored result."""
    VERIFY = "verify"
    """Served and really run as well."""


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """The verdict on one call; ``call_key`` is the row of ``tool_call``."""

    call_key: int
    verdict: Verdict
    source_call_key: int | None
    """The execution whose stored result would have answered it."""
    age_seconds: float | None
    """Start of the call minus start of the source."""


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """One step from all calls to the calls that the proposed rules avoid."""

    name: str
    """``calls``, ``repeats``, ``same-result``, ``within-freshness``, ``no-writer-between``,
    ``declared``: each counts those of the step before that pass one test more. ``avoidable``: what
    the proposed rules would have served, stale results included."""
    calls: int
    tool_seconds: float
    """Sum of the durations of these calls."""
    wall_seconds: float
    """Time covered by these calls and by no other leaf span of their trace: a lower bound of what
    a trace would be shorter without them. Parallel calls do not count twice."""
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """One tool of one namespace."""

    namespace: str
    tool: str
    kind: str
    calls: int
    failed: int
    without_identity: int
    without_content: int
    """Calls whose result is not known, failed ones and writers included."""
    identities: int
    repeats: int
    same_result: int
    changed: int
    in_flight: int
    retries: int
    after_writer: int
    unverifiable: int
    served: int
    verified: int
    tool_seconds: float
    """Sum of the durations of all its calls."""
    repeat_seconds: float
    """Sum of the durations of the repeats with the same result."""
    in_flight_seconds: float
    """What the calls in flight would have saved by waiting for an execution they found running."""
    cost_usd: float | None
    """Cost of all its calls."""
    readonly: bool | None
    replay_safe: bool | None
    writer: bool
    declared_by: str | None
    """``span``, ``settings``, ``name`` (a writer by its name), ``None``."""
    freshness_cap_seconds: float | None
    """The smallest declared bound, from spans or settings."""
    unstable: str | None
    """What is said of a tool whose results differ although nothing changed, else ``None``."""


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """All calls with one identity."""

    namespace: str
    tool: str
    kind: str
    version: str | None
    input_hash: str
    hash_v: int
    calls: int
    failed: int
    repeats: int
    same_result: int
    changed: int
    in_flight: int
    retries: int
    after_writer: int
    unverifiable: int
    distinct_results: int
    traces: int
    first_start_ns: int | None
    last_start_ns: int | None
    tool_seconds: float
    repeat_seconds: float
    largest_stable_age_seconds: float | None
    """The largest age at which a repeat was seen with the same result."""
    smallest_changed_age_seconds: float | None
    """The smallest age at which a repeat was seen with another result."""
    empty_result: bool
    """Whether any of its results was empty."""
    trace_id: str = ""
    """The trace of the group named when the scope is ``trace``; otherwise empty."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A quantity per 1,000 runs with its interval of about 95 %."""

    mean: float
    low: float | None
    """``None`` with fewer than 20 runs."""
    high: float | None
    runs: int


@dataclass(frozen=True, slots=True)
class Savings:
    """What the given rules would have saved on these calls (one pass over all tools)."""

    calls: int
    tool_seconds: float
    wall_seconds: float
    cost_usd: float | None
    absorbed_calls: int
    """Calls nested in a served call: saved with it, not counted again."""
    stale_calls: int
    """Served calls whose real result differed from the stored one."""
    in_flight_calls: int
    """Repeats that only single-flight could have joined; in no total."""
    in_flight_seconds: float
    seconds_per_1000_runs: Projection | None
    by_identity: dict[tuple[str, str, str], tuple[int, float]]
    """(namespace, tool, input_hash) to (served calls, seconds)."""


class FindingKind(StrEnum):
    """What an analysis can find beside repeats."""

    REPEATED_WRITE = "repeated-write"
    """A writer was called with equal arguments more than once in a trace."""
    HASH_DISAGREES = "hash-disagrees"
    """The recorded input hash is not that of the recorded arguments."""
    SAME_NAME_OTHER_SCHEMA = "same-name-other-schema"
    """One tool name with different argument names or result shapes in one namespace."""
    NEAR_DUPLICATE = "near-duplicate"
    """Two identities that differ only in Unicode form, spaces, letter case or number type."""
    VERIFY_MISMATCH = "verify-mismatch"
    """The runtime's own dual execution found another result."""
    CLOCKS = "clocks"
    """Times that are missing or impossible."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its kind, place and counts; never a value."""

    kind: FindingKind
    namespace: str
    tool: str
    message: str
    calls: int
    trace_ids: tuple[str, ...] = ()
    span_ids: tuple[str, ...] = ()
    input_hash: str | None = None
