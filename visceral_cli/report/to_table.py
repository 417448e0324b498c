"""A report as a table in a terminal, made to be read.

The overview fits in 24 lines of 100 columns: the answer, a bar, the ranked tools, what was read,
what to do next. In a pipe every line has its natural length.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, BinaryIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from visceral_cli.report import overview
from visceral_cli.report.caution import what_to_beware
from visceral_cli.report.overview import Standing
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import share_text
from visceral_cli.report.report import Report
from visceral_cli.report.row_tables import Column, RowTable, row_table
from visceral_cli.report.view import Rows, View

FIRST_SCREEN_LINES = 24
ROWS_IN_A_PIPE = 20
_FEWEST_ROWS = 3
_BAR_CELLS = 60
_GAP = 2
_INDENT = 4

_BAR = {
    Standing.SAFE: ("█", "#", "green"),
    Standing.UNDECLARED: ("▓", "=", "yellow"),
    Standing.UNPROVEN: ("▒", "-", "cyan"),
    Standing.UNSAFE: ("X", "X", "red"),
    Standing.IN_FLIGHT: ("░", ":", "blue"),
    Standing.UNKNOWN: ("·", ".", "bright_black"),
}
_GLUE = "\ue000"
"""Stands for a space at which no line may end; names never hold it, `plain` escapes it."""

_UNIT = re.compile(r"(?<=\d) (?=(?:ms|s|min|h|days|[kMGT]?B)\b)")

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
    text = pages.text().replace(_GLUE, " ")
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
    found, proven = overview.answer(report)
    head = pages.rendered(_sentence(found, "bold"), *([_sentence(proven)] if proven else []), "")
    lines = overview.tool_lines(report)
    if report.totals.repeats:
        head += pages.rendered(*_bar(overview.standings(report, lines), view), "")
    foot = pages.rendered("", *_foot(report, view))
    pages.add_text(head)
    left = max(view.height or 0, FIRST_SCREEN_LINES) - 1 - head.count("\n") - foot.count("\n")
    pages.add(_rows(row_table(report, Rows.TOOLS), view, fitting=left - 2))
    pages.add_text(foot)


def _foot(report: Report, view: View) -> list[RenderableType]:
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    grid.add_column(style="bright_black", no_wrap=True)
    grid.add_column()
    grid.add_row("Read", _sentence(overview.what_was_read(report)))
    grid.add_row("Not judged", _sentence(overview.what_was_not_judged(report)))
    found = overview.what_was_found(report)
    if found:
        grid.add_row("Found", Text(f"{found}   (--rows findings)"))
    for nth, warning in enumerate(what_to_beware(report)):
        grid.add_row("" if nth else "Beware", _sentence(warning))
    command = overview.next_command(report, view.command)
    if command:
        grid.add_row("Next", Text.assemble((plain(command, longest=None), "bold")))
    return [grid]


def _sentence(text: str, style: str = "") -> Text:
    """Return text of which no line ends between a number and its unit."""
    return Text.assemble((_UNIT.sub(_GLUE, text), style))


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
            legend.append(said.replace(" ", _GLUE))
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


def _rows(table: RowTable, view: View, *, fitting: int | None = None) -> RenderableType:
    shown = _rows_to_show(len(table.rows), view, fitting)
    cells = [[column.cell(row) for column in table.columns] for row in table.rows[:shown]]
    if not cells:
        return Text(f"No {table.title.lower()}.")
    widths = _natural_widths(table, cells)
    needed = sum(widths) + _GAP * (len(widths) - 1)
    beside = [
        not column.wraps or view.width is None or needed <= view.width for column in table.columns
    ]
    parts = [_drawn(table, beside, widths, cells, view)]
    if shown < len(table.rows):
        parts.append(Text(f"… {len(table.rows) - shown:,} more: --top 0 shows all"))
    return _Stacked(*parts)


def _drawn(
    table: RowTable,
    beside: Sequence[bool],
    widths: Sequence[int],
    cells: Sequence[Sequence[str]],
    view: View,
) -> RenderableType:
    """Return the rows; long texts that do not fit beside the rest stand below their row."""
    columns = list(compress(table.columns, beside))
    fitted = _fitted(columns, list(compress(widths, beside)), view)
    if all(beside):
        return _lines(columns, fitted, cells, heading=True)
    parts: list[RenderableType] = []
    for line in cells:
        parts.append(_lines(columns, fitted, [list(compress(line, beside))], heading=not parts))
        below = [text for text, is_beside in zip(line, beside, strict=True) if not is_beside]
        parts += [Padding(_sentence(text), (0, 0, 0, _INDENT)) for text in below if text != "-"]
    return _Stacked(*parts)


def _lines(
    columns: Sequence[Column],
    widths: Sequence[int],
    cells: Sequence[Sequence[str]],
    *,
    heading: bool,
) -> Table:
    drawn = Table(
        box=None,
        padding=(0, _GAP, 0, 0),
        pad_edge=False,
        show_edge=False,
        show_header=heading,
        header_style="bold",
    )
    for column, width in zip(columns, widths, strict=True):
        drawn.add_column(
            Text(column.heading),
            justify="right" if column.is_number else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=width,
        )
    for line in cells:
        drawn.add_row(*map(Text, line))
    return drawn


class _Stacked:
    """Parts under each other."""

    def __init__(self, *parts: RenderableType) -> None:
        self._parts = parts

    def __rich_console__(self, console: Console, options: object) -> Any:
        """Yield the parts to Rich."""
        yield from self._parts


def _rows_to_show(count: int, view: View, fitting: int | None) -> int:
    if view.top is not None:
        return count if view.top == 0 else min(count, view.top)
    if fitting is None:
        return min(count, ROWS_IN_A_PIPE)
    return count if count <= fitting + 1 else max(fitting, _FEWEST_ROWS)


def _natural_widths(table: RowTable, cells: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(cell_len(column.heading), *(cell_len(line[place]) for line in cells))
        for place, column in enumerate(table.columns)
    ]


def _fitted(columns: Sequence[Column], widths: list[int], view: View) -> list[int]:
    """Return the cells of each column; where a terminal is narrow, names give way first."""
    if view.width is None:
        return widths
    over = sum(widths) + _GAP * (len(widths) - 1) - view.width
    giving = [place for place, column in enumerate(columns) if column.gives_way]
    for places in (giving, [len(widths) - 1]):
        over -= _cut(widths, {place: columns[place].narrowest for place in places}, over)
    return widths


def _cut(widths: list[int], narrowest: Mapping[int, int], over: int) -> int:
    """Take up to ``over`` cells from the columns that may give some; return how many.

    The column that has most to give gives first.
    """
    taken = 0
    while taken < over:
        place = max(narrowest, key=lambda place: widths[place] - narrowest[place], default=None)
        if place is None or widths[place] <= narrowest[place]:
            break
        widths[place] -= 1
        taken += 1
    return taken
