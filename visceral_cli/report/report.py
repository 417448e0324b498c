"""``Report``: all that a reader can be shown, in one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visceral_cli.analysis.figures import (
    Finding,
    FunnelStep,
    GroupFigures,
    Savings,
    ToolFigures,
)
from visceral_cli.contract.rule import Rule
from visceral_cli.rules.refusal import Refusal

REPORT_FORMAT = 1
"""The number of the report's JSON format; within one number keys are only added."""


@dataclass(frozen=True, slots=True)
class DamagePlace:
    """Something that could not be read; ``places`` is how many such places the row stands for."""

    file: str
    kind: str
    line: int | None
    byte: int | None
    what: str
    places: int


@dataclass(frozen=True, slots=True)
class Inputs:
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


@dataclass(frozen=True, slots=True)
class Totals:
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


@dataclass(frozen=True, slots=True)
class BoundFigures:
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


@dataclass(frozen=True, slots=True)
class Report:
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
