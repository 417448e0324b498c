"""Groups: the calls of one identity."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visceral_cli.analysis import groups as groups_module
from visceral_cli.analysis.groups import GroupList, find_groups, group_figures
from visceral_cli.analysis.verdicts import judge_calls, verdict_table
from visceral_cli.analysis.writers import writers_of
from visceral_cli.settings import Settings

SECOND = 1_000_000_000


def groups(recorded_calls, scope="all", **part):
    columns = recorded_calls.columns(Settings(scope=scope))
    found = find_groups(
        columns, judge_calls(columns, writers_of(columns)), by_trace=scope == "trace"
    )
    return group_figures(recorded_calls.store, found, **part)


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_group_tells_what_was_seen_of_its_repeats(recorded, call):
    (group,) = groups(
        recorded(
            call(0, 1, failed=True, run="one"),
            call(10, 12, run="one"),
            call(20, 23, run="one"),
            call(60, 64, run="two"),
            call(70, 75, result="s", run="two"),
            call(90, 96, result="r", run="two"),
            call(91, 97, result="s", run="two", version=None),
            call(None, result=None, run="three"),
        )
    )
    assert (group.tool, group.input_hash, group.hash_v) == ("get_weather", sha("a"), 1)
    assert (group.calls, group.failed, group.traces, group.distinct_results) == (8, 1, 3, 2)
    assert (group.repeats, group.same_result, group.changed) == (6, 3, 2)
    assert (group.in_flight, group.retries, group.after_writer, group.unverifiable) == (0, 1, 0, 1)
    assert (group.first_start_ns, group.last_start_ns) == (0, 91 * SECOND)
    assert (group.tool_seconds, group.repeat_seconds) == (27, 13)
    assert (group.largest_stable_age_seconds, group.smallest_changed_age_seconds) == (40, 10)


def test_what_was_not_seen_is_none(recorded, call):
    (group,) = groups(recorded(call(0, 1, arguments="x"), call(0.5, 2, arguments="x")))
    assert (group.in_flight, group.same_result) == (1, 0)
    assert group.largest_stable_age_seconds is None
    assert group.smallest_changed_age_seconds is None
    (group,) = groups(recorded(call(None), call(None)))
    assert (group.first_start_ns, group.last_start_ns, group.unverifiable) == (None, None, 2)


def test_a_group_without_a_repeat_is_not_listed(recorded, call):
    calls = recorded(
        call(0, 1, arguments="once"),
        call(0, 1, arguments="retried", failed=True),
        call(2, 3, arguments="retried"),
        call(0, 1, arguments="failing", failed=True),
        call(2, 3, arguments="failing", failed=True),
        call(0, 1, arguments="written", tool="send_mail"),
        call(2, 3, arguments="written", tool="send_mail"),
        call(0, 1, arguments=None),
        call(2, 3, arguments=None),
        call(4, 5, arguments="twice"),
        call(6, 7, arguments="twice"),
    )
    assert [group.input_hash for group in groups(calls)] == [sha("twice")]


def test_groups_come_with_most_repeated_seconds_first_then_in_order_of_their_first_call(
    recorded, call
):
    calls = recorded(
        *(
            call(start, start + lasts, arguments=name)
            for name, lasts, first in [("c", 1, 0), ("a", 1, 1), ("b", 5, 2)]
            for start in (first, first + 100)
        )
    )
    assert [group.input_hash for group in groups(calls)] == [sha("b"), sha("c"), sha("a")]
    assert [group.input_hash for group in groups(calls, limit=1)] == [sha("b")]
    assert [group.input_hash for group in groups(calls, first=1, limit=5)] == [sha("c"), sha("a")]
    assert groups(calls, first=3) == []


def test_in_one_trace_groups_are_of_a_trace_and_name_it(recorded, call):
    calls = recorded(
        *(call(t, t + 1, run=run) for t, run in [(0, "p"), (2, "q"), (4, "p"), (6, "q")])
    )
    assert [(group.trace_id, group.calls) for group in groups(calls, "trace")] == [
        ("p", 2),
        ("q", 2),
    ]
    assert [(group.trace_id, group.calls) for group in groups(calls, "all")] == [("", 4)]


def test_a_group_with_an_empty_result_says_so(recorded, call):
    calls = recorded(call(0, 1, empty_result=True), call(2, 3))
    assert groups(calls)[0].empty_result
    assert not groups(recorded(call(0, 1), call(2, 3)))[0].empty_result


def test_calls_in_services_with_their_own_namespaces_are_two_groups(recorded, call):
    calls = recorded(
        *(call(t, t + 1, namespace=n, result=n) for n in ("docs", "shop") for t in (0, 10))
    )
    found = groups(calls)
    assert [(group.namespace, group.same_result, group.changed) for group in found] == [
        ("docs", 1, 0),
        ("shop", 1, 0),
    ]


_rows = st.lists(
    st.fixed_dictionaries(
        {
            "start": st.integers(0, 50),
            "arguments": st.sampled_from(["x", "y", "z"]),
            "result": st.sampled_from(["r", "s", None]),
            "run": st.sampled_from(["one", "two"]),
            "failed": st.booleans(),
        }
    ),
    max_size=20,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=_rows)
def test_the_figures_of_a_group_are_those_of_its_calls(recorded, call, rows):
    history = recorded(*(call(end=row["start"] + 2, **row) for row in rows))
    columns = history.columns()
    judged = judge_calls(columns, writers_of(columns))
    table = verdict_table(columns, judged)
    verdicts = table.column("verdict").to_pylist()
    ages = table.column("age_ns").to_pylist()
    for group in groups(history):
        own = [row for row, c in enumerate(history.calls) if sha(c.arguments) == group.input_hash]
        assert group.calls == len(own)
        assert group.repeats == sum(bool(judged.repeat[row]) for row in own)
        assert group.distinct_results == len({history.calls[r].result for r in own} - {None})
        assert group.traces == len({history.calls[row].run for row in own})
        stable = [ages[row] for row in own if verdicts[row] == "reusable"]
        assert (group.largest_stable_age_seconds or 0) * SECOND == max(stable, default=0)
        assert group.same_result == len(stable)
    listed = {group.input_hash for group in groups(history)}
    assert listed == {sha(c.arguments) for row, c in enumerate(history.calls) if judged.repeat[row]}


@pytest.mark.parametrize("block", [1, 2, 3, 4, 100])
def test_groups_are_the_same_however_many_calls_are_measured_at_once(
    recorded, call, monkeypatch, block
):
    calls = recorded(*(call(n, n + 1, arguments="xyxxz"[n % 5]) for n in range(20)))
    whole = groups(calls)
    monkeypatch.setattr(groups_module, "_BLOCK", block)
    assert groups(calls) == whole
    assert [group.calls for group in whole] == [12, 4, 4]


def test_without_calls_there_is_no_group(recorded):
    assert groups(recorded()) == []


def test_a_list_of_groups_looks_up_names_a_part_at_a_time(recorded, call, monkeypatch):
    monkeypatch.setattr(groups_module, "_FIRST_NAMES", 2)
    monkeypatch.setattr(groups_module, "_MORE_NAMES", 3)
    calls = recorded(*(call(start, arguments=f"{start % 9}", end=start + 1) for start in range(18)))
    columns = calls.columns()
    groups = find_groups(columns, judge_calls(columns, writers_of(columns)))
    listed = GroupList(calls.store, groups)
    assert listed[1] == group_figures(calls.store, groups)[1]
    assert list(listed) == group_figures(calls.store, groups)
    assert len(listed) == 9
