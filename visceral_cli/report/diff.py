"""Two reports → what is new, gone and changed: tools, groups, rules and totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from visceral_cli.contract.rule import Rule
from visceral_cli.errors import UsageError
from visceral_cli.gate.compare import Comparison, Direction, Measured, compare
from visceral_cli.report.report import Report
from visceral_cli.rules.refusal import Refusal, RefusalKind


class RuleChange(StrEnum):
    """What happened to a rule between two analyses."""

    APPEARED = "appeared"
    LOOSENED = "loosened"
    """Older results may be served."""
    TIGHTENED = "tightened"
    BROKE = "broke"
    """What was proven is contradicted now."""
    GONE = "gone"
    """It is not proven any more, but nothing contradicts it: there is less to prove it with."""


CONTRADICTED = frozenset(
    {
        RefusalKind.WRITER,
        RefusalKind.NOT_REPLAY_SAFE,
        RefusalKind.DECLARED_NEVER,
        RefusalKind.NEW_EVERY_TIME,
        RefusalKind.CHANGES_IN_SECONDS,
        RefusalKind.TOO_OFTEN_STALE,
        RefusalKind.VOLATILE,
    }
)
"""Refusals that speak against a rule; the others say that evidence is missing."""


class RuleDifference(msgspec.Struct, frozen=True):
    """One rule before and after."""

    namespace: str
    tool: str
    input_hash: str
    decision_id: str
    change: RuleChange
    before_seconds: float | None
    """The freshness; ``None``: there was no such rule."""
    after_seconds: float | None
    why: str
    """The refusal, for rules that are gone; else empty."""


class Side(msgspec.Struct, frozen=True):
    """What one of the two analyses read and found."""

    name: str
    version: str
    spans: int
    calls: int
    repeats: int
    same_result: int
    tool_seconds: float
    repeat_seconds: float
    rules: int


class Diff(msgspec.Struct, frozen=True):
    """The whole difference."""

    before: Side
    after: Side
    comparison: Comparison
    rules: tuple[RuleDifference, ...]

    @property
    def has_new(self) -> bool:
        """Whether a tool or a repeating identity is new, by noise or not."""
        tools = any(tool.direction is Direction.NEW for tool in self.comparison.tools)
        return tools or any(group.direction is Direction.NEW for group in self.comparison.groups)


def diff_reports(before: Report, after: Report, names: tuple[str, str]) -> Diff:
    """Return what changed; ``names`` are the two as the user calls them.

    Raises:
        UsageError: the two were made with different scopes.
    """
    if before.scope != after.scope:
        raise UsageError(
            f"{names[0]} was made with --scope {before.scope}, {names[1]} with "
            f"--scope {after.scope}",
            hint="compare analyses of one scope",
        )
    return Diff(
        before=_side(before, names[0]),
        after=_side(after, names[1]),
        comparison=compare(measured(before), measured(after)),
        rules=tuple(_rules(before, after)),
    )


def measured(report: Report) -> Measured:
    """Return what can be compared of a report."""
    return Measured(
        runs=report.per_run[0].repeats.runs if report.per_run else report.inputs.traces,
        per_run=report.per_run,
        tools=report.tools,
        groups=tuple(report.groups),
    )


def _side(report: Report, name: str) -> Side:
    return Side(
        name=name,
        version=report.version,
        spans=report.inputs.spans,
        calls=report.inputs.tool_calls,
        repeats=report.totals.repeats,
        same_result=report.totals.same_result,
        tool_seconds=report.totals.tool_seconds,
        repeat_seconds=report.totals.repeat_seconds,
        rules=len(report.rules),
    )


_Identity = tuple[str, str, str]


def _rules(before: Report, after: Report) -> Iterator[RuleDifference]:
    was, now = _by_identity(before.rules), _by_identity(after.rules)
    for identity in sorted(was.keys() | now.keys()):
        one, other = was.get(identity), now.get(identity)
        seconds, seconds_now = _freshness(one), _freshness(other)
        refusal = None if other is not None else _refusal(identity, after.refusals)
        change = _change(seconds, seconds_now, refusal)
        named = one if other is None else other
        if change is not None and named is not None:
            why = "" if refusal is None else f"{refusal.kind}: {refusal.message}"
            if other is None and refusal is None:
                why = "its identity does not repeat"
            yield RuleDifference(*identity, named.decision_id, change, seconds, seconds_now, why)


def _freshness(rule: Rule | None) -> float | None:
    return None if rule is None else rule.action.freshness_seconds or 0.0


def _change(
    before: float | None, after: float | None, refusal: Refusal | None
) -> RuleChange | None:
    if before is None:
        return RuleChange.APPEARED
    if after is None:
        contradicted = refusal is not None and refusal.kind in CONTRADICTED
        return RuleChange.BROKE if contradicted else RuleChange.GONE
    if before == after:
        return None
    return RuleChange.LOOSENED if after > before else RuleChange.TIGHTENED


def _by_identity(rules: Sequence[Rule]) -> Mapping[_Identity, Rule]:
    return {
        (rule.match.namespace, rule.match.tool_name, rule.match.input_hash or ""): rule
        for rule in rules
    }


def _refusal(identity: _Identity, refusals: Sequence[Refusal]) -> Refusal | None:
    """Return the refusal of the identity, else that of its whole tool; one that speaks against it
    first."""
    namespace, tool, input_hash = identity
    found = [
        refusal
        for refusal in refusals
        if (refusal.namespace, refusal.tool) == (namespace, tool)
        and refusal.input_hash in (None, input_hash)
    ]
    found.sort(key=lambda one: (one.kind not in CONTRADICTED, one.input_hash is None))
    return found[0] if found else None
