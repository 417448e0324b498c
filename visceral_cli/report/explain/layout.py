"""Explanations as text: a heading, labelled lines beside each other, rows under headings.

In a pipe every line has its natural length; in a terminal long ones go on below their beginning.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from visceral_cli.report.explain.explanation import (
    Explanation,
    Line,
    Rows,
)

_GAP = "  "
_NARROWEST = 24
"""Columns that the text of a line keeps beside its label."""


def as_text(explanations: Sequence[Explanation], *, width: int | None) -> str:
    """Return what is said of each thing, one under the other."""
    return "\n".join(_text(one, width) for one in explanations)


def _text(one: Explanation, width: int | None) -> str:
    parts = [one.heading]
    if one.page:
        parts.append(one.page)
    if one.lines:
        parts.append(_lines(one.lines, width))
    if one.rows is not None:
        parts.append(_rows(one.rows, width))
    return "\n\n".join(parts) + "\n"


def _lines(lines: Sequence[Line], width: int | None) -> str:
    beside = max(cells(line.label) for line in lines) + len(_GAP)
    shown = []
    for line in lines:
        label = line.label + " " * (beside - cells(line.label))
        texts = [line.text]
        if width is not None:
            texts = textwrap.wrap(
                line.text,
                max(width - beside, _NARROWEST),
                break_long_words=False,
                break_on_hyphens=False,
            )
        shown.append(label + f"\n{' ' * beside}".join(texts))
    return "\n".join(text.rstrip() for text in shown)


def _rows(rows: Rows, width: int | None) -> str:
    table = [rows.headings, *rows.rows]
    widths = [max(cells(row[place]) for row in table) for place in range(len(rows.headings))]
    if width is not None:
        over = sum(widths) + len(_GAP) * (len(widths) - 1) - width
        widths[-1] = max(widths[-1] - max(over, 0), _NARROWEST)
    shown = [_row(row, widths) for row in table]
    if rows.left_out:
        shown.append(f"… {rows.left_out:,} more: --top 0 shows all")
    return "\n".join(shown)


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    last = textwrap.wrap(
        row[-1], max(widths[-1], 1), break_long_words=False, break_on_hyphens=False
    ) or [""]
    before = _GAP.join(
        text + " " * (width - cells(text))
        for text, width in zip(row[:-1], widths[:-1], strict=True)
    )
    indent = " " * cells(before)
    gap = _GAP if before else ""
    return "\n".join(
        f"{before if not place else indent}{gap}{text}".rstrip() for place, text in enumerate(last)
    )


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
