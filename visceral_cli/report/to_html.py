"""A report as one HTML file that opens from a disk without a network.

Style and script stand in the file, and its content-security policy allows these two and nothing
else. All is there without the script, which only sorts, filters and moves along a curve. The
figures stand in it a second time as JSON, for programs.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any, BinaryIO

import jinja2
from msgspec.structs import replace

from visceral_cli.analysis.figures import GroupFigures
from visceral_cli.report import overview
from visceral_cli.report.caution import what_to_beware
from visceral_cli.report.page.curve_chart import curve_chart, curve_point_text, proposed_text
from visceral_cli.report.page.detail import GroupTimeline, PageDetail, Waterfall
from visceral_cli.report.page.overview_charts import (
    COLOR_OF_STANDING,
    funnel_chart,
    standings_chart,
)
from visceral_cli.report.page.tables import (
    PageTable,
    funnel_table,
    group_table,
    interval_text,
    text_table,
    tool_table,
)
from visceral_cli.report.page.timeline_chart import timeline_chart
from visceral_cli.report.page.waterfall_chart import COLOR_OF_BAR, waterfall_chart
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import counted, seconds_text, share_text
from visceral_cli.report.report import BoundFigures, CurveFigures, Report, ToolCurve
from visceral_cli.report.row_tables import HASH_DIGITS, namespaces, row_table
from visceral_cli.report.to_json import plain_value, report_to_json
from visceral_cli.report.view import Rows, View

ROWS = 20
"""Rows of each table unless the reader asks for more."""
TOOLS = 50
"""The same for tools: a page is there to search among them."""
CURVES = 9
DAMAGED = 8
"""Places of damage that are named."""

_TEXT_TABLES = (Rows.RULES, Rows.CANDIDATES, Rows.REFUSALS, Rows.FINDINGS)


def write_html(report: Report, detail: PageDetail | None, out: BinaryIO, view: View) -> None:
    """Write the page; without ``detail``, as of a saved report, it draws no single calls."""
    out.write(page(report, detail, view).encode())


def page(report: Report, detail: PageDetail | None, view: View) -> str:
    """Return the page."""
    top = ROWS if view.top is None else view.top
    groups = list(report.groups if top == 0 else report.groups[:top])
    lines = overview.tool_lines(report)
    found, proven = overview.answer(report)
    style, script = _part("report.css"), _part("report.js")
    return _template().render(
        style=style,
        script=script,
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
        report=report,
        names=[plain(name) for name in report.inputs.names],
        found=found,
        proven=proven,
        standings=_standings(report, lines),
        funnel=funnel_chart(report.funnel) if report.funnel else "",
        funnel_table=funnel_table(report),
        read=overview.what_was_read(report),
        not_judged=overview.what_was_not_judged(report),
        findings=overview.what_was_found(report),
        warnings=what_to_beware(report),
        damage=_damage(report),
        more_damage=max(0, len(report.inputs.damage) - DAMAGED),
        saving=_saving(report),
        command=plain(overview.next_command(report, view.command), longest=None),
        tools=tool_table(report, lines, TOOLS if view.top is None else view.top),
        curves=_curves(report),
        groups=group_table(report, groups),
        timelines=_timelines(groups, detail, report),
        traces=_traces(detail),
        detail=detail,
        bar_colors={bar.value: color for bar, color in COLOR_OF_BAR.items()},
        tables=_text_tables(report, top),
        data=_data(report, detail, top),
    )


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(_part("report.html"))


def _part(name: str) -> str:
    return (resources.files("visceral_cli.report.page") / name).read_text("utf-8")


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_WORDS = {
    overview.Standing.SAFE: "safe",
    overview.Standing.UNDECLARED: "needs declaration",
    overview.Standing.UNPROVEN: "needs evidence",
    overview.Standing.UNSAFE: "unsafe",
    overview.Standing.IN_FLIGHT: "in flight",
    overview.Standing.UNKNOWN: "unknown",
}
_MEANING = {
    overview.Standing.SAFE: "a proposed rule would have answered it with the same result",
    overview.Standing.UNDECLARED: "same result, but nobody says that the tool may be served",
    overview.Standing.UNPROVEN: "same result and declared, at an age that is not proven",
    overview.Standing.UNSAFE: "another result, or a writer came between",
    overview.Standing.IN_FLIGHT: "the earlier call had not ended",
    overview.Standing.UNKNOWN: "a result is missing, so nothing can be compared",
}


def _standings(report: Report, lines: Sequence[overview.ToolLine]) -> dict[str, Any]:
    parts = overview.standings(report, lines)
    whole = sum(parts.values())
    return {
        "chart": standings_chart(parts) if whole else "",
        "whole": whole,
        "parts": [
            {
                "text": _WORDS[standing],
                "meaning": _MEANING[standing],
                "count": count,
                "share": share_text(count, whole),
                "color": COLOR_OF_STANDING[standing],
            }
            for standing, count in parts.items()
            if count
        ],
    }


def _saving(report: Report) -> dict[str, str]:
    saving = report.savings
    return {
        "calls": counted(saving.calls, "call"),
        "tool_time": seconds_text(saving.tool_seconds),
        "interval": interval_text(saving.seconds_per_1000_runs),
        "wall_time": seconds_text(saving.wall_seconds),
        "stale": f"{saving.stale_calls:,}",
        "in_flight": counted(saving.in_flight_calls, "call"),
    }


def _damage(report: Report) -> list[str]:
    return [
        f"{plain(place.file)}{'' if place.line is None else f':{place.line}'}: {plain(place.what)}"
        + (f" ({place.places:,} times)" if place.places > 1 else "")
        for place in report.inputs.damage[:DAMAGED]
    ]


def _curves(report: Report) -> list[dict[str, Any]]:
    """Return the curves of the tools with most saved at any age, and where each stands in JSON."""
    bounds = {(bound.namespace, bound.tool, bound.kind): bound for bound in report.bounds}
    several = len(namespaces(report)) > 1
    drawn = [(nth, curve) for nth, curve in enumerate(report.curves) if _longest(curve) > 0]
    drawn.sort(key=lambda item: (-_longest(item[1]), item[0]))
    return [
        _curve(nth, curve, bounds.get((curve.namespace, curve.tool, curve.kind)), several=several)
        for nth, curve in drawn[:CURVES]
    ]


def _longest(curve: ToolCurve) -> float:
    return max((point.saved_seconds for point in curve.points), default=0.0)


def _curve(
    nth: int, curve: ToolCurve, bound: BoundFigures | None, *, several: bool
) -> dict[str, Any]:
    points = _worth_drawing(curve.points)
    proposed = 0
    if bound is not None and bound.freshness_seconds is not None:
        reached = [p.freshness_seconds < bound.freshness_seconds for p in points]
        proposed = min(sum(reached), len(points) - 1)
    return {
        "place": nth,
        "tool": plain(curve.tool),
        "namespace": plain(curve.namespace) if several else "",
        "chart": curve_chart(points, bound),
        "proposed": proposed,
        "proven": bound is not None and bound.proven,
        "proposal": "" if bound is None else proposed_text(bound),
        "points": [curve_point_text(point) for point in points],
    }


def _worth_drawing(points: Sequence[CurveFigures]) -> list[CurveFigures]:
    """Return the points from the one before the first serve on."""
    first = next((nth for nth, point in enumerate(points) if point.serves), 0)
    return list(points[max(first - 1, 0) :])


def _timelines(
    groups: Sequence[GroupFigures], detail: PageDetail | None, report: Report
) -> list[dict[str, Any]]:
    if detail is None:
        return []
    several = len(namespaces(report)) > 1
    return [
        _timeline(groups[timeline.place], timeline, several=several)
        for timeline in detail.groups
        if timeline.place < len(groups)
    ]


def _timeline(group: GroupFigures, timeline: GroupTimeline, *, several: bool) -> dict[str, Any]:
    return {
        "tool": plain(group.tool),
        "namespace": plain(group.namespace) if several else "",
        "identity": group.input_hash[:HASH_DIGITS],
        "figures": f"{counted(group.calls, 'call')} in {counted(group.traces, 'trace')}, "
        f"{counted(group.distinct_results, 'result')}, {group.same_result:,} of "
        f"{counted(group.repeats, 'repeat')} the same",
        "shown": len(timeline.calls),
        "calls": timeline.calls_in_all,
        "chart": timeline_chart(timeline),
        "changed": timeline.changed_span_ids,
        "difference": timeline.difference,
        "both_values": _values(timeline),
    }


def _values(timeline: GroupTimeline) -> tuple[str, str] | None:
    difference = timeline.difference
    if difference is None or difference.first is None or difference.second is None:
        return None
    return plain(difference.first, longest=120), plain(difference.second, longest=120)


def _traces(detail: PageDetail | None) -> list[dict[str, Any]]:
    return [] if detail is None else [_trace(trace) for trace in detail.traces]


def _trace(trace: Waterfall) -> dict[str, Any]:
    return {
        "trace_id": plain(trace.trace_id),
        "chart": waterfall_chart(trace),
        "seconds": seconds_text(trace.seconds),
        "saved": seconds_text(trace.saved_seconds),
        "saved_calls": counted(trace.saved_calls, "call"),
        "spans": counted(trace.spans_in_all, "span"),
        "left_out": trace.spans_in_all - len(trace.spans),
    }


def _text_tables(report: Report, top: int) -> list[PageTable]:
    tables = (text_table(rows.value, row_table(report, rows), top) for rows in _TEXT_TABLES)
    return [table for table in tables if table.rows]


def _data(report: Report, detail: PageDetail | None, top: int) -> str:
    """Return the figures as JSON that cannot end its element: at most ``top`` rows of a kind."""
    if top:
        report = replace(
            report,
            groups=list(report.groups[:top]),
            savings=replace(report.savings, by_identity={}),
            rules=report.rules[:top],
            candidates=report.candidates[:top],
            refusals=report.refusals[:top],
            findings=report.findings[:top],
        )
    document = {"report": report_to_json(report), "detail": plain_value(detail)}
    return json.dumps(document, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
