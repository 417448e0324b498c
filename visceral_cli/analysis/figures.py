"""The figures of an analysis: plain rows, which the reports show as they are.

Durations are seconds (``_seconds``), money is USD (``_usd``, ``None`` where no price is known),
times are nanoseconds since the Unix epoch (``_ns``).

A **repeat** is a call of whose identity an earlier call really ran and did not fail, in the same
namespace (scope ``all``) or the same trace (scope ``trace``). The repeat itself ran too and did not
fail; calls of writers and verify samples are none. Every repeat is one of: same result, changed, in
flight, after a writer, unverifiable. A retry is no repeat, and neither is the first call.

They are structs, as is nearly all data from the analysis to the reports: Python takes about fifty
times as long to define a dataclass, which more than a hundred of them cost every run. Dataclasses
remain what the runtime shares (`visceral_cli.contract`) and what commands use that need no data
(`visceral_cli.settings`, `visceral_cli.report.view`): these are to start without a library.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


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


class FunnelStep(msgspec.Struct, frozen=True):
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


class ToolFigures(msgspec.Struct, frozen=True):
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


class GroupFigures(msgspec.Struct, frozen=True):
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


class Projection(msgspec.Struct, frozen=True):
    """A quantity per 1,000 runs with its interval of about 95 %."""

    mean: float
    low: float | None
    """``None`` with fewer than 20 runs."""
    high: float | None
    runs: int


class ToolSaving(msgspec.Struct, frozen=True):
    """What the given rules would have saved of one tool's calls."""

    namespace: str
    tool: str
    kind: str
    calls: int
    seconds: float
    stale_calls: int
    """Served calls whose real result differed from the stored one."""
    seconds_per_1000_runs: Projection


class Savings(msgspec.Struct, frozen=True):
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
    by_tool: tuple[ToolSaving, ...] = ()
    """Tools of which anything would have been served, most seconds first."""


class WhatIfRow(msgspec.Struct, frozen=True):
    """What one freshness, and one store size, would have meant for one tool."""

    freshness_seconds: float
    store_size: int | None
    """How many results of the tool the store holds; ``None``: all."""
    proposed: bool
    served: int
    compared: int
    """Served calls whose real result is known."""
    stale: int
    stale_rate_low: float
    """The share of stale serves lies between these with the user's confidence, ..."""
    stale_rate_high: float
    """... each stored result being one observation."""
    saved_seconds: float
    seconds_per_1000_runs: Projection


class WhatIf(msgspec.Struct, frozen=True):
    """What serving would have meant for one tool, from never to the largest age seen."""

    namespace: str
    tool: str
    kind: str
    scope: str
    """Between which calls a result passes: ``run``, ``session``, ``user`` or ``all``."""
    calls: int
    identities: int
    tool_seconds: float
    proposed_freshness_seconds: float | None
    missing: str | None
    """Why none is proposed."""
    by_freshness: tuple[WhatIfRow, ...]
    by_store_size: tuple[WhatIfRow, ...]
    """At the proposed freshness, or without one at the largest."""


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
    SMALLER_KEY = "smaller-key"
    """Results do not depend on some arguments: without them in the key more calls are equal."""
    UNKEYED_ARGUMENT = "unkeyed-argument"
    """The declared ``vary`` leaves out an argument on which the result depends."""
    CLEARED_BY_WRITER = "cleared-by-writer"
    """Results change after a writer was called with the same value of an argument."""
    READ_DURING_WRITE = "read-during-write"
    """A tool was read while a writer of the same trace was at work."""
    WRITE_BESIDE_RUN = "write-beside-run"
    """A sibling task of a run wrote, and the run does not learn of it."""
    WRITE_IN_OWN_TRACE = "write-in-own-trace"
    """A write while a run was under way, but in no trace of it."""
    VARYING_RESULT = "varying-result"
    """Results differ although nothing changed, at the named places."""
    CLOCKS = "clocks"
    """Times that are missing or impossible."""


class Finding(msgspec.Struct, frozen=True):
    """One finding: its kind, place and counts; never a value."""

    kind: FindingKind
    namespace: str
    tool: str
    message: str
    calls: int
    trace_ids: tuple[str, ...] = ()
    span_ids: tuple[str, ...] = ()
    input_hash: str | None = None


class VaryingPart(msgspec.Struct, frozen=True):
    """A place in the results of a tool that differs although nothing changed."""

    path: str
    """A JSON path; ``[*]`` for the elements of a list."""
    pairs: int
    """Compared pairs that differ there."""
    holds: str
    """``time``, ``uuid``, ``duration``, ``order`` (a list in another order), or empty: anything."""


class UnstableFigures(msgspec.Struct, frozen=True):
    """An unstable tool, and where its results differ; never a value."""

    namespace: str
    tool: str
    kind: str
    pairs: int
    """Executions of one identity, at most a minute after another one."""
    differing: int
    compared: int
    """Differing pairs whose texts were compared."""
    parts: tuple[VaryingPart, ...]
    """Most pairs first; the first ten."""
    ignore_result: tuple[str, ...]
    """What to leave out so that all compared pairs are equal; empty: no such few parts."""


class InvalidationFigures(msgspec.Struct, frozen=True):
    """A writer after which results of a tool change, by a value that both were called with.

    Figures are of consecutive calls of one identity, at most an hour apart, whose results are
    known; a write lies between them if it ended after the first began and began before the second.
    """

    namespace: str
    tool: str
    kind: str
    argument: str
    """An argument of the tool ..."""
    writer: str
    writer_argument: str
    """... and the one of the writer that has the same value."""
    matching: int
    """Pairs with a write of the same value between them ..."""
    matching_changed: int
    """... and those of them with different results: what speaks for it."""
    changed_rate_at_least: float
    other: int
    """Pairs with writes of other values only between them ..."""
    other_changed: int
    """... and those of them with different results: what speaks against clearing no more."""
    other_rate_at_most: float
    """With the user's confidence, at most this share of other writes is followed by a change."""
    proven: bool
    """Whether that is tolerated; otherwise every write keeps voiding everything in its run."""


class SharingStep(msgspec.Struct, frozen=True):
    """What calls tell of letting results pass between users; or runs, sessions, services.

    Pairs are consecutive calls of one identity, at most an hour apart, whose results are known.
    Serves are those of a replay whose stored and real call were made for different users.
    """

    between: str
    """``run``, ``session``, ``user`` or ``service``: results pass between different ones ..."""
    within: str
    """... within one of these: ``session``, ``user``, ``service``; or ``all``."""
    verdict: str
    """``depends``: answers depend on it. ``proven``, or within one user just ``compared``: it may
    be; ``said``: the settings say so. ``implied`` by a wider step. ``not-proven``."""
    pairs: int
    """Pairs of different users ..."""
    differing: int
    """... and those of them with different results."""
    pairs_of_one: int
    """Pairs of one user ..."""
    differing_of_one: int
    """... and those of them with different results."""
    differing_rate_at_most: float
    """With the user's confidence, at most this share of pairs of different users differs."""
    serves: int | None = None
    """Serves that were counted, where it may be."""
    stale: int | None = None
    stale_rate_at_most: float | None = None
    """With the user's confidence, at most this share of such serves is stale."""
    freshness_seconds: float | None = None
    """How old a result may be that passes."""


class ElsewhereFigures(msgspec.Struct, frozen=True):
    """What writes of other runs do to the results of one tool, at the freshness of its rules.

    Figures are of the serves of the freshness's proof that have such a write between them, by a
    call that would share the result.
    """

    namespace: str
    tool: str
    kind: str
    serves: int
    stale: int
    effective_observations: float
    stale_rate_at_most: float
    harmless: bool
    """Whether that is tolerated, and no writer was found to change its results: then writes of
    other runs void nothing. Otherwise they do, within the scope of the rules."""


class SharingFigures(msgspec.Struct, frozen=True):
    """Who may share the results of one tool, and why."""

    namespace: str
    tool: str
    kind: str
    scope: str
    """``run``, ``session``, ``user``, ``service`` or ``all`` (of its namespace)."""
    judged: bool
    """Whether the spans name users, or the settings say that answers do not depend on them."""
    why: str
    users: int
    """Users named on its calls."""
    steps: tuple[SharingStep, ...]
    """From the narrowest scope on, those that were looked at."""


class Example(msgspec.Struct, frozen=True):
    """Two calls that were compared, by the ids of their spans."""

    earlier_trace_id: str
    earlier_span_id: str
    later_trace_id: str
    later_span_id: str


class VaryFigures(msgspec.Struct, frozen=True):
    """The arguments of one tool that decide its result, as far as the traces tell; never a value.

    The figures of the proof count serves whose stored and real call differ in an argument that is
    left out, in the last three quarters of the calls; the first quarter chose the arguments.
    """

    namespace: str
    tool: str
    kind: str
    vary: tuple[str, ...]
    """The arguments to keep in the key."""
    left_out: tuple[str, ...]
    proven: bool
    needs_review: tuple[str, ...]
    """Left-out arguments that look as if they told who asks: a person has to say they do not."""
    pairs: int
    """Consecutive calls, at most an hour apart, that differ only in arguments left out ..."""
    differing: int
    """... and those of them with different results."""
    calls: int
    """Calls with known arguments."""
    more_reusable: int
    """Calls that a store would answer beyond those it answers with all arguments in the key."""
    freshness_seconds: float | None
    """How old a result may be that is shared this way."""
    stale_rate_at_most: float | None
    serves: int
    stale: int
    effective_observations: float
    missing: str | None
    """What the proof lacks, with both numbers."""
    witnesses: tuple[Example, ...]
    """Pairs with equal results."""
    counter_examples: tuple[Example, ...]
    """Pairs with different results."""
    within: str = "all"
    """``user``: results were compared within one user, as those of others do differ."""
