"""An answer to its writer, and so to a file or stdout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, assert_never

import pyarrow as pa

from visceral_cli.errors import UsageError
from visceral_cli.report.format_choice import is_terminal
from visceral_cli.report.output import harmless_output, write_output
from visceral_cli.report.page.detail import PageDetail
from visceral_cli.report.report import Report
from visceral_cli.report.tabular import rows_of, write_csv, write_jsonl, write_parquet
from visceral_cli.report.to_json import write_json
from visceral_cli.report.to_markdown import write_markdown
from visceral_cli.report.to_table import write_table
from visceral_cli.report.view import Format, Rows, View


@dataclass(frozen=True, slots=True)
class Answer:
    """What can be written: the report, and the calls behind it."""

    report: Report
    calls: Callable[[bool], pa.RecordBatchReader] | None = None
    """Hands out a row for each call, with arguments and results if the argument says so."""
    page: PageDetail | None = None
    """Single calls for the page; without them it draws none."""


def write_answer(answer: Answer, chosen: Format, place: Path | None, view: View) -> None:
    """Write the answer to a file, or to stdout.

    Raises:
        UsageError: the format does not carry these rows, or the place cannot be written to.
    """
    write_output(place, _writer(answer, chosen, place, view))


def _writer(
    answer: Answer, chosen: Format, place: Path | None, view: View
) -> Callable[[BinaryIO], None]:
    report = answer.report
    match chosen:
        case Format.TABLE:
            return lambda out: write_table(report, out, view)
        case Format.JSON:
            return lambda out: write_json(report, out)
        case Format.MARKDOWN:
            return lambda out: write_markdown(report, out, view)
        case Format.HTML:
            return _html_writer(answer, view)
        case Format.CSV if is_terminal(place):
            return lambda out: write_csv(_rows(answer, view), harmless_output(out))
        case Format.CSV:
            return lambda out: write_csv(_rows(answer, view), out)
        case Format.JSONL:
            return lambda out: write_jsonl(_rows(answer, view), out)
        case Format.PARQUET:
            return lambda out: write_parquet(_rows(answer, view), out)
        case Format.GITHUB | Format.JUNIT | Format.SARIF:
            raise ValueError(f"{chosen} is for findings")
        case _:
            assert_never(chosen)


def _html_writer(answer: Answer, view: View) -> Callable[[BinaryIO], None]:
    from visceral_cli.report.to_html import write_html  # draws with packages of an extra

    return lambda out: write_html(answer.report, answer.page, out, view)


def _rows(answer: Answer, view: View) -> pa.RecordBatchReader:
    rows = view.rows or Rows.GROUPS
    if rows is not Rows.CALLS:
        return rows_of(answer.report, rows)
    if answer.calls is None:
        raise UsageError("--rows calls: a saved report holds no calls")
    return answer.calls(view.show_arguments)
