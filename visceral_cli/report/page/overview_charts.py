"""The charts of the first screen: all repeats in one bar, and the funnel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from visceral_cli.analysis.figures import FunnelStep
from visceral_cli.report.overview import Standing
from visceral_cli.report.page.chart_style import (
    NARROW,
    as_is,
    color_of,
    draw_chart,
    hidden_axis,
)
from visceral_cli.report.quantities import counted, seconds_text

COLOR_OF_STANDING: Mapping[Standing, str] = {
    Standing.SAFE: "safe",
    Standing.UNDECLARED: "declare",
    Standing.UNPROVEN: "prove",
    Standing.UNSAFE: "unsafe",
    Standing.IN_FLIGHT: "flight",
    Standing.UNKNOWN: "unknown",
}


def standings_chart(parts: Mapping[Standing, int]) -> str:
    """Return one bar of all repeats; it may be stretched."""
    values = []
    begin = 0
    for standing, count in parts.items():
        color = color_of(COLOR_OF_STANDING[standing])
        label = f"{standing.value}: {counted(count, 'call')}"
        if count:
            values.append({"from": begin, "to": begin + count, "color": color, "label": label})
        begin += count
    return draw_chart(
        {
            "data": {"values": values},
            "width": 1000,
            "height": 30,
            "mark": {"type": "rect"},
            "encoding": {
                "x": hidden_axis("from", begin),
                "x2": {"field": "to"},
                "fill": as_is("color"),
                "description": {"field": "label"},
            },
        },
        padding=0,
    ).replace("<svg ", '<svg preserveAspectRatio="none" ', 1)


def funnel_chart(steps: Sequence[FunnelStep]) -> str:
    """Return a bar of tool time for each step."""
    values = [
        {
            "step": step.name.replace("-", " "),
            "seconds": step.tool_seconds,
            "label": f"{seconds_text(step.tool_seconds)}, {counted(step.calls, 'call')}",
            "color": color_of("safe" if step.name == "avoidable" else "prove"),
        }
        for step in steps
    ]
    longest = max((step.tool_seconds for step in steps), default=0) or 1
    y = {
        "field": "step",
        "type": "nominal",
        "sort": None,
        "axis": {
            "title": None,
            "ticks": False,
            "domain": False,
            "minExtent": 110,
            "maxExtent": 110,
            "labelLimit": 108,
            "labelFontSize": 12,
            "labelColor": "var(--ink)",
        },
    }
    return draw_chart(
        {
            "data": {"values": values},
            "width": NARROW - 120,
            "height": {"step": 34},
            "layer": [
                {
                    "mark": {"type": "bar", "height": 14, "yOffset": 7, "aria": False},
                    "encoding": {
                        "y": y,
                        "x": hidden_axis("seconds", longest),
                        "fill": as_is("color"),
                    },
                },
                {
                    "mark": {
                        "type": "text",
                        "align": "left",
                        "dy": -7,
                        "fontSize": 11,
                        "aria": False,
                        "fill": "var(--dim)",
                    },
                    "encoding": {
                        "y": y,
                        "x": {"value": 0},
                        "text": {"field": "label"},
                    },
                },
            ],
        }
    )
