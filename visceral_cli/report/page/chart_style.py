"""What all charts of the page share: Vega-Lite in, a drawing out; colours, axes of time.

Colours are variables of the page's style sheet, so that a drawing follows the reader's setting.
"""

from __future__ import annotations

import itertools
from typing import Any

from visceral_cli.report.page.svg import draw

Specification = dict[str, Any]

NARROW, WIDE = 340, 540
"""Pixels: a chart that fits a telephone, and one that fills half of a desktop."""

_AXIS_STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30),
    *(60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200),
    *(86400, 172800, 604800, 2592000, 31536000),
)
LOG_TICKS = (1, 10, 60, 600, 3600, 21600, 86400, 604800, 2592000)
"""Seconds that are named on an axis that is not even."""
DURATION = (
    "datum.value == 0 ? '0' : datum.value < 1 ? round(datum.value * 1000) + ' ms' :"
    " datum.value < 60 ? datum.value + ' s' : datum.value < 3600 ?"
    " datum.value / 60 + ' min' : datum.value < 86400 ? datum.value / 3600 + ' h' :"
    " datum.value / 86400 + ' d'"
)
"""A Vega expression: the label of a tick, in seconds."""
CONFIG: Specification = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "aria": False,
        "domainColor": "var(--grid)",
        "gridColor": "var(--grid)",
        "tickColor": "var(--grid)",
        "labelColor": "var(--dim)",
        "titleColor": "var(--dim)",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    },
}


def draw_chart(specification: Specification, *, padding: int = 4) -> str:
    """Return the drawing of a chart in the style of the page."""
    return draw({"background": None, "padding": padding, "config": CONFIG, **specification})


def color_of(color: str) -> str:
    """Return a colour of the style sheet by its name there."""
    return f"var(--{color})"


def time_ticks(longest: float, most: int) -> list[float]:
    """Return at most ``most`` steps from 0 to ``longest`` seconds, as people count time."""
    step = next((step for step in _AXIS_STEPS if longest / step <= most), _AXIS_STEPS[-1])
    return [nth * step for nth in itertools.takewhile(lambda n: n * step <= longest, range(100))]


def as_is(field: str) -> Specification:
    """Return an encoding by values that are colours or shapes already."""
    return {"field": field, "type": "nominal", "scale": None}


def hidden_axis(field: str, longest: float) -> Specification:
    """Return an encoding from 0 to ``longest`` whose axis is not drawn."""
    scale = {"domain": [0, longest], "nice": False}
    return {"field": field, "type": "quantitative", "axis": None, "scale": scale}
