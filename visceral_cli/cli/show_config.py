"""visceral config: the settings in effect, and where each came from."""

from __future__ import annotations

import typer

from visceral_cli.cli import options


def show_config(
    context: typer.Context,
    json: options.Json = False,
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Show the settings in effect and their origin."""
    from visceral_cli.cli.config_rows import as_json, as_table, config_rows
    from visceral_cli.cli.session import open_session
    from visceral_cli.report.output import write_output

    session = open_session(context)
    rows = config_rows(session.configuration)
    text = as_json(rows) if json else as_table(rows)
    write_output(None, lambda out: out.write(text.encode()))
