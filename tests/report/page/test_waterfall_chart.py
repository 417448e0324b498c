from __future__ import annotations

import pytest

pytest.importorskip("vl_convert", reason="the extra html is not installed")

from visceral_cli.report.page.detail import Bar, SpanBar, Waterfall
from visceral_cli.report.page.waterfall_chart import _Folded, waterfall_chart


def trace(*spans: tuple[int, float, float]) -> Waterfall:
    """A trace of spans of a depth, from a time, for a time."""
    bars = tuple(
        SpanBar(f"tool {nth}", f"{nth:016x}", depth, start, seconds, Bar.CALL, "first", ())
        for nth, (depth, start, seconds) in enumerate(spans)
    )
    return Waterfall("f" * 32, 100.0, len(bars), len(bars), 0, 0.0, bars)


def test_a_long_pause_is_folded_and_its_length_named() -> None:
    folded = _Folded(trace((0, 0.0, 100.0), (1, 0.0, 5.0), (1, 95.0, 5.0)))
    assert [(pause.from_seconds, pause.until_seconds) for pause in folded.pauses] == [(5.0, 95.0)]
    assert folded.place(0.0) == 0.0
    assert folded.place(5.0) == pytest.approx(0.48)
    assert folded.place(95.0) == pytest.approx(0.52)
    assert folded.place(100.0) == pytest.approx(1.0)
    assert ">90.0 s<" in waterfall_chart(trace((0, 0.0, 100.0), (1, 0.0, 5.0), (1, 95.0, 5.0)))


@pytest.mark.parametrize(
    ("pause", "folds"), [(2.4, 0), (2.5, 1), (2.6, 1)], ids=["shorter", "as long", "longer"]
)
def test_a_pause_is_folded_from_a_quarter_of_the_busy_time_on(pause: float, folds: int) -> None:
    drawn = trace((0, 0.0, 10.0 + pause), (1, 0.0, 5.0), (1, 5.0 + pause, 5.0))
    assert len(_Folded(drawn).pauses) == folds


def test_time_in_which_anything_runs_is_no_pause() -> None:
    folded = _Folded(trace((0, 0.0, 100.0), (0, 0.0, 5.0), (0, 95.0, 5.0)))
    assert folded.pauses == []
    assert folded.place(50.0) == pytest.approx(0.5)


def test_a_trace_without_length_is_drawn() -> None:
    assert waterfall_chart(trace((0, 0.0, 0.0))).startswith("<svg ")
