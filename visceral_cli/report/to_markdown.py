"""A report as GitHub-flavoured Markdown, for pull requests and job summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from visceral_cli.report import overview
from visceral_cli.report.caution import what_to_beware
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import share_text
from visceral_cli.report.report import Report
from visceral_cli.report.row_tables import RowTable, row_table
from visceral_cli.report.view import Rows, View

ROWS = 20
"""Rows of each table unless the reader asks for more."""

_ESCAPED = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~&$@"})

_SECTIONS = (
    Rows.TOOLS,
    Rows.FUNNEL,
    Rows.RULES,
    Rows.CANDIDATES,
    Rows.REFUSALS,
    Rows.FINDINGS,
    Rows.GROUPS,
)


def write_markdown(report: Report, out: BinaryIO, view: View) -> None:
    """Write the overview and every table that has rows, or the one that was asked for."""
    top = ROWS if view.top is None else view.top
    if view.rows is not None:
        lines = [*table_lines(row_table(report, view.rows), top)]
    else:
        lines = [*_overview(report, view)]
        for rows in _SECTIONS:
            table = row_table(report, rows)
            if table.rows:
                lines += ["", f"## {table.title}", "", *table_lines(table, top)]
    out.write("".join(f"{line}\n" for line in lines).encode())


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, within one cell of a table."""
    return text.translate(_ESCAPED)


def _overview(report: Report, view: View) -> Iterator[str]:
    found, proven = overview.answer(report)
    yield "# Repeated tool calls"
    yield ""
    yield f"**{escaped(found)}**"
    if proven:
        yield ""
        yield escaped(proven)
    parts = overview.standings(report, overview.tool_lines(report))
    whole = sum(parts.values())
    if whole:
        yield ""
        yield "| repeats | calls | share |"
        yield "|---|--:|--:|"
        for standing, count in parts.items():
            if count:
                yield f"| {standing.value} | {count:,} | {share_text(count, whole)} |"
    yield ""
    yield f"- Read: {escaped(overview.what_was_read(report))}"
    yield f"- Not judged: {escaped(overview.what_was_not_judged(report))}"
    for warning in what_to_beware(report):
        yield f"- Beware: {escaped(warning)}"
    command = overview.next_command(report, view.command)
    if command:
        yield f"- Next: {_code(plain(command, longest=None))}"


def table_lines(table: RowTable, top: int) -> Iterator[str]:
    """Yield the lines of a table with at most ``top`` rows; 0 for all."""
    rows: Sequence[object] = table.rows if top == 0 else table.rows[:top]
    yield _line([column.heading for column in table.columns])
    yield "|" + "|".join("--:" if column.is_number else "---" for column in table.columns) + "|"
    for row in rows:
        yield _line([escaped(column.cell(row)) for column in table.columns])
    if len(rows) < len(table.rows):
        yield ""
        yield f"{len(table.rows) - len(rows):,} more: `--top 0` shows all"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """Return a code span; its fence is longer than any run of backticks inside."""
    fence = "`"
    while fence in text:
        fence += "`"
    space = " " if len(fence) > 1 else ""
    return f"{fence}{space}{text}{space}{fence}"
