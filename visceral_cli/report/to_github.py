"""A check as workflow commands of GitHub Actions, which become annotations.

A step shows ten annotations of one level; what is left out is counted in one of another level.
Escapes are those of ``@actions/core``: percent signs and line ends everywhere, and in properties
colons and commas too.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from visceral_cli.report.quantities import counted

MOST = 10
"""Annotations of one level that a step shows."""

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})
_TITLE = "visceral check"


def write_github(result: CheckResult, out: BinaryIO) -> None:
    """Write one command a line."""
    out.write("".join(f"{line}\n" for line in _lines(result)).encode())


def _lines(result: CheckResult) -> Iterator[str]:
    if result.decision is GateDecision.NOTHING_JUDGED:
        yield _command("error", NOTHING_JUDGED, title=_TITLE)
    broken = result.of(State.BROKEN)
    for case in broken[:MOST]:
        yield _annotation(case)
    if len(broken) > MOST:
        more = counted(len(broken) - MOST, "finding")
        yield _command("notice", f"{more} left out: {verdict_line(result)}", title=_TITLE)
    if result.stale_baseline:
        shown = ", ".join(plain(each) for each in result.stale_baseline[:MOST])
        stale = counted(len(result.stale_baseline), "entry", "entries")
        yield _command("warning", f"{stale} of the baseline stale: {shown}", title=_TITLE)


def _annotation(case: Case) -> str:
    subject = subject_text(case)
    lines = [f"{subject}: {case_text(case)}" if subject else case_text(case)]
    lines += [evidence_text(each) for each in case.evidence]
    file = next((each.file for each in case.evidence if each.file), "")
    return _command("error", "\n".join(lines), title=f"{_TITLE}: {case.kind}", file=file)


def _command(level: str, message: str, *, title: str, file: str = "") -> str:
    properties = [f"file={plain(file, longest=None).translate(_PROPERTY)}"] if file else []
    properties.append(f"title={title.translate(_PROPERTY)}")
    return f"::{level} {','.join(properties)}::{message.translate(_DATA)}"
