"""The options that several commands share, each written once.

Values arrive as text and are read by the readers of ``cli.setting_keys``, so that an option, a
variable and a key of ``pyproject.toml`` mean the same and fail with the same words.
"""

from __future__ import annotations

from typing import Annotated

import typer

from visceral_cli.cli.complete import (
    complete_color,
    complete_format,
    complete_rows,
    complete_scope,
    complete_tool,
)

_INPUT = "Input"
_ANALYSIS = "Analysis"
_PROOF = "Proof"
_OUTPUT = "Output"
_GENERAL = "General"

Texts = list[str] | None

Inputs = Annotated[
    Texts,
    typer.Argument(
        metavar="INPUT",
        help="Span files, folders of them, globs, - for stdin, or one store of visceral ingest.",
        show_default=False,
    ),
]
Exclude = Annotated[
    Texts,
    typer.Option(
        "--exclude", metavar="GLOB", help="Leave out files; repeatable.", rich_help_panel=_INPUT
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only calls that started at this time or later: 2026-05-04, or with clock and zone"
        " 2026-05-04T12:00:00Z.",
        rich_help_panel=_INPUT,
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="Only calls that started before this time.",
        rich_help_panel=_INPUT,
    ),
]
Tool = Annotated[
    Texts,
    typer.Option(
        "--tool",
        metavar="NAME",
        help="Only this tool; repeatable.",
        autocompletion=complete_tool,
        rich_help_panel=_INPUT,
    ),
]
Strict = Annotated[
    bool | None,
    typer.Option(
        "--strict/--no-strict",
        help="Damaged input is an error (exit 3), not a note.",
        rich_help_panel=_INPUT,
    ),
]
KeyFile = Annotated[
    str | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="Workspace keys of encrypted spans, as key_id=BASE64 lines"
        " (or VISCERAL_WORKSPACE_KEY).",
        rich_help_panel=_INPUT,
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help="Keep what was read in this DuckDB file (or VISCERAL_STORE).",
        rich_help_panel=_INPUT,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="Reading processes; default: one a core.",
        rich_help_panel=_INPUT,
    ),
]

Scope = Annotated[
    str | None,
    typer.Option(
        "--scope",
        metavar="trace|all",
        autocompletion=complete_scope,
        help="Where a repeat counts; default all.",
        rich_help_panel=_ANALYSIS,
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        metavar="ATTRIBUTE|none",
        help="Results are never shared between its values; default service.name.",
        rich_help_panel=_ANALYSIS,
    ),
]
Principal = Annotated[
    str | None,
    typer.Option(
        "--principal",
        metavar="ATTRIBUTE|none",
        help="Names who asks: results pass between users only where that is proven; none: answers"
        " never depend on it. Default user.id and the like.",
        rich_help_panel=_ANALYSIS,
    ),
]
FindVary = Annotated[
    bool | None,
    typer.Option(
        "--find-vary/--no-find-vary",
        help="Look for arguments that results do not depend on; default: in a store, which keeps"
        " the texts that this needs.",
        rich_help_panel=_ANALYSIS,
    ),
]
Price = Annotated[
    Texts,
    typer.Option(
        "--price",
        metavar="TOOL=USD",
        help="What a call of a tool costs, such as search=0.0075; repeatable.",
        rich_help_panel=_ANALYSIS,
    ),
]
MaxFreshness = Annotated[
    str | None,
    typer.Option(
        "--max-freshness",
        metavar="DURATION",
        help="No rule serves older results: 90s, 10m, 1.5h, 2d.",
        rich_help_panel=_PROOF,
    ),
]
MaxStaleRate = Annotated[
    str | None,
    typer.Option(
        "--max-stale-rate",
        metavar="SHARE",
        help="Largest share of stale answers a rule may have; default 1%.",
        rich_help_panel=_PROOF,
    ),
]
Confidence = Annotated[
    str | None,
    typer.Option(
        "--confidence",
        metavar="SHARE",
        help="With which that must be proven; default 95%.",
        rich_help_panel=_PROOF,
    ),
]
Anytime = Annotated[
    bool | None,
    typer.Option(
        "--anytime/--no-anytime",
        help="Bounds hold however often growing traces are analysed again; takes a"
        " fifth more evidence.",
        rich_help_panel=_PROOF,
    ),
]
VerifyRate = Annotated[
    str | None,
    typer.Option(
        "--verify-rate",
        metavar="SHARE",
        help="Share of served calls that really run as well; default 5%.",
        rich_help_panel=_PROOF,
    ),
]
IncludeEmptyResults = Annotated[
    bool | None,
    typer.Option(
        "--include-empty-results/--no-include-empty-results",
        help="Rules may serve an empty result, though more may soon be found.",
        rich_help_panel=_PROOF,
    ),
]
IncludeCandidates = Annotated[
    bool,
    typer.Option(
        "--include-candidates",
        help="Export what is not proven yet too, for people: no client serves it.",
        rich_help_panel=_PROOF,
    ),
]
ForTarget = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="|".join(("fastmcp", "langgraph", "crewai", "agno")),
        help="Write settings of its cache instead, a Python module that says what it leaves out.",
        rich_help_panel=_OUTPUT,
    ),
]
FromRules = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        help="With --for: take the rules of this file, and read no traces.",
        rich_help_panel=_INPUT,
    ),
]
WithResults = Annotated[
    str | None,
    typer.Option(
        "--with-results",
        metavar="STORE",
        help="Put the newest recorded result under each rule into this store of the runtime: a"
        " file, redis://... or postgresql://...; encrypted with VISCERAL_CAPTURE_KEY.",
        rich_help_panel=_OUTPUT,
    ),
]

OutputFormat = Annotated[
    str | None,
    typer.Option(
        "--output-format",
        "-f",
        metavar="FORMAT",
        autocompletion=complete_format,
        help="table, json, markdown, html, csv, parquet or jsonl; default by the suffix of -o.",
        rich_help_panel=_OUTPUT,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.", rich_help_panel=_OUTPUT)]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write here, not to stdout; - is stdout.",
        rich_help_panel=_OUTPUT,
    ),
]
RowsOption = Annotated[
    str | None,
    typer.Option(
        "--rows",
        metavar="WHAT",
        autocompletion=complete_rows,
        help="What a row is: tools, groups, rules, candidates, refusals, findings, funnel or"
        " calls.",
        rich_help_panel=_OUTPUT,
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        help="Rows to show in a table; 0 for all. Files always hold all.",
        rich_help_panel=_OUTPUT,
    ),
]
ShowArguments = Annotated[
    bool,
    typer.Option(
        "--show-arguments",
        help="Show argument values and results in --rows calls; hidden by default.",
        rich_help_panel=_OUTPUT,
    ),
]

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No notes, no progress.", rich_help_panel=_GENERAL)
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="List what was left out.", rich_help_panel=_GENERAL),
]
ColorOption = Annotated[
    str,
    typer.Option(
        "--color",
        metavar="auto|always|never",
        autocompletion=complete_color,
        help="Default auto.",
        show_default=False,
        rich_help_panel=_GENERAL,
    ),
]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings; default: the nearest pyproject.toml with [tool.visceral].",
        rich_help_panel=_GENERAL,
    ),
]
NoConfig = Annotated[
    bool, typer.Option("--no-config", help="Read no settings file.", rich_help_panel=_GENERAL)
]
