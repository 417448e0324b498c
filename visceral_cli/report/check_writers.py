"""A check to its writer, and so to a file or stdout."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from visceral_cli.gate.finding import CheckResult
from visceral_cli.report.output import write_output
from visceral_cli.report.to_check_json import write_check_json
from visceral_cli.report.to_check_markdown import write_check_markdown
from visceral_cli.report.to_check_table import write_check_table
from visceral_cli.report.to_github import write_github
from visceral_cli.report.to_junit import write_junit
from visceral_cli.report.to_sarif import write_sarif
from visceral_cli.report.view import Format, View


def write_check(result: CheckResult, chosen: Format, place: Path | None, view: View) -> None:
    """Write a check in one of the formats that carry it.

    Raises:
        UsageError: the place cannot be written to.
    """
    write_output(place, lambda out: write_check_to(result, chosen, out, view))


def write_check_to(result: CheckResult, chosen: Format, out: BinaryIO, view: View) -> None:
    """Write a check to an open stream."""
    match chosen:
        case Format.TABLE:
            write_check_table(result, out, view)
        case Format.JSON:
            write_check_json(result, out)
        case Format.MARKDOWN:
            write_check_markdown(result, out, view)
        case Format.GITHUB:
            write_github(result, out)
        case Format.JUNIT:
            write_junit(result, out)
        case Format.SARIF:
            write_sarif(result, out)
        case _:
            raise ValueError(f"no {chosen} of a check")
