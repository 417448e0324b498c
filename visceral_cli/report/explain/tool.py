"""One tool: what is declared, which arguments tell its identities apart, what its results did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from visceral_cli.analysis.figures import ToolFigures
from visceral_cli.report.explain.arguments import LeftOut, without_each
from visceral_cli.report.explain.changes import ages_text, changed_paths, path_facts, path_lines
from visceral_cli.report.explain.evidence import Evidence, HashTally, ToolKey
from visceral_cli.report.explain.explanation import Explanation, Line, Rows
from visceral_cli.report.explain.identity_lines import keyed_values
from visceral_cli.report.explain.standing import (
    blocking,
    bound_of,
    freshness_line,
    refusal_lines,
    rule_for,
    sharing_lines,
    sharing_of,
)
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import counted, duration_text, seconds_text
from visceral_cli.report.row_tables import HASH_DIGITS

_MOST_COMPARED = 5_000
"""Identities whose arguments are compared with each other."""
_MOST_NAMES = 12


def explain_tool(evidence: Evidence, figures: ToolFigures) -> Explanation:
    """Return what the traces say of one tool of one namespace."""
    key = ToolKey(figures.namespace, figures.tool, figures.kind)
    identities = keyed_values(
        evidence.identities_of_tool(key)[:_MOST_COMPARED], evidence.declared(key.tool).vary
    )
    names = Counter(name for _, values in identities for name in values)
    splitting = without_each([values for _, values in identities])
    paths = changed_paths(evidence, key, None)
    writers = evidence.writers_beside(key) if figures.after_writer else []
    report = evidence.report
    refusals = blocking(report, key, None)
    hashes = evidence.hashes(key)
    lines = [
        Line("declared", _declared(figures)),
        Line("identities", _identities(figures, hashes)),
        *_argument_lines(names, len(identities)),
        *_splitting_lines(splitting, len(identities)),
        Line("repeats", _repeats(figures)),
        *_age_lines(evidence, key),
        *path_lines(paths),
        *_writer_lines(figures, writers),
        *freshness_line(bound_of(report, key)),
        *sharing_lines(sharing_of(report, key)),
        *_rule_lines(evidence, key),
        *refusal_lines(refusals),
        *_finding_lines(evidence, key),
    ]
    return Explanation(
        kind="tool",
        heading=_heading(figures),
        lines=tuple(lines),
        rows=_identity_rows(evidence, key),
        facts={
            "figures": figures,
            "conventions": _by_convention(hashes),
            "recorded_hashes": sum(one.calls for one in hashes if one.recorded),
            "hashes_that_disagree": sum(one.calls for one in hashes if one.disagrees),
            "argument_names": dict(sorted(names.items())),
            "identities_compared": len(identities),
            "identities_without": {one.name: one.identities for one in splitting},
            "first_differences": path_facts(paths),
            "writers": dict(writers),
            "bound": bound_of(report, key),
            "sharing": sharing_of(report, key),
            "rules": [rule for rule in report.rules if _is_of(rule.match, key)],
            "refusals": refusals,
            "findings": _findings(evidence, key),
        },
    )


def _heading(figures: ToolFigures) -> str:
    where = f" of {plain(figures.namespace)}" if figures.namespace else ""
    kind = "" if figures.kind == "tool" else f" ({figures.kind})"
    time = seconds_text(figures.tool_seconds)
    return f"{plain(figures.tool)}{kind}   {counted(figures.calls, 'call')}{where}, {time}"


def _declared(figures: ToolFigures) -> str:
    said = []
    for flag, yes, no in (
        (figures.readonly, "read-only", "changes something"),
        (figures.replay_safe, "replay-safe", "not replay-safe"),
    ):
        if flag is not None:
            said.append(yes if flag else no)
    if figures.declared_by == "name":
        said.append("by its name a writer")
    elif said:
        said.append(f"by {figures.declared_by}")
    if figures.freshness_cap_seconds is not None:
        said.append(f"never older than {duration_text(figures.freshness_cap_seconds)}")
    return ", ".join(said) or "nothing: visceral explain declarations"


def _identities(figures: ToolFigures, hashes: Sequence[HashTally]) -> str:
    said = f"{figures.identities:,}"
    known = [one for one in hashes if one.hash_v]
    recorded = sum(one.calls for one in known if one.recorded)
    computed = sum(one.calls for one in known if not one.recorded)
    parts = [f"recorded on {counted(recorded, 'span')}"] if recorded else []
    parts += [f"computed for {counted(computed, 'call')}"] if computed else []
    versions = sorted({one.hash_v for one in known})
    if versions:
        parts.append(f"hash_v {', '.join(map(str, versions))}")
    if figures.without_identity:
        parts.append(f"{counted(figures.without_identity, 'call')} without")
    conventions = ", ".join(plain(name) for name in _by_convention(hashes))
    return f"{said}: {', '.join(parts)} ({conventions})" if parts else f"{said} ({conventions})"


def _by_convention(hashes: Sequence[HashTally]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for one in hashes:
        counts[one.convention] += one.calls
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _argument_lines(names: Counter[str], whole: int) -> list[Line]:
    if not whole:
        return [Line("keyed arguments", "not known")]
    shown = [
        plain(name) if count == whole else f"{plain(name)} (in {count:,} of {whole:,})"
        for name, count in sorted(names.items(), key=lambda item: (-item[1], item[0]))
    ]
    more = f" and {len(shown) - _MOST_NAMES:,} more" if len(shown) > _MOST_NAMES else ""
    return [Line("keyed arguments", (", ".join(shown[:_MOST_NAMES]) or "none") + more)]


def _splitting_lines(splitting: Sequence[LeftOut], whole: int) -> list[Line]:
    return [
        Line(
            "" if place else "told apart by",
            f"{plain(one.name)}: without it {whole:,} identities would be {one.identities:,}",
        )
        for place, one in enumerate(splitting[:3])
    ]


def _repeats(figures: ToolFigures) -> str:
    parts = {
        "same result": figures.same_result,
        "changed": figures.changed,
        "in flight": figures.in_flight,
        "after a writer": figures.after_writer,
        "unverifiable": figures.unverifiable,
    }
    said = ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)
    return f"{figures.repeats:,}: {said}" if said else "none"


def _age_lines(evidence: Evidence, key: ToolKey) -> list[Line]:
    ages = ages_text(*evidence.ages(key))
    return [Line("ages", ages)] if ages else []


def _writer_lines(figures: ToolFigures, writers: Sequence[tuple[str, int]]) -> list[Line]:
    if not figures.after_writer:
        return []
    names = ", ".join(f"{plain(name)} ({counted(calls, 'call')})" for name, calls in writers[:5])
    return [Line("writers", f"in the runs of its repeats after a writer: {names}")]


def _rule_lines(evidence: Evidence, key: ToolKey) -> list[Line]:
    rules = [rule for rule in evidence.report.rules if _is_of(rule.match, key)]
    if not rules:
        return [Line("rules", "none")]
    saved = [
        found
        for name, found in evidence.report.savings.by_identity.items()
        if name[:2] == (key.namespace, key.tool)
    ]
    calls, seconds = sum(one[0] for one in saved), sum(one[1] for one in saved)
    text = f"{len(rules):,}: would have served {counted(calls, 'call')}, {seconds_text(seconds)}"
    return [Line("rules", text)]


def _is_of(match: Any, key: ToolKey) -> bool:
    return bool((match.namespace, match.tool_name) == (key.namespace, key.tool))


def _findings(evidence: Evidence, key: ToolKey) -> list[Any]:
    return [
        one
        for one in evidence.report.findings
        if (one.namespace, one.tool) == (key.namespace, key.tool)
    ]


def _finding_lines(evidence: Evidence, key: ToolKey) -> list[Line]:
    return [
        Line("" if place else "findings", f"{one.kind.value}: {plain(one.message, longest=None)}")
        for place, one in enumerate(_findings(evidence, key))
    ]


def _identity_rows(evidence: Evidence, key: ToolKey) -> Rows | None:
    identities = evidence.identities_by_calls(key)
    if not identities:
        return None
    shown = evidence.shown(len(identities))
    rows = []
    for one in identities[:shown]:
        rule = rule_for(evidence.report, key, one.input_hash)
        numbers = (one.calls, one.same, one.changed, one.results)
        rows.append(
            (
                one.input_hash[:HASH_DIGITS],
                *(f"{number:,}" for number in numbers),
                "-" if rule is None else rule.decision_id,
            )
        )
    headings = ("identity", "calls", "same", "changed", "results", "rule")
    return Rows(headings, tuple(rows), len(identities) - shown)
