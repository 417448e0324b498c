"""The waterfall of a trace: its spans below each other, with the critical path."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from visceral_cli.report.page.chart_style import (
    WIDE,
    Specification,
    as_is,
    color_of,
    draw_chart,
    hidden_axis,
)
from visceral_cli.report.page.detail import Bar, Waterfall
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import seconds_text

_INDENT = "·\N{NO-BREAK SPACE}"
"""Before the name of a span, once for each span around it."""
COLOR_OF_BAR: Mapping[Bar, str] = {
    Bar.WOULD_SERVE: "safe",
    Bar.ABSORBED: "absorbed",
    Bar.REPEAT: "prove",
    Bar.WRITER: "unsafe",
    Bar.CALL: "call",
    Bar.OTHER: "faint",
}

_FOLD_FROM = 0.25
"""A pause as long as this share of all time that is no pause is folded ..."""
_FOLDED = 0.04
"""... to this share of the drawing."""


_ROOM = 1.13
"""The width of the drawing, with room for the length of the last bar."""


class _Pause(msgspec.Struct, frozen=True):
    """A time without a call that is drawn; in seconds since the trace began."""

    from_seconds: float
    until_seconds: float

    @property
    def seconds(self) -> float:
        """Return how long it is."""
        return self.until_seconds - self.from_seconds


class _Folded:
    """Times of a trace as places from 0 to 1, with long pauses folded."""

    def __init__(self, trace: Waterfall) -> None:
        self.longest = max((s.after_seconds + s.seconds for s in trace.spans), default=0) or 1.0
        pauses = _pauses(trace, self.longest)
        busy = self.longest - sum(pause.seconds for pause in pauses)
        self.pauses = [pause for pause in pauses if pause.seconds >= busy * _FOLD_FROM]
        self._kept = self.longest - sum(pause.seconds for pause in self.pauses)

    def place(self, seconds: float) -> float:
        """Return where a time is drawn."""
        open_width = 1 - _FOLDED * len(self.pauses)
        kept, place = seconds, 0.0
        for pause in self.pauses:
            within = min(max(seconds - pause.from_seconds, 0.0), pause.seconds)
            kept -= within
            place += _FOLDED * within / pause.seconds
        return place + (open_width * kept / self._kept if self._kept > 0 else 0.0)


def _pauses(trace: Waterfall, longest: float) -> list[_Pause]:
    """Return the times in which no span without drawn spans inside of it runs."""
    parents = {
        nth
        for nth, (span, following) in enumerate(zip(trace.spans, trace.spans[1:], strict=False))
        if following.depth > span.depth
    }
    found, cursor = [], 0.0
    for nth, span in enumerate(trace.spans):
        if nth in parents:
            continue
        if span.after_seconds > cursor:
            found.append(_Pause(cursor, span.after_seconds))
        cursor = max(cursor, span.after_seconds + span.seconds)
    return [*found, _Pause(cursor, longest)] if cursor < longest else found


def waterfall_chart(trace: Waterfall) -> str:
    """Return the spans of a trace below each other; a dark line is the critical path."""
    folded = _Folded(trace)
    thinnest = 1 / 250
    bars, path = [], []
    for nth, span in enumerate(trace.spans):
        indent = _INDENT * min(span.depth, 8)
        row = f"{nth:02d} {indent}{plain(span.name, longest=40)}"
        verdict = "" if span.verdict is None else f" ({span.verdict})"
        begin, end = span.after_seconds, span.after_seconds + span.seconds
        bars.append(
            {
                "row": row,
                "from": folded.place(begin),
                "to": max(folded.place(end), folded.place(begin) + thinnest),
                "color": color_of(COLOR_OF_BAR[span.bar]),
                "length": "" if span.bar is Bar.OTHER else seconds_text(span.seconds),
                "label": f"{plain(span.name)}: {seconds_text(span.seconds)}, "
                f"{span.bar.value}{verdict}",
            }
        )
        path += [
            {
                "row": row,
                "from": folded.place(begin),
                "to": max(folded.place(end), folded.place(begin) + thinnest),
            }
            for begin, end in span.critical
        ]
    return draw_chart(
        {
            "width": WIDE - 175,
            "height": {"step": 17},
            "layer": [
                *_pause_layers(folded),
                _bar_layer(bars),
                _length_layer(bars),
                _path_layer(path),
            ],
        }
    )


def _pause_layers(folded: _Folded) -> list[Specification]:
    values = [
        {
            "from": folded.place(pause.from_seconds),
            "to": folded.place(pause.until_seconds),
            "label": seconds_text(pause.seconds),
        }
        for pause in folded.pauses
    ]
    if not values:
        return []
    x = hidden_axis("from", _ROOM)
    return [
        {
            "data": {"values": values},
            "mark": {"type": "rect", "fill": color_of("pause"), "aria": False},
            "encoding": {"x": x, "x2": {"field": "to"}},
        },
        {
            "data": {"values": values},
            "transform": [{"calculate": "(datum.from + datum.to) / 2", "as": "from"}],
            "mark": {
                "type": "text",
                "fontSize": 10,
                "fill": color_of("dim"),
                "aria": False,
            },
            "encoding": {"x": x, "y": {"value": -6}, "text": {"field": "label"}},
        },
    ]


def _rows() -> Specification:
    return {
        "field": "row",
        "type": "nominal",
        "sort": None,
        "axis": {
            "title": None,
            "ticks": False,
            "domain": False,
            "labelExpr": "substring(datum.label, 3)",
            "labelAlign": "left",
            "labelPadding": 148,
            "labelLimit": 146,
            "minExtent": 150,
            "maxExtent": 150,
            "labelColor": color_of("ink"),
        },
    }


def _bar_layer(bars: list[dict[str, object]]) -> Specification:
    return {
        "data": {"values": bars},
        "mark": {"type": "bar", "height": 11},
        "encoding": {
            "x": hidden_axis("from", _ROOM),
            "x2": {"field": "to"},
            "y": _rows(),
            "fill": as_is("color"),
            "description": {"field": "label"},
        },
    }


def _length_layer(bars: list[dict[str, object]]) -> Specification:
    return {
        "data": {"values": [bar for bar in bars if bar["length"]]},
        "mark": {
            "type": "text",
            "align": "left",
            "dx": 4,
            "fontSize": 10,
            "fill": color_of("dim"),
            "aria": False,
        },
        "encoding": {
            "x": hidden_axis("to", _ROOM),
            "y": _rows(),
            "text": {"field": "length"},
        },
    }


def _path_layer(path: list[dict[str, object]]) -> Specification:
    return {
        "data": {"values": path},
        "mark": {
            "type": "bar",
            "height": 2.5,
            "yOffset": 7,
            "fill": color_of("ink"),
            "aria": False,
        },
        "encoding": {"x": hidden_axis("from", _ROOM), "x2": {"field": "to"}, "y": _rows()},
    }
