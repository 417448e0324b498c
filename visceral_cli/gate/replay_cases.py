"""What replaying rules on these traces came to → cases: does each rule still keep its promise?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from visceral_cli.gate.check import exact, rounded
from visceral_cli.gate.finding import Case, CheckKind, Evidence, State, Subject


class ReplayedRule(msgspec.Struct, frozen=True):
    """One rule, or all rules of one tool, over the calls of these traces."""

    namespace: str
    tool: str
    decision_id: str
    """Empty: all rules of the tool together."""
    input_hash: str
    compared: int
    """Comparisons of different stored results with the real ones."""
    mismatched: int
    broken: bool
    """More of them mismatch than chance explains at the stale rate that is tolerated."""
    oldest_mismatch_seconds: float | None = None
    mismatches: tuple[Evidence, ...] = ()


def replay_cases(rules: Sequence[ReplayedRule]) -> Iterator[Case]:
    """Yield a case for each row."""
    for rule in rules:
        yield Case(
            CheckKind.STALE_SERVE,
            Subject(rule.namespace, rule.tool, rule.input_hash, rule.decision_id),
            _state(rule),
            _message(rule),
            "" if rule.decision_id else "all rules of the tool",
            rule.mismatches if rule.broken else (),
            measured=Fraction(rule.mismatched, rule.compared) if rule.compared else None,
        )


def _state(rule: ReplayedRule) -> State:
    if rule.broken:
        return State.BROKEN
    return State.KEPT if rule.compared else State.UNJUDGED


def _message(rule: ReplayedRule) -> str:
    if not rule.compared:
        return "not served once, or nothing to compare"
    if not rule.mismatched:
        return f"{rule.compared:,} served results compared, all equal to the real ones"
    said = f"{rule.mismatched:,} of {rule.compared:,} served results differ from the real ones"
    if not rule.broken:
        return f"{said}: not more than chance explains"
    if rule.oldest_mismatch_seconds is None:
        return said
    return f"{said}; the oldest was {rounded(exact(rule.oldest_mismatch_seconds), 1)} s old"
