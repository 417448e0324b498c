"""A check as lines of text: what is broken with its evidence, then the rest in short.

No line begins with a name from the traces, so that none can be taken for a command to whoever reads
the log of a build.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from visceral_cli.gate.finding import LIMITS, Case, CheckResult, State
from visceral_cli.report.check_words import case_text, evidence_text, subject_text
from visceral_cli.report.plain_text import plain
from visceral_cli.report.view import View

ROWS = 20
"""Lines of each state unless the reader asks for more; everything broken is always shown."""

_WORDS = {
    State.ACCEPTED: "accepted",
    State.UNJUDGED: "not judged",
    State.KEPT: "kept",
}


def write_check_table(result: CheckResult, out: BinaryIO, view: View) -> None:
    """Write the lines."""
    text = "".join(f"{line}\n" for line in _lines(result, view))
    out.write(text.encode(view.encoding, errors="backslashreplace"))


def _lines(result: CheckResult, view: View) -> Iterator[str]:
    top = ROWS if view.top is None else view.top
    width = max((len(case.kind) for case in result.cases), default=0)
    for case in result.of(State.BROKEN):
        yield f"{case.kind:<{width}}  {_with_subject(case)}"
        for evidence in case.evidence:
            yield f"  - {evidence_text(evidence, with_span=case.kind not in LIMITS)}"
    for state, word in _WORDS.items():
        yield from _short(result.of(state), word, width, top)
    for fingerprint in result.stale_baseline:
        yield f"stale in the baseline: {plain(fingerprint, longest=300)}"


def _short(cases: Sequence[Case], word: str, width: int, top: int) -> Iterator[str]:
    shown = cases if top == 0 else cases[:top]
    for case in shown:
        yield f"{case.kind:<{width}}  {word}: {_with_subject(case)}"
    if len(shown) < len(cases):
        yield f"… {len(cases) - len(shown):,} more {word}: --top 0 shows all"


def _with_subject(case: Case) -> str:
    subject = subject_text(case)
    return f"{case_text(case)}{f'  {subject}' if subject else ''}"
