"""What rules save in all, by run and by identity."""

from __future__ import annotations

import hashlib

import pytest

from visceral_cli.analysis.savings import savings_of
from visceral_cli.analysis.serving import Permission, freshness_by_identity, serve_calls
from visceral_cli.analysis.spans import read_spans
from visceral_cli.settings import Settings

SECOND = 1_000_000_000


def savings(recorded_calls, settings=None):
    columns = recorded_calls.columns(settings)
    permissions = [Permission(code, 60 * SECOND) for code in range(len(columns.tools))]
    allowed = freshness_by_identity(columns, permissions)
    serving = serve_calls(columns, read_spans(recorded_calls.store, columns), allowed)
    return savings_of(recorded_calls.store, columns, serving, wall_seconds=1.5)


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_savings_are_told_by_identity(recorded, call):
    found = savings(
        recorded(
            call(0, 1),
            call(2, 4),
            call(5, 8),
            call(10, 11, arguments="b", namespace="shop"),
            call(12, 13, arguments="b", namespace="shop"),
            call(20, 21, arguments="c"),
        )
    )
    assert found.by_identity == {
        ("", "get_weather", sha("a")): (2, 5.0),
        ("shop", "get_weather", sha("b")): (1, 1.0),
    }
    assert found.wall_seconds == 1.5


def test_one_hash_in_several_traces_is_one_line_also_if_traces_are_kept_apart(recorded, call):
    calls = recorded(
        *(call(t, t + 1, run=run) for t, run in [(0, "p"), (2, "q"), (4, "p"), (6, "q")])
    )
    found = savings(calls, Settings(scope="trace"))
    assert found.by_identity == {("", "get_weather", sha("a")): (2, 2.0)}


@pytest.mark.parametrize("runs", [19, 20, 21])
def test_the_projection_counts_runs_without_savings_too(recorded, call, runs):
    saving = [call(0, 1, run="run-00"), call(2, 4, run="run-00")]
    others = [call(100 * n, arguments=f"{n}", run=f"run-{n:02}") for n in range(1, runs)]
    projected = savings(recorded(*saving, *others)).seconds_per_1000_runs
    assert projected.runs == runs
    assert projected.mean == pytest.approx(1000 * 2 / runs)
    assert (projected.low is None) == (runs < 20)


def test_money_is_saved_where_the_call_has_a_cost(recorded, call):
    calls = recorded(call(0, 1), call(2, 3), call(4, 5, cost_usd=0.5), call(6, 7))
    assert savings(calls).cost_usd == 0.5
    assert savings(calls, Settings(prices={"get_weather": 0.1})).cost_usd == 0.7
    assert savings(recorded(call(0, 1), call(2, 3))).cost_usd is None


def test_savings_are_told_by_tool_with_their_own_interval(recorded, call):
    others = [call(100 * n, arguments=f"{n}", run=f"run-{n:02}") for n in range(1, 20)]
    found = savings(
        recorded(
            call(0, 1, run="run-00"),
            call(2, 4, run="run-00"),
            call(5, 8, run="run-00"),
            call(10, 15, tool="search", run="run-00"),
            call(20, 29, tool="search", run="run-00"),
            *others,
        )
    )
    assert [(tool.tool, tool.calls, tool.seconds, tool.stale_calls) for tool in found.by_tool] == [
        ("search", 1, 9.0, 0),
        ("get_weather", 2, 5.0, 0),
    ]
    assert sum(tool.seconds for tool in found.by_tool) == found.tool_seconds
    projected = found.by_tool[0].seconds_per_1000_runs
    assert projected.runs == 20
    assert projected.mean == pytest.approx(1000 * 9 / 20)
    assert projected.low == 0.0
