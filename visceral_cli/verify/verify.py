"""Rules and calls in, a verification out: every step once, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import msgspec
import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.barriers import Barriers
from visceral_cli.analysis.columns import NANO, CallColumns, read_calls
from visceral_cli.analysis.history import Flags
from visceral_cli.analysis.names import call_names, name_table
from visceral_cli.analysis.scopes import who_of
from visceral_cli.analysis.spans import read_spans
from visceral_cli.contract.rule import Rule
from visceral_cli.errors import InputError
from visceral_cli.settings import Settings
from visceral_cli.verify.execute import ExecuteRequest, execute_calls
from visceral_cli.verify.judge import (
    Case,
    JudgedRule,
    Observation,
    Promise,
    judge,
    judge_rules,
)
from visceral_cli.verify.ledger import (
    append_to_ledger,
    line_of,
    observation_key,
    read_ledger,
    trust_records,
)
from visceral_cli.verify.outcome import (
    Mismatch,
    RuleOutcome,
    ToolOutcome,
    TrustRecord,
    Verification,
)
from visceral_cli.verify.recorded import recorded_serves
from visceral_cli.verify.replay import Replay, replay_rules
from visceral_cli.verify.rule_cover import Cover, cover_calls, split_by_cover
from visceral_cli.verify.sample_draw import is_drawn, samples_to_notice, verify_rate

SHOWN_MISMATCHES = 5
"""How many of the calls with a stale result are named, of each rule."""

NOTICED_INCREASE = 2
"""The stale rate to be noticed, as a multiple of the tolerated one."""


class VerifyRequest(msgspec.Struct, frozen=True):
    """What to verify, and how strictly."""

    rules: tuple[Rule, ...]
    max_mismatch_rate: float | None = None
    """What may be observed; ``None``: only what chance cannot explain breaks a rule."""
    sample_rate: float = 1.0
    """The share of served calls whose results are compared."""
    holdout_rate: float | None = None
    from_ns: int | None = None
    """Only what happened from then on is verified, from an empty store."""
    within_days: float = 7.0
    """In which time a doubled stale rate shall be noticed."""
    execute: ExecuteRequest | None = None
    ledger: Path | None = None
    """The trust ledger to add to."""


def verify_calls(
    store: duckdb.DuckDBPyConnection, settings: Settings, request: VerifyRequest
) -> Verification:
    """Return what the calls of the store say of the rules.

    Raises:
        InputError: no call matches a rule, and the runtime answered none by one.
        UsageError: calls are to be made again, but cannot be; or the ledger cannot be used.
    """
    known = [] if request.ledger is None else read_ledger(request.ledger)
    calls = read_calls(store, settings)
    cover = cover_calls(store, calls, request.rules, settings)
    calls = split_by_cover(calls, cover)
    looked_at = _looked_at(calls, request.from_ns)
    who = who_of(calls)
    replay = replay_rules(calls, read_spans(store, calls), cover, who, from_ns=request.from_ns)
    barriers = Barriers.of(calls, who)
    rows, serves = recorded_serves(store, calls, cover, barriers, from_ns=request.from_ns)
    if not (replay.outcome >= 0).any() and not (cover.decided_by[rows] >= 0).any():
        raise InputError(
            f"none of {int(looked_at.sum()):,} calls matches one of {len(request.rules):,} rules",
            hint="rules hold for the tool, arguments and namespace that they were proven for",
        )
    sampled = _sampled(store, calls, cover, replay, request.sample_rate)
    case = Case(calls, cover, replay, sampled, rows, serves)
    promise = Promise.of(settings.freshness, request.max_mismatch_rate)
    if request.execute is not None:
        case = replace(case, executions=execute_calls(store, case, request.execute))
    judged = judge_rules(case, promise)
    starts = calls.start_ns[looked_at & calls.has_start]
    first_ns, last_ns = (int(starts[0]), int(starts[-1])) if len(starts) else (None, None)
    days = 0.0 if first_ns is None or last_ns is None else (last_ns - first_ns) / NANO / 86_400
    to_notice = samples_to_notice(
        min(1.0, NOTICED_INCREASE * promise.max_stale_rate), promise.max_stale_rate, promise.delta
    )
    trust: tuple[TrustRecord, ...] = ()
    if request.ledger is not None:
        keys = _keys(store, judged)
        line = line_of(request.rules, judged, keys, promise, first_ns, last_ns)
        lines = append_to_ledger(request.ledger, known, line)
        trust = trust_records(lines, request.rules, promise)
    return Verification(
        max_stale_rate=promise.max_stale_rate,
        confidence=settings.freshness.confidence,
        max_mismatch_rate=request.max_mismatch_rate,
        sample_rate=request.sample_rate,
        holdout_rate=request.holdout_rate,
        from_ns=request.from_ns,
        calls=int(looked_at.sum()),
        no_rule=int((looked_at & (cover.rule < 0) & (cover.decided_by < 0)).sum()),
        rules=tuple(_with_mismatches(store, case, judged)),
        tools=tuple(_tools(judged, promise, days, to_notice, request.within_days)),
        serves=serves,
        samples_to_notice=to_notice,
        within_days=request.within_days,
        executions=tuple(case.executions),
        trust=trust,
    )


def _with_mismatches(
    store: duckdb.DuckDBPyConnection, case: Case, judged: Sequence[JudgedRule]
) -> Iterator[RuleOutcome]:
    """Yield the outcomes, each with the first calls that would have got a stale result."""
    shown = [one.mismatched_rows[:SHOWN_MISMATCHES] for one in judged]
    names = call_names(store, np.concatenate(shown)) if any(map(len, shown)) else {}
    start_ns, source = case.calls.start_ns, case.replay.source
    for one, rows in zip(judged, shown, strict=True):
        yield replace(
            one.outcome,
            mismatches=tuple(
                Mismatch(
                    names[row].trace_id,
                    names[row].span_id,
                    float(start_ns[row] - start_ns[source[row]]) / NANO,
                )
                for row in rows.tolist()
            ),
        )


def _looked_at(calls: CallColumns, from_ns: int | None) -> Flags:
    if from_ns is None:
        return ~calls.writer
    return ~calls.writer & calls.has_start & (calls.start_ns >= from_ns)


def _sampled(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    cover: Cover,
    replay: Replay,
    rate: float,
) -> Flags:
    sampled = np.ones(len(calls), np.bool_)
    if rate >= 1:
        return sampled
    rows = np.flatnonzero((replay.source >= 0) | (replay.voided >= 0))
    names = name_table(store, rows)
    sampled[rows] = [
        is_drawn(rate, cover.rules[place].decision_id, trace, span)
        for place, trace, span in zip(
            cover.rule[rows].tolist(),
            names.column("trace_id").to_pylist(),
            names.column("span_id").to_pylist(),
            strict=True,
        )
    ]
    return sampled


def _tools(
    judged: Sequence[JudgedRule],
    promise: Promise,
    days: float,
    to_notice: int,
    within_days: float,
) -> list[ToolOutcome]:
    by_tool: dict[tuple[str, str], list[RuleOutcome]] = {}
    for one in judged:
        by_tool.setdefault((one.outcome.namespace, one.outcome.tool), []).append(one.outcome)
    return [
        _tool(namespace, tool, rules, promise, days, to_notice, within_days)
        for (namespace, tool), rules in sorted(by_tool.items())
    ]


def _tool(
    namespace: str,
    tool: str,
    rules: Sequence[RuleOutcome],
    promise: Promise,
    days: float,
    to_notice: int,
    within_days: float,
) -> ToolOutcome:
    per_day = sum(rule.served for rule in rules) / days if days else None
    return ToolOutcome(
        namespace=namespace,
        tool=tool,
        rules=len(rules),
        judgement=judge(
            sum(rule.judgement.mismatches for rule in rules),
            sum(rule.judgement.samples for rule in rules),
            promise,
        ),
        served_per_day=per_day,
        verify_rate=verify_rate(to_notice, per_day, within_days) if per_day else None,
    )


def _keys(store: duckdb.DuckDBPyConnection, judged: Sequence[JudgedRule]) -> dict[Observation, str]:
    observations = [one for rule in judged for one in rule.observations]
    rows = np.array([one.row for one in observations], dtype=np.int64)
    names = name_table(store, rows)
    told = zip(
        observations,
        names.column("trace_id").to_pylist(),
        names.column("span_id").to_pylist(),
        names.column("input_hash").to_pylist(),
        strict=True,
    )
    return {
        one: observation_key(trace, span, found, one.start_ns if one.made_again else None)
        for one, trace, span, found in told
    }
