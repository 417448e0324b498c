"""A report in a few sentences and rows: what every readable format says first.

The words are plain text; how they look is the matter of each format.
"""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from visceral_cli.analysis.figures import FindingKind, ToolFigures
from visceral_cli.contract.rule import Rule, RuleStatus, Sharing
from visceral_cli.ingest.files import OTHER_FILE
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import (
    bytes_text,
    counted,
    freshness_text,
    listed,
    money_text,
    rate_text,
    seconds_text,
    share_text,
)
from visceral_cli.report.report import BoundFigures, Report


class Standing(StrEnum):
    """What can be said of one repeat: each repeat is in exactly one part."""

    SAFE = "safe"
    """A proposed rule would have answered it with the same result."""
    UNDECLARED = "undeclared"
    """Same result, but nobody says that the tool is read-only and replay-safe."""
    UNPROVEN = "unproven"
    """Same result and declared, but at an age for which the evidence is too thin."""
    UNSAFE = "changed"
    """Another result, or a writer came between."""
    IN_FLIGHT = "in flight"
    """The earlier call had not ended: there was nothing to serve yet."""
    UNKNOWN = "unknown"
    """A result is missing, so nothing can be compared."""


class ToolLine(msgspec.Struct, frozen=True):
    """One tool as the overview shows it."""

    figures: ToolFigures
    saved_calls: int
    """Calls that the proposed rules would have answered."""
    saved_seconds: float
    freshness: str
    """The proven freshness, or in a few words why there is none."""


def tool_lines(report: Report) -> list[ToolLine]:
    """Return a line for each tool, in the order of the report."""
    saved: Counter[tuple[str, str]] = Counter()
    seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (namespace, tool, _), (calls, of_seconds) in report.savings.by_identity.items():
        saved[namespace, tool] += calls
        seconds[namespace, tool] += of_seconds
    bounds = {(bound.namespace, bound.tool, bound.kind): bound for bound in report.bounds}
    ruled = active_rules(report)
    return [
        ToolLine(
            tool,
            saved[tool.namespace, tool.tool],
            seconds[tool.namespace, tool.tool],
            _freshness(
                tool,
                bounds.get((tool.namespace, tool.tool, tool.kind)),
                ruled.get((tool.namespace, tool.tool), []),
            ),
        )
        for tool in report.tools
    ]


def active_rules(report: Report) -> dict[tuple[str, str], list[Rule]]:
    """Return the rules meant to be used, by namespace and tool."""
    found: dict[tuple[str, str], list[Rule]] = {}
    for rule in report.rules:
        if rule.status is RuleStatus.ACTIVE:
            found.setdefault((rule.match.namespace, rule.match.tool_name), []).append(rule)
    return found


def is_declared(tool: ToolFigures) -> bool:
    """Return whether the tool is said to be read-only and replay-safe."""
    return tool.readonly is True and tool.replay_safe is True


def _freshness(tool: ToolFigures, bound: BoundFigures | None, rules: Sequence[Rule]) -> str:
    if rules:
        ages = {rule.action.freshness_seconds for rule in rules}
        age = max((age for age in ages if age is not None), default=None)
        proven = "proven" if age is None else f"{freshness_text(age)} proven"
        limits = sorted({rule.match.scope for rule in rules if rule.match.scope} - {Sharing.ALL})
        if limits:
            proven += f" per {' or '.join(limits)}"
        return proven if len(rules) == 1 else f"{proven}, {counted(len(rules), 'rule')}"
    if tool.writer:
        return "writer: never served"
    if tool.replay_safe is False:
        return "declared not replay-safe"
    if not tool.repeats:
        return "no identity" if tool.without_identity == tool.calls else "no repeats"
    if bound is not None and bound.proven and bound.freshness_seconds is not None:
        age_said = freshness_text(bound.freshness_seconds)
        return f"{age_said} proven" if is_declared(tool) else f"{age_said} once declared"
    if tool.unstable:
        return tool.unstable
    if bound is not None and bound.missing:
        return bound.missing.partition(";")[0]
    return "not proven"


def shared_text(scope: str | None) -> str:
    """Return who may share results in a scope: ``by all``, or ``within one user``."""
    return "by all" if scope in (None, Sharing.ALL) else f"within one {scope}"


def standings(report: Report, lines: Sequence[ToolLine]) -> dict[Standing, int]:
    """Return the repeats in each part, in the order of `Standing`."""
    parts = dict.fromkeys(Standing, 0)
    for line in lines:
        tool = line.figures
        safe = min(line.saved_calls, tool.same_result)
        rest = Standing.UNPROVEN if is_declared(tool) else Standing.UNDECLARED
        parts[Standing.SAFE] += safe
        parts[rest] += tool.same_result - safe
        unsafe = tool.changed + tool.after_writer
        parts[Standing.UNSAFE] += unsafe
        parts[Standing.IN_FLIGHT] += tool.in_flight
        parts[Standing.UNKNOWN] += tool.repeats - tool.same_result - unsafe - tool.in_flight
    return parts


def answer(report: Report) -> tuple[str, str]:
    """Return what was found, and what is proven, in one sentence each."""
    totals, inputs = report.totals, report.inputs
    calls = f"{counted(inputs.tool_calls, 'tool call')} of {counted(totals.tools, 'tool')}"
    if not totals.repeats:
        return f"{calls} in {counted(inputs.traces, 'trace')}; none repeats an earlier one.", ""
    share = share_text(totals.repeats, inputs.tool_calls)
    time = f"{seconds_text(totals.repeat_seconds)} of {seconds_text(totals.tool_seconds)}"
    cost = _cost_of_repeats(report)
    where = " of their trace" if report.scope == "trace" else ""
    return (
        f"{calls}; {totals.repeats:,} {'repeats' if totals.repeats == 1 else 'repeat'} an earlier "
        f"call{where} ({share}), {totals.same_result:,} with the same result: "
        f"{time} tool time{cost}.",
        _proven(report),
    )


def _cost_of_repeats(report: Report) -> str:
    for step in report.funnel:
        if step.name == "same-result" and step.cost_usd:
            return f", {money_text(step.cost_usd)}"
    return ""


def _proven(report: Report) -> str:
    limit = f"at most {rate_text(report.max_stale_rate)} stale"
    ruled = active_rules(report)
    if ruled:
        rules = sum(map(len, ruled.values()))
        saving = report.savings
        money = f", {money_text(saving.cost_usd)}" if saving.cost_usd else ""
        return (
            f"{counted(rules, 'rule')} for {counted(len(ruled), 'tool')} "
            f"{'is' if rules == 1 else 'are'} proven ({limit}) and would have saved "
            f"{counted(saving.calls, 'call')}, {seconds_text(saving.tool_seconds)}{money}."
        )
    undeclared = proven_but_undeclared(report)
    if undeclared:
        return (
            f"Proven ({limit}) for {_names(undeclared)}, but no rule: "
            "not declared read-only and replay-safe."
        )
    nearest = nearest_candidate(report)
    if nearest is None or nearest.smallest_passing_stale_rate is None:
        return f"No rule is proven ({limit}): nothing here can be compared often enough."
    age = nearest.freshness_seconds
    within = f" within {freshness_text(age)}" if age is not None else ""
    others = sum(bound.smallest_passing_stale_rate is not None for bound in report.bounds) - 1
    more = f"; {counted(others, 'further candidate')}" if others else ""
    return (
        f"No rule is proven yet ({limit}). Nearest: {plain(nearest.tool)}{within}, "
        f"which alone passes today at --max-stale-rate "
        f"{rate_text(nearest.smallest_passing_stale_rate)}{more}."
    )


def _names(bounds: Sequence[BoundFigures]) -> str:
    first = plain(bounds[0].tool)
    return first if len(bounds) == 1 else f"{first} and {len(bounds) - 1} more"


def proven_but_undeclared(report: Report) -> list[BoundFigures]:
    """Return the proven bounds of tools that nobody declared, in the order of the tools."""
    open_tools = {
        (tool.namespace, tool.tool, tool.kind): place
        for place, tool in enumerate(report.tools)
        if not is_declared(tool) and not tool.writer
    }
    proven = {(b.namespace, b.tool, b.kind): b for b in report.bounds if b.proven}
    return [proven[name] for name in sorted(proven.keys() & open_tools, key=open_tools.__getitem__)]


def nearest_candidate(report: Report) -> BoundFigures | None:
    """Return the candidate that would pass at the smallest stale rate."""
    waiting = [
        bound
        for bound in report.bounds
        if not bound.proven and bound.smallest_passing_stale_rate is not None
    ]
    return min(
        waiting,
        key=lambda bound: (bound.smallest_passing_stale_rate or 0, bound.namespace, bound.tool),
        default=None,
    )


def what_was_read(report: Report) -> str:
    """Return the inputs in one line."""
    inputs = report.inputs
    other = inputs.formats.get(OTHER_FILE, 0)
    read = {name: files for name, files in inputs.formats.items() if name != OTHER_FILE}
    formats = f" ({listed(read, most=3)})" if read else ""
    said = [
        f"{counted(inputs.files - other, 'file')}{formats}, {bytes_text(inputs.input_bytes)}: "
        f"{counted(inputs.spans, 'span')} in {counted(inputs.traces, 'trace')}"
    ]
    if inputs.copies_per_span >= 1.005:
        said.append(f"each span {inputs.copies_per_span:.1f} times")
    if inputs.orphan_spans:
        said.append(f"{counted(inputs.orphan_spans, 'span')} without parent")
    if inputs.damaged:
        said.append(f"{counted(inputs.damaged, 'damaged place')} skipped")
    if other:
        said.append(f"{counted(other, 'other file')} left out")
    return ", ".join(said)


def what_was_not_judged(report: Report) -> str:
    """Return the calls that could not be judged, with the reasons, in one line."""
    inputs = report.inputs
    said = []
    for counts, what in (
        (inputs.without_identity, "without identity"),
        (inputs.without_content, "without result"),
    ):
        if counts:
            said.append(f"{counted(sum(counts.values()), 'call')} {what} ({listed(counts)})")
    if inputs.without_times:
        said.append(f"{counted(inputs.without_times, 'call')} without times")
    unknown = sum(not sharing.judged for sharing in report.sharing)
    if unknown:
        said.append(
            f"whether users may share results of {counted(unknown, 'tool')} "
            "(no user on their spans; --principal)"
        )
    return ", ".join(said) or "nothing: every call has an identity, a result and its times"


def what_was_found(report: Report) -> str:
    """Return the findings by kind in one line; empty where there are none."""
    kinds: Counter[FindingKind] = Counter(finding.kind for finding in report.findings)
    return listed({kind.value: count for kind, count in kinds.items()})


def next_command(report: Report, command: Sequence[str]) -> str:
    """Return the one thing to do next; ``command`` is the inputs and options of this run."""
    typed = " ".join(shlex.quote(word) for word in command or report.inputs.names)
    if active_rules(report):
        return f"visceral rules {typed} -o rules.json"
    if proven_but_undeclared(report):
        return "visceral explain declarations"
    if report.totals.repeats and nearest_candidate(report) is not None:
        return f"visceral analyze {typed} --rows candidates"
    if report.inputs.without_identity and not report.totals.repeats:
        reasons = report.inputs.without_identity
        return f"visceral explain {max(reasons, key=lambda reason: (reasons[reason], reason))}"
    return f"visceral analyze {typed} --rows groups" if report.totals.repeats else ""
