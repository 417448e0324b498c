"""A check as SARIF 2.1.0 (OASIS, 2020) for code scanning: one result for each finding.

A result stands at the input file that holds its evidence; the tool is its logical location. What
the baseline accepts is a suppressed result, so that a viewer can show it and no gate counts it.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import quote

from visceral_cli.gate.finding import Case, CheckKind, CheckResult, GateDecision, State
from visceral_cli.report.check_words import (
    NOTHING_JUDGED,
    case_text,
    evidence_text,
    subject_text,
    verdict_line,
)
from visceral_cli.report.plain_text import plain
from visceral_cli.report.to_json import TOOL_NAME

SARIF_VERSION = "2.1.0"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_DESCRIPTIONS = {
    CheckKind.DUPLICATE_RATE: "The share of tool calls that repeat an earlier one is too large.",
    CheckKind.REPEATS: "Too many tool calls repeat an earlier one.",
    CheckKind.AVOIDABLE: "Repeats with the same result take too much time.",
    CheckKind.COST: "Repeats with the same result cost too much.",
    CheckKind.STALE_SERVE: "A rule would have served stale results more often than it may.",
    CheckKind.BECAME_WRITER: "The tool of a rule changes something now.",
    CheckKind.VERSION_CHANGED: "The tool of a rule has another declared version now.",
    CheckKind.SCHEMA_CHANGED: "The tool of a rule is called with other arguments now.",
    CheckKind.ATTESTATION_CONTRADICTED: "A tool is declared replay-safe, but its result changed "
    "within seconds and nothing wrote between.",
    CheckKind.MORE_REPEATS: "Tool calls repeat more than before.",
    CheckKind.MORE_TIME: "Repeats with the same result take more time than before.",
    CheckKind.NEW_GROUP: "An identity repeats that did not before.",
    CheckKind.GROWN_GROUP: "An identity is called in more runs than before.",
}


def write_sarif(result: CheckResult, out: BinaryIO) -> None:
    """Write the log file."""
    out.write((json.dumps(sarif_of(result), indent=2) + "\n").encode("ascii"))


def sarif_of(result: CheckResult) -> dict[str, Any]:
    """Return the log as JSON values."""
    kinds = [kind for kind in CheckKind if any(case.kind is kind for case in result.cases)]
    nothing = result.decision is GateDecision.NOTHING_JUDGED
    invocation: dict[str, Any] = {
        "executionSuccessful": not nothing,
        "properties": {"decision": result.decision.value, "verdict": verdict_line(result)},
    }
    if result.stale_baseline:
        invocation["toolConfigurationNotifications"] = [
            {
                "level": "warning",
                "message": {"text": f"stale in the baseline: {plain(each, longest=300)}"},
            }
            for each in result.stale_baseline
        ]
    if nothing:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": NOTHING_JUDGED}}
        ]
    return {
        "$schema": _SCHEMA,
        "version": SARIF_VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": TOOL_NAME,
                        "version": result.version,
                        "rules": [_rule(kind) for kind in kinds],
                    }
                },
                "invocations": [invocation],
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(case, kinds.index(case.kind), result.inputs)
                    for case in result.cases
                    if case.state in (State.BROKEN, State.ACCEPTED)
                ],
            }
        ],
    }


def _rule(kind: CheckKind) -> dict[str, Any]:
    return {
        "id": kind.value,
        "shortDescription": {"text": _DESCRIPTIONS[kind]},
        "help": {"text": f"visceral explain {kind.value}"},
        "defaultConfiguration": {"level": "error"},
    }


def _result(case: Case, rule_index: int, inputs: tuple[str, ...]) -> dict[str, Any]:
    subject = subject_text(case)
    lines = [f"{subject}: {case_text(case)}" if subject else case_text(case)]
    lines += [evidence_text(each) for each in case.evidence]
    result: dict[str, Any] = {
        "ruleId": case.kind.value,
        "ruleIndex": rule_index,
        "level": "error",
        "message": {"text": _without_links("\n".join(lines))},
        "locations": [_location(case, inputs)],
        "partialFingerprints": {"visceralCheck/v1": case.fingerprint},
    }
    if case.state is State.ACCEPTED:
        result["suppressions"] = [{"kind": "external", "status": "accepted"}]
    return result


def _without_links(text: str) -> str:
    """Return text in which no name is taken for a link (section 3.11.6 of the standard)."""
    if "](" not in text:
        return text
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _location(case: Case, inputs: tuple[str, ...]) -> dict[str, Any]:
    location: dict[str, Any] = {}
    files = [each.file for each in case.evidence if each.file] or list(inputs)
    file = next((name for name in files if name != "-"), "")
    if file:
        # Viewers place a result by a line, and an input of spans has none that is worth showing.
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(file)},
            "region": {"startLine": 1},
        }
    if case.subject.tool:
        tool = plain(case.subject.tool)
        where = plain(case.subject.namespace)
        location["logicalLocations"] = [
            {
                "name": tool,
                "fullyQualifiedName": f"{where}/{tool}" if where else tool,
                "kind": "function",
            }
        ]
    return location


def _uri(file: str) -> str:
    """Return a path as a URI reference: relative as given, absolute as a file."""
    path = quote(str(PurePosixPath(file.replace("\\", "/"))), errors="surrogateescape")
    return f"file://{path}" if path.startswith("/") else path
