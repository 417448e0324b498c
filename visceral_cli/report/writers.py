"""An answer to its writer, and so to a file or stdout.

What writes a format is imported when it is asked for: what draws a table takes long.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, assert_never

import msgspec
import pyarrow as pa

from visceral_cli.errors import UsageError
from visceral_cli.report.format_choice import is_terminal
from visceral_cli.report.output import harmless_output, write_output
from visceral_cli.report.page.detail import PageDetail
from visceral_cli.report.report import Report
from visceral_cli.report.view import Format, Rows, View


class Answer(msgspec.Struct, frozen=True):
    """What can be written: the report, and the calls behind it."""

    report: Report
    calls: Callable[[bool], pa.RecordBatchReader] | None = None
    """Hands out a row for each call, with arguments and results if the argument says so."""
    page: PageDetail | None = None
    """Single calls for the page; without them it draws none."""


Write = Callable[[Answer, BinaryIO, View], None]
"""Writes an answer to an open stream."""


def write_answer(answer: Answer, chosen: Format, place: Path | None, view: View) -> None:
    """Write the answer to a file, or to stdout.

    Raises:
        UsageError: the format does not carry these rows, or the place cannot be written to.
    """
    write = writer_of(chosen)
    harmless = chosen is Format.CSV and is_terminal(place)
    write_output(place, lambda out: write(answer, harmless_output(out) if harmless else out, view))


def writer_of(chosen: Format) -> Write:
    """Return what writes the format; what it draws with is imported here."""
    match chosen:
        case Format.TABLE:
            from visceral_cli.report.to_table import write_table

            return lambda answer, out, view: write_table(answer.report, out, view)
        case Format.JSON:
            from visceral_cli.report.to_json import write_json

            return lambda answer, out, view: write_json(answer.report, out)
        case Format.MARKDOWN:
            from visceral_cli.report.to_markdown import write_markdown

            return lambda answer, out, view: write_markdown(answer.report, out, view)
        case Format.HTML:
            from visceral_cli.report.to_html import write_html  # of packages of an extra

            return lambda answer, out, view: write_html(answer.report, answer.page, out, view)
        case Format.CSV | Format.JSONL | Format.PARQUET:
            return _row_writer(chosen)
        case Format.GITHUB | Format.JUNIT | Format.SARIF:
            raise ValueError(f"{chosen} is for findings")
        case _:
            assert_never(chosen)


def _row_writer(chosen: Format) -> Write:
    from visceral_cli.report.tabular import rows_of, write_csv, write_jsonl, write_parquet

    writers = {
        Format.CSV: write_csv,
        Format.JSONL: write_jsonl,
        Format.PARQUET: write_parquet,
    }

    def write(answer: Answer, out: BinaryIO, view: View) -> None:
        rows = view.rows or Rows.GROUPS
        if rows is not Rows.CALLS:
            writers[chosen](rows_of(answer.report, rows), out)
        elif answer.calls is None:
            raise UsageError("--rows calls: a saved report holds no calls")
        else:
            writers[chosen](answer.calls(view.show_arguments), out)

    return write
