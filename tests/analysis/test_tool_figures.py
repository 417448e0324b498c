"""The figures of each tool."""

from __future__ import annotations

from visceral_cli.analysis.tool_figures import tool_figures
from visceral_cli.analysis.verdicts import judge_calls
from visceral_cli.analysis.writers import writers_of
from visceral_cli.settings import Settings


def figures(recorded_calls, settings=None, unstable=None):
    columns = recorded_calls.columns(settings)
    return tool_figures(columns, judge_calls(columns, writers_of(columns)), unstable)


def test_a_tool_is_told_by_its_calls(recorded, call):
    (tool,) = figures(
        recorded(
            call(0, 1, failed=True, cost_usd=0.5),
            call(10, 12),
            call(20, 23),
            call(21, 25),
            call(30, 34, result="s"),
            call(40, 45, arguments=None, result=None),
            call(50, 56, served=True, result=None, arguments=None),
            call(60, 67, verify_match=True),
            call(70, 78, arguments="b"),
            call(71, 79, arguments="b", result=None),
        )
    )
    assert (tool.tool, tool.kind, tool.calls, tool.failed) == ("get_weather", "tool", 10, 1)
    assert (tool.without_identity, tool.without_content, tool.identities) == (2, 3, 2)
    assert (tool.repeats, tool.same_result, tool.changed) == (4, 2, 1)
    assert (tool.in_flight, tool.retries, tool.after_writer, tool.unverifiable) == (1, 1, 0, 0)
    assert (tool.served, tool.verified) == (1, 1)
    assert (tool.tool_seconds, tool.repeat_seconds, tool.in_flight_seconds) == (48, 7, 1)
    assert tool.cost_usd == 0.5


def test_a_writer_has_no_repeats(recorded, call):
    (tool,) = figures(recorded(call(0, 1, tool="send_mail"), call(2, 3, tool="send_mail")))
    assert (tool.writer, tool.declared_by, tool.calls, tool.repeats) == (True, "name", 2, 0)
    assert tool.identities == 1


def test_what_is_known_of_the_tool_goes_along(recorded, call):
    (tool,) = figures(
        recorded(call(0, 1, readonly=True, replay_safe=False, freshness_override=5.0)),
        Settings(prices={"get_weather": 0.25}),
        {0: "output is new every time"},
    )
    assert (tool.readonly, tool.replay_safe, tool.declared_by) == (True, False, "span")
    assert (tool.freshness_cap_seconds, tool.cost_usd) == (5.0, 0.25)
    assert tool.unstable == "output is new every time"


def test_tools_come_with_most_repeated_seconds_first_then_by_name(recorded, call):
    calls = recorded(
        call(0, 1, tool="get_d", namespace="b"),
        call(0, 1, tool="get_d", namespace="a"),
        call(0, 1, tool="get_b"),
        call(0, 5, tool="get_c"),
        call(10, 15, tool="get_c"),
        call(0, 1, tool="get_b", kind="retriever"),
    )
    assert [(tool.namespace, tool.tool, tool.kind) for tool in figures(calls)] == [
        ("", "get_c", "tool"),
        ("", "get_b", "retriever"),
        ("", "get_b", "tool"),
        ("a", "get_d", "tool"),
        ("b", "get_d", "tool"),
    ]


def test_without_calls_there_is_no_tool(recorded):
    assert figures(recorded()) == []
