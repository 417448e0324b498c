"""Which columns a reader sees of groups, rules and the like: headings and cells as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

import msgspec

from visceral_cli.report.column import Column
from visceral_cli.report.overview import ToolLine, tool_lines
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import (
    freshness_text,
    money_text,
    rate_text,
    seconds_text,
)
from visceral_cli.report.report import BoundFigures, Report
from visceral_cli.report.view import Rows

HASH_DIGITS = 12
"""Digits of an input hash that are shown: enough to be unique in practice."""
REASON = 1_000
"""Characters of a reason that are shown: more than one has where names are of usual length."""
_ENTRY = 80
_ENTRIES = 120
"""Characters of one entry, and of all entries of a rule's evidence that are shown."""


class RowTable(msgspec.Struct, frozen=True):
    """A table of text."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Any]


def row_table(report: Report, rows: Rows) -> RowTable:
    """Return the rows of a report as a reader sees them. Calls are not in a report."""
    match rows:
        case Rows.TOOLS:
            return RowTable("Tools", _tool_columns(report), tuple(tool_lines(report)))
        case Rows.GROUPS:
            return RowTable("Groups", _group_columns(report), tuple(report.groups))
        case Rows.RULES:
            return RowTable("Rules", _rule_columns(report), report.rules)
        case Rows.CANDIDATES:
            return RowTable("Candidates", _candidate_columns(report), candidates(report))
        case Rows.REFUSALS:
            return RowTable("Refusals", _refusal_columns(report), report.refusals)
        case Rows.FINDINGS:
            return RowTable("Findings", _finding_columns(report), report.findings)
        case Rows.FUNNEL:
            return RowTable("Funnel", _FUNNEL, report.funnel)
        case Rows.CALLS:
            raise ValueError("calls are not in a report")
        case _:
            assert_never(rows)


def candidates(report: Report) -> tuple[BoundFigures, ...]:
    """Return the bounds that are not proven, nearest to a proof first."""

    def distance(bound: BoundFigures) -> tuple[float, str, str]:
        rate = bound.smallest_passing_stale_rate
        return (2.0 if rate is None else rate, bound.namespace, bound.tool)

    return tuple(sorted((b for b in report.bounds if not b.proven), key=distance))


def namespaces(report: Report) -> set[str]:
    """Return the namespaces of the report; with one alone none needs to be shown."""
    return {tool.namespace for tool in report.tools}


def _with_namespace(report: Report, *columns: Column) -> tuple[Column, ...]:
    if len(namespaces(report)) < 2:
        return columns
    column = Column("namespace", lambda row: plain(row.namespace) or "none", gives_way=True)
    return (columns[0], column, *columns[1:])


def _number(heading: str, name: str) -> Column:
    return Column(heading, lambda row: f"{getattr(row, name):,}", is_number=True)


def _tool(name: Callable[[Any], str]) -> Column:
    return Column("tool", lambda row: plain(name(row)))


def _identity(input_hash: Callable[[Any], str]) -> Column:
    return Column("identity", lambda row: input_hash(row)[:HASH_DIGITS], gives_way=True)


def _tool_columns(report: Report) -> tuple[Column, ...]:
    def same_of_repeats(line: ToolLine) -> str:
        return f"{line.figures.same_result:,}"

    columns = [
        _tool(lambda line: line.figures.tool),
        Column("calls", lambda line: f"{line.figures.calls:,}", is_number=True),
        Column("repeats", lambda line: f"{line.figures.repeats:,}", is_number=True),
        Column("same", same_of_repeats, is_number=True),
        Column("time", lambda line: seconds_text(line.figures.repeat_seconds), True),
        Column("freshness", lambda line: plain(line.freshness), wraps=True),
    ]
    if len(namespaces(report)) > 1:
        columns.insert(
            1,
            Column(
                "namespace", lambda line: plain(line.figures.namespace) or "none", gives_way=True
            ),
        )
    return tuple(columns)


def _group_columns(report: Report) -> tuple[Column, ...]:
    return _with_namespace(
        report,
        _tool(lambda group: group.tool),
        _identity(lambda group: group.input_hash),
        _number("calls", "calls"),
        _number("repeats", "repeats"),
        _number("same", "same_result"),
        _number("results", "distinct_results"),
        Column("time", lambda group: seconds_text(group.repeat_seconds), True),
        Column("same to", lambda g: _age(g.largest_stable_age_seconds), True),
        Column("changed", lambda g: _age(g.smallest_changed_age_seconds), True),
    )


def _rule_columns(report: Report) -> tuple[Column, ...]:
    columns = [
        Column("rule", lambda rule: plain(rule.decision_id)),
        _tool(lambda rule: rule.match.tool_name),
        _identity(lambda rule: plain(rule.match.input_hash or "")),
        Column("freshness", lambda rule: _duration(rule.action.freshness_seconds), True),
        Column("scope", lambda rule: "-" if rule.match.scope is None else rule.match.scope.value),
        Column("verify", lambda rule: rate_text(rule.action.verify_sample_rate), True),
        Column("status", lambda rule: rule.status.value),
        Column("evidence", lambda rule: _first_entries(rule.evidence or {}), wraps=True),
    ]
    if len(namespaces(report)) > 1:
        columns.insert(
            2, Column("namespace", lambda rule: plain(rule.match.namespace) or "none", False, True)
        )
    return tuple(columns)


def _first_entries(evidence: Mapping[str, object]) -> str:
    """Return the first entries, each whole, and how many there are beside."""
    said: list[str] = []
    for name, value in evidence.items():
        entry = plain(f"{name} {value}", longest=_ENTRY)
        if sum(map(len, said)) + len(entry) > _ENTRIES:
            said.append(f"{len(evidence) - len(said)} more (--json)")
            break
        said.append(entry)
    return ", ".join(said)


def _candidate_columns(report: Report) -> tuple[Column, ...]:
    def passes(bound: BoundFigures) -> str:
        rate = bound.smallest_passing_stale_rate
        return "-" if rate is None else rate_text(rate)

    return _with_namespace(
        report,
        _tool(lambda bound: bound.tool),
        Column("within", lambda bound: _duration(bound.freshness_seconds), True),
        Column("observations", lambda bound: f"{bound.effective_observations:,.0f}", True),
        _number("stale", "stale"),
        Column("passes at", passes, True),
        Column("oldest compared", lambda bound: _age(bound.largest_age_seconds), True),
        Column("missing", lambda bound: plain(bound.missing or "-", longest=REASON), wraps=True),
    )


def _refusal_columns(report: Report) -> tuple[Column, ...]:
    return _with_namespace(
        report,
        _tool(lambda refusal: refusal.tool),
        _identity(lambda refusal: refusal.input_hash or "all"),
        Column("refusal", lambda refusal: refusal.kind.value),
        _number("repeats", "repeats"),
        Column("why", lambda refusal: plain(refusal.message, longest=REASON), wraps=True),
        Column(
            "what would change it", lambda r: plain(r.next_step or "-", longest=REASON), wraps=True
        ),
    )


def _finding_columns(report: Report) -> tuple[Column, ...]:
    return _with_namespace(
        report,
        _tool(lambda finding: finding.tool),
        Column("finding", lambda finding: finding.kind.value),
        _number("calls", "calls"),
        Column("what", lambda finding: plain(finding.message, longest=REASON), wraps=True),
    )


_FUNNEL = (
    Column("step", lambda step: step.name),
    Column("calls", lambda step: f"{step.calls:,}", True),
    Column("tool time", lambda step: seconds_text(step.tool_seconds), True),
    Column("wall clock", lambda step: seconds_text(step.wall_seconds), True),
    Column("cost", lambda step: "-" if step.cost_usd is None else money_text(step.cost_usd), True),
)


def _age(seconds: float | None) -> str:
    return "-" if seconds is None else seconds_text(seconds)


def _duration(seconds: float | None) -> str:
    return "-" if seconds is None else freshness_text(seconds)
