"""Where the cells of a table stand on a narrow screen: beside each other, folded, or below.

Nothing is cut, and no number is folded. Of all layouts that fit, the one with the fewest lines is
taken; a folded name counts like a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from visceral_cli.report.column import Column
from visceral_cli.report.fold import GLUE, cell_count, fold_name, fold_parts, fold_sentence

GAP = 2
INDENT = 4
_NARROWEST_NAME = 12
_NARROWEST_SENTENCE = 24
"""Cells that a folded column keeps."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns beside each other with their cells, and the columns below each row."""

    columns: Sequence[Column]
    width: int | None
    """Cells of a line; ``None``: as many as it takes."""
    beside: Sequence[int]
    cells: Sequence[int]
    """Of each column that stands beside the others."""
    below: Sequence[int]

    def heading(self) -> list[str]:
        """Return the lines of the heading, the last ones filled first."""
        folded = [
            fold_sentence(self.columns[place].heading, cells)
            for place, cells in zip(self.beside, self.cells, strict=True)
        ]
        height = max(map(len, folded))
        return self._joined([[""] * (height - len(lines)) + lines for lines in folded])

    def row(self, texts: Sequence[str]) -> list[str]:
        """Return the lines of a row."""
        return [
            *self._joined(
                [
                    self._folded(place, texts[place], cells)
                    for place, cells in zip(self.beside, self.cells, strict=True)
                ]
            ),
            *self._below(texts),
        ]

    def cost(self, rows: Sequence[Sequence[str]]) -> int:
        """Return the lines of heading and rows, and one for each folded name."""
        names = [
            (place, cells)
            for place, cells in zip(self.beside, self.cells, strict=True)
            if not self.columns[place].wraps
        ]
        folded = sum(cell_count(row[place]) > cells for row in rows for place, cells in names)
        return len(self.heading()) + sum(len(self.row(row)) for row in rows) + folded

    def _folded(self, place: int, text: str, cells: int) -> list[str]:
        if cell_count(text) <= cells:
            return [text]
        return (fold_sentence if self.columns[place].wraps else fold_name)(text, cells)

    def _joined(self, folded: Sequence[Sequence[str]]) -> list[str]:
        lines = []
        for pieces in zip_longest(*folded, fillvalue=""):
            padded = []
            for place, cells, piece in zip(self.beside, self.cells, pieces, strict=True):
                space = " " * (cells - cell_count(piece))
                padded.append(space + piece if self.columns[place].is_number else piece + space)
            lines.append((" " * GAP).join(padded).rstrip())
        return lines

    def _below(self, texts: Sequence[str]) -> Iterator[str]:
        """Yield what stands below: short texts after their headings, then each sentence."""
        width = (self.width or 0) - INDENT
        short = [place for place in self.below if not self.columns[place].wraps and texts[place]]
        fields = [
            f"{self.columns[place].heading} {texts[place]}".strip().replace(" ", GLUE)
            for place in short
        ]
        lines = fold_parts(fields, width, gap=" " * GAP) if fields else []
        for place in self.below:
            if self.columns[place].wraps and texts[place] not in ("", "-"):
                lines += fold_sentence(texts[place], width)
        for line in lines:
            yield " " * INDENT + line


def lay_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> Layout:
    """Return the layout of some rows of texts on a screen of ``width`` cells."""
    natural = [
        max(0, cell_count(column.heading), *(cell_count(row[place]) for row in rows))
        for place, column in enumerate(columns)
    ]
    everything = range(len(columns))
    if width is None or _line(natural) <= width:
        return Layout(columns, width, everything, natural, ())
    narrowest = [_narrowest(columns[place], place, rows, natural[place]) for place in everything]
    layouts = []
    for below in _orders(columns):
        beside = [place for place in everything if place not in below]
        cells = _fitted(columns, beside, natural, narrowest, width)
        layouts.append(Layout(columns, width, beside, cells, sorted(below)))
    fitting = [layout for layout in layouts if _line(layout.cells) <= width]
    return min(fitting or layouts[-1:], key=lambda layout: layout.cost(rows))


def _orders(columns: Sequence[Column]) -> Iterator[list[int]]:
    """Yield which columns stand below: none, the sentences, then one more after the other."""
    places = range(len(columns))
    below = [place for place in places if columns[place].wraps]
    yield []
    if below:
        yield below
    aside = [place for place in reversed(places) if columns[place].gives_way]
    last = [place for place in reversed(places[1:]) if place not in {*below, *aside}]
    for place in (*aside, *last):
        below = [*below, place]
        yield below


def _narrowest(column: Column, place: int, rows: Sequence[Sequence[str]], natural: int) -> int:
    if column.is_number:
        words = column.heading.split()
        return max(0, *map(cell_count, words), *(cell_count(row[place]) for row in rows))
    return min(natural, _NARROWEST_SENTENCE if column.wraps else _NARROWEST_NAME)


def _line(cells: Sequence[int]) -> int:
    return sum(cells) + GAP * (len(cells) - 1)


def _fitted(
    columns: Sequence[Column],
    beside: Sequence[int],
    natural: Sequence[int],
    narrowest: Sequence[int],
    width: int,
) -> list[int]:
    """Return the cells of the columns beside each other: headings are folded first, then texts.

    The column that has most to give gives first.
    """
    cells = [natural[place] for place in beside]
    for numbers in (True, False):
        giving = [nth for nth, place in enumerate(beside) if columns[place].is_number is numbers]
        while giving and _line(cells) > width:
            most = max(giving, key=lambda nth: cells[nth] - narrowest[beside[nth]])
            if cells[most] <= narrowest[beside[most]]:
                break
            cells[most] -= 1
    return cells
