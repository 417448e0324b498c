"""visceral report: a saved report in, any format out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from visceral_cli.cli import check_options, options


def report(
    context: typer.Context,
    file: check_options.SavedReport,
    output_format: options.OutputFormat = None,
    json: options.Json = False,
    output: options.Output = None,
    rows: options.RowsOption = None,
    top: options.Top = None,
    color: options.ColorOption = "auto",
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Show a saved JSON report in any format."""
    from visceral_cli.cli.session import open_session
    from visceral_cli.errors import UsageError
    from visceral_cli.report.format_choice import REPORT_FORMATS, check_rows, format_of
    from visceral_cli.report.view import Rows

    session = open_session(context)
    place, view = session.place(), replace(session.view(), command=())
    chosen = format_of(session.format_name(), place, REPORT_FORMATS)
    check_rows(chosen, place, view.rows)
    if view.rows is Rows.CALLS:
        raise UsageError(
            "--rows calls: a saved report holds no calls", hint="visceral analyze INPUT lists them"
        )

    from visceral_cli.report.read_json import read_report
    from visceral_cli.report.writers import Answer, write_answer

    saved = read_report(Path("/dev/stdin" if file == "-" else file))
    write_answer(Answer(saved), chosen, place, view)
