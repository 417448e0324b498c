"""What changed between two reports."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable
from importlib import resources

import jsonschema
import pytest
from msgspec.structs import replace

from visceral_cli.analysis.figures import Projection
from visceral_cli.analysis.run_rates import RunFigures
from visceral_cli.contract.rule import Action, Rule
from visceral_cli.errors import UsageError
from visceral_cli.report.diff import RuleChange, diff_reports
from visceral_cli.report.diff_writers import diff_to_json, write_markdown, write_table
from visceral_cli.report.report import Report
from visceral_cli.report.view import View
from visceral_cli.rules.refusal import Refusal, RefusalKind

NAMES = ("before.json", "after.json")


@pytest.fixture
def rule(report: Report) -> Rule:
    return report.rules[0]


def changes(before: Report, after: Report) -> list[tuple[RuleChange, float | None, float | None]]:
    rules = diff_reports(before, after, NAMES).rules
    return [(rule.change, rule.before_seconds, rule.after_seconds) for rule in rules]


def lasting(rule: Rule, seconds: float) -> Rule:
    return dataclasses.replace(rule, action=Action(rule.action.op, seconds, 0.05))


def refused(report: Report, kind: RefusalKind, input_hash: str | None = None) -> Report:
    tool = report.rules[0].match
    refusal = Refusal(kind, tool.namespace, tool.tool_name, input_hash, "as it is", "", 9)
    return replace(report, rules=(), refusals=(refusal,))


def test_rules_appear_and_are_loosened_and_tightened(report: Report, rule: Rule) -> None:
    without = replace(report, rules=())
    assert changes(without, report) == [(RuleChange.APPEARED, None, 600.0)]
    longer = replace(report, rules=(lasting(rule, 900.0),))
    assert changes(report, longer) == [(RuleChange.LOOSENED, 600.0, 900.0)]
    assert changes(longer, report) == [(RuleChange.TIGHTENED, 900.0, 600.0)]
    assert changes(report, report) == []


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (RefusalKind.TOO_OFTEN_STALE, RuleChange.BROKE),
        (RefusalKind.WRITER, RuleChange.BROKE),
        (RefusalKind.VOLATILE, RuleChange.BROKE),
        (RefusalKind.TOO_FEW_OBSERVATIONS, RuleChange.GONE),
        (RefusalKind.NOT_DECLARED, RuleChange.GONE),
    ],
)
def test_a_rule_breaks_when_something_speaks_against_it(
    report: Report, kind: RefusalKind, change: RuleChange
) -> None:
    after = refused(report, kind)
    assert changes(report, after) == [(change, 600.0, None)]
    assert diff_reports(report, after, NAMES).rules[0].why == f"{kind}: as it is"


def test_a_refusal_of_another_identity_says_nothing(report: Report) -> None:
    other = refused(report, RefusalKind.VOLATILE, "f" * 64)
    (change,) = diff_reports(report, other, NAMES).rules
    assert (change.change, change.why) == (RuleChange.GONE, "its identity does not repeat")


def test_only_what_is_new_is_new(report: Report) -> None:
    assert not diff_reports(report, report, NAMES).has_new
    fewer = replace(report, tools=report.tools[1:])
    assert diff_reports(fewer, report, NAMES).has_new
    assert not diff_reports(report, fewer, NAMES).has_new
    assert diff_reports(replace(report, groups=()), report, NAMES).has_new


def test_reports_of_two_scopes_are_not_compared(report: Report) -> None:
    with pytest.raises(UsageError, match=r"before\.json was made with --scope all, after\.json"):
        diff_reports(report, replace(report, scope="trace"), NAMES)


def rates(mean: float) -> tuple[RunFigures, ...]:
    found = Projection(mean, mean - 100, mean + 100, 40)
    return (RunFigures("", "", "", found, found, None),)


def test_totals_have_intervals(report: Report) -> None:
    before, after = (replace(report, per_run=rates(mean)) for mean in (1000.0, 2000.0))
    found = diff_to_json(diff_reports(before, after, NAMES))["totals"]["repeats"]
    assert (found["before"], found["after"]) == (1000, 2000)
    assert found["low"] == pytest.approx(1000 - 100 * 2**0.5)
    assert found["high"] == pytest.approx(1000 + 100 * 2**0.5)


def test_every_format_holds_hostile_names_as_text(report: Report) -> None:
    before = replace(report, tools=(), groups=(), rules=(), per_run=rates(1000.0))
    diff = diff_reports(before, replace(report, per_run=rates(2000.0)), NAMES)
    schema = json.loads(
        (resources.files("visceral_cli.report") / "diff.schema.json").read_text("utf-8")
    )
    jsonschema.validate(diff_to_json(diff), schema)
    for write in (write_table, write_markdown):
        out = io.BytesIO()
        write(diff, out, View(top=0))
        text = out.getvalue().decode()
        assert "\\x1b[31mred" in text.replace("\\\\x1b\\[", "\\x1b[")
        assert not any(character in text for character in "\x1b\x07\u202e\u200b")
        assert "1,000.0 repeats for each 1,000 runs before, 2,000.0 now: more" in text.replace(
            "\\", ""
        )


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_table_is_whole_in_a_terminal(
    report: Report, width: int, assert_whole: Callable[[str, str, int], None]
) -> None:
    before = replace(report, tools=(), groups=(), rules=(), per_run=rates(1000.0))
    diff = diff_reports(before, replace(report, per_run=rates(2000.0)), NAMES)
    narrow, wide = io.BytesIO(), io.BytesIO()
    write_table(diff, narrow, View(width=width, height=24))
    write_table(diff, wide, View())
    assert_whole(narrow.getvalue().decode(), wide.getvalue().decode(), width)
