"""The options of ``check``, ``diff`` and ``report`` that no other command has."""

from __future__ import annotations

from typing import Annotated

import typer

from visceral_cli.cli.complete import complete_check_format, complete_diff_format

_LIMITS = "Limits (each may be reached, not passed)"
_HELD_AGAINST = "Held against"
_OUTPUT = "Output"

MaxDuplicateRate = Annotated[
    str | None,
    typer.Option(
        "--max-duplicate-rate",
        metavar="SHARE",
        help="Share of calls that are repeats: 20% or 0.2.",
        rich_help_panel=_LIMITS,
    ),
]
MaxRepeats = Annotated[
    int | None,
    typer.Option("--max-repeats", metavar="N", help="Repeats.", rich_help_panel=_LIMITS),
]
MaxAvoidable = Annotated[
    str | None,
    typer.Option(
        "--max-avoidable",
        metavar="DURATION",
        help="Time of the repeats with the same result: 90s, 2m.",
        rich_help_panel=_LIMITS,
    ),
]
MaxCost = Annotated[
    str | None,
    typer.Option(
        "--max-cost",
        metavar="USD",
        help="Cost of the repeats with the same result; needs prices.",
        rich_help_panel=_LIMITS,
    ),
]
CheckedRules = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        help="Rules that must still hold: replayed here, and their tools looked at.",
        rich_help_panel=_HELD_AGAINST,
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="BEFORE",
        help="Traces, a store or a saved report: fails on what is new or worse beyond noise.",
        rich_help_panel=_HELD_AGAINST,
    ),
]
BaselineFile = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Findings that are known and accepted.",
        rich_help_panel=_HELD_AGAINST,
    ),
]
UpdateBaseline = Annotated[
    bool,
    typer.Option(
        "--update-baseline",
        help="Accept what is found now: writes the baseline anew, and says what changed in it.",
        rich_help_panel=_HELD_AGAINST,
    ),
]
ExitZero = Annotated[
    bool,
    typer.Option(
        "--exit-zero",
        help="Report findings, but exit 0; errors still exit as errors.",
        rich_help_panel=_OUTPUT,
    ),
]
CheckFormat = Annotated[
    str | None,
    typer.Option(
        "--output-format",
        "-f",
        metavar="FORMAT",
        autocompletion=complete_check_format,
        help="table, json, markdown, github, junit or sarif; default by the suffix of -o.",
        rich_help_panel=_OUTPUT,
    ),
]
DiffFormat = Annotated[
    str | None,
    typer.Option(
        "--output-format",
        "-f",
        metavar="FORMAT",
        autocompletion=complete_diff_format,
        help="table, json or markdown; default by the suffix of -o.",
        rich_help_panel=_OUTPUT,
    ),
]
FailOnNew = Annotated[
    bool,
    typer.Option(
        "--fail-on-new",
        help="Exit 1 when a tool or a repeating identity is new.",
        rich_help_panel=_OUTPUT,
    ),
]
Before = Annotated[
    str,
    typer.Argument(metavar="BEFORE", help="Traces, a store or a saved report.", show_default=False),
]
After = Annotated[
    str,
    typer.Argument(metavar="AFTER", help="What to compare with it.", show_default=False),
]
SavedReport = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="What visceral analyze --json wrote; - for stdin.", show_default=False
    ),
]
