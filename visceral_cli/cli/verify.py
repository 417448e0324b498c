"""visceral verify: span files and rules in; would the stored results have matched?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from visceral_cli.cli import check_options, options, verify_options

if TYPE_CHECKING:
    from visceral_cli.cli.session import Session
    from visceral_cli.contract.rule import Rule
    from visceral_cli.report.verification import VerificationReport
    from visceral_cli.verify.verify import VerifyRequest

_SECONDS_PER_DAY = 86_400


def verify(
    context: typer.Context,
    inputs: options.Inputs = None,
    rules: verify_options.RulesFile = None,
    holdout: verify_options.Holdout = None,
    max_mismatch_rate: verify_options.MaxMismatchRate = None,
    sample_rate: verify_options.SampleRate = None,
    within: verify_options.Within = None,
    ledger: verify_options.Ledger = None,
    write_kept: verify_options.WriteKept = None,
    execute: verify_options.Execute = None,
    execute_limit: verify_options.ExecuteLimit = None,
    execute_timeout: verify_options.ExecuteTimeout = None,
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
    max_freshness: options.MaxFreshness = None,
    max_stale_rate: options.MaxStaleRate = None,
    confidence: options.Confidence = None,
    output_format: check_options.CheckFormat = None,
    json: options.Json = False,
    output: options.Output = None,
    top: options.Top = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.ColorOption = "auto",
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Replay the calls under rules, and compare each served result with the real one.

    Exit code 1: a rule is broken, which is that more of its results mismatch than chance explains
    at --max-stale-rate, or than --max-mismatch-rate allows. --max-freshness caps what rules allow,
    and stands in for rules that name no freshness.
    """
    from visceral_cli.cli.session import open_session
    from visceral_cli.report.format_choice import format_of

    session = open_session(context)
    inputs_given, settings = session.inputs(), session.configuration.settings()

    from visceral_cli.report.verification_writers import WRITERS, write_verification

    place, view = session.place(), session.view()
    chosen = format_of(session.format_name(), place, tuple(WRITERS))
    request = _request(session)
    if request.execute is not None:
        settings = replace(settings, extract=replace(settings.extract, keep_text=True))

    from visceral_cli.pipeline import verify_inputs

    with session.working() as progress:
        report = verify_inputs(inputs_given, settings, request, progress)

    from visceral_cli.cli.analyze import say_damage

    say_damage(session.terminal, report)
    write_verification(report, chosen, place, view)
    if write_kept is not None:
        _write_kept(Path(write_kept), _rules_or_holdout(session)[0], report)
    _end(session, report)


def _request(session: Session) -> VerifyRequest:
    from visceral_cli.cli import setting_keys as keys
    from visceral_cli.verify.execute import ExecuteRequest
    from visceral_cli.verify.verify import VerifyRequest

    asked = session.configuration
    rules, holdout = _rules_or_holdout(session)
    execute = None
    if session.options.get("execute") is not None:
        execute = ExecuteRequest(
            _function_name(str(session.options["execute"])),
            asked.get(keys.EXECUTE_LIMIT),
            asked.get(keys.EXECUTE_TIMEOUT),
        )
    return VerifyRequest(
        rules=() if rules is None else tuple(_rules(rules)),
        max_mismatch_rate=asked.get(keys.MAX_MISMATCH_RATE),
        sample_rate=asked.get(keys.SAMPLE_RATE),
        holdout_rate=holdout,
        within_days=asked.get(keys.WITHIN) / _SECONDS_PER_DAY,
        execute=execute,
        ledger=asked.get(keys.LEDGER),
    )


def _rules_or_holdout(session: Session) -> tuple[Path | None, float | None]:
    """Return which of the two is asked for; an option beats what the settings say of the other."""
    from visceral_cli.cli import setting_keys as keys
    from visceral_cli.errors import UsageError

    asked, given = session.configuration, session.options
    rules, holdout = asked.get(keys.VERIFY_RULES), asked.get(keys.HOLDOUT)
    by_option = {name for name in ("rules", "holdout") if given.get(name) is not None}
    if by_option == {"rules"}:
        holdout = None
    elif by_option == {"holdout"}:
        rules = None
    if (rules is None) == (holdout is None):
        raise UsageError(
            "--rules and --holdout exclude each other" if rules else "no rules are given",
            hint="--rules FILE verifies these, --holdout 30% derives them from the earlier calls",
        )
    return rules, holdout


def _rules(place: Path) -> list[Rule]:
    from visceral_cli.errors import UsageError
    from visceral_cli.rules.rules_file import load_rules

    rules = load_rules(place)
    if not rules:
        raise UsageError(f"{place}: no rule in it", hint="visceral rules writes those it proves")
    return rules


def _function_name(given: str) -> str:
    from visceral_cli.errors import UsageError

    module, colon, function = given.partition(":")
    if not module or not colon or not function:
        raise UsageError(f'--execute: "{given}" names no function', hint="write MODULE:FUNCTION")
    return given


def _write_kept(place: Path, rules_file: Path | None, report: VerificationReport) -> None:
    from visceral_cli.report.output import write_output
    from visceral_cli.rules.merge import without
    from visceral_cli.rules.rules_file import rules_text
    from visceral_cli.verify.withdraw import text_without

    found = report.verification
    withdrawn = found.withdrawn
    if rules_file is None:
        text = rules_text(without(report.rules, withdrawn))
    else:
        text = text_without(rules_file, withdrawn)
    write_output(place, lambda out: out.write(text.encode()))


def _end(session: Session, report: VerificationReport) -> None:
    """Say the verdict, and leave with its exit code."""
    from visceral_cli.cli.terminal import say
    from visceral_cli.errors import ExitCode, InputError
    from visceral_cli.report.verification import verdict

    found = report.verification
    if not session.terminal.quiet:
        say(f"visceral: {verdict(found)}")
    if not found.passed:
        raise typer.Exit(ExitCode.BROKEN)
    if not found.compared:
        raise InputError(
            "no stored result could be compared with a real one, so nothing is verified",
            hint="give traces in which calls repeat within the freshness, with results recorded",
        )
