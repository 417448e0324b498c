"""One word of a report, and where it is said of these traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from visceral_cli.analysis.figures import Finding
from visceral_cli.report.explain import pages as kinds
from visceral_cli.report.explain.evidence import Evidence, ToolKey
from visceral_cli.report.explain.explanation import Explanation, Rows
from visceral_cli.report.explain.pages import Page
from visceral_cli.report.explain.words import Inserts, explain_page
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import seconds_text
from visceral_cli.report.row_tables import HASH_DIGITS
from visceral_cli.rules.refusal import Refusal


def explain_word(evidence: Evidence, page: Page, inserts: Inserts) -> Explanation:
    """Return a page, and the calls, refusals or findings of these traces that it speaks of."""
    text = page.filled(inserts)
    find = _FINDERS.get(page.kind)
    if find is None:
        return explain_page(page, inserts)
    found = find(evidence, page.name)
    shown = evidence.shown(len(found.rows))
    rows = Rows(found.headings, tuple(found.rows[:shown]), len(found.rows) - shown)
    if not found.rows:
        text += "\n\nNot in these traces."
    return Explanation(
        page.kind,
        page.heading,
        text,
        rows=rows if found.rows else None,
        facts={"name": page.name, "places": found.facts},
    )


class _Found(msgspec.Struct, frozen=True):
    """Where something is said of these traces."""

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    facts: Sequence[Any]
    """The same for programs."""


def _refusals(evidence: Evidence, name: str) -> _Found:
    found = [one for one in evidence.report.refusals if one.kind == name]
    rows: list[tuple[str, ...]] = [
        (
            *_tool(one),
            (one.input_hash or "all")[:HASH_DIGITS],
            f"{one.repeats:,}",
            plain("; ".join(filter(None, (one.message, one.next_step))), longest=None),
        )
        for one in found
    ]
    last = "why, and what would change it"
    return _Found((*_TOOL, "identity", "repeats", last), rows, found)


_TOOL = ("tool", "namespace")


def _tool(one: Refusal | Finding | ToolKey) -> tuple[str, str]:
    return plain(one.tool), plain(one.namespace) or "none"


def _findings(evidence: Evidence, name: str) -> _Found:
    found = [one for one in evidence.report.findings if one.kind == name]
    rows: list[tuple[str, ...]] = [
        (
            *_tool(one),
            f"{one.calls:,}",
            " ".join(one.span_ids[:2]) or "-",
            plain(one.message, longest=None),
        )
        for one in found
    ]
    return _Found((*_TOOL, "calls", "spans", "what"), rows, found)


def _verdicts(evidence: Evidence, name: str) -> _Found:
    rows: list[tuple[str, ...]] = []
    facts = []
    for key, calls, spans in evidence.calls_with("verdict", name):
        rows.append((*_tool(key), f"{calls:,}", " ".join(spans)))
        facts.append(_calls_fact(key, calls, spans))
    return _Found((*_TOOL, "calls", "spans, such as"), rows, facts)


def _missing(evidence: Evidence, name: str) -> _Found:
    rows: list[tuple[str, ...]] = []
    facts = []
    for column, what in (("identity_missing", "arguments"), ("content_missing", "result")):
        for key, calls, spans in evidence.calls_with(column, name):
            rows.append((*_tool(key), f"{calls:,}", what, " ".join(spans)))
            facts.append({"missing": what, **_calls_fact(key, calls, spans)})
    return _Found((*_TOOL, "calls", "missing", "spans, such as"), rows, facts)


def _calls_fact(key: ToolKey, calls: int, spans: list[str]) -> dict[str, Any]:
    return {
        "namespace": key.namespace,
        "tool": key.tool,
        "call_kind": key.kind,
        "calls": calls,
        "span_ids": spans,
    }


def _damage(evidence: Evidence, name: str) -> _Found:
    found = [one for one in evidence.report.inputs.damage if one.kind == name]
    rows: list[tuple[str, ...]] = [
        (
            plain(one.file if one.line is None else f"{one.file}:{one.line}", longest=None),
            f"{one.places:,}",
            plain(one.what, longest=None),
        )
        for one in found
    ]
    return _Found(("place", "times", "what"), rows, found)


def _steps(evidence: Evidence, name: str) -> _Found:
    found = [one for one in evidence.report.funnel if one.name == name]
    rows: list[tuple[str, ...]] = [
        (f"{one.calls:,}", seconds_text(one.tool_seconds)) for one in found
    ]
    return _Found(("calls", "tool time"), rows, found)


_FINDERS: Mapping[str, Callable[[Evidence, str], _Found]] = {
    kinds.REFUSAL: _refusals,
    kinds.FINDING: _findings,
    kinds.VERDICT: _verdicts,
    kinds.MISSING: _missing,
    kinds.DAMAGE: _damage,
    kinds.STEP: _steps,
}
