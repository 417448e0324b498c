"""A verification in words and rows: what its table and its Markdown have in common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from visceral_cli.analysis.sequential import RuleState
from visceral_cli.contract.rule import Rule
from visceral_cli.gate.finding import Case
from visceral_cli.report.column import Column
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import (
    age_text,
    counted,
    listed,
    rate_text,
    share_text,
)
from visceral_cli.report.report import Inputs
from visceral_cli.report.row_tables import HASH_DIGITS, RowTable
from visceral_cli.verify.outcome import (
    Cause,
    ExecutedCall,
    Outcome,
    Recorded,
    RecordedServe,
    RuleOutcome,
    ToolOutcome,
    TrustRecord,
    Verification,
)

_MOST_REMARKS = 10
_SHOWN_APART = (Outcome.EXPIRED, Outcome.WRITER)


class VerificationReport(msgspec.Struct, frozen=True):
    """All that a reader can be shown of a verification."""

    version: str
    inputs: Inputs
    verification: Verification
    rules: tuple[Rule, ...]
    """The rules that were verified."""
    cases: tuple[Case, ...] = ()
    """The same as cases of the gate, with the files that hold their evidence."""


def what_was_replayed(found: Verification) -> str:
    """Return what was looked at, in one sentence."""
    under_rules = found.calls - found.no_rule
    text = f"{under_rules:,} of {counted(found.calls, 'call')} fall under a rule"
    text += f"; {counted(len(found.rules), 'rule')} of {counted(len(found.tools), 'tool')}"
    if found.holdout_rate is not None:
        text += f", derived from the calls before the last {rate_text(found.holdout_rate)}"
    return text + "."


def verdict(found: Verification) -> str:
    """Return the answer in a few words, such as ``1 rule broken, 1 kept``."""
    broken = len(found.broken)
    kept = [
        rule for rule in found.rules if not rule.broken and rule.decision_id not in found.retired
    ]
    states = [rule.judgement.state for rule in kept]
    confirmed = states.count(RuleState.CONFIRMED)
    parts = [f"{counted(broken, 'rule')} broken"]
    if found.broken_tools:
        names = ", ".join(plain(tool.tool) for tool in found.broken_tools)
        parts.append(f"{counted(len(found.broken_tools), 'tool')} broken ({names})")
    earlier = len(found.rules) - broken - len(kept)
    if earlier:
        parts.append(f"{earlier:,} retired by the ledger")
    parts.append(f"{len(kept):,} kept ({confirmed:,} confirmed)")
    return ", ".join(parts)


def remarks(found: Verification) -> Iterator[str]:
    """Yield a sentence for each rule with a mismatch, then for each tool that is broken."""
    mismatching = [rule for rule in _ranked(found.rules) if rule.broken or _mismatches(rule)]
    for rule in mismatching[:_MOST_REMARKS]:
        yield f"{plain(rule.decision_id)}: {_what_differs(rule)}; {_what_follows(rule, found)}"
    if len(mismatching) > _MOST_REMARKS:
        yield f"… {counted(len(mismatching) - _MOST_REMARKS, 'more rule')} with a mismatch"
    for tool in found.broken_tools:
        judgement = tool.judgement
        yield (
            f"{plain(tool.tool)}: {judgement.mismatches:,} of {judgement.samples:,} comparisons of "
            f"its {counted(tool.rules, 'rule')} mismatch; more than chance explains at "
            f"{rate_text(found.max_stale_rate)}"
        )


def _what_differs(rule: RuleOutcome) -> str:
    parts = []
    if rule.mismatched:
        compared = rule.matched + rule.mismatched
        age = _age(rule.oldest_mismatch_seconds)
        parts.append(
            f"{rule.mismatched:,} of {compared:,} served results differ, the oldest was {age}"
        )
    if rule.stale_elsewhere:
        parts.append(
            f"{rule.stale_elsewhere:,} of {rule.voided_elsewhere:,} results that a writer of "
            "another run voids differ, which clients that do not hear of it serve"
        )
    recorded = rule.recorded.get(Recorded.MISMATCH, 0)
    if recorded:
        samples = recorded + rule.recorded.get(Recorded.MATCH, 0)
        parts.append(f"{recorded:,} of {samples:,} recorded verify samples mismatch")
    return ", ".join(parts)


def _what_follows(rule: RuleOutcome, found: Verification) -> str:
    if rule.judgement.state is RuleState.BROKEN:
        return f"more than chance explains at {rate_text(found.max_stale_rate)}: broken"
    if rule.over_limit and found.max_mismatch_rate is not None:
        return f"allowed are {rate_text(found.max_mismatch_rate)}: broken"
    return f"chance may explain it at {rate_text(found.max_stale_rate)}"


def _mismatches(rule: RuleOutcome) -> int:
    return rule.mismatched + rule.stale_elsewhere + rule.recorded.get(Recorded.MISMATCH, 0)


def _ranked(rules: Sequence[RuleOutcome]) -> list[RuleOutcome]:
    """Return broken rules first, then the most mismatched, then the most served."""

    def rank(rule: RuleOutcome) -> tuple[bool, int, int, str]:
        return not rule.broken, -_mismatches(rule), -rule.served, rule.decision_id

    return sorted(rules, key=rank)


def rule_table(found: Verification) -> RowTable:
    """Return a row for each rule: broken ones first, then the most mismatched, the most served."""
    columns = [
        Column("rule", lambda rule: plain(rule.decision_id)),
        Column("tool", lambda rule: plain(rule.tool)),
        Column("served", lambda rule: f"{rule.served:,}", is_number=True),
        Column("matched", lambda rule: f"{rule.matched:,}", is_number=True),
        Column("mismatched", lambda rule: f"{rule.mismatched:,}", is_number=True),
        *(_outcome(outcome) for outcome in _SHOWN_APART),
        Column("other", lambda rule: f"{_other(rule):,}", is_number=True),
        Column("stale", _stale, is_number=True),
        Column("verdict", _verdict),
    ]
    if len({rule.namespace for rule in found.rules}) > 1:
        columns.insert(
            2, Column("namespace", lambda rule: plain(rule.namespace) or "any", False, True)
        )
    return RowTable("Rules", tuple(columns), _ranked(found.rules))


def tool_table(found: Verification) -> RowTable:
    """Return a row for each tool: its rules together, and how many verify samples it takes."""

    def verify(tool: ToolOutcome) -> str:
        if tool.verify_rate is None or not tool.served_per_day:
            return "-"
        days = found.samples_to_notice / tool.served_per_day
        takes_longer = f" for {math.ceil(days):,} days" if days > found.within_days else ""
        return f"{rate_text(tool.verify_rate)}{takes_longer}"

    def per_day(tool: ToolOutcome) -> str:
        return "-" if tool.served_per_day is None else f"{tool.served_per_day:,.0f}"

    return RowTable(
        "Tools",
        (
            Column("tool", lambda tool: plain(tool.tool)),
            Column("rules", lambda tool: f"{tool.rules:,}", is_number=True),
            Column("comparisons", lambda tool: f"{tool.judgement.samples:,}", is_number=True),
            Column("mismatches", lambda tool: f"{tool.judgement.mismatches:,}", is_number=True),
            Column("verdict", lambda tool: tool.judgement.state.value),
            Column("served a day", per_day, is_number=True),
            Column("verify rate", verify, is_number=True),
        ),
        found.tools,
    )


def about_samples(found: Verification) -> str:
    """Return what the verify rate of the tools is good for."""
    return (
        f"verify rate: notices a doubled stale rate within {found.within_days:g} days, which takes "
        f"about {counted(found.samples_to_notice, 'verify sample')}"
    )


def about_recorded(found: Verification) -> str:
    """Return how far the replay agrees with what the runtime recorded; empty without records."""
    if not found.serves:
        return ""
    samples = sum(serve.recorded is not Recorded.SERVED for serve in found.serves)
    differing = len(found.disagreements)
    text = (
        f"Recorded: {counted(samples, 'verify sample')} and "
        f"{counted(len(found.serves) - samples, 'served call')}; "
        f"the replay says the same of {len(found.serves) - differing:,}"
    )
    if not differing:
        return f"{text}."
    causes = Counter(serve.cause.value for serve in found.disagreements if serve.cause)
    return f"{text}, and not of {differing:,} ({listed(causes)})."


def disagreement_table(found: Verification) -> RowTable:
    """Return a row for each recorded serve of which the replay does not say the same.

    In order of time, those of rules that are not in the document last.
    """

    def rank(serve: RecordedServe) -> bool:
        return serve.cause is Cause.NO_RULE

    def replayed(serve: RecordedServe) -> str:
        return "not known" if serve.replayed is None else serve.replayed.value

    return RowTable(
        "Recorded otherwise",
        (
            Column("rule", lambda serve: plain(serve.decision_id or "-")),
            Column("tool", lambda serve: plain(serve.tool)),
            Column("trace", lambda serve: plain(serve.trace_id)[:HASH_DIGITS]),
            Column("span", lambda serve: plain(serve.span_id)),
            Column("recorded", lambda serve: serve.recorded.value),
            Column("replayed", replayed),
            Column("age", lambda serve: _age(serve.age_seconds), is_number=True),
            Column("cause", lambda serve: "" if serve.cause is None else serve.cause.value),
        ),
        sorted(found.disagreements, key=rank),
    )


def execution_table(found: Verification) -> RowTable:
    """Return a row for each call that was made again."""
    return RowTable(
        "Made again",
        (
            Column("rule", lambda call: plain(call.decision_id)),
            Column("tool", lambda call: plain(call.tool)),
            Column("result", lambda call: call.execution.value),
            Column("recorded", lambda call: f"{_age(call.age_seconds)} ago", is_number=True),
            Column("within freshness", _within),
        ),
        found.executions,
    )


def trust_table(found: Verification) -> RowTable:
    """Return a row for each rule of the ledger, retired ones first, then the most compared."""
    order = ("retired", "active", "proposed")

    def rank(record: TrustRecord) -> tuple[int, int, str]:
        return order.index(record.trust.value), -record.samples, record.decision_id

    return RowTable(
        "Trust",
        (
            Column("rule", lambda record: plain(record.decision_id)),
            Column("tool", lambda record: plain(record.tool)),
            Column("trust", lambda record: record.trust.value),
            Column("held", lambda record: f"{record.held:,}", is_number=True),
            Column("mismatched", lambda record: f"{record.mismatched:,}", is_number=True),
            Column("broken", lambda record: f"{record.broken:,}", is_number=True),
            Column("idle", lambda record: f"{record.idle:,}", is_number=True),
            Column("comparisons", lambda record: f"{record.samples:,}", is_number=True),
            Column("days", lambda record: f"{record.exposure_days:,.1f}", is_number=True),
            Column("stale at most", lambda r: rate_text(r.stale_rate_at_most), is_number=True),
        ),
        sorted(found.trust, key=rank),
    )


def tables(found: Verification) -> Sequence[RowTable]:
    """Return the tables that have rows, in the order of a reader's questions."""
    all_tables = (
        rule_table(found),
        tool_table(found),
        disagreement_table(found),
        execution_table(found),
        trust_table(found),
    )
    return [table for table in all_tables if table.rows]


def _outcome(outcome: Outcome) -> Column:
    heading = outcome.value.replace("-", " ")
    return Column(heading, lambda rule: f"{rule.outcomes.get(outcome, 0):,}", is_number=True)


def _other(rule: RuleOutcome) -> int:
    return rule.calls - rule.served - sum(rule.outcomes.get(one, 0) for one in _SHOWN_APART)


def _stale(rule: RuleOutcome) -> str:
    if rule.stale_rate is None:
        return "-"
    low, high = (share_text(rate, 1.0) for rate in (rule.stale_rate_low, rule.stale_rate_high))
    interval = f"{low} to {high}" if rule.stale_rate_low else f"to {high}"
    return f"{share_text(rule.stale_rate, 1.0)} ({interval})"


def _verdict(rule: RuleOutcome) -> str:
    if rule.broken:
        return "broken"
    return "idle" if rule.idle else rule.judgement.state.value


def _age(seconds: float | None) -> str:
    return "-" if seconds is None else age_text(seconds)


def _within(call: ExecutedCall) -> str:
    return "yes" if call.within_freshness else "no"
