"""visceral diff: two analyses in, what is new, gone and changed out."""

from __future__ import annotations

import typer

from visceral_cli.cli import check_options, options


def diff(
    context: typer.Context,
    before: check_options.Before,
    after: check_options.After,
    exclude: options.Exclude = None,
    tool: options.Tool = None,
    strict: options.Strict = None,
    key_file: options.KeyFile = None,
    workers: options.Workers = None,
    scope: options.Scope = None,
    namespace: options.Namespace = None,
    price: options.Price = None,
    max_freshness: options.MaxFreshness = None,
    max_stale_rate: options.MaxStaleRate = None,
    confidence: options.Confidence = None,
    output_format: check_options.DiffFormat = None,
    json: options.Json = False,
    output: options.Output = None,
    top: options.Top = None,
    fail_on_new: check_options.FailOnNew = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.ColorOption = "auto",
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Compare two analyses: traces, stores or saved reports.

    Says which tools, groups and rules are new, gone or changed, and what of it is beyond noise.
    Exit code 1 only with --fail-on-new.
    """
    from visceral_cli.cli.session import open_session
    from visceral_cli.report.format_choice import DIFF_FORMATS, format_of

    session = open_session(context)
    settings = session.configuration.settings()
    place, view = session.place(), session.view()
    chosen = format_of(session.format_name(), place, DIFF_FORMATS)

    from visceral_cli.checking import report_of
    from visceral_cli.errors import ExitCode
    from visceral_cli.report.diff import diff_reports
    from visceral_cli.report.diff_writers import write_diff

    with session.working() as progress:
        was = report_of([before], settings, progress)
        now = report_of([after], settings, progress)
    found = diff_reports(was, now, (before, after))
    write_diff(found, chosen, place, view)
    if fail_on_new and found.has_new:
        raise typer.Exit(ExitCode.BROKEN)
