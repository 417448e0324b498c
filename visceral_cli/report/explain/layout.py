"""Explanations as text: a heading, labelled lines beside each other, rows under headings.

In a pipe every line has its natural length; in a terminal long ones go on below their beginning.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from visceral_cli.report.column import Column
from visceral_cli.report.explain.explanation import (
    Explanation,
    Line,
    Rows,
)
from visceral_cli.report.explain.page_layout import page_text
from visceral_cli.report.fold import GLUE, cell_count
from visceral_cli.report.row_layout import lay_out

_GAP = "  "
_NARROWEST = 24
"""Columns that the text of a line keeps beside its label."""


def as_text(explanations: Sequence[Explanation], *, width: int | None) -> str:
    """Return what is said of each thing, one under the other."""
    return "\n".join(_text(one, width) for one in explanations)


def _text(one: Explanation, width: int | None) -> str:
    parts = [one.heading]
    if one.page:
        parts.append(page_text(one.page, width))
    if one.lines:
        parts.append(_lines(one.lines, width))
    if one.rows is not None:
        parts.append(_rows(one.rows, width))
    return "\n\n".join(parts) + "\n"


def _lines(lines: Sequence[Line], width: int | None) -> str:
    beside = max(cell_count(line.label) for line in lines) + len(_GAP)
    shown = []
    for line in lines:
        label = line.label + " " * (beside - cell_count(line.label))
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
    columns = [
        Column(heading, str, wraps=heading is rows.headings[-1]) for heading in rows.headings
    ]
    layout = lay_out(columns, rows.rows, width)
    lines = layout.heading()
    for row in rows.rows:
        lines += layout.row(row)
    if rows.left_out:
        lines.append(f"… {rows.left_out:,} more: --top 0 shows all")
    return "\n".join(lines).replace(GLUE, " ")
