"""Which rule applies to an identity or a tool, what blocks one, and what would change that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from visceral_cli.analysis.figures import SharingFigures, SharingStep
from visceral_cli.contract.rule import Rule
from visceral_cli.report.explain.evidence import ToolKey
from visceral_cli.report.explain.explanation import Line
from visceral_cli.report.overview import shared_text
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import counted, freshness_text, rate_text, seconds_text
from visceral_cli.report.report import BoundFigures, Report
from visceral_cli.rules.refusal import Refusal


def rule_for(report: Report, key: ToolKey, input_hash: str | None) -> Rule | None:
    """Return the rule that is proposed for an identity."""
    return _matching(report.rules, key, input_hash)


def candidate_for(report: Report, key: ToolKey, input_hash: str | None) -> Rule | None:
    """Return what was seen of an identity as a rule that is not proven."""
    return _matching(report.candidates, key, input_hash)


def _matching(rules: Sequence[Rule], key: ToolKey, input_hash: str | None) -> Rule | None:
    for rule in rules:
        match = rule.match
        if (match.namespace, match.tool_name, match.input_hash) == (
            key.namespace,
            key.tool,
            input_hash,
        ):
            return rule
    return None


def blocking(report: Report, key: ToolKey, input_hash: str | None) -> list[Refusal]:
    """Return what keeps an identity (``None``: a tool) from having a rule.

    Nothing where it has one; else what is said of it, or of its whole tool.
    """
    of_tool = [
        one for one in report.refusals if (one.namespace, one.tool) == (key.namespace, key.tool)
    ]
    if input_hash is None:
        return of_tool
    if rule_for(report, key, input_hash) is not None:
        return []
    return [one for one in of_tool if one.input_hash in (None, input_hash)]


def bound_of(report: Report, key: ToolKey) -> BoundFigures | None:
    """Return what is proven of a tool's freshness, or is missing; ``None`` for writers."""
    for bound in report.bounds:
        if (bound.namespace, bound.tool, bound.kind) == (key.namespace, key.tool, key.kind):
            return bound
    return None


def rule_text(rule: Rule) -> str:
    """Return what a rule does, for people."""
    age = rule.action.freshness_seconds
    old = "any age" if age is None else f"up to {freshness_text(age)} old"
    within = f" within one {rule.match.scope}" if rule.match.is_limited else ""
    return f"serve {old}{within}, verify {rate_text(rule.action.verify_sample_rate)}"


def freshness_line(bound: BoundFigures | None) -> list[Line]:
    """Return what is known of a tool's freshness."""
    if bound is None:
        return []
    seen = (
        f"{counted(bound.serves, 'serve')} compared, {bound.stale:,} stale, "
        f"{bound.effective_observations:,.0f} observations in {counted(bound.runs, 'run')}"
    )
    if bound.proven and bound.freshness_seconds is not None:
        at_most = "" if bound.stale_rate_at_most is None else rate_text(bound.stale_rate_at_most)
        scope = "any arguments" if bound.scope == "tool" else "the identities that were compared"
        said = f"{freshness_text(bound.freshness_seconds)} proven for {scope}: at most {at_most}"
        return [Line("freshness", f"{said} stale; {seen}"), *_warnings(bound)]
    missing = plain(bound.missing or "nothing was compared", longest=None)
    return [Line("freshness", f"not proven: {missing}; {seen}"), *_warnings(bound)]


def sharing_of(report: Report, key: ToolKey) -> SharingFigures | None:
    """Return who may share the results of a tool; ``None`` for writers."""
    for sharing in report.sharing:
        if (sharing.namespace, sharing.tool, sharing.kind) == (key.namespace, key.tool, key.kind):
            return sharing
    return None


def sharing_lines(sharing: SharingFigures | None) -> list[Line]:
    """Return who may share the results of a tool, and what was compared to find that."""
    if sharing is None:
        return []
    said = f"{shared_text(sharing.scope)}: {plain(sharing.why, longest=None)}"
    return [Line("shared", said), *(Line("", _step_text(step)) for step in sharing.steps)]


def _step_text(step: SharingStep) -> str:
    if not step.pairs:
        return f"other {step.between}s: no two calls in a row within an hour"
    said = (
        f"other {step.between}s: {step.differing:,} of {counted(step.pairs, 'pair')} of calls "
        f"within an hour differ, at most {rate_text(step.differing_rate_at_most)}"
    )
    if not step.pairs_of_one:
        return said
    return f"{said}; {step.differing_of_one:,} of {step.pairs_of_one:,} of one {step.between}"


def _warnings(bound: BoundFigures) -> list[Line]:
    return [Line("", plain(warning, longest=None)) for warning in bound.warnings]


def rule_lines(report: Report, key: ToolKey, input_hash: str) -> list[Line]:
    """Return the rule that applies to an identity, what blocks one, and what would change it."""
    rule = rule_for(report, key, input_hash)
    if rule is not None:
        saved, seconds = report.savings.by_identity.get(
            (key.namespace, key.tool, input_hash), (0, 0.0)
        )
        return [
            Line("rule", f"{rule.decision_id}   {rule_text(rule)}"),
            Line("saving", f"{counted(saved, 'call')}, {seconds_text(seconds)} in these traces"),
        ]
    return [Line("rule", "none"), *blocked_lines(report, key, input_hash)]


def blocked_lines(report: Report, key: ToolKey, input_hash: str | None) -> list[Line]:
    """Return what keeps an identity without a rule from having one, and what would change that."""
    if rule_for(report, key, input_hash) is not None:
        return []
    refusals = blocking(report, key, input_hash)
    if not refusals:
        return [Line("blocked by", "it never repeats: a rule needs repeats to be proven on")]
    return refusal_lines(refusals)


def refusal_lines(refusals: Sequence[Refusal]) -> list[Line]:
    """Return what blocks, and what would change it."""
    blocked = [
        Line("blocked by", f"{one.kind.value}: {plain(one.message, longest=None)}")
        for one in refusals
    ]
    steps = dict.fromkeys(one.next_step for one in refusals if one.next_step)
    changed = [Line("to change it", plain(step, longest=None)) for step in steps]
    return _labelled_once([*blocked, *changed])


def _labelled_once(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, each label only where it begins."""
    before = ""
    shown = []
    for line in lines:
        shown.append(Line("" if line.label == before else line.label, line.text))
        before = line.label
    return shown


def standing_facts(report: Report, key: ToolKey, input_hash: str) -> dict[str, Any]:
    """Return the same as JSON values."""
    saved, seconds = report.savings.by_identity.get((key.namespace, key.tool, input_hash), (0, 0.0))
    return {
        "bound": bound_of(report, key),
        "sharing": sharing_of(report, key),
        "rule": rule_for(report, key, input_hash),
        "candidate": candidate_for(report, key, input_hash),
        "refusals": blocking(report, key, input_hash),
        "saved_calls": saved,
        "saved_seconds": seconds,
    }
