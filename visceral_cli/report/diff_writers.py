"""A diff as table, JSON and Markdown, and so to a file or stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from visceral_cli.gate.compare import (
    MIN_RUNS,
    Comparison,
    Difference,
    Direction,
    GroupChange,
    ToolChange,
)
from visceral_cli.gate.regression import in_words, interval_text
from visceral_cli.report.column import Column
from visceral_cli.report.diff import Diff, RuleDifference, Side
from visceral_cli.report.output import write_output
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import counted, freshness_text, seconds_text, share_text
from visceral_cli.report.row_tables import HASH_DIGITS, REASON, RowTable
from visceral_cli.report.to_json import TOOL_NAME, plain_value, write_document
from visceral_cli.report.to_markdown import ROWS, escaped, table_lines
from visceral_cli.report.to_table import write_parts
from visceral_cli.report.view import Format, View

DIFF_FORMAT = 1
"""The number of the JSON format; within one number keys are only added."""

Writer = Callable[[Diff, BinaryIO, View], None]


def write_diff(diff: Diff, chosen: Format, place: Path | None, view: View) -> None:
    """Write a diff in one of the formats that carry it.

    Raises:
        UsageError: the place cannot be written to.
    """
    write = WRITERS[chosen]
    write_output(place, lambda out: write(diff, out, view))


def write_table(diff: Diff, out: BinaryIO, view: View) -> None:
    """Write for a terminal: the totals, then the tools, groups and rules that changed."""
    parts: list[RowTable | str] = [*_sentences(diff)]
    for table in _tables(diff):
        parts += ["", table.title, table]
    write_parts(parts, out, view)


def write_markdown(diff: Diff, out: BinaryIO, view: View) -> None:
    """Write for pull requests and job summaries."""
    top = ROWS if view.top is None else view.top
    lines = ["# What changed", ""]
    lines += [f"- {escaped(sentence)}" for sentence in _sentences(diff)]
    for table in _tables(diff):
        lines += ["", f"## {table.title}", "", *table_lines(table, top)]
    out.write("".join(f"{line}\n" for line in lines).encode())


def write_json(diff: Diff, out: BinaryIO, view: View) -> None:
    """Write everything."""
    write_document(diff_to_json(diff), out)


def diff_to_json(diff: Diff) -> dict[str, Any]:
    """Return the diff as JSON values; ``diff.schema.json`` describes them."""
    comparison = diff.comparison
    return {
        "format": DIFF_FORMAT,
        "tool": {"name": TOOL_NAME, "version": diff.after.version},
        "before": plain_value(diff.before) | {"runs": comparison.runs_before},
        "after": plain_value(diff.after) | {"runs": comparison.runs_after},
        "totals": {
            "repeats": _difference(comparison.total.repeats),
            "repeat_seconds": _difference(comparison.total.seconds),
        },
        "tools": [_tool(change) for change in comparison.tools],
        "groups": [_group(change) for change in comparison.groups],
        "rules": plain_value(diff.rules),
    }


def _tool(change: ToolChange) -> dict[str, Any]:
    return {
        "namespace": change.namespace,
        "tool": change.tool,
        "kind": change.kind,
        "direction": change.direction.value,
        "calls_before": change.calls_before,
        "calls_after": change.calls_after,
        "repeats": _difference(change.repeats),
        "repeat_seconds": _difference(change.seconds),
    }


def _group(change: GroupChange) -> dict[str, Any]:
    return {
        "namespace": change.namespace,
        "tool": change.tool,
        "kind": change.kind,
        "version": change.version,
        "input_hash": change.input_hash,
        "direction": change.direction.value,
        "repeats_before": change.repeats_before,
        "repeats_after": change.repeats_after,
        "beyond_noise": change.is_beyond_noise,
        "runs": _difference(change.runs),
    }


def _difference(difference: Difference) -> dict[str, Any]:
    """Return a figure for each 1,000 runs, and the interval of its change."""
    values: dict[str, Any] = plain_value(difference)
    return values


def _sentences(diff: Diff) -> Iterator[str]:
    comparison = diff.comparison
    for word, side, runs in (
        ("Before", diff.before, comparison.runs_before),
        ("After", diff.after, comparison.runs_after),
    ):
        yield f"{word}: {_side(side, runs)}"
    for difference, unit in (
        (comparison.total.repeats, "repeats"),
        (comparison.total.seconds, "s of repeats with the same result"),
    ):
        yield f"{in_words(difference, unit)}: {_verdict(difference)}"


def _side(side: Side, runs: int) -> str:
    return (
        f"{plain(side.name)}: {counted(side.calls, 'tool call')} in {counted(runs, 'run')}, "
        f"{side.repeats:,} repeats ({share_text(side.repeats, side.calls)}), "
        f"{side.same_result:,} with the same result: {seconds_text(side.repeat_seconds)} of "
        f"{seconds_text(side.tool_seconds)} tool time; {counted(side.rules, 'rule')}"
    )


def _verdict(difference: Difference) -> str:
    if not difference.is_told:
        return f"too few calls to tell, {MIN_RUNS} runs on each side are needed"
    word = "more" if difference.is_more else "less" if difference.is_less else "within noise"
    return f"{word}, {interval_text(difference)}"


def _tables(diff: Diff) -> Iterator[RowTable]:
    comparison = diff.comparison
    tools = [change for change in comparison.tools if change.direction is not Direction.SAME]
    if tools:
        yield RowTable("Tools", _tool_columns(comparison), tools)
    if comparison.groups:
        yield RowTable("Groups", _group_columns(comparison), comparison.groups)
    if diff.rules:
        yield RowTable("Rules", _RULES, diff.rules)


def _namespaces(changes: Sequence[ToolChange]) -> tuple[Column, ...]:
    if len({change.namespace for change in changes}) < 2:
        return ()
    return (Column("namespace", lambda row: plain(row.namespace) or "none", gives_way=True),)


def _tool_columns(comparison: Comparison) -> tuple[Column, ...]:
    return (
        Column("change", lambda tool: tool.direction.value),
        Column("tool", lambda tool: plain(tool.tool)),
        *_namespaces(comparison.tools),
        Column("calls before", lambda tool: f"{tool.calls_before:,}", True),
        Column("now", lambda tool: f"{tool.calls_after:,}", True),
        Column("repeats / 1,000 runs", lambda tool: _change(tool.repeats), True),
        Column("seconds / 1,000 runs", lambda tool: _change(tool.seconds), True),
        Column("", lambda tool: _word(tool.repeats, tool.seconds)),
    )


def _group_columns(comparison: Comparison) -> tuple[Column, ...]:
    return (
        Column("change", lambda group: group.direction.value),
        Column("tool", lambda group: plain(group.tool)),
        *_namespaces(comparison.tools),
        Column("identity", lambda group: plain(group.input_hash[:HASH_DIGITS]), gives_way=True),
        Column("repeats before", lambda group: f"{group.repeats_before:,}", True),
        Column("now", lambda group: f"{group.repeats_after:,}", True),
        Column("", lambda group: _word(group.runs)),
    )


def _change(difference: Difference) -> str:
    return f"{difference.before:,.1f} → {difference.after:,.1f}"


def _word(*differences: Difference) -> str:
    if not all(difference.is_told for difference in differences):
        return "too few calls to tell"
    told = any(difference.is_more or difference.is_less for difference in differences)
    return "beyond noise" if told else "within noise"


_RULES = (
    Column("change", lambda rule: rule.change.value),
    Column("rule", lambda rule: plain(rule.decision_id)),
    Column("tool", lambda rule: plain(rule.tool)),
    Column("before", lambda rule: _freshness(rule.before_seconds), True),
    Column("now", lambda rule: _freshness(rule.after_seconds), True),
    Column("why", lambda rule: _why(rule), wraps=True),
)


def _freshness(seconds: float | None) -> str:
    return "-" if seconds is None else freshness_text(seconds)


def _why(rule: RuleDifference) -> str:
    return plain(rule.why, longest=REASON) or "-"


WRITERS: Mapping[Format, Writer] = {
    Format.TABLE: write_table,
    Format.JSON: write_json,
    Format.MARKDOWN: write_markdown,
}
"""The formats that a diff is written in; the first is the default."""
