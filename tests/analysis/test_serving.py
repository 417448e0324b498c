"""Which calls would have been served: worked cases, and a literal pass in order of time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visceral_cli.analysis.histories import histories
from visceral_cli.analysis.savings import savings_of
from visceral_cli.analysis.serving import Permission, freshness_by_identity, serve_calls
from visceral_cli.analysis.spans import read_spans

SECOND = 1_000_000_000
WRITER = "send_mail"


def served(recorded_calls, freshness=60, tools=("get_weather",), excluded=()):
    """Return the columns and what is served under one rule for each of ``tools``."""
    columns = recorded_calls.columns()
    permissions = [
        Permission(code, round(freshness * SECOND), excluded=np.array(excluded, np.int32))
        for code, facts in enumerate(columns.tools)
        if facts.name.tool in tools
    ]
    allowed = freshness_by_identity(columns, permissions)
    return columns, serve_calls(columns, read_spans(recorded_calls.store, columns), allowed)


def summary(recorded_calls, **rules):
    """Return (served, seconds, absorbed, in flight, seconds in flight)."""
    columns, serving = served(recorded_calls, **rules)
    savings = savings_of(recorded_calls.store, columns, serving, wall_seconds=0.0)
    return (
        savings.calls,
        savings.tool_seconds,
        savings.absorbed_calls,
        savings.in_flight_calls,
        savings.in_flight_seconds,
    )


def ages(recorded_calls, **rules):
    columns, serving = served(recorded_calls, **rules)
    start = columns.start_ns / SECOND
    return {
        float(start[row]): float(start[row] - start[source])
        for row, source in zip(serving.served, serving.source, strict=True)
    }


def test_a_serve_does_not_renew_the_stored_result(recorded, call):
    calls = recorded(call(0, 2), call(10, 13), call(70, 74), call(80, 85))
    assert ages(calls) == {10: 10, 80: 10}
    assert summary(calls) == (2, 8, 0, 0, 0)


def test_a_failed_call_stores_nothing(recorded, call):
    assert summary(recorded(call(0, 2, failed=True), call(10, 13), call(20, 21))) == (1, 1, 0, 0, 0)


def test_a_writer_of_the_run_lets_the_next_call_run(recorded, call):
    calls = recorded(call(0, 2), call(5, 6, tool=WRITER), call(10, 13), call(20, 24))
    assert ages(calls) == {20: 10}
    assert summary(calls) == (1, 4, 0, 0, 0)


def nested(call, shift, child="get_child"):
    return [
        call(shift, shift + 10, tool="get_parent", span=f"parent-{shift}"),
        call(shift + 2, shift + 8, tool=child, span=f"child-{shift}", parent=f"parent-{shift}"),
    ]


def test_a_call_inside_of_a_served_call_is_absorbed_and_saved_once(recorded, call):
    calls = recorded(*nested(call, 0), *nested(call, 20))
    assert summary(calls, tools=("get_parent", "get_child")) == (1, 10, 1, 0, 0)


def test_a_call_inside_of_a_call_without_a_rule_is_served_itself(recorded, call):
    calls = recorded(*nested(call, 0), *nested(call, 20))
    assert summary(calls, tools=("get_child",)) == (1, 6, 0, 0, 0)


def test_a_call_inside_of_a_served_call_is_absorbed_whatever_it_is(recorded, call):
    second = [
        call(20, 30, tool="get_parent", span="p"),
        call(21, 22, tool="get_child", span="c", parent="p", failed=True),
        call(22, 23, tool="get_grandchild", span="g", parent="c"),
    ]
    calls = recorded(*nested(call, 0), *second)
    assert summary(calls, tools=("get_parent",)) == (1, 10, 2, 0, 0)


def test_an_absorbed_execution_stores_nothing(recorded, call):
    calls = recorded(
        *nested(call, 0), *nested(call, 20), call(70, 71, tool="get_child"), call(80, 81)
    )
    rules = {"tools": ("get_parent", "get_child"), "freshness": 55}
    assert ages(calls, **rules) == {20: 20}  # at 70 the child's result is of 2, not of 22
    assert ages(calls, freshness=55, tools=("get_child",)) == {22: 20}
    assert ages(calls, freshness=70, tools=("get_parent", "get_child")) == {20: 20, 70: 68}


def test_an_absorbed_writer_voids_nothing(recorded, call):
    calls = recorded(
        call(0, 10, tool="get_parent"),
        call(12, 13),
        call(20, 30, tool="get_parent", span="p"),
        call(22, 28, tool=WRITER, parent="p"),
        call(40, 41),
    )
    assert ages(calls, tools=("get_parent", "get_weather")) == {20: 20, 40: 28}
    assert ages(calls, tools=("get_weather",)) == {}


def test_calls_in_flight_are_counted_apart(recorded, call):
    calls = recorded(call(0, 5), call(3, 9), call(20, 22))
    assert ages(calls) == {20: 17}
    assert summary(calls) == (1, 2, 0, 1, 4)


def test_a_call_in_flight_that_ends_first_saves_no_time_by_waiting(recorded, call):
    assert summary(recorded(call(0, 10), call(3, 6))) == (0, 0, 0, 1, 0)


def test_waiting_is_for_the_first_of_the_running_executions_to_end(recorded, call):
    calls = recorded(call(0, 9), call(1, 4), call(2, 12), call(5, 6))
    # At 1: 4 ends before 9. At 2: from 4 to 12. At 5: served with the result of 1.
    assert summary(calls) == (1, 1, 0, 2, 8)


def test_an_excluded_identity_is_not_served(recorded, call):
    assert summary(recorded(call(0, 2), call(10, 13)), excluded=[0]) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("start", "expected"),
    [(59.999999999, 1), (60, 1), (60.000000001, 0)],
    ids=["fresh", "as old as allowed", "expired"],
)
def test_a_result_is_served_up_to_the_freshness(recorded, call, start, expected):
    assert summary(recorded(call(0, 5), call(start, 70)))[0] == expected


@pytest.mark.parametrize("freshness", [0, -1])
def test_a_freshness_of_zero_or_less_serves_nothing(recorded, call, freshness):
    assert summary(recorded(call(0), call(0), call(0)), freshness=freshness)[0] == 0


def test_a_rule_for_some_identities_serves_these_only(recorded, call):
    calls = recorded(
        *(call(t, t + 1, arguments=a) for t, a in [(0, "a"), (2, "b"), (4, "a"), (6, "b")])
    )
    columns = calls.columns()
    permission = Permission(0, 60 * SECOND, only=np.array([1], np.int32))
    allowed = freshness_by_identity(columns, [permission])
    serving = serve_calls(columns, read_spans(calls.store, columns), allowed)
    assert serving.served.tolist() == [3]


def test_without_rules_nothing_is_served(recorded, call):
    assert summary(recorded(call(0, 2), call(1, 3), call(10, 13)), tools=()) == (0, 0, 0, 0, 0)


def test_a_served_call_whose_own_result_differs_is_stale(recorded, call):
    calls = recorded(
        call(0, 1), call(10, 11, result="other"), call(20, 21, result=None), call(30, 31)
    )
    columns, serving = served(calls)
    savings = savings_of(calls.store, columns, serving, wall_seconds=0.0)
    assert (savings.calls, savings.stale_calls) == (3, 1)


def test_a_verify_sample_is_no_saving(recorded, call):
    calls = recorded(call(0, 1), call(10, 11, verify_match=True), call(20, 21))
    assert ages(calls) == {20: 20}


# --- a literal pass in order of time -------------------------------------------------------------


def _literally(calls, freshness_ns, tools):
    """Return {row: source} of served calls, absorbed rows, and {row: wait} of those in flight."""
    rows = {c.span: row for row, c in enumerate(calls)}

    def callers(row):
        while (row := rows.get(calls[row].parent)) is not None:
            yield row

    order = sorted(
        range(len(calls)),
        key=lambda row: (calls[row].start_ns, -calls[row].end_ns, len(list(callers(row))), row),
    )
    source, absorbed, waits = {}, set(), {}
    executions, writes = [], []
    for row in order:
        c = calls[row]
        if any(caller in source for caller in callers(row)):
            absorbed.add(row)
            continue
        if c.tool == WRITER:
            writes.append(c)
            continue
        if c.failed or c.tool not in tools:
            continue
        mine = [
            e for e in executions if (calls[e].tool, calls[e].arguments) == (c.tool, c.arguments)
        ]
        stored = [
            e
            for e in mine
            if calls[e].end_ns <= c.start_ns
            and calls[e].result is not None
            and not any(
                w.run == calls[e].run
                and w.start_ns <= calls[e].end_ns
                and calls[e].start_ns <= w.end_ns
                for w in writes
            )
        ]
        newest = max(stored, key=lambda e: (calls[e].start_ns, e), default=None)
        if (
            newest is not None
            and c.start_ns - calls[newest].start_ns <= freshness_ns
            and not any(
                w.run == c.run and w.start_ns <= c.start_ns and calls[newest].start_ns <= w.end_ns
                for w in writes
            )
        ):
            source[row] = newest
            continue
        running = [calls[e].end_ns for e in mine if calls[e].end_ns > c.start_ns]
        if running:
            waits[row] = max(0, c.end_ns - min(running))
        executions.append(row)
    return source, absorbed, waits


_history = st.lists(
    st.fixed_dictionaries(
        {
            "tool": st.sampled_from(["get_a", "get_a", "get_b", "get_c", WRITER]),
            "arguments": st.sampled_from(["x", "x", "y"]),
            "result": st.sampled_from(["r", "r", "s", None]),
            "run": st.sampled_from(["one", "one", "two"]),
            "failed": st.sampled_from([False] * 5 + [True]),
            "lasts": st.integers(1, 12),
            "after": st.integers(1, 6),
            "inside": st.booleans(),
        }
    ),
    max_size=25,
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=_history, freshness=st.sampled_from([1, 5, 20, 100]))
def test_what_is_served_is_what_a_literal_pass_serves(recorded, call, rows, freshness):
    calls, start, last = [], 0, {}
    for nth, row in enumerate(rows):
        start += row.pop("after")  # no two calls start at once
        lasts, inside = row.pop("lasts"), row.pop("inside")
        parent = last.get(row["run"]) if inside else None
        calls.append(call(start, start + lasts, span=f"{nth:03}", parent=parent, **row))
        last[row["run"]] = f"{nth:03}"
    history = recorded(*calls)
    tools = ("get_a", "get_b")
    _, serving = served(history, freshness=freshness, tools=tools)
    expected = _literally(history.calls, freshness * SECOND, tools)
    got = (
        dict(zip(serving.served.tolist(), serving.source.tolist(), strict=True)),
        set(serving.absorbed.tolist()),
        dict(zip(serving.waiting.tolist(), serving.waiting_ns.tolist(), strict=True)),
    )
    assert got == expected


def test_a_trace_that_puts_a_call_before_its_caller_is_decided_all_the_same(recorded, call):
    calls = recorded(
        call(0, 1, span="child", parent="parent"), call(1, 10, span="parent"), call(20, 21)
    )
    assert summary(calls) == summary(calls)


def test_permissions_follow_from_histories(recorded, call):
    columns = recorded(
        call(0, tool="get_a"), call(1, tool="get_b"), call(2, tool="get_b")
    ).columns()
    codes = [history.code for history in histories(columns)]
    allowed = freshness_by_identity(columns, [Permission(codes[1], 5)])
    assert allowed.tolist() == [-1, 5]
