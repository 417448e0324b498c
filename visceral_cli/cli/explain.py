"""visceral explain: what a word of a report means, or what the traces say of one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from visceral_cli.cli import options, verify_options
from visceral_cli.cli.complete import complete_what

if TYPE_CHECKING:
    from visceral_cli.cli.session import Session
    from visceral_cli.report.explain.explanation import Explanation

WhatArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="WHAT",
        autocompletion=complete_what,
        help="A word of a report, or with INPUT: a span id, six or more digits of an identity,"
        " r-… of a rule, or a tool. Without it all words are listed.",
        show_default=False,
    ),
]
ShowArguments = Annotated[
    bool,
    typer.Option(
        "--show-arguments",
        help="Show argument values, and where results differ their values; hidden by default.",
        rich_help_panel="Output",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.", rich_help_panel="Output")]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        help="Rows of a list to show; 0 for all; default 10.",
        rich_help_panel="Output",
    ),
]

_ROWS = 10


def explain(
    context: typer.Context,
    what: WhatArgument = None,
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
    price: options.Price = None,
    max_freshness: options.MaxFreshness = None,
    max_stale_rate: options.MaxStaleRate = None,
    confidence: options.Confidence = None,
    anytime: options.Anytime = None,
    verify_rate: options.VerifyRate = None,
    include_empty_results: options.IncludeEmptyResults = None,
    find_vary: options.FindVary = None,
    ledger: verify_options.TrustLedger = None,
    json: Json = False,
    top: Top = None,
    show_arguments: ShowArguments = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.ColorOption = "auto",
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Explain a word of a report, a call, an identity, a rule or a tool.

    With traces it shows what is behind the word or number: the calls, what they have in common and
    where they differ, what blocks a rule, and what would change that.
    """
    from visceral_cli.cli.session import open_session
    from visceral_cli.cli.setting_keys import INPUTS
    from visceral_cli.report.explain.pages import contents, pages_of
    from visceral_cli.report.output import write_output

    if what is None:
        write_output(None, lambda out: out.write(contents().encode()))
        return
    session = open_session(context)
    if inputs or (not pages_of(what) and session.configuration.get(INPUTS)):
        explanations = _of_traces(session, what)
    else:
        from visceral_cli.report.explain.words import explain_words

        explanations = explain_words(what, INSERTS)

    view = session.view()
    if json:
        from visceral_cli.report.explain.to_json import as_json

        text = as_json(what, explanations)
    else:
        from visceral_cli.report.explain.layout import as_text

        text = as_text(explanations, width=view.width)
    encoded = text.encode(view.encoding, errors="backslashreplace")
    write_output(None, lambda out: out.write(encoded))


def _of_traces(session: Session, what: str) -> list[Explanation]:
    from msgspec.structs import replace

    from visceral_cli.cli.analyze import say_damage
    from visceral_cli.cli.setting_keys import LEDGER, TOP
    from visceral_cli.pipeline import analyze_inputs
    from visceral_cli.report.explain.evidence import Evidence, with_texts
    from visceral_cli.report.explain.subjects import explain_subject
    from visceral_cli.rules.merge import in_each_namespace, merged
    from visceral_cli.verify.judge import Promise
    from visceral_cli.verify.ledger import with_trust

    inputs = session.inputs()
    settings = with_texts(session.configuration.settings(), inputs)
    top = session.configuration.get(TOP)
    with (
        session.working() as progress,
        analyze_inputs(inputs, settings, progress) as analysis,
    ):
        report = analysis.report
        ledger = session.configuration.get(LEDGER)
        if ledger is not None:
            promise = Promise.of(settings.freshness)
            # The ledger knows rules as they are written.
            rules = with_trust(merged(report.rules), ledger, promise)
            report = replace(report, rules=tuple(in_each_namespace(rules)))
        evidence = Evidence(
            report,
            analysis.store,
            settings.extract.tools,
            show_arguments=session.options.get("show_arguments") is True,
            top=_ROWS if top is None else top,
        )
        explanations = explain_subject(evidence, what, INSERTS)
    say_damage(session.terminal, analysis.report)
    return explanations


def _conventions() -> str:
    """Return a line for each convention: its name, and the attributes it takes arguments from."""
    from visceral_cli.calls.conventions import CONVENTIONS

    width = max(len(convention.name) for convention in CONVENTIONS)
    return "\n".join(
        f"  {convention.name:<{width}}  {', '.join(convention.arguments[:2]) or '-'}"
        for convention in CONVENTIONS
    )


INSERTS = {"conventions": _conventions}
"""What pages leave open."""
