"""One rule: what it permits, what proves it, what it did live; then the identity it is for."""

from __future__ import annotations

from visceral_cli.contract.rule import Rule, RuleStatus
from visceral_cli.report.explain.evidence import Evidence, ToolKey
from visceral_cli.report.explain.explanation import Explanation, Line
from visceral_cli.report.explain.standing import blocking, refusal_lines, rule_text
from visceral_cli.report.overview import shared_text
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import age_text, counted, rate_text, share_text


def explain_rule(
    evidence: Evidence, name: str, rule: Rule | None, key: ToolKey, input_hash: str
) -> Explanation:
    """Return what a rule is; ``rule`` is ``None`` for one that is not, or no longer, proposed."""
    served, verified, mismatched = evidence.served_live(name)
    lines = [Line("permits", _permits(rule))]
    if rule is not None:
        lines.append(Line("for", _match(rule)))
        lines += _evidence_lines(rule)
        lines += _trust_lines(rule)
    if rule is None or rule.status is not RuleStatus.ACTIVE:
        lines += refusal_lines(blocking(evidence.report, key, input_hash))
    if served:
        differed = f", {mismatched:,} of them differed" if verified else ""
        said = f"{counted(served, 'call')}, {verified:,} of them verified{differed}"
        lines.append(Line("served live", said))
    return Explanation(
        kind="rule",
        heading=f"{plain(name)}   {_status(rule)}",
        lines=tuple(lines),
        facts={
            "decision_id": name,
            "rule": rule,
            "refusals": blocking(evidence.report, key, input_hash),
            "served_live": served,
            "verified_live": verified,
            "mismatched_live": mismatched,
        },
    )


def _status(rule: Rule | None) -> str:
    if rule is None:
        return "not proposed from these traces"
    return "a candidate that no client serves" if rule.status is not RuleStatus.ACTIVE else "a rule"


def _permits(rule: Rule | None) -> str:
    if rule is None or rule.status is not RuleStatus.ACTIVE:
        return "nothing"
    return rule_text(rule)


def _match(rule: Rule) -> str:
    match = rule.match
    where = f" of {plain(match.namespace)}" if match.namespace else ""
    return f"{plain(match.tool_name)}{where}, input hash {match.input_hash}, hash_v {match.hash_v}"


def _evidence_lines(rule: Rule) -> list[Line]:
    """Return the figures that a rule proposed by this program carries."""
    found = dict(rule.evidence or {})

    def number(name: str) -> float:
        value = found.get(name)
        return float(value) if isinstance(value, int | float) else 0.0

    said = (
        f"at most {rate_text(number('stale_rate_at_most'))} stale at "
        f"{share_text(number('confidence'), 1)} confidence; {number('serves'):,.0f} serves "
        f"compared, {number('stale'):,.0f} stale; {number('effective_observations'):,.0f} "
        f"observations in {number('runs'):,.0f} runs; compared up to "
        f"{age_text(number('largest_age_seconds'))} old"
    )
    if not found:
        return []
    scope = found.get("scope_found")
    lines = [Line("evidence", said)]
    if isinstance(scope, str):
        lines.append(
            Line("shared", f"{shared_text(rule.match.scope)}: {plain(scope, longest=None)}")
        )
    return lines


def _trust_lines(rule: Rule) -> list[Line]:
    """Return what a ledger says of the rule, where one was given."""
    trust = (rule.evidence or {}).get("trust")
    if not isinstance(trust, dict):
        return []
    said = (
        f"{trust['state']}; {counted(trust['held'], 'verification')} held, "
        f"{trust['mismatched']:,} with a mismatch, {trust['broken']:,} broken, "
        f"{trust['idle']:,} idle, over {trust['exposure_days']:,.1f} days; "
        f"{trust['mismatches']:,} of {counted(trust['samples'], 'comparison')} mismatch; at most "
        f"{rate_text(trust['stale_rate_at_most'])} stale, however often one looks"
    )
    return [Line("trust", said)]
