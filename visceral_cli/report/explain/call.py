"""One call: what it repeats, how the answers differ, what came between, what a rule would do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from visceral_cli.analysis.figures import Verdict
from visceral_cli.report.explain.arguments import difference_facts
from visceral_cli.report.explain.changes import difference_text, when
from visceral_cli.report.explain.difference import Difference, difference_of_texts
from visceral_cli.report.explain.evidence import CallRow, Evidence, WriterCall
from visceral_cli.report.explain.explanation import Explanation, Line
from visceral_cli.report.explain.identity_lines import (
    how_computed,
    keyed_facts,
    keyed_lines,
    keyed_of,
    twin_facts,
    twin_lines,
    twins_of,
)
from visceral_cli.report.explain.pages import MISSING, VERDICT, pages
from visceral_cli.report.explain.standing import (
    blocked_lines,
    rule_for,
    rule_text,
    standing_facts,
)
from visceral_cli.report.explain.what_helps import other_verdict
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import age_text, seconds_text
from visceral_cli.report.row_tables import HASH_DIGITS


class Earlier(msgspec.Struct, frozen=True):
    """The execution whose stored result is the one to compare with."""

    call: CallRow
    age_ns: int
    difference: Difference | None
    """Where the results first differ; ``None`` if they do not, or cannot be compared."""
    same: bool | None
    """Whether the results are equal; ``None``: one of them is not known."""
    writers: tuple[WriterCall, ...]
    """What wrote in the call's run between the two."""


def explain_call(evidence: Evidence, call: CallRow) -> Explanation:
    """Return what the traces say of one call."""
    before = evidence.calls_before(call)
    earlier = _earlier(evidence, call, before)
    keyed = keyed_of(evidence, call)
    twins = twins_of(evidence, call, keyed) if call.input_hash is not None else []
    standing = (
        {}
        if call.input_hash is None
        else standing_facts(evidence.report, call.key, call.input_hash)
    )
    lines = [
        *_place_lines(call),
        *(how_computed([call]) if call.input_hash is not None else _no_identity(call)),
        *(keyed_lines(evidence, keyed) if call.input_hash is not None else []),
        Line("result", _result(call)),
        *_verdict_lines(call),
        *_earlier_lines(call, earlier, before),
        *other_verdict(evidence, call, earlier.writers if earlier else ()),
        *twin_lines(twins),
        *_rule_lines(evidence, call),
    ]
    return Explanation(
        kind="call",
        heading=_heading(call),
        lines=tuple(lines),
        facts={
            "namespace": call.namespace,
            "tool": call.tool,
            "call_kind": call.kind,
            "version": call.version,
            "trace_id": call.trace_id,
            "span_id": call.span_id,
            "position": call.position,
            "convention": call.convention,
            "start_ns": call.start_ns,
            "end_ns": call.end_ns,
            "verdict": call.verdict,
            "input_hash": call.input_hash,
            "hash_v": call.hash_v,
            "recorded_hash": call.recorded_hash,
            "hash_disagrees": call.hash_disagrees,
            "identity_missing": call.identity_missing,
            "content_missing": call.content_missing,
            **keyed_facts(evidence, keyed),
            "earlier": _earlier_facts(earlier),
            "twins": [twin_facts(twin) for twin in twins],
            "would_be_served_from": _served_span(evidence, call),
            **standing,
        },
    )


def _heading(call: CallRow) -> str:
    place = f" call {call.position + 1}" if call.position else ""
    identity = call.input_hash[:HASH_DIGITS] if call.input_hash else "without identity"
    return f"{plain(call.tool)}  {identity}   span {call.span_id}{place}: {call.verdict}"


def _place_lines(call: CallRow) -> list[Line]:
    lasted = ""
    if call.start_ns is not None and call.end_ns is not None and call.is_timed:
        lasted = f", took {seconds_text((call.end_ns - call.start_ns) / 1e9)}"
    failed = ", failed" if call.failed else ""
    where = f" of {plain(call.namespace)}" if call.namespace else ""
    return [
        Line("call", f"{when(call.start_ns)} UTC{lasted}{failed}; trace {call.trace_id}{where}")
    ]


def _no_identity(call: CallRow) -> list[Line]:
    reason = call.identity_missing or ""
    said = first_sentence(MISSING, reason)
    return [Line("identity", f"none: {reason} ({plain(call.convention)}). {said}")]


def _result(call: CallRow) -> str:
    if call.content_hash is None:
        return f"not known: {call.content_missing}"
    return f"known, content {call.content_hash[:HASH_DIGITS]}"


def _verdict_lines(call: CallRow) -> list[Line]:
    return [Line("verdict", f"{call.verdict}. {first_sentence(VERDICT, call.verdict)}")]


def first_sentence(kind: str, name: str) -> str:
    """Return the first sentence of a page, on one line."""
    for page in pages():
        if (page.kind, page.name) == (kind, name):
            sentence, stop, _ = " ".join(page.text.split()).partition(". ")
            return sentence + stop.rstrip()
    return ""


def _earlier(evidence: Evidence, call: CallRow, before: Sequence[CallRow]) -> Earlier | None:
    """Return the execution whose result was stored, voided or not, when the call began."""
    if call.start_ns is None:
        return None
    source = next((one for one in before if one.call_key == call.source_call_key), None)
    if source is None:
        source = next((one for one in before if _was_finished(one, call.start_ns)), None)
    if source is None or source.start_ns is None:
        return None
    same = None
    if source.content_hash is not None and call.content_hash is not None:
        same = source.content_hash == call.content_hash
    difference = None
    if same is False:
        difference = difference_of_texts(
            evidence.texts(source.call_key)[1],
            evidence.texts(call.call_key)[1],
            show_values=evidence.show_arguments,
        )
    writers = tuple(evidence.writers_between(call.trace_id, source.start_ns, call.start_ns))
    return Earlier(source, call.start_ns - source.start_ns, difference, same, writers)


def _was_finished(one: CallRow, start_ns: int) -> bool:
    return (
        one.ran
        and not one.failed
        and one.is_timed
        and one.end_ns is not None
        and one.end_ns <= start_ns
    )


def _earlier_lines(call: CallRow, earlier: Earlier | None, before: Sequence[CallRow]) -> list[Line]:
    if earlier is None:
        if not before or call.verdict == Verdict.FIRST:
            return []
        failed = sum(one.failed for one in before)
        said = f"{len(before):,} before it, {failed:,} of them failed; no other had ended by then"
        return [Line("earlier", said)]
    result = {True: "same result", False: "another result", None: "results not both known"}
    age = age_text(earlier.age_ns / 1e9)
    lines = [
        Line("earlier", f"span {earlier.call.span_id}, {age} before it: {result[earlier.same]}")
    ]
    if earlier.difference is not None:
        lines.append(Line("first difference", difference_text(earlier.difference)))
    return [*lines, Line("writers", _writers(earlier.writers))]


def _writers(writers: Sequence[WriterCall]) -> str:
    if not writers:
        return "none between the two in this run"
    shown = ", ".join(f"{plain(one.tool)} (span {one.span_id})" for one in writers[:3])
    more = f" and {len(writers) - 3:,} more" if len(writers) > 3 else ""
    return f"{shown}{more}"


def _rule_lines(evidence: Evidence, call: CallRow) -> list[Line]:
    lines = _live_lines(call)
    if call.input_hash is None:
        return lines
    rule = rule_for(evidence.report, call.key, call.input_hash)
    if rule is None:
        blocked = blocked_lines(evidence.report, call.key, call.input_hash)
        return [*lines, Line("rule", "none"), *blocked]
    served = evidence.served_from(call.call_key)
    if served is None:
        would = _why_it_runs(call, rule.action.freshness_seconds)
    else:
        source = evidence.call(served)
        age_ns = (call.start_ns or 0) - (source.start_ns or 0)
        would = f"would have served it from span {source.span_id}, {age_text(age_ns / 1e9)} before"
    return [*lines, Line("rule", f"{rule.decision_id}   {rule_text(rule)}; {would}")]


def _live_lines(call: CallRow) -> list[Line]:
    verified = {
        True: "the tool ran as well, with the same result",
        False: "the tool ran as well, with another result: visceral explain verify-mismatch",
    }
    said = [plain(call.served_decision_id)] if call.served_decision_id else []
    said += [verified[call.verify_match]] if call.verify_match is not None else []
    return [Line("served live", "; ".join(said))] if said else []


_WHY_IT_RUNS = {
    Verdict.FIRST: "nothing was stored",
    Verdict.RETRY: "nothing was stored",
    Verdict.IN_FLIGHT: "the earlier call was still running",
    Verdict.AFTER_WRITER: "a writer voids what was stored",
    Verdict.FAILED: "calls that failed are not replayed",
    Verdict.VERIFY: "it was served when it was recorded",
}


def _why_it_runs(call: CallRow, freshness_seconds: float | None) -> str:
    why = _WHY_IT_RUNS.get(Verdict(call.verdict), "under the rules nothing was stored by then")
    if call.age_ns is not None and call.age_ns / 1e9 > (freshness_seconds or math.inf):
        why = f"the stored result was {age_text(call.age_ns / 1e9)} old"
    return f"does not serve it: {why}"


def _earlier_facts(earlier: Earlier | None) -> dict[str, Any] | None:
    if earlier is None:
        return None
    return {
        "trace_id": earlier.call.trace_id,
        "span_id": earlier.call.span_id,
        "age_seconds": earlier.age_ns / 1e9,
        "same_result": earlier.same,
        "first_difference": difference_facts(earlier.difference),
        "writers_between": [{"tool": one.tool, "span_id": one.span_id} for one in earlier.writers],
    }


def _served_span(evidence: Evidence, call: CallRow) -> str | None:
    source = evidence.served_from(call.call_key)
    return None if source is None else evidence.call(source).span_id
