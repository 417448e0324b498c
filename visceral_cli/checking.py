"""Inputs, limits, rules and an earlier analysis in, findings out: the gate, every step once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import msgspec

from visceral_cli.analysis.columns import read_calls
from visceral_cli.contract.rule import Rule
from visceral_cli.errors import InputError, UsageError
from visceral_cli.gate.check import check_limits
from visceral_cli.gate.compare import compare
from visceral_cli.gate.finding import Case, CheckResult, Evidence
from visceral_cli.gate.places import with_places
from visceral_cli.gate.regression import regression_cases
from visceral_cli.gate.replay_cases import ReplayedRule, replay_cases
from visceral_cli.gate.rule_cases import check_rules
from visceral_cli.pipeline import analyze_inputs
from visceral_cli.progress import Progress
from visceral_cli.report.diff import measured
from visceral_cli.report.read_json import is_report, read_report
from visceral_cli.report.report import Report
from visceral_cli.settings import NO_LIMITS, Limits, Settings
from visceral_cli.verify.outcome import RuleOutcome, Verification
from visceral_cli.verify.verify import VerifyRequest, verify_calls


class CheckRequest(msgspec.Struct, frozen=True):
    """What an analysis is held against."""

    limits: Limits = NO_LIMITS
    tool_limits: Mapping[str, Limits] = msgspec.field(default_factory=dict)
    rules: tuple[Rule, ...] | None = None
    """``None``: no rules are checked."""
    against: Path | None = None
    """Traces, a store or a saved report."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to check."""
        asked = (self.rules is not None, self.against is not None, bool(self.tool_limits))
        return self.limits == NO_LIMITS and not any(asked)


def check_inputs(
    inputs: Sequence[str], settings: Settings, request: CheckRequest, progress: Progress
) -> tuple[CheckResult, Report]:
    """Analyse ``inputs`` and hold what was found against ``request``.

    The groups of the report are gone with the store; its other parts can be read.

    Raises:
        InputError: nothing usable was found in the inputs, or in what they are held against.
        UsageError: two analyses cannot be compared, or a store cannot be used.
    """
    before = None
    if request.against is not None:
        before = measured(
            _comparable(report_of([str(request.against)], settings, progress), settings)
        )
    if request.rules is not None:
        settings = replace(settings, extract=replace(settings.extract, keep_text=True))
    with analyze_inputs(inputs, settings, progress) as analysis:
        report, store = analysis.report, analysis.store
        cases = check_limits(
            request.limits, request.tool_limits, report.tools, report.per_run, report.groups
        )
        if request.rules is not None:
            progress.stage("replaying rules")
            cases += _rule_cases(store, settings, request.rules)
        if before is not None:
            progress.stage("comparing with before")
            cases += regression_cases(compare(before, measured(report)))
        placed = with_places(store, cases)
    result = CheckResult(version=report.version, cases=placed, inputs=tuple(inputs))
    return result, msgspec.structs.replace(report, groups=())


def report_of(inputs: Sequence[str], settings: Settings, progress: Progress) -> Report:
    """Return the report of some traces, of a store, or one that was saved, with all its groups.

    ``--since`` and ``--until`` speak of the traces that are looked at now, and what is read here
    goes into no store.

    Raises:
        InputError: nothing usable was found, or the report is one of a newer format.
    """
    if len(inputs) == 1 and is_report(Path(inputs[0])):
        return read_report(Path(inputs[0]))
    settings = replace(settings, store=None, since_ns=None, until_ns=None)
    with analyze_inputs(inputs, settings, progress) as analysis:
        groups = tuple(analysis.report.groups)
        return msgspec.structs.replace(analysis.report, groups=groups)


def _comparable(report: Report, settings: Settings) -> Report:
    if report.scope != settings.scope:
        raise UsageError(
            f"--against: made with --scope {report.scope}, but this is --scope {settings.scope}",
            hint="compare analyses of one scope",
        )
    return report


def _rule_cases(
    store: duckdb.DuckDBPyConnection, settings: Settings, rules: Sequence[Rule]
) -> list[Case]:
    tools = read_calls(store, settings).tools
    cases = check_rules(store, tools, rules, settings.freshness)
    try:
        verification = verify_calls(store, settings, VerifyRequest(rules=tuple(rules)))
    except InputError:
        return [*cases, *replay_cases([_unseen(rule) for rule in rules])]
    return [*cases, *replay_cases([*_replayed(store, verification)])]


def _replayed(
    store: duckdb.DuckDBPyConnection, verification: Verification
) -> Iterator[ReplayedRule]:
    for tool in verification.tools:
        yield ReplayedRule(
            namespace=tool.namespace,
            tool=tool.tool,
            decision_id="",
            input_hash="",
            compared=tool.judgement.samples,
            mismatched=tool.judgement.mismatches,
            broken=tool.broken,
        )
    for rule in verification.rules:
        yield ReplayedRule(
            namespace=rule.namespace,
            tool=rule.tool,
            decision_id=rule.decision_id,
            input_hash=rule.input_hash or "",
            compared=rule.judgement.samples,
            mismatched=rule.judgement.mismatches,
            broken=rule.broken,
            oldest_mismatch_seconds=rule.oldest_mismatch_seconds,
            mismatches=changed_calls(store, rule) if rule.broken else (),
        )


def changed_calls(store: duckdb.DuckDBPyConnection, rule: RuleOutcome) -> tuple[Evidence, ...]:
    """Return calls that the rule matches and that got another result than the stored one."""
    found = store.execute(
        _CHANGED,
        {
            "tool": rule.tool,
            "namespace": rule.namespace,
            "input_hash": rule.input_hash,
            "age_ns": None
            if rule.freshness_seconds is None
            else int(rule.freshness_seconds * 1_000_000_000),
        },
    )
    return tuple(
        Evidence(
            f"another result than {age_ns / 1e9:.3g} s before",
            rule.tool,
            rule.input_hash or "",
            trace_id,
            span_id,
        )
        for trace_id, span_id, age_ns in found.fetchall()
    )


_CHANGED = """
SELECT call.trace_id, call.span_id, verdict.age_ns
FROM call_verdict AS verdict
JOIN tool_call AS call USING (call_key)
WHERE verdict.verdict = 'changed'
  AND call.tool = $tool
  AND call.input_hash = $input_hash
  AND ($namespace = '' OR call.namespace = $namespace)
  AND ($age_ns IS NULL OR verdict.age_ns <= $age_ns)
ORDER BY call.call_key
LIMIT 5
"""


def _unseen(rule: Rule) -> ReplayedRule:
    return ReplayedRule(
        rule.match.namespace,
        rule.match.tool_name,
        rule.decision_id,
        rule.match.input_hash or "",
        0,
        0,
        False,
    )
