"""A check as JUnit XML: one test case for each limit, rule and comparison."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import BinaryIO

from visceral_cli.gate.finding import Case, CheckResult, GateDecision, State
from visceral_cli.report.check_words import (
    NOTHING_JUDGED,
    case_text,
    evidence_text,
    subject_text,
    verdict_line,
)
from visceral_cli.report.plain_text import plain

_SUITE = "visceral check"


def write_junit(result: CheckResult, out: BinaryIO) -> None:
    """Write the document. What XML cannot carry is escaped beforehand, as in every format."""
    nothing = result.decision is GateDecision.NOTHING_JUDGED
    skipped = len(result.of(State.ACCEPTED)) + len(result.of(State.UNJUDGED))
    counts = {
        "tests": str(len(result.cases) + nothing),
        "failures": str(len(result.of(State.BROKEN))),
        "errors": str(int(nothing)),
        "skipped": str(skipped),
        "time": "0",
    }
    root = ElementTree.Element("testsuites", {"name": _SUITE, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _SUITE, **counts})
    for case in result.cases:
        _add(suite, case)
    if nothing:
        gate = ElementTree.SubElement(
            suite, "testcase", {"classname": "visceral.check", "name": "gate", "time": "0"}
        )
        ElementTree.SubElement(gate, "error", {"message": NOTHING_JUDGED, "type": "gate"})
    if result.stale_baseline:
        stale = [f"stale in the baseline: {plain(each)}" for each in result.stale_baseline]
        ElementTree.SubElement(suite, "system-out").text = "\n".join(stale)
    ElementTree.SubElement(suite, "system-err").text = verdict_line(result)
    ElementTree.indent(root)
    document = ElementTree.tostring(root, encoding="unicode")
    out.write(b'<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(f"{document}\n".encode())


def _add(suite: ElementTree.Element, case: Case) -> None:
    subject = subject_text(case)
    name = f"{case.kind}: {subject}" if subject else case.kind.value
    element = ElementTree.SubElement(
        suite,
        "testcase",
        {"classname": f"visceral.check.{case.kind}", "name": name, "time": "0"},
    )
    match case.state:
        case State.BROKEN:
            failure = ElementTree.SubElement(
                element, "failure", {"message": case_text(case), "type": case.kind.value}
            )
            lines = [case_text(case), *(evidence_text(each) for each in case.evidence)]
            failure.text = "\n".join(lines)
        case State.ACCEPTED:
            message = f"accepted by the baseline: {case_text(case)}"
            ElementTree.SubElement(element, "skipped", {"message": message})
        case State.UNJUDGED:
            ElementTree.SubElement(element, "skipped", {"message": case_text(case)})
        case State.KEPT:
            ElementTree.SubElement(element, "system-out").text = case_text(case)
