"""The what-if curve of a tool: what would be saved, and what stale, by the age that is allowed."""

from __future__ import annotations

from collections.abc import Sequence

from visceral_cli.report.page.chart_style import (
    CONFIG,
    DURATION,
    LOG_TICKS,
    NARROW,
    Specification,
    color_of,
    draw_chart,
    time_ticks,
)
from visceral_cli.report.quantities import counted, freshness_text, seconds_text
from visceral_cli.report.report import BoundFigures, CurveFigures


def curve_chart(points: Sequence[CurveFigures], bound: BoundFigures | None) -> str:
    """Return seconds saved and, below, stale serves against the age up to which is served."""
    first = max(1.0, min(point.freshness_seconds for point in points))
    last = max(point.freshness_seconds for point in points)
    ages = {
        "field": "age",
        "type": "quantitative",
        "scale": {
            "type": "log",
            "domain": [first, max(last, first * 2)],
            "nice": False,
            "padding": 8,
        },
        "axis": None,
    }
    values = [
        {
            "age": point.freshness_seconds,
            "saved": point.saved_seconds,
            "stale": point.stale,
            "supported": not point.failed_guards,
        }
        for point in points
    ]
    ticks = [tick for tick in LOG_TICKS if first <= tick <= last]
    most = max(point.saved_seconds for point in points) or 1.0
    tall: Specification = {
        "field": "saved",
        "type": "quantitative",
        "axis": {"title": "saved", "values": time_ticks(most, 4), "labelExpr": DURATION},
        "scale": {"domain": [0, most * 1.08], "nice": False},
    }
    dots = [
        {
            "transform": [{"filter": f"{'' if supported else '!'}datum.supported"}],
            "mark": {
                "type": "point",
                "size": 34,
                "fill": color_of("safe") if supported else color_of("panel"),
                "stroke": color_of("safe"),
                "strokeWidth": 1.5,
                "opacity": 1,
                "aria": False,
            },
            "encoding": {"x": ages, "y": tall},
        }
        for supported in (True, False)
        if any(value["supported"] is supported for value in values)
    ]
    saved: Specification = {
        "width": NARROW - 62,
        "height": 110,
        "layer": [
            *_proposed(bound, ages, first, last),
            {
                "mark": {"type": "line", "stroke": color_of("safe"), "aria": False},
                "encoding": {"x": ages, "y": tall},
            },
            *dots,
        ],
    }
    return draw_chart(
        {
            "data": {"values": values},
            "spacing": 8,
            "vconcat": [saved, _stale_panel(points, bound, ages, ticks, (first, last))],
            "config": {
                **CONFIG,
                "axisY": {"minExtent": 46, "maxExtent": 46},
            },
        }
    )


def _stale_panel(
    points: Sequence[CurveFigures],
    bound: BoundFigures | None,
    ages: Specification,
    ticks: Sequence[float],
    span: tuple[float, float],
) -> Specification:
    most = max(1, max(point.stale for point in points))
    x_axis: Specification = {
        "title": None,
        "values": list(ticks),
        "labelExpr": DURATION,
        "grid": False,
        "labelFlush": False,
    }
    y_axis = {"title": "stale", "values": [0, most], "grid": True, "format": ",d"}
    return {
        "width": NARROW - 62,
        "height": 42,
        "layer": [
            *_proposed(bound, {**ages, "axis": x_axis}, *span, labelled=False),
            {
                "transform": [{"filter": "datum.stale > 0"}],
                "mark": {"type": "bar", "width": 7, "fill": color_of("unsafe"), "aria": False},
                "encoding": {
                    "x": {**ages, "axis": x_axis},
                    "y": {
                        "field": "stale",
                        "stack": None,
                        "type": "quantitative",
                        "axis": y_axis,
                        "scale": {"domain": [0, most], "nice": False},
                    },
                },
            },
        ],
    }


def _proposed(
    bound: BoundFigures | None,
    ages: Specification,
    first: float,
    last: float,
    *,
    labelled: bool = True,
) -> list[Specification]:
    """Return a line at the freshness of the bound, dashed where it is not proven."""
    age = None if bound is None else bound.freshness_seconds
    if bound is None or age is None or not age > 0:
        return []
    place = min(max(age, first), last)
    color = color_of("ink" if bound.proven else "dim")
    data = {"values": [{"age": place, "label": proposed_text(bound)}]}
    rule = {
        "data": data,
        "mark": {
            "type": "rule",
            "stroke": color,
            "strokeWidth": 1.5,
            "strokeDash": [1, 0] if bound.proven else [3, 3],
            "aria": False,
        },
        "encoding": {"x": ages},
    }
    if not labelled:
        return [rule]
    right = place > (first * max(last, first * 2)) ** 0.5
    text = {
        "data": data,
        "mark": {
            "type": "text",
            "align": "right" if right else "left",
            "dx": -5 if right else 5,
            "fontSize": 11,
            "fontWeight": "bold" if bound.proven else "normal",
            "fill": color,
            "aria": False,
        },
        "encoding": {
            "x": ages,
            "y": {"value": -7},
            "text": {"field": "label"},
        },
    }
    return [rule, text]


def proposed_text(bound: BoundFigures) -> str:
    """Return what is said at the freshness of a bound."""
    if bound.freshness_seconds is None:
        return "nothing proposed"
    age = freshness_text(bound.freshness_seconds)
    return f"{age} proven" if bound.proven else f"{age}: nearest to a proof"


def curve_point_text(point: CurveFigures) -> str:
    """Return one age of a curve in words."""
    few = f"; too few {', '.join(point.failed_guards)} to prove" if point.failed_guards else ""
    return (
        f"up to {freshness_text(point.freshness_seconds)}: {counted(point.serves, 'call')} served, "
        f"{seconds_text(point.saved_seconds)} saved, {point.stale:,} stale{few}"
    )
