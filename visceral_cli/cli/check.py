"""visceral check: span files and limits in, findings and an exit code out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from visceral_cli.cli import check_options, options

if TYPE_CHECKING:
    from visceral_cli.checking import CheckRequest
    from visceral_cli.cli.config import Configuration
    from visceral_cli.cli.session import Session
    from visceral_cli.gate.finding import CheckResult


def check(
    context: typer.Context,
    inputs: options.Inputs = None,
    max_duplicate_rate: check_options.MaxDuplicateRate = None,
    max_repeats: check_options.MaxRepeats = None,
    max_avoidable: check_options.MaxAvoidable = None,
    max_cost: check_options.MaxCost = None,
    rules: check_options.CheckedRules = None,
    against: check_options.Against = None,
    baseline: check_options.BaselineFile = None,
    update_baseline: check_options.UpdateBaseline = False,
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
    price: options.Price = None,
    max_stale_rate: options.MaxStaleRate = None,
    confidence: options.Confidence = None,
    output_format: check_options.CheckFormat = None,
    json: options.Json = False,
    output: options.Output = None,
    top: options.Top = None,
    exit_zero: check_options.ExitZero = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.ColorOption = "auto",
    config: options.Config = None,
    no_config: options.NoConfig = False,
) -> None:
    """Hold the numbers against limits, rules and an earlier analysis: the gate of a CI.

    Exit code 1: something is broken that the baseline does not accept. Exit code 3: nothing usable
    was found, or nothing could be judged; that is never a pass.
    """
    from visceral_cli.cli.session import open_session
    from visceral_cli.report.format_choice import CHECK_FORMATS, format_of

    session = open_session(context)
    inputs_given, settings = session.inputs(), session.configuration.settings()
    place, view = session.place(), session.view()
    chosen = format_of(session.format_name(), place, CHECK_FORMATS)
    baseline_file = _baseline_file(session.configuration, update=update_baseline)
    request = _request(session.configuration)

    from visceral_cli.checking import check_inputs
    from visceral_cli.cli.analyze import say_damage
    from visceral_cli.report.check_writers import write_check

    with session.working() as progress:
        result, report = check_inputs(inputs_given, settings, request, progress)
    say_damage(session.terminal, report)
    result = _with_baseline(session, result, baseline_file, update=update_baseline)
    write_check(result, chosen, place, view)
    _end(session, result, exit_zero=exit_zero)


def _request(configuration: Configuration) -> CheckRequest:
    from visceral_cli.checking import CheckRequest
    from visceral_cli.cli import setting_keys as keys
    from visceral_cli.errors import UsageError
    from visceral_cli.rules.rules_file import load_rules

    rules_file = configuration.get(keys.CHECK_RULES)
    rules = None if rules_file is None else tuple(load_rules(rules_file))
    if rules is not None and not rules:
        raise UsageError(
            f"{rules_file}: no rule in it", hint="visceral rules writes those it proves"
        )
    request = CheckRequest(
        limits=configuration.limits(),
        tool_limits=configuration.tool_limits,
        rules=rules,
        against=configuration.get(keys.AGAINST),
    )
    if request.is_empty:
        raise UsageError(
            "nothing to check",
            hint="give a limit such as --max-duplicate-rate 20%, --rules FILE or --against BEFORE",
        )
    return request


def _baseline_file(configuration: Configuration, *, update: bool) -> Path | None:
    from visceral_cli.cli import setting_keys as keys
    from visceral_cli.errors import UsageError
    from visceral_cli.gate.baseline import read_baseline

    file = configuration.get(keys.BASELINE)
    if file is None and update:
        raise UsageError("--update-baseline: no baseline is named", hint="add --baseline FILE")
    if file is not None and (file.exists() or not update):
        read_baseline(file)  # what is wrong with it is told before any work is done
    return file


def _with_baseline(
    session: Session, result: CheckResult, file: Path | None, *, update: bool
) -> CheckResult:
    from msgspec.structs import replace

    from visceral_cli.gate.baseline import (
        accept_all,
        apply_baseline,
        baseline_change,
        baseline_text,
        read_baseline,
    )
    from visceral_cli.gate.finding import GateDecision
    from visceral_cli.report.output import write_output

    if file is None:
        return result
    before = read_baseline(file) if file.exists() else {}
    if not update:
        cases, stale = apply_baseline(result.cases, before)
        return replace(result, cases=cases, stale_baseline=stale)
    if result.decision is GateDecision.NOTHING_JUDGED:
        return result  # a run that judged nothing says nothing of what is known
    text = baseline_text(result.cases)
    write_output(file, lambda out: out.write(text.encode()))
    change = baseline_change(result.cases, before)
    for word, fingerprints in (
        ("accepted", change.added),
        ("no longer found", change.gone),
        ("changed", change.changed),
    ):
        for fingerprint in fingerprints:
            session.terminal.note(f"{file}: {word}: {fingerprint}")
    if not (change.added or change.gone or change.changed):
        session.terminal.note(f"{file}: nothing changed")
    return replace(result, cases=accept_all(result.cases))


def _end(session: Session, result: CheckResult, *, exit_zero: bool) -> None:
    from visceral_cli.cli.terminal import say
    from visceral_cli.errors import ExitCode, InputError
    from visceral_cli.report.check_words import NOTHING_JUDGED, verdict_line

    if result.exit_code is ExitCode.INPUT:
        raise InputError(NOTHING_JUDGED, hint="that is no pass; give more traces, or a limit")
    if not session.terminal.quiet:
        say(f"visceral: {verdict_line(result)}")
    if not exit_zero:
        raise typer.Exit(result.exit_code)
