"""A check as lines of text: what is broken with its evidence, then the rest in short.

No line begins with a name from the traces, so that none can be taken for a command to whoever reads
the log of a build.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from visceral_cli.gate.finding import LIMITS, Case, CheckResult, State
from visceral_cli.report.check_words import case_text, evidence_text, subject_text
from visceral_cli.report.fold import GLUE, cell_count, fold_sentence
from visceral_cli.report.plain_text import plain
from visceral_cli.report.view import View

ROWS = 20
"""Lines of each state unless the reader asks for more; everything broken is always shown."""

_GAP = 2

_WORDS = {
    State.ACCEPTED: "accepted",
    State.UNJUDGED: "not judged",
    State.KEPT: "kept",
}


def write_check_table(result: CheckResult, out: BinaryIO, view: View) -> None:
    """Write the lines; in a terminal long ones go on below their beginning."""
    text = "".join(
        f"{line}\n" for said, place in _lines(result, view) for line in _folded(said, place, view)
    )
    out.write(text.encode(view.encoding, errors="backslashreplace"))


def _folded(said: str, place: int, view: View) -> list[str]:
    """Return a line in lines that fit a terminal, those after the first indented by ``place``.

    The log of a build is no terminal: there every line stays as it is.
    """
    if view.width is None or cell_count(said) <= view.width:
        return [said]
    first, *more = fold_sentence(said[place:], view.width - place)
    lines = [said[:place] + first, *(" " * place + line for line in more)]
    return [line.replace(GLUE, " ").rstrip() for line in lines]


def _lines(result: CheckResult, view: View) -> Iterator[tuple[str, int]]:
    """Yield each line, and where a folded one goes on."""
    top = ROWS if view.top is None else view.top
    width = max((len(case.kind) for case in result.cases), default=0)
    for case in result.of(State.BROKEN):
        yield f"{case.kind:<{width}}  {_with_subject(case)}", width + _GAP
        for evidence in case.evidence:
            yield f"  - {evidence_text(evidence, with_span=case.kind not in LIMITS)}", 2 * _GAP
    for state, word in _WORDS.items():
        yield from _short(result.of(state), word, width, top)
    for fingerprint in result.stale_baseline:
        yield f"stale in the baseline: {plain(fingerprint, longest=300)}", _GAP


def _short(cases: Sequence[Case], word: str, width: int, top: int) -> Iterator[tuple[str, int]]:
    shown = cases if top == 0 else cases[:top]
    for case in shown:
        yield f"{case.kind:<{width}}  {word}: {_with_subject(case)}", width + _GAP
    if len(shown) < len(cases):
        yield f"… {len(cases) - len(shown):,} more {word}: --top 0 shows all", _GAP


def _with_subject(case: Case) -> str:
    subject = subject_text(case)
    return f"{case_text(case)}{f'  {subject}' if subject else ''}"
