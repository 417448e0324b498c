"""The options of ``visceral verify`` alone."""

from __future__ import annotations

from typing import Annotated

import typer

_RULES = "Rules"
_EXECUTE = "Making calls again"

RulesFile = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        help="The rules to verify, as visceral rules writes them.",
        rich_help_panel=_RULES,
    ),
]
Holdout = Annotated[
    str | None,
    typer.Option(
        "--holdout",
        metavar="SHARE",
        help="Derive the rules from the earlier calls and verify them on the last 30%, say.",
        rich_help_panel=_RULES,
    ),
]
MaxMismatchRate = Annotated[
    str | None,
    typer.Option(
        "--max-mismatch-rate",
        metavar="SHARE",
        help="A rule is also broken if more of its compared results mismatch, whatever chance"
        " explains; default: no such limit.",
        rich_help_panel=_RULES,
    ),
]
SampleRate = Annotated[
    str | None,
    typer.Option(
        "--sample-rate",
        metavar="SHARE",
        help="Compare this share of the served calls, always the same ones; default 100%.",
        rich_help_panel=_RULES,
    ),
]
Within = Annotated[
    str | None,
    typer.Option(
        "--within",
        metavar="DURATION",
        help="In which time a doubled stale rate shall be noticed; default 7d.",
        rich_help_panel=_RULES,
    ),
]
Ledger = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Add what is found to this record, and judge each rule by all of it.",
        rich_help_panel=_RULES,
    ),
]
WriteKept = Annotated[
    str | None,
    typer.Option(
        "--write-kept",
        metavar="FILE",
        help="Write the rules there that are not broken, nor retired in the ledger.",
        rich_help_panel=_RULES,
    ),
]
Execute = Annotated[
    str | None,
    typer.Option(
        "--execute",
        metavar="MODULE:FUNCTION",
        help="Make some calls again with this function(tool, arguments), only of tools declared"
        " read-only and replay-safe, and compare the results; no value is shown.",
        rich_help_panel=_EXECUTE,
    ),
]
ExecuteLimit = Annotated[
    int | None,
    typer.Option(
        "--execute-limit",
        metavar="N",
        min=1,
        help="Make at most so many calls; default 20.",
        show_default=False,
        rich_help_panel=_EXECUTE,
    ),
]
ExecuteTimeout = Annotated[
    str | None,
    typer.Option(
        "--execute-timeout",
        metavar="DURATION",
        help="End a call that takes longer; default 30s.",
        show_default=False,
        rich_help_panel=_EXECUTE,
    ),
]
TrustLedger = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="The record of visceral verify --ledger: shown with each rule; what it has retired is"
        " no rule any more.",
        rich_help_panel="Proof",
    ),
]
