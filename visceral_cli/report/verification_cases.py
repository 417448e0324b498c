"""A verification as cases of the gate, for the formats that tell of findings alone."""

from __future__ import annotations

from collections.abc import Iterator

from visceral_cli.gate.finding import Case, Evidence
from visceral_cli.gate.replay_cases import ReplayedRule, replay_cases
from visceral_cli.report.quantities import age_text
from visceral_cli.verify.outcome import RuleOutcome, Verification


def cases_of(found: Verification) -> list[Case]:
    """Return a case for each tool, whose rules are judged together, then one for each rule."""
    return list(replay_cases([*_tools(found), *map(_rule, found.rules)]))


def _tools(found: Verification) -> Iterator[ReplayedRule]:
    for tool in found.tools:
        yield ReplayedRule(
            namespace=tool.namespace,
            tool=tool.tool,
            decision_id="",
            input_hash="",
            compared=tool.judgement.samples,
            mismatched=tool.judgement.mismatches,
            broken=tool.broken,
        )


def _rule(rule: RuleOutcome) -> ReplayedRule:
    return ReplayedRule(
        namespace=rule.namespace,
        tool=rule.tool,
        decision_id=rule.decision_id,
        input_hash=rule.input_hash or "",
        compared=rule.judgement.samples,
        mismatched=rule.judgement.mismatches,
        broken=rule.broken,
        oldest_mismatch_seconds=rule.oldest_mismatch_seconds,
        mismatches=tuple(
            Evidence(
                what=f"another result than {age_text(one.age_seconds)} before",
                tool=rule.tool,
                input_hash=rule.input_hash or "",
                trace_id=one.trace_id,
                span_id=one.span_id,
            )
            for one in rule.mismatches
        ),
    )
