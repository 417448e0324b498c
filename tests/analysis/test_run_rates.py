"""What the repeats come to for each 1,000 runs."""

from __future__ import annotations

import pytest

from visceral_cli.analysis.projection import project
from visceral_cli.analysis.run_rates import run_figures
from visceral_cli.analysis.verdicts import judge_calls
from visceral_cli.analysis.writers import writers_of


def figures(recorded_calls):
    columns = recorded_calls.columns(None)
    return run_figures(columns, judge_calls(columns, writers_of(columns)))


def calls_of(call, runs):
    """Two tools over ``runs`` runs: one repeats in every third run, the other never."""
    made = []
    for run in range(runs):
        start = 100 * run
        made.append(call(start, start + 1, arguments=f"a{run}", run=f"run{run}"))
        if run % 3 == 0:
            made.append(call(start + 10, start + 14, arguments=f"a{run}", run=f"run{run}"))
        made.append(call(start + 20, start + 21, tool="clock", arguments=f"{run}", run=f"run{run}"))
    return made


def test_every_tool_has_the_projection_of_its_repeats(recorded, call):
    total, weather, clock = figures(recorded(*calls_of(call, 30)))
    expected = project([1.0 if run % 3 == 0 else 0.0 for run in range(30)])
    seconds = project([4.0 if run % 3 == 0 else 0.0 for run in range(30)])
    assert (total.namespace, total.tool, total.kind) == ("", "", "")
    assert (total.repeats, total.repeat_seconds) == (expected, seconds)
    assert (weather.tool, clock.tool) == ("get_weather", "clock")
    for found, wanted in ((weather.repeats, expected), (weather.repeat_seconds, seconds)):
        assert found.runs == wanted.runs == 30
        assert found.mean == pytest.approx(wanted.mean)
        assert found.low == pytest.approx(wanted.low)
        assert found.high == pytest.approx(wanted.high)
    assert (clock.repeats.mean, clock.repeats.high) == (0, 0)


@pytest.mark.parametrize(("runs", "is_told"), [(19, False), (20, True), (21, True)])
def test_fewer_than_twenty_runs_have_no_interval(recorded, call, runs, is_told):
    for row in figures(recorded(*calls_of(call, runs))):
        assert (row.repeats.low is not None) is is_told
        assert (row.repeat_seconds.high is not None) is is_told


def test_only_repeats_with_the_same_result_cost(recorded, call):
    total, weather = figures(
        recorded(
            call(0, 1, cost_usd=0.25),
            call(10, 12, cost_usd=0.5),
            call(20, 22, cost_usd=1.0, result="other"),
        )
    )
    assert total.repeat_cost_usd == weather.repeat_cost_usd == 0.5
    assert (total.repeats.mean, total.repeat_seconds.mean) == (2000, 2000)


def test_without_a_price_there_is_no_cost(recorded, call):
    assert {row.repeat_cost_usd for row in figures(recorded(call(0, 1), call(5, 6)))} == {None}
