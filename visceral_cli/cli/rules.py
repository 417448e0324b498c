"""visceral rules: span files in, the rules they prove out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from visceral_cli.cli import options, verify_options

if TYPE_CHECKING:
    from visceral_cli.report.report import Report
    from visceral_cli.settings import Settings


def rules(
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
    include_candidates: options.IncludeCandidates = False,
    ledger: verify_options.TrustLedger = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.ColorOption = "auto",
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Write the rules that the traces prove.

    The document is the JSON that runtimes read, each rule with its freshness and its evidence.
    """
    from visceral_cli.cli.session import open_session

    session = open_session(context)
    inputs_given, settings = session.inputs(), session.configuration.settings()

    from visceral_cli.cli.analyze import say_damage
    from visceral_cli.pipeline import analyze_inputs
    from visceral_cli.report.output import write_output
    from visceral_cli.rules.rules_file import rules_text

    with session.working() as progress, analyze_inputs(inputs_given, settings, progress) as done:
        report = done.report
    say_damage(session.terminal, report)
    if ledger is not None:
        report = _without_retired(report, Path(ledger), settings)
    text = rules_text([*report.rules, *report.candidates])
    write_output(session.place(), lambda out: out.write(text.encode()))
    session.terminal.note(_in_words(report))


def _without_retired(report: Report, ledger: Path, settings: Settings) -> Report:
    from visceral_cli.verify.judge import Promise
    from visceral_cli.verify.ledger import is_retired, with_trust

    rules = with_trust(report.rules, ledger, Promise.of(settings.freshness))
    return replace(report, rules=tuple(rule for rule in rules if not is_retired(rule)))


def _in_words(report: Report) -> str:
    from visceral_cli.contract.rule import Sharing
    from visceral_cli.report.quantities import counted

    said = f"{counted(len(report.rules), 'rule')} proven"
    narrow = sum(rule.match.scope is not Sharing.ALL for rule in report.rules)
    if narrow:
        said += f", {narrow:,} of them for one user, session or run, which schema 1 cannot say"
    if report.candidates:
        said += f", {counted(len(report.candidates), 'candidate')} that no client serves"
    if report.refusals:
        said += f", {counted(len(report.refusals), 'refusal')} (visceral analyze --rows refusals)"
    return said
