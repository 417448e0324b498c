"""``Verification``: what became of every call that a rule matches, and what that says of the rules.

The words for single calls are those of the runtime's decision; what is added is the comparison of
a served result with the one the tool really returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from visceral_cli.analysis.sequential import RuleState


class Outcome(StrEnum):
    """What a rule would have done with one call."""

    MATCHED = "matched"
    """Served, and the stored result equals the real one."""
    MISMATCHED = "mismatched"
    """Served, and the stored result differs: stale."""
    NOT_COMPARED = "not-compared"
    """Served, but the real result is not known."""
    NOT_SAMPLED = "not-sampled"
    """Served, and left out by ``--sample-rate``."""
    EXPIRED = "expired"
    WRITER = "writer"
    """A writer of the run, or of another one in the scope of the rule, has overtaken the stored
    result."""
    NO_RESULT = "no-result"
    IN_FLIGHT = "in-flight"
    ABSORBED = "absorbed"
    """It lies inside of a served call and would not have been made."""
    FAILED = "failed"
    """It failed: nothing to compare, nothing to store."""
    UNTIMED = "untimed"
    """Its times are missing or contradict each other."""
    NOT_READ_ONLY = "not-read-only"
    """The traces or the settings say that the tool changes something."""
    NOT_REPLAY_SAFE = "not-replay-safe"
    """The traces or the settings say that a stored result may not stand in."""
    NO_FRESHNESS = "no-freshness"
    """Neither the rule nor ``--max-freshness`` says how old a result may be."""


SERVED = (Outcome.MATCHED, Outcome.MISMATCHED, Outcome.NOT_COMPARED, Outcome.NOT_SAMPLED)
"""The outcomes of a call that a stored result would have answered."""


class Cause(StrEnum):
    """Why the replay does not say the same of a call as the runtime that recorded it."""

    NO_RULE = "no-rule"
    """The document holds no rule for it."""
    RESULT_UNKNOWN = "result-unknown"
    """The real result, or the stored one, is not in the traces: encrypted, or not captured."""
    NOT_IN_TRACES = "not-in-traces"
    """No earlier execution in these traces can have given the result that was served."""
    EXPORT_DELAY = "export-delay"
    """The newest result was seconds old and not known yet to the backend that answered."""
    OLDER_RESULT = "older-result"
    """An older result than the newest one was served."""
    BEYOND_FRESHNESS = "beyond-freshness"
    """The rule forbids so old a result, unless a newer one is missing from the traces."""
    AFTER_WRITER = "after-writer"
    """A writer of the run had overtaken the stored result."""
    AFTER_WRITER_ELSEWHERE = "after-writer-elsewhere"
    """A writer of another run had, of which the runtime did not hear: it hears of its own run, or
    of its own process and those that share its store."""
    OUTSIDE_SCOPE = "outside-scope"
    """Only the result of another run, session or user can have been served."""
    NO_FRESHNESS = "no-freshness"
    """Neither the rule nor ``--max-freshness`` says how old a result may be."""


class Recorded(StrEnum):
    """What the runtime recorded of a call, or what the replay makes of it."""

    MATCH = "match"
    MISMATCH = "mismatch"
    SERVED = "served"
    """Answered and not run: there is nothing to compare."""


class RecordedServe(msgspec.Struct, frozen=True):
    """One call that the runtime answered from a stored result, run as well or not."""

    decision_id: str | None
    """Of the rule, as recorded or as found by the identity."""
    namespace: str
    tool: str
    trace_id: str
    span_id: str
    start_ns: int
    recorded: Recorded
    replayed: Recorded | None
    """By the executions in these traces; ``None``: they do not tell what was served."""
    age_seconds: float | None
    """As recorded; where it was not, the age of the newest result that can have been served, and
    ``None`` without one."""
    cause: Cause | None
    """``None``: the replay under the rule says the same."""


class Judgement(msgspec.Struct, frozen=True):
    """What comparisons say of the promise that at most such a share of the results is stale."""

    samples: int
    """Comparisons of different stored results: of one identity at least a freshness apart."""
    mismatches: int
    evidence: float
    """The e-value against the promise; from 1 / (1 - confidence) on the rule is broken."""
    state: RuleState


class Mismatch(msgspec.Struct, frozen=True):
    """One call of the replay that would have got a stale result."""

    trace_id: str
    span_id: str
    age_seconds: float
    """Of the stored result."""


class RuleOutcome(msgspec.Struct, frozen=True):
    """What became of the calls that one rule matches."""

    decision_id: str
    namespace: str
    tool: str
    input_hash: str | None
    freshness_seconds: float | None
    """In effect: the least of the rule's, the declared ones and ``--max-freshness``."""
    replayed: bool
    """False for rules that match by system prompt, which no span names: only what was recorded
    speaks for or against them."""
    calls: int
    outcomes: Mapping[Outcome, int]
    """Of the replay; they add up to ``calls``."""
    recorded: Mapping[Recorded, int]
    """Of the runtime."""
    stale_rate: float | None
    """Of the compared serves of the replay; ``None``: there are none."""
    stale_rate_low: float
    stale_rate_high: float
    """Its interval, each stored result counted as one observation."""
    oldest_mismatch_seconds: float | None
    judgement: Judgement
    over_limit: bool
    """More of the compared results mismatch than ``--max-mismatch-rate`` allows."""
    mismatches: tuple[Mismatch, ...] = ()
    """The first of those of the replay."""
    voided_elsewhere: int = 0
    """Calls whose stored result only a writer of another run has overtaken. They are not served,
    but compared where both results are known: a client that does not hear of other runs would
    serve them, and so did the proof of the freshness."""
    stale_elsewhere: int = 0
    """Those of them whose real result differs."""

    @property
    def served(self) -> int:
        """Return how many calls the replay serves."""
        return sum(self.outcomes.get(outcome, 0) for outcome in SERVED)

    @property
    def matched(self) -> int:
        """Return how many served results equal the real one."""
        return self.outcomes.get(Outcome.MATCHED, 0)

    @property
    def mismatched(self) -> int:
        """Return how many served results differ from the real one."""
        return self.outcomes.get(Outcome.MISMATCHED, 0)

    @property
    def broken(self) -> bool:
        """Return whether the rule is to be withdrawn."""
        return self.over_limit or self.judgement.state is RuleState.BROKEN

    @property
    def idle(self) -> bool:
        """Return whether nothing was compared."""
        return not self.judgement.samples


class ToolOutcome(msgspec.Struct, frozen=True):
    """The rules of one tool together: they share the proof of one freshness."""

    namespace: str
    tool: str
    rules: int
    judgement: Judgement
    served_per_day: float | None
    """``None``: the traces have no length."""
    verify_rate: float | None
    """The share of serves to verify so that a doubled stale rate is noticed in time."""

    @property
    def broken(self) -> bool:
        """Return whether the rules together break the promise."""
        return self.judgement.state is RuleState.BROKEN


class Execution(StrEnum):
    """How re-running a call came out."""

    SAME = "same"
    DIFFERENT = "different"
    FAILED = "failed"
    TIMEOUT = "timeout"
    NOT_COMPARABLE = "not-comparable"
    """The result is no JSON value."""


class ExecutedCall(msgspec.Struct, frozen=True):
    """One call that was made again, at the user's wish; nothing of its values is kept."""

    call_key: int
    """The recorded call, by its place in the order of time."""
    decision_id: str
    tool: str
    trace_id: str
    span_id: str
    execution: Execution
    age_seconds: float
    """Between the recorded execution and this one."""
    within_freshness: bool
    """Whether the rule would still serve the recorded result: then it is a verify sample."""

    @property
    def is_sample(self) -> bool:
        """Return whether it speaks for or against the rule."""
        compared = self.execution in (Execution.SAME, Execution.DIFFERENT)
        return compared and self.within_freshness


class Trust(StrEnum):
    """How far a rule may be relied on, by all verifications that a ledger holds."""

    PROPOSED = "proposed"
    ACTIVE = "active"
    """Proven on calls it was not derived from, whenever one looks."""
    RETIRED = "retired"
    """Found broken once: it does not come back by itself."""


class TrustRecord(msgspec.Struct, frozen=True):
    """The record of one rule over all verifications."""

    decision_id: str
    tool: str
    trust: Trust
    held: int
    """Verifications that compared something and found no mismatch."""
    mismatched: int
    """Verifications that found one ..."""
    broken: int
    """... and those of them that found more than chance explains, by themselves."""
    idle: int
    """Verifications that compared nothing."""
    samples: int
    """Comparisons of different stored results, over all."""
    mismatches: int
    exposure_days: float
    """Length of the traces that were verified, overlaps counted once."""
    stale_rate_at_most: float
    """The share of stale results that is not exceeded, however often one looks."""


class Verification(msgspec.Struct, frozen=True):
    """The whole outcome."""

    max_stale_rate: float
    confidence: float
    max_mismatch_rate: float | None
    sample_rate: float
    holdout_rate: float | None
    from_ns: int | None
    """With a holdout, when the part begins that was verified."""
    calls: int
    """Calls that were looked at, writers left out."""
    no_rule: int
    """Those that no rule matches."""
    rules: tuple[RuleOutcome, ...]
    """In the order of the document."""
    tools: tuple[ToolOutcome, ...]
    serves: tuple[RecordedServe, ...]
    """What the runtime recorded, in order of time."""
    samples_to_notice: int
    """Verify samples that it takes to notice a doubled stale rate."""
    within_days: float
    executions: tuple[ExecutedCall, ...] = ()
    trust: tuple[TrustRecord, ...] = ()

    @property
    def broken(self) -> tuple[RuleOutcome, ...]:
        """Return the rules to withdraw."""
        return tuple(rule for rule in self.rules if rule.broken)

    @property
    def broken_tools(self) -> tuple[ToolOutcome, ...]:
        """Return the tools whose rules together break the promise."""
        return tuple(tool for tool in self.tools if tool.broken)

    @property
    def retired(self) -> frozenset[str]:
        """Return the decision ids of the rules that all verifications together have broken."""
        return frozenset(
            record.decision_id for record in self.trust if record.trust is Trust.RETIRED
        )

    @property
    def passed(self) -> bool:
        """Return whether nothing is broken, by these traces or by all that a ledger holds."""
        return not self.broken and not self.broken_tools and not self.retired

    @property
    def withdrawn(self) -> frozenset[str]:
        """Return the decision ids of the rules to withdraw: broken, of a broken tool, retired."""
        tools = {(tool.namespace, tool.tool) for tool in self.broken_tools}
        broken = {
            rule.decision_id
            for rule in self.rules
            if rule.broken or (rule.namespace, rule.tool) in tools
        }
        return frozenset(broken | self.retired)

    @property
    def compared(self) -> int:
        """Return how many comparisons speak for or against the rules."""
        return sum(rule.judgement.samples for rule in self.rules)

    @property
    def disagreements(self) -> tuple[RecordedServe, ...]:
        """Return the recorded serves of which the replay does not say the same."""
        return tuple(serve for serve in self.serves if serve.cause is not None)
