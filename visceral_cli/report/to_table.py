"""A report as a table in a terminal, made to be read.

The overview is made for 24 lines of 80 columns: the answer, a bar, the ranked tools, what was read,
what to do next. Nothing is cut: what a screen is too narrow for is folded, or stands below its row.
In a pipe every line has its natural length.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Sequence
from typing import BinaryIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from visceral_cli.report import overview
from visceral_cli.report.caution import what_to_beware
from visceral_cli.report.fold import GLUE, glued
from visceral_cli.report.overview import Standing
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import share_text
from visceral_cli.report.report import Report
from visceral_cli.report.row_layout import GAP, lay_out
from visceral_cli.report.row_tables import RowTable, row_table
from visceral_cli.report.view import Rows, View

FIRST_SCREEN_LINES = 24
ROWS_IN_A_PIPE = 20
_FEWEST_ROWS = 3
_BAR_CELLS = 60

_BAR = {
    Standing.SAFE: ("█", "#", "green"),
    Standing.UNDECLARED: ("▓", "=", "yellow"),
    Standing.UNPROVEN: ("▒", "-", "cyan"),
    Standing.UNSAFE: ("X", "X", "red"),
    Standing.IN_FLIGHT: ("░", ":", "blue"),
    Standing.UNKNOWN: ("·", ".", "bright_black"),
}
_ASCII = str.maketrans({"…": "...", "█": "#", "▓": "=", "▒": "-", "░": ":", "·": "."})


def write_table(report: Report, out: BinaryIO, view: View) -> None:
    """Write the overview, or the rows that were asked for."""
    pages = _Pages(view)
    if view.rows is None:
        _print_overview(report, pages, view)
    else:
        pages.add(_rows(row_table(report, view.rows), view))
    _write(pages, out, view)


def write_parts(parts: Sequence[RowTable | str], out: BinaryIO, view: View) -> None:
    """Write tables and sentences under each other."""
    pages = _Pages(view)
    for part in parts:
        pages.add(_sentence(part) if isinstance(part, str) else _rows(part, view))
    _write(pages, out, view)


def _write(pages: _Pages, out: BinaryIO, view: View) -> None:
    text = pages.text().replace(GLUE, " ")
    try:
        out.write(text.encode(view.encoding))
    except UnicodeEncodeError:
        out.write(text.translate(_ASCII).encode(view.encoding, errors="backslashreplace"))


class _Pages:
    """Rendered parts in order, with a count of their lines."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._parts: list[str] = []

    def rendered(self, *parts: RenderableType) -> str:
        """Return the parts as text, without spaces at the ends of lines."""
        buffer = io.StringIO()
        console = Console(
            file=buffer,
            color_system="standard" if self._view.color else None,
            force_terminal=self._view.color,
            width=self._view.width or 10_000,
            height=100,  # without it a dumb terminal falls back to 80 columns
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
        )
        for part in parts:
            console.print(part)
        return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())

    def add(self, *parts: RenderableType) -> None:
        """Append parts."""
        self.add_text(self.rendered(*parts))

    def add_text(self, text: str) -> None:
        """Append what is rendered."""
        self._parts.append(text)

    def text(self) -> str:
        """Return everything."""
        return "".join(self._parts)


def _print_overview(report: Report, pages: _Pages, view: View) -> None:
    """Write the answer, what was read, and what to do next.

    A short screen cannot hold it all, and its first lines scroll away: there what was read comes
    first, so that the answer stays in sight.
    """
    head = _head(report, pages, view)
    read = pages.rendered(_about_the_input(report))
    rest = pages.rendered(_what_follows(report, view))
    tools = row_table(report, Rows.TOOLS)
    room = max(view.height or 0, FIRST_SCREEN_LINES) - 1

    def with_tools(foot: str) -> str:
        fitting = _rows_that_fit(tools, view, room - (head + foot).count("\n"))
        return head + pages.rendered(fitting) + foot

    whole = with_tools(f"\n{read}{rest}")
    if view.height is not None and view.top is None and whole.count("\n") > room:
        whole = f"{read}\n" + with_tools(f"\n{rest}" if rest else "")
    pages.add_text(whole)


def _head(report: Report, pages: _Pages, view: View) -> str:
    found, proven = overview.answer(report)
    head = pages.rendered(_sentence(found, "bold"), *([_sentence(proven)] if proven else []), "")
    if not report.totals.repeats:
        return head
    bar = _bar(overview.standings(report, overview.tool_lines(report)), view)
    return head + pages.rendered(*bar, "")


def _about_the_input(report: Report) -> Table:
    grid = _grid()
    grid.add_row("Read", _sentence(overview.what_was_read(report)))
    grid.add_row("Not judged", _sentence(overview.what_was_not_judged(report)))
    return grid


def _what_follows(report: Report, view: View) -> Table:
    grid = _grid()
    found = overview.what_was_found(report)
    if found:
        grid.add_row("Found", Text(f"{found}   (--rows findings)"))
    for nth, warning in enumerate(what_to_beware(report)):
        grid.add_row("" if nth else "Beware", _sentence(warning))
    command = overview.next_command(report, view.command)
    if command:
        grid.add_row("Next", Text.assemble((plain(command, longest=None), "bold")))
    return grid


def _grid() -> Table:
    grid = Table.grid(padding=(0, GAP, 0, 0))
    grid.add_column(style="bright_black", no_wrap=True, min_width=len("Not judged"))
    grid.add_column()
    return grid


def _sentence(text: str, style: str = "") -> Text:
    """Return text of which no line ends between a number and its unit."""
    return Text.assemble((glued(text), style))


def _bar(parts: dict[Standing, int], view: View) -> list[Text]:
    whole = sum(parts.values())
    cells = _shares(list(parts.values()), min(_BAR_CELLS, (view.width or 100) - 2))
    bar, legend = Text(), Text()
    for (standing, count), width in zip(parts.items(), cells, strict=True):
        glyph, _, color = _BAR[standing]
        bar.append(glyph * width, style=color)
        if count:
            legend.append("  " if legend else "")
            legend.append(glyph, style=color)
            said = f" {standing.value} {count:,} ({share_text(count, whole, digits=0)})"
            legend.append(said.replace(" ", GLUE))
    return [bar, legend]


def _shares(counts: Sequence[int], cells: int) -> list[int]:
    """Return the cells of each count: in proportion, at least one for what is not nothing."""
    whole = sum(counts)
    if not whole:
        return [0] * len(counts)
    shares = [max(1, count * cells // whole) if count else 0 for count in counts]
    rest = [count * cells / whole - share for count, share in zip(counts, shares, strict=True)]
    while sum(shares) < cells:
        place = max(range(len(counts)), key=lambda i: rest[i])
        shares[place] += 1
        rest[place] -= 1
    while sum(shares) > cells:
        shares[max(range(len(counts)), key=lambda i: shares[i])] -= 1
    return shares


def _rows(table: RowTable, view: View) -> Text:
    """Return the rows that were asked for, or the first ones."""
    count = len(table.rows)
    top = ROWS_IN_A_PIPE if view.top is None else view.top
    return _first_rows(table, view, min(count, top) if top else count)


def _rows_that_fit(table: RowTable, view: View, lines: int) -> Text:
    """Return the rows that were asked for, or as many as fit in some lines, but a few at least."""
    if view.top is not None:
        return _rows(table, view)
    most = range(1 + min(len(table.rows), max(lines, _FEWEST_ROWS)))
    too_many = bisect_right(
        most, lines, key=lambda shown: _line_count(_first_rows(table, view, shown))
    )
    return _first_rows(table, view, max(too_many - 1, min(len(table.rows), _FEWEST_ROWS)))


def _line_count(text: Text) -> int:
    return text.plain.count("\n") + 1


def _first_rows(table: RowTable, view: View, shown: int) -> Text:
    cells = [[column.cell(row) for column in table.columns] for row in table.rows[:shown]]
    if not cells:
        return Text(f"No {table.title.lower()}.")
    layout = lay_out(table.columns, cells, view.width)
    heading = "\n".join(layout.heading())
    lines = [line for row in cells for line in layout.row(row)]
    if shown < len(table.rows):
        lines.append(f"… {len(table.rows) - shown:,} more: --top 0 shows all")
    text = Text("\n".join([heading, *lines]), no_wrap=True, overflow="ignore")
    text.stylize("bold", 0, len(heading))
    return text
