"""A verification to its writer, and so to a file or stdout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from visceral_cli.gate.finding import CheckResult
from visceral_cli.report import verification as words
from visceral_cli.report.output import write_output
from visceral_cli.report.row_tables import RowTable
from visceral_cli.report.to_github import write_github
from visceral_cli.report.to_json import TOOL_NAME, plain_value, write_document
from visceral_cli.report.to_junit import write_junit
from visceral_cli.report.to_markdown import ROWS, escaped, table_lines
from visceral_cli.report.to_sarif import write_sarif
from visceral_cli.report.to_table import write_parts
from visceral_cli.report.verification import VerificationReport
from visceral_cli.report.view import Format, View
from visceral_cli.verify.outcome import RuleOutcome

VERIFICATION_FORMAT = 1
"""The number of the JSON format; within one number keys are only added."""

Writer = Callable[[VerificationReport, BinaryIO, View], None]


def write_verification(
    report: VerificationReport, chosen: Format, place: Path | None, view: View
) -> None:
    """Write the verification to a file, or to stdout.

    Raises:
        UsageError: the place cannot be written to.
    """
    write = WRITERS[chosen]
    write_output(place, lambda out: write(report, out, view))


def write_table(report: VerificationReport, out: BinaryIO, view: View) -> None:
    """Write for a terminal: the rules, what is broken, and what else there is to know."""
    found = report.verification
    parts: list[RowTable | str] = [words.what_was_replayed(found), "", words.rule_table(found)]
    remarks = list(words.remarks(found))
    parts += ["", *remarks] if remarks else []
    parts += ["", words.tool_table(found), words.about_samples(found)]
    recorded = words.about_recorded(found)
    parts += ["", recorded] if recorded else []
    for table in (
        words.disagreement_table(found),
        words.execution_table(found),
        words.trust_table(found),
    ):
        parts += ["", table] if table.rows else []
    write_parts(parts, out, view)


def write_markdown(report: VerificationReport, out: BinaryIO, view: View) -> None:
    """Write for pull requests and job summaries."""
    found = report.verification
    top = ROWS if view.top is None else view.top
    lines = ["# Verified rules", "", f"**{escaped(words.verdict(found))}**", ""]
    lines.append(escaped(words.what_was_replayed(found)))
    remarks = list(words.remarks(found))
    if remarks:
        lines += ["", *(f"- {escaped(remark)}" for remark in remarks)]
    recorded = words.about_recorded(found)
    if recorded:
        lines += ["", escaped(recorded)]
    for table in words.tables(found):
        lines += ["", f"## {table.title}", "", *table_lines(table, top)]
        if table.title == "Tools":
            lines += ["", escaped(words.about_samples(found))]
    out.write("".join(f"{line}\n" for line in lines).encode())


def write_json(report: VerificationReport, out: BinaryIO, view: View) -> None:
    """Write everything; ``verification.schema.json`` beside this file describes it."""
    write_document(verification_to_json(report), out)


def verification_to_json(report: VerificationReport) -> dict[str, Any]:
    """Return the verification as JSON values."""
    found, inputs = report.verification, report.inputs
    return {
        "format": VERIFICATION_FORMAT,
        "kind": "verification",
        "tool": {"name": TOOL_NAME, "version": report.version},
        "settings": {
            "max_stale_rate": found.max_stale_rate,
            "confidence": plain_value(found.confidence),
            "max_mismatch_rate": found.max_mismatch_rate,
            "sample_rate": found.sample_rate,
            "holdout_rate": found.holdout_rate,
            "within_days": found.within_days,
        },
        "inputs": {
            "names": list(inputs.names),
            "files": inputs.files,
            "spans": inputs.spans,
            "tool_calls": inputs.tool_calls,
            "damaged": inputs.damaged,
            "from_ns": found.from_ns,
        },
        "totals": {
            "calls": found.calls,
            "no_rule": found.no_rule,
            "rules": len(found.rules),
            "broken_rules": len(found.broken),
            "broken_tools": len(found.broken_tools),
            "passed": found.passed,
            "compared": found.compared,
            "recorded": len(found.serves),
            "disagreements": len(found.disagreements),
            "samples_to_notice": found.samples_to_notice,
        },
        "rules": [_rule(rule) for rule in found.rules],
        "tools": [plain_value(tool) | {"broken": tool.broken} for tool in found.tools],
        "recorded": plain_value(found.serves),
        "executions": plain_value(found.executions),
        "trust": plain_value(found.trust),
    }


def _rule(rule: RuleOutcome) -> dict[str, Any]:
    values: dict[str, Any] = plain_value(rule)
    return values | {"served": rule.served, "broken": rule.broken, "idle": rule.idle}


def write_github_annotations(report: VerificationReport, out: BinaryIO, view: View) -> None:
    """Write annotations of a GitHub workflow."""
    write_github(_as_check(report), out)


def write_junit_report(report: VerificationReport, out: BinaryIO, view: View) -> None:
    """Write a JUnit file: one test case for each tool and each rule."""
    write_junit(_as_check(report), out)


def write_sarif_log(report: VerificationReport, out: BinaryIO, view: View) -> None:
    """Write a SARIF log: one result for each that is broken."""
    write_sarif(_as_check(report), out)


def _as_check(report: VerificationReport) -> CheckResult:
    return CheckResult(version=report.version, cases=report.cases, inputs=report.inputs.names)


WRITERS: Mapping[Format, Writer] = {
    Format.TABLE: write_table,
    Format.JSON: write_json,
    Format.MARKDOWN: write_markdown,
    Format.GITHUB: write_github_annotations,
    Format.JUNIT: write_junit_report,
    Format.SARIF: write_sarif_log,
}
"""The formats that a verification is written in; the first is the default."""
