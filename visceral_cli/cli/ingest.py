"""visceral ingest: span files into a store that grows, and what was added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from visceral_cli.cli import options

if TYPE_CHECKING:
    from visceral_cli.pipeline import IngestSummary


def ingest(
    context: typer.Context,
    inputs: options.Inputs = None,
    exclude: options.Exclude = None,
    strict: options.Strict = None,
    key_file: options.KeyFile = None,
    store: options.Store = None,
    workers: options.Workers = None,
    namespace: options.Namespace = None,
    principal: options.Principal = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.ColorOption = "auto",
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Load spans into a DuckDB file.

    A file that is already in it is skipped, so a grown folder costs only what is new.
    """
    from visceral_cli.cli.session import open_session
    from visceral_cli.errors import UsageError

    session = open_session(context)
    inputs_given, settings = session.inputs(), session.configuration.settings()
    if settings.store is None:
        raise UsageError("no store is given", hint="add --store FILE, such as traces.duckdb")

    from visceral_cli.pipeline import ingest_inputs
    from visceral_cli.report.output import write_output

    with session.working() as progress:
        summary = ingest_inputs(inputs_given, settings, progress)
    text = _as_json(summary) if json else _in_words(summary)
    write_output(None, lambda out: out.write(text.encode()))


def _in_words(summary: IngestSummary) -> str:
    from visceral_cli.report.quantities import counted

    skipped = f", {summary.files_skipped:,} already there" if summary.files_skipped else ""
    replaced = f", {summary.files_replaced:,} read anew" if summary.files_replaced else ""
    others = counted(summary.files_other, "other file")
    left_out = f", {others} left out" if summary.files_other else ""
    damage = f", {counted(summary.damaged, 'damaged place')} skipped" if summary.damaged else ""
    return (
        f"{counted(summary.files_loaded, 'file')} loaded{replaced}{skipped}{left_out}: "
        f"{counted(summary.spans, 'span')}, {counted(summary.tool_calls, 'tool call')}{damage}\n"
    )


def _as_json(summary: IngestSummary) -> str:
    import json

    from msgspec.structs import asdict

    return json.dumps(asdict(summary)) + "\n"
