"""``Report``: all that a reader can be shown, in one value."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from visceral_cli.analysis.figures import (
    Finding,
    FunnelStep,
    GroupFigures,
    InvalidationFigures,
    Savings,
    SharingFigures,
    ToolFigures,
    UnstableFigures,
    VaryFigures,
)
from visceral_cli.analysis.run_rates import RunFigures
from visceral_cli.contract.rule import Rule
from visceral_cli.rules.refusal import Refusal

REPORT_FORMAT = 1
"""The number of the report's JSON format; within one number keys are only added."""


class DamagePlace(msgspec.Struct, frozen=True):
    """Something that could not be read; ``places`` is how many such places the row stands for."""

    file: str
    kind: str
    line: int | None
    byte: int | None
    what: str
    places: int


class Inputs(msgspec.Struct, frozen=True):
    """What was read."""

    names: tuple[str, ...]
    """The inputs as given."""
    files: int
    input_bytes: int
    formats: dict[str, int]
    """Format to number of files."""
    span_records: int
    spans: int
    """Distinct spans."""
    traces: int
    log_records: int
    skipped_records: int
    """Records of other signals."""
    orphan_spans: int
    """Spans whose parent is in none of the inputs."""
    tool_calls: int
    conventions: dict[str, int]
    """Convention to number of tool calls."""
    damaged: int
    damage: tuple[DamagePlace, ...]
    without_identity: dict[str, int]
    """Reason to number of calls."""
    without_content: dict[str, int]
    without_times: int
    first_start_ns: int | None
    last_start_ns: int | None

    @property
    def copies_per_span(self) -> float:
        """How many times each span was exported, on average."""
        return self.span_records / self.spans if self.spans else 1.0


class Totals(msgspec.Struct, frozen=True):
    """The figures of the first sentence."""

    tools: int
    repeats: int
    same_result: int
    in_flight: int
    retries: int
    after_writer: int
    tool_seconds: float
    repeat_seconds: float
    """Durations of the repeats with the same result."""
    cost_usd: float | None


class BoundFigures(msgspec.Struct, frozen=True):
    """What the traces prove, or how far they are from proving, for one tool's freshness."""

    namespace: str
    tool: str
    proven: bool
    freshness_seconds: float | None
    """The bound, or for a candidate the bound of the figures below."""
    scope: str
    """``tool`` or ``identities``."""
    stale_rate_at_most: float | None
    confidence: float
    """1 minus the level that was used."""
    effective_observations: float
    serves: int
    stale: int
    stored_results: int
    runs: int
    span_seconds: float
    largest_age_seconds: float | None
    shared_change_bound: float | None
    smallest_passing_stale_rate: float | None
    """The ``--max-stale-rate`` that would pass today."""
    missing: str | None
    """What is missing for a proof, with both numbers."""
    warnings: tuple[str, ...]
    identities: int
    excluded_identities: int
    kind: str = "tool"
    """The kind of the tool's calls: a retriever is never mixed with a tool of the same name."""


class CurveFigures(msgspec.Struct, frozen=True):
    """What serving one tool's results up to one age would have meant on these calls."""

    freshness_seconds: float
    serves: int
    """Calls that a stored result would have answered, as far as their real result is known."""
    stale: int
    """Those of them whose real result was another one."""
    saved_seconds: float
    """The durations of all these serves."""
    effective_observations: float
    stale_rate_at_most: float
    failed_guards: tuple[str, ...]
    """``runs``, ``results``, ``span``: of which there are too few to consider this age."""


class ToolCurve(msgspec.Struct, frozen=True):
    """The stale curve of one tool: every age that was tried, ascending."""

    namespace: str
    tool: str
    kind: str
    points: tuple[CurveFigures, ...]


class Report(msgspec.Struct, frozen=True):
    """The whole answer of an analysis."""

    version: str
    scope: str
    max_stale_rate: float
    inputs: Inputs
    totals: Totals
    funnel: tuple[FunnelStep, ...]
    tools: tuple[ToolFigures, ...]
    """Most repeated seconds first."""
    groups: Sequence[GroupFigures]
    """Groups with a repeat, most repeated seconds first."""
    bounds: tuple[BoundFigures, ...]
    savings: Savings
    """Under the proposed rules."""
    rules: tuple[Rule, ...]
    refusals: tuple[Refusal, ...]
    findings: tuple[Finding, ...]
    candidates: tuple[Rule, ...] = ()
    """What was seen but is not proven, as rules that no client serves."""
    per_run: tuple[RunFigures, ...] = ()
    """Repeats for each 1,000 runs: of all tools together first, then of each tool."""
    unstable: tuple[UnstableFigures, ...] = ()
    """Tools whose results differ although nothing changed, where their texts are kept."""
    invalidations: tuple[InvalidationFigures, ...] = ()
    """Which writers clear which results."""
    sharing: tuple[SharingFigures, ...] = ()
    """Who may share the results of each tool that is no writer."""
    vary: tuple[VaryFigures, ...] = ()
    """Which arguments decide the result, where others can be left out of the key."""
    curves: tuple[ToolCurve, ...] = ()
    """By tool, in the order of ``bounds``."""
