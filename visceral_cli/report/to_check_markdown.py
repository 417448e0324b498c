"""A check as GitHub-flavoured Markdown, for ``$GITHUB_STEP_SUMMARY`` and pull requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from visceral_cli.gate.finding import CheckResult, State
from visceral_cli.report.check_words import case_text, evidence_text, subject_text, verdict_line
from visceral_cli.report.plain_text import plain
from visceral_cli.report.to_markdown import escaped
from visceral_cli.report.view import View

ROWS = 100
"""Rows that are shown unless the reader asks for more: a job summary holds a megabyte."""

_ORDER = (State.BROKEN, State.ACCEPTED, State.UNJUDGED, State.KEPT)


def write_check_markdown(result: CheckResult, out: BinaryIO, view: View) -> None:
    """Write the verdict, a table of the cases, and the evidence of what is broken."""
    out.write("".join(f"{line}\n" for line in _lines(result, view)).encode())


def _lines(result: CheckResult, view: View) -> Iterator[str]:
    top = ROWS if view.top is None else view.top
    cases = [case for state in _ORDER for case in result.of(state)]
    shown = cases if top == 0 else cases[:top]
    yield "# visceral check"
    yield ""
    yield f"**{escaped(verdict_line(result))}**"
    yield ""
    yield "| check | state | of | found |"
    yield "|---|---|---|---|"
    for case in shown:
        subject = escaped(subject_text(case)) or "all"
        yield f"| {case.kind} | {case.state} | {subject} | {escaped(case_text(case))} |"
    if len(shown) < len(cases):
        yield ""
        yield f"{len(cases) - len(shown):,} more: `--top 0` shows all"
    for case in shown:
        if case.state is State.BROKEN and case.evidence:
            yield ""
            yield f"{case.kind} {escaped(subject_text(case))}".rstrip() + ":"
            yield ""
            for evidence in case.evidence:
                yield f"- {escaped(evidence_text(evidence))}"
    if result.stale_baseline:
        yield ""
        yield "Stale in the baseline:"
        yield ""
        for fingerprint in result.stale_baseline:
            yield f"- {escaped(plain(fingerprint, longest=300))}"
