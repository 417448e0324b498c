"""A check as JSON: complete, versioned, in ASCII; ``check.schema.json`` describes it."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from visceral_cli.gate.finding import Case, CheckResult, State
from visceral_cli.report.check_words import verdict_line
from visceral_cli.report.to_json import TOOL_NAME

CHECK_FORMAT = 1
"""The number of the format; within one number keys are only added."""


def write_check_json(result: CheckResult, out: BinaryIO) -> None:
    """Write the whole result."""
    out.write((json.dumps(check_to_json(result), indent=2) + "\n").encode("ascii"))


def check_to_json(result: CheckResult) -> dict[str, Any]:
    """Return the result as JSON values."""
    return {
        "format": CHECK_FORMAT,
        "tool": {"name": TOOL_NAME, "version": result.version},
        "inputs": list(result.inputs),
        "decision": result.decision.value,
        "verdict": verdict_line(result),
        "counts": {state.value: len(result.of(state)) for state in State},
        "cases": [_case(case) for case in result.cases],
        "stale_baseline": list(result.stale_baseline),
    }


def _case(case: Case) -> dict[str, Any]:
    subject = case.subject
    return {
        "kind": case.kind.value,
        "state": case.state.value,
        "namespace": subject.namespace,
        "tool": subject.tool or None,
        "input_hash": subject.input_hash or None,
        "decision_id": subject.decision_id or None,
        "fingerprint": case.fingerprint,
        "message": case.message,
        "detail": case.detail,
        "measured": None if case.measured is None else str(case.measured),
        "allowed": None if case.allowed is None else str(case.allowed),
        "evidence": [
            {
                "what": each.what,
                "tool": each.tool or None,
                "input_hash": each.input_hash or None,
                "trace_id": each.trace_id or None,
                "span_id": each.span_id or None,
                "file": each.file or None,
            }
            for each in case.evidence
        ],
    }
