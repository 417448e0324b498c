"""The timeline of a group: its calls by trace, coloured by result."""

from __future__ import annotations

from collections.abc import Mapping

from visceral_cli.report.page.chart_style import (
    DURATION,
    LOG_TICKS,
    WIDE,
    Specification,
    as_is,
    color_of,
    draw_chart,
)
from visceral_cli.report.page.detail import GroupTimeline, Mark
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import seconds_text

RESULT_COLORS = 8
"""Colours of results; the ninth result has the first colour again."""

SHAPE_OF_MARK: Mapping[Mark, str] = {
    Mark.RAN: "circle",
    Mark.SERVED: "triangle-up",
    Mark.MATCHED: "diamond",
    Mark.MISMATCHED: "cross",
    Mark.FAILED: "square",
}


def timeline_chart(timeline: GroupTimeline) -> str:
    """Return the calls of a group: traces downwards, time to the right, coloured by result."""
    since: dict[int, float] = {}
    for call in timeline.calls:
        since.setdefault(call.trace, call.after_seconds)
    ends = [call.in_trace_seconds for call in timeline.calls]
    ends += [writer.in_trace_seconds for writer in timeline.writers]
    longest = max(*ends, 1.0)
    x = {
        "field": "after",
        "type": "quantitative",
        "scale": {"type": "symlog", "domain": [0, longest], "nice": False, "padding": 8},
        "axis": {
            "title": "since the first of its trace",
            "values": [0, *(tick for tick in LOG_TICKS if tick <= longest)],
            "labelExpr": DURATION,
        },
    }
    rows = {trace: f"{trace:02d} {_since_text(seconds)}" for trace, seconds in since.items()}
    y = {
        "field": "row",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(rows.values())},
        "axis": {
            "title": None,
            "labelExpr": "substring(datum.label, 3)",
            "ticks": False,
            "domain": False,
            "grid": True,
            "minExtent": 68,
            "maxExtent": 68,
        },
    }
    calls = [
        {
            "after": call.in_trace_seconds,
            "row": rows[call.trace],
            "fill": color_of(result_color(call.result)),
            "stroke": color_of("ink" if call.would_serve else "panel"),
            "shape": SHAPE_OF_MARK[call.mark],
            "label": _call_text(call.verdict, call.mark, call.result, call.seconds)
            + ("; would have been served" if call.would_serve else ""),
        }
        for call in timeline.calls
    ]
    writers = [
        {
            "after": writer.in_trace_seconds,
            "row": rows[writer.trace],
            "label": f"writer {plain(writer.tool)}",
        }
        for writer in timeline.writers
    ]
    layers: list[Specification] = []
    if writers:
        layers.append(
            {
                "data": {"values": writers},
                "mark": {
                    "type": "tick",
                    "orient": "vertical",
                    "thickness": 2.5,
                    "size": 17,
                    "fill": color_of("unsafe"),
                    "opacity": 1,
                },
                "encoding": {"x": x, "y": y, "description": {"field": "label"}},
            }
        )
    layers.append(
        {
            "data": {"values": calls},
            "mark": {"type": "point", "size": 62, "opacity": 1, "strokeWidth": 1.5},
            "encoding": {
                "x": x,
                "y": y,
                "fill": as_is("fill"),
                "stroke": as_is("stroke"),
                "shape": as_is("shape"),
                "description": {"field": "label"},
            },
        }
    )
    return draw_chart({"width": WIDE - 95, "height": {"step": 15}, "layer": layers})


def _since_text(seconds: float) -> str:
    return f"+ {seconds_text(seconds)}" if seconds else "first"


def result_color(result: int | None) -> str:
    """Return the name of the colour of a result."""
    return "result-0" if result is None else f"result-{(result - 1) % RESULT_COLORS + 1}"


def _call_text(verdict: str, mark: Mark, result: int | None, seconds: float) -> str:
    which = "result not known" if result is None else f"result {result}"
    how = "" if mark is Mark.RAN else f", {mark.value}"
    return f"{which}, {verdict}{how}, {seconds_text(seconds)}"
