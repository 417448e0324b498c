"""One identity: how it was computed, what its calls returned and when, and what a rule needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from visceral_cli.analysis.figures import Verdict
from visceral_cli.report.explain.changes import (
    ages_text,
    changed_paths,
    path_facts,
    path_lines,
    when,
)
from visceral_cli.report.explain.evidence import MOST_CALLS, CallRow, Evidence, ToolKey
from visceral_cli.report.explain.explanation import Explanation, Line, Rows
from visceral_cli.report.explain.identity_lines import (
    how_computed,
    keyed_facts,
    keyed_lines,
    keyed_of,
    twin_facts,
    twin_lines,
    twins_of,
)
from visceral_cli.report.explain.standing import (
    bound_of,
    freshness_line,
    rule_lines,
    sharing_lines,
    sharing_of,
    standing_facts,
)
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import age_text, counted
from visceral_cli.report.row_tables import HASH_DIGITS

_MOST_AFTER_WRITERS = 100
"""Repeats behind a writer for which the writers are looked up."""

_REPEATS = (
    Verdict.REUSABLE,
    Verdict.CHANGED,
    Verdict.IN_FLIGHT,
    Verdict.AFTER_WRITER,
    Verdict.UNVERIFIABLE,
)


def explain_identity(evidence: Evidence, key: ToolKey, input_hash: str) -> Explanation:
    """Return what the traces say of one identity."""
    calls = evidence.calls_of_identity(key, input_hash)
    keyed = keyed_of(evidence, calls[0])
    twins = twins_of(evidence, calls[0], keyed)
    paths = changed_paths(evidence, key, input_hash)
    standing = standing_facts(evidence.report, key, input_hash)
    lines = [
        *how_computed(calls),
        *keyed_lines(evidence, keyed),
        *_result_lines(calls),
        *path_lines(paths),
        *_writer_lines(evidence, calls),
        *twin_lines(twins),
        *_elsewhere(evidence, key, input_hash),
        *freshness_line(bound_of(evidence.report, key)),
        *sharing_lines(sharing_of(evidence.report, key))[:1],
        *rule_lines(evidence.report, key, input_hash),
    ]
    return Explanation(
        kind="identity",
        heading=_heading(key, input_hash, calls),
        lines=tuple(lines),
        rows=_call_rows(evidence, calls),
        facts={
            "namespace": key.namespace,
            "tool": key.tool,
            "call_kind": key.kind,
            "version": calls[0].version,
            "input_hash": input_hash,
            "hash_v": calls[0].hash_v,
            "conventions": dict(Counter(call.convention for call in calls)),
            "recorded_hashes": sum(call.recorded_hash for call in calls),
            "hashes_that_disagree": sum(call.hash_disagrees for call in calls),
            **keyed_facts(evidence, keyed),
            "calls": len(calls),
            "traces": len({call.trace_id for call in calls}),
            "distinct_results": len({call.content_hash for call in calls} - {None}),
            "verdicts": dict(Counter(call.verdict for call in calls)),
            "first_differences": path_facts(paths),
            "twins": [twin_facts(twin) for twin in twins],
            **standing,
        },
    )


def _result_lines(calls: Sequence[CallRow]) -> list[Line]:
    known = [call for call in calls if call.content_hash is not None]
    distinct = len({call.content_hash for call in known})
    missing = Counter(call.content_missing for call in calls if call.content_missing)
    unknown = "".join(f"; {count:,} {why}" for why, count in sorted(missing.items()))
    verdicts = Counter(call.verdict for call in calls)
    repeats = [f"{verdicts[one]:,} {one}" for one in _REPEATS if verdicts[one]]
    lines = [
        Line("results", f"{distinct:,} distinct in {len(known):,} known{unknown}"),
        Line("repeats", ", ".join(repeats) or "none"),
    ]
    ages = _ages(calls)
    return [*lines, Line("ages", ages)] if ages else lines


def _ages(calls: Sequence[CallRow]) -> str:
    same = [c.age_ns for c in calls if c.verdict == Verdict.REUSABLE and c.age_ns is not None]
    other = [c.age_ns for c in calls if c.verdict == Verdict.CHANGED and c.age_ns is not None]
    return ages_text(max(same, default=None), min(other, default=None))


def _writer_lines(evidence: Evidence, calls: Sequence[CallRow]) -> list[Line]:
    after = [call for call in calls if call.verdict == Verdict.AFTER_WRITER]
    if not after:
        return [Line("writers", "none between a result and its repeat")]
    tools = Counter(
        writer.tool
        for call in after[:_MOST_AFTER_WRITERS]
        for writer in evidence.writers_between(call.trace_id, 0, call.start_ns or 0)
    )
    names = ", ".join(plain(tool) for tool in sorted(tools))
    said = f"{counted(len(after), 'repeat')} behind a writer of a run"
    return [Line("writers", f"{said}: {names}" if names else said)]


def _elsewhere(evidence: Evidence, key: ToolKey, input_hash: str) -> list[Line]:
    others = [
        f"{plain(name) or 'none'} ({counted(calls, 'call')})"
        for name, calls in evidence.namespaces_of(input_hash)
        if name != key.namespace
    ]
    if not others:
        return []
    return [Line("elsewhere", f"{', '.join(others)}; results are not shared between namespaces")]


def _heading(key: ToolKey, input_hash: str, calls: Sequence[CallRow]) -> str:
    traces = len({call.trace_id for call in calls})
    many = "the first " if len(calls) == MOST_CALLS else ""
    where = f" of {plain(key.namespace)}" if key.namespace else ""
    return (
        f"{plain(key.tool)}  {input_hash[:HASH_DIGITS]}   "
        f"{many}{counted(len(calls), 'call')} in {counted(traces, 'trace')}{where}"
    )


def _call_rows(evidence: Evidence, calls: Sequence[CallRow]) -> Rows:
    numbers: dict[str, int] = {}
    for call in calls:
        if call.content_hash is not None:
            numbers.setdefault(call.content_hash, len(numbers) + 1)
    shown = evidence.shown(len(calls))
    rows: tuple[tuple[str, ...], ...] = tuple(
        (
            when(call.start_ns),
            call.span_id,
            "-" if call.age_ns is None else age_text(call.age_ns / 1e9),
            f"#{numbers[call.content_hash]}"
            if call.content_hash is not None
            else call.content_missing or "-",
            call.verdict,
            "" if evidence.served_from(call.call_key) is None else "served by the rule",
        )
        for call in calls[:shown]
    )
    headings: tuple[str, ...] = ("start", "span", "age", "result", "verdict", "under the rules")
    if not any(row[-1] for row in rows):
        headings, rows = headings[:-1], tuple(row[:-1] for row in rows)
    return Rows(headings, rows, len(calls) - shown)
