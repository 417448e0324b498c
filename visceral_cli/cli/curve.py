"""visceral curve: what other freshnesses and store sizes would have given one tool."""

from __future__ import annotations

from typing import Annotated, BinaryIO

import typer

from visceral_cli.cli import options
from visceral_cli.cli.complete import complete_tool

ToolName = Annotated[
    str,
    typer.Argument(
        metavar="TOOL", help="The name of a tool.", autocompletion=complete_tool, show_default=False
    ),
]


def curve(
    context: typer.Context,
    tool_name: ToolName,
    inputs: options.Inputs = None,
    exclude: options.Exclude = None,
    since: options.Since = None,
    until: options.Until = None,
    strict: options.Strict = None,
    key_file: options.KeyFile = None,
    store: options.Store = None,
    workers: options.Workers = None,
    scope: options.Scope = None,
    namespace: options.Namespace = None,
    principal: options.Principal = None,
    max_freshness: options.MaxFreshness = None,
    max_stale_rate: options.MaxStaleRate = None,
    confidence: options.Confidence = None,
    anytime: options.Anytime = None,
    json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.ColorOption = "auto",
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Show what one tool would have saved, and how often stale, by freshness and store size.

    The proposed freshness is marked; the intervals tell how sure the other points are.
    """
    from visceral_cli.cli.session import open_session
    from visceral_cli.report.curve import curve_json, write_curve_table
    from visceral_cli.report.output import write_output

    session = open_session(context)
    inputs_given, settings = session.inputs(), session.configuration.settings()

    from visceral_cli.pipeline import curve_inputs

    with session.working() as progress:
        curves = curve_inputs(tool_name, inputs_given, settings, progress)

    def write(out: BinaryIO) -> None:
        if json:
            out.write(curve_json(curves).encode())
        else:
            write_curve_table(curves, out, session.view())

    write_output(session.place(), write)
