"""visceral analyze: span files in, report out."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import typer

from visceral_cli.cli import options

if TYPE_CHECKING:
    from visceral_cli.cli.terminal import Terminal
    from visceral_cli.report.report import Report
    from visceral_cli.report.verification import VerificationReport


def analyze(
    context: typer.Context,
    inputs: options.Inputs = None,
    exclude: options.Exclude = None,
    since: options.Since = None,
    until: options.Until = None,
    tool: options.Tool = None,
    strict: options.Strict = None,
    key_file: options.KeyFile = None,
    store: options.Store = None,
    workers: options.Workers = None,
    scope: options.Scope = None,
    namespace: options.Namespace = None,
    principal: options.Principal = None,
    find_vary: options.FindVary = None,
    price: options.Price = None,
    max_freshness: options.MaxFreshness = None,
    max_stale_rate: options.MaxStaleRate = None,
    confidence: options.Confidence = None,
    anytime: options.Anytime = None,
    verify_rate: options.VerifyRate = None,
    include_empty_results: options.IncludeEmptyResults = None,
    output_format: options.OutputFormat = None,
    json: options.Json = False,
    output: options.Output = None,
    rows: options.RowsOption = None,
    top: options.Top = None,
    show_arguments: options.ShowArguments = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.ColorOption = "auto",
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Find repeated tool calls and what they cost.

    Says which calls were repeats, which of those gave the same result, what they cost, and which
    could be answered from a stored result, how old it may be, and how well that is proven.
    """
    from visceral_cli.cli.session import open_session
    from visceral_cli.report.format_choice import REPORT_FORMATS, check_rows, format_of
    from visceral_cli.report.view import Format, Rows

    session = open_session(context)
    inputs_given, settings = session.inputs(), session.configuration.settings()
    place, view = session.place(), session.view()
    chosen = format_of(session.format_name(), place, REPORT_FORMATS)
    check_rows(chosen, place, view.rows)
    if view.show_arguments and view.rows is not Rows.CALLS and chosen is not Format.HTML:
        session.terminal.note("arguments and results are shown with --rows calls and in html only")

    from visceral_cli.pipeline import analyze_inputs

    def import_writer() -> None:
        from visceral_cli.report.writers import writer_of

        writer_of(chosen)

    page = None
    if chosen is Format.HTML:
        from visceral_cli.report.page.gather import PageWanted

        page = PageWanted(view.show_arguments)
    with ExitStack() as open_until_written:
        with session.working() as progress:
            analysis = open_until_written.enter_context(
                analyze_inputs(inputs_given, settings, progress, page, meanwhile=import_writer)
            )
        from visceral_cli.report.writers import Answer, write_answer

        say_damage(session.terminal, analysis.report)
        answer = Answer(
            analysis.report,
            lambda shown: analysis.calls(show_arguments=shown),
            analysis.page,
        )
        write_answer(answer, chosen, place, view)


def say_damage(terminal: Terminal, report: Report | VerificationReport) -> None:
    """Say on stderr what could not be read."""
    from visceral_cli.report.quantities import counted

    inputs = report.inputs
    if not inputs.damaged:
        return
    files = len({place.file for place in inputs.damage})
    seen = "" if terminal.verbose else " (-v lists them)"
    terminal.note(
        f"skipped {counted(inputs.damaged, 'damaged place')} in {counted(files, 'file')}{seen}"
    )
    for place in inputs.damage:
        where = place.file if place.line is None else f"{place.file}:{place.line}"
        times = f" ({place.places:,} times)" if place.places > 1 else ""
        terminal.detail(f"{where}: {place.what}{times}")
