"""visceral rules: span files in, the rules they prove out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from visceral_cli.cli import options, verify_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from visceral_cli.cli.session import Session
    from visceral_cli.contract.rule import Rule
    from visceral_cli.report.report import Report


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
    with_results: options.WithResults = None,
    target: options.ForTarget = None,
    from_rules: options.FromRules = None,
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
    from visceral_cli.cli.rules_for import chosen_target, rules_of, write_settings
    from visceral_cli.cli.session import open_session
    from visceral_cli.cli.setting_keys import LEDGER

    session = open_session(context)
    trusted = session.configuration.get(LEDGER)
    settings, chosen = session.configuration.settings(), chosen_target(session)
    known = rules_of(session)
    if known is not None and chosen is not None:
        if trusted is not None:
            known = _not_retired(session, known, trusted)
        write_settings(session, known, chosen)
        return
    inputs_given, settings = session.inputs(), replace(settings, for_plain_caches=True)

    import msgspec

    from visceral_cli.cli.analyze import say_damage
    from visceral_cli.cli.environment import process_environment
    from visceral_cli.cli.with_results import open_results
    from visceral_cli.pipeline import analyze_inputs
    from visceral_cli.report.output import write_output
    from visceral_cli.rules.merge import in_each_namespace, merged
    from visceral_cli.rules.rules_file import rules_text
    from visceral_cli.rules.seeds import choose_seeds

    results = None
    if with_results is not None:
        results = open_results(with_results, settings.extract.workspace_keys, process_environment())
        settings = replace(settings, extract=replace(settings.extract, keep_text=True))
    with session.working() as progress, analyze_inputs(inputs_given, settings, progress) as done:
        report = msgspec.structs.replace(done.report, rules=tuple(merged(done.report.rules)))
        if trusted is not None:
            kept = _not_retired(session, report.rules, trusted)
            report = msgspec.structs.replace(report, rules=tuple(kept))
        apart = in_each_namespace(report.rules)
        seeds = None if results is None else choose_seeds(done.store, apart, settings)
    say_damage(session.terminal, report)
    if chosen is not None:
        write_settings(session, report.rules, chosen)
        return
    text = rules_text([*report.rules, *report.candidates])
    write_output(session.place(), lambda out: out.write(text.encode()))
    session.terminal.note(_in_words(report))
    if results is not None and seeds is not None:
        results.seed(seeds, session.terminal)


def _not_retired(session: Session, rules: Sequence[Rule], ledger: Path) -> list[Rule]:
    """Return the rules with their record in the ledger, and without those that it has retired."""
    from collections import Counter

    from visceral_cli.verify.judge import Promise
    from visceral_cli.verify.ledger import is_retired, with_trust

    promise = Promise.of(session.configuration.settings().freshness)
    told = with_trust(rules, ledger, promise)
    states = Counter((rule.evidence or {})["trust"]["state"] for rule in told)
    session.terminal.note(f"{ledger}: {_trust_in_words(states)}")
    return [rule for rule in told if not is_retired(rule)]


def _trust_in_words(states: Mapping[str, int]) -> str:
    said = f"{states.get('active', 0):,} active, {states.get('proposed', 0):,} proposed"
    retired = states.get("retired", 0)
    return said + (f", {retired:,} retired, not written" if retired else "")


def _in_words(report: Report) -> str:
    from visceral_cli.contract.rule import Sharing
    from visceral_cli.report.quantities import counted

    said = f"{counted(len(report.rules), 'rule')} proven"
    narrow = sum(rule.match.scope is not Sharing.ALL for rule in report.rules)
    if narrow:
        said += f", {narrow:,} of them not for all who ask, which schema 1 cannot say"
    if report.candidates:
        said += f", {counted(len(report.candidates), 'candidate')} that no client serves"
    if report.refusals:
        said += f", {counted(len(report.refusals), 'refusal')} (visceral analyze --rows refusals)"
    return said
