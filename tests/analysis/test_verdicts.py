"""The verdict on each call: worked cases, and a literal reading of the definition."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visceral_cli.analysis.columns import read_calls
from visceral_cli.analysis.figures import Verdict
from visceral_cli.analysis.verdicts import (
    VERDICTS,
    judge_calls,
    store_verdicts,
    verdict_table,
)
from visceral_cli.analysis.writers import writers_of
from visceral_cli.settings import Settings

SECOND = 1_000_000_000
WRITER = "send_mail"


def judged(recorded_calls, scope="all"):
    calls = recorded_calls.columns(Settings(scope=scope))
    return verdict_table(calls, judge_calls(calls, writers_of(calls)))


def verdicts(recorded_calls, scope="all"):
    return judged(recorded_calls, scope).column("verdict").to_pylist()


def test_the_second_of_two_equal_calls_is_reusable_and_names_its_source(recorded, call):
    table = judged(recorded(call(0, 1), call(10, 11)))
    assert table.to_pylist() == [
        {"call_key": 0, "verdict": "first", "source_call_key": None, "age_ns": None},
        {"call_key": 1, "verdict": "reusable", "source_call_key": 0, "age_ns": 10 * SECOND},
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"result": "other"}, "changed"),
        ({"result": None}, "unverifiable"),
        ({"failed": True}, "failed"),
        ({"served": True}, "served"),
        ({"served": True, "verify_match": True}, "verify"),
        ({"verify_match": False}, "verify"),
        ({"arguments": None}, "no-identity"),
        ({"arguments": "b"}, "first"),
        ({"version": "2"}, "first"),
        ({"hash_v": 2}, "first"),
        ({"namespace": "shop"}, "first"),
        ({"kind": "retriever"}, "first"),
        ({"tool": "get_time"}, "first"),
        ({"run": "another"}, "reusable"),
        ({"readonly": False}, "writer"),
        ({"start": None}, "unverifiable"),
        ({"has_end": False}, "unverifiable"),
        ({"failed": True, "arguments": None}, "failed"),
    ],
    ids=str,
)
def test_the_verdict_on_a_call_ten_seconds_after_an_equal_one(recorded, call, change, expected):
    first = call(0, 1, readonly=change.get("readonly"))
    assert verdicts(recorded(first, call(**{"start": 10, "end": 11} | change)))[-1] == expected


def test_in_one_trace_only_calls_of_that_trace_are_repeats(recorded, call):
    calls = recorded(call(0, 1), call(10, 11, run="another"), call(20, 21))
    assert verdicts(calls, "trace") == ["first", "first", "reusable"]
    assert verdicts(calls, "all") == ["first", "reusable", "reusable"]


def test_a_source_without_a_known_result_makes_the_call_unverifiable(recorded, call):
    table = judged(recorded(call(0, 1, result=None), call(10, 11), call(20, 21)))
    assert table.column("verdict").to_pylist() == ["first", "unverifiable", "reusable"]
    assert table.column("source_call_key").to_pylist() == [None, 0, 1]


@pytest.mark.parametrize(
    ("start", "expected"),
    [(9.999999999, "in-flight"), (10, "reusable"), (10.000000001, "reusable")],
    ids=["before it ends", "as it ends", "after it ended"],
)
def test_a_call_is_in_flight_until_the_earlier_one_has_ended(recorded, call, start, expected):
    assert verdicts(recorded(call(0, 10), call(start, 20))) == ["first", expected]


def test_a_finished_result_beats_one_in_flight(recorded, call):
    calls = recorded(
        call(0, 1, result="old"), call(5, 50, result="new"), call(10, 11, result="old")
    )
    table = judged(calls)
    assert table.column("verdict").to_pylist() == ["first", "changed", "reusable"]
    assert table.column("source_call_key").to_pylist() == [None, 0, 0]


def test_the_execution_that_began_last_is_the_stored_one_whichever_ended_first(recorded, call):
    calls = recorded(
        call(0, 10, result="old"), call(3, 6, result="new"), call(11, 12, result="new")
    )
    table = judged(calls)
    assert table.column("verdict").to_pylist() == ["first", "in-flight", "reusable"]
    assert table.column("source_call_key").to_pylist() == [None, None, 1]


def test_of_calls_at_one_instant_the_later_row_is_answered_by_the_one_before(recorded, call):
    table = judged(recorded(call(5), call(5), call(5)))
    assert table.column("source_call_key").to_pylist() == [None, 0, 1]
    assert table.column("age_ns").to_pylist() == [None, 0, 0]


def test_what_a_call_in_flight_would_save_is_the_wait_for_the_first_of_the_running_ones(
    recorded, call
):
    calls = recorded(call(0, 5), call(1, 4), call(3, 9)).columns()
    found = judge_calls(calls, writers_of(calls))
    assert found.in_flight_ns.tolist() == [0, 0, 5 * SECOND]


def test_a_call_after_failures_only_is_a_retry_and_no_repeat(recorded, call):
    calls = recorded(call(0, 1, failed=True), call(10, 11, failed=True), call(20, 21), call(30, 31))
    columns = calls.columns()
    found = judge_calls(columns, writers_of(columns))
    assert verdicts(calls) == ["failed", "failed", "retry", "reusable"]
    assert found.repeat.tolist() == [False, False, False, True]


def test_a_failed_call_is_never_a_source(recorded, call):
    calls = recorded(call(0, 1), call(10, 11, failed=True, result="x"), call(20, 21))
    assert judged(calls).column("source_call_key").to_pylist() == [None, None, 0]


def test_a_verified_call_is_a_source_and_a_served_one_is_not(recorded, call):
    calls = recorded(
        call(0, 1, served=True), call(10, 11), call(20, 21, verify_match=True), call(30, 31)
    )
    table = judged(calls)
    assert table.column("verdict").to_pylist() == ["served", "first", "verify", "reusable"]
    assert table.column("source_call_key").to_pylist() == [None, None, None, 2]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (11, 19, "after-writer"),
        (11, 20, "after-writer"),
        (20, 20, "after-writer"),
        (20.000000001, 21, "reusable"),
        (1.000000001, 1.5, "after-writer"),
        (1, 1, "after-writer"),
        (0, 0, "after-writer"),
        (-1, -0.000000001, "reusable"),
        (-1, 30, "after-writer"),
    ],
    ids=[
        "between",
        "until the call starts",
        "as the call starts",
        "after the call has started",
        "after the execution has ended",
        "as the execution ends",
        "as the execution starts",
        "before the execution starts",
        "all the time",
    ],
)
@pytest.mark.parametrize("failed", [False, True], ids=["written", "failed"])
def test_a_writer_of_the_run_voids_older_results(recorded, call, start, end, expected, failed):
    writer = call(start, end, tool=WRITER, failed=failed)
    calls = recorded(call(0, 1), writer, call(20, 21))
    found = dict(zip([c.tool for c in calls.calls], verdicts(calls), strict=True))
    assert found == {"get_weather": expected, WRITER: "writer"}


def test_a_writer_voids_nothing_for_other_runs(recorded, call):
    calls = recorded(call(0, 1), call(5, 6, tool=WRITER), call(10, 11, run="another"))
    assert verdicts(calls) == ["first", "writer", "reusable"]


def test_a_result_made_beside_a_writer_of_its_run_is_stored_for_no_run(recorded, call):
    calls = recorded(
        call(0, 1, run="another"),
        call(10, 12, result="half written"),
        call(11, 20, tool=WRITER),
        call(30, 31, run="another"),
        call(40, 41),
    )
    table = judged(calls)
    assert table.column("verdict").to_pylist() == [
        "first",
        "changed",
        "writer",
        "reusable",
        "reusable",
    ]
    assert table.column("source_call_key").to_pylist() == [None, 0, None, 0, 3]


def test_a_call_whose_only_earlier_execution_a_writer_touched_comes_after_a_writer(recorded, call):
    calls = recorded(call(0, 2), call(1, 5, tool=WRITER), call(10, 11, run="another"))
    assert verdicts(calls) == ["first", "writer", "after-writer"]


@pytest.mark.parametrize(
    "unknown", [{"start": None}, {"start": 30, "has_end": False}], ids=["no times", "no end"]
)
def test_a_write_of_unknown_times_may_have_been_at_any_time(recorded, call, unknown):
    calls = recorded(call(0, 1), call(40, 41), call(tool=WRITER, **unknown))
    assert verdicts(calls).count("after-writer") == 1


def test_a_writer_that_the_runtime_answered_did_not_write(recorded, call):
    writer = call(5, 6, tool=WRITER, served=True)
    assert verdicts(recorded(call(0, 1), writer, call(10, 11))) == ["first", "writer", "reusable"]


def test_the_table_of_verdicts_in_the_store_has_a_row_per_call(recorded, call):
    calls = recorded(call(0, 1), call(10, 11), call(20, 21, failed=True))
    store_verdicts(calls.store, judged(calls))
    store_verdicts(calls.store, judged(calls))
    rows = calls.store.execute(
        "SELECT verdict, age_ns FROM tool_call JOIN call_verdict USING (call_key) ORDER BY call_key"
    ).fetchall()
    assert rows == [("first", None), ("reusable", 10 * SECOND), ("failed", None)]


def test_there_may_be_no_call_at_all(recorded):
    assert judged(recorded()).num_rows == 0


def test_judging_twice_gives_the_same(recorded, call):
    calls = recorded(call(0, 1), call(0.5, 3), call(10, 11), call(10, 11, result="b"))
    assert judged(calls).equals(judged(calls))


# --- a literal reading of the definition -----------------------------------------------------


def _literally(calls, scope):
    """Return (verdict, source, repeat) of each call, by going through all earlier ones."""

    def identity(c):
        parts = (c.namespace, c.tool, c.kind, c.version, c.hash_v, c.arguments)
        return (*parts, c.run) if scope == "trace" else parts

    def times(c):
        return c.start is not None and c.end_ns is not None and c.end_ns >= c.start_ns

    def writers(run):
        for w in calls:
            answered = w.served and w.verify_match is None
            if w.tool == WRITER and w.run == run and not answered:
                begin = float("-inf") if w.start is None else w.start_ns
                yield begin, w.end_ns if times(w) else float("inf")

    def executed(c):
        return not c.failed and not (c.served and c.verify_match is None)

    def stored(c):
        if not (executed(c) and times(c)):
            return False
        return not any(b <= c.end_ns and c.start_ns <= e for b, e in writers(c.run))

    found = []
    for row, c in enumerate(calls):
        earlier = [e for e in calls[:row] if e.arguments and identity(e) == identity(c)]
        verdict, source = _verdict(c, earlier, times, writers, executed, stored)
        repeat = verdict in {
            "reusable",
            "changed",
            "in-flight",
            "after-writer",
            "unverifiable",
        } and any(executed(e) for e in earlier)
        found.append((verdict, source and calls.index(source), repeat))
    return found


def _verdict(c, earlier, times, writers, executed, stored):
    for verdict, applies in (
        ("writer", c.tool == WRITER),
        ("failed", c.failed),
        ("verify", c.verify_match is not None),
        ("served", c.served),
        ("no-identity", c.arguments is None),
        ("unverifiable", not times(c)),
    ):
        if applies:
            return verdict, None
    results = [e for e in earlier if stored(e) and e.end_ns <= c.start_ns]
    if not results:
        ran = [e for e in earlier if executed(e)]
        for verdict, applies in (
            ("in-flight", any(times(e) and e.end_ns > c.start_ns for e in ran)),
            ("after-writer", any(times(e) for e in ran)),
            ("unverifiable", bool(ran)),
            ("retry", any(e.failed for e in earlier)),
        ):
            if applies:
                return verdict, None
        return "first", None
    source = max(results, key=lambda e: e.start_ns)
    source = [e for e in results if e.start_ns == source.start_ns][-1]
    if any(begin <= c.start_ns and source.start_ns <= end for begin, end in writers(c.run)):
        return "after-writer", None
    if c.result is None or source.result is None:
        return "unverifiable", source
    return ("reusable" if c.result == source.result else "changed"), source


_rows = st.lists(
    st.fixed_dictionaries(
        {
            "start": st.one_of(st.none(), st.integers(0, 12)),
            "lasts": st.integers(0, 5),
            "has_end": st.sampled_from([True] * 9 + [False]),
            "tool": st.sampled_from(["get_a", "get_a", "get_b", WRITER]),
            "arguments": st.sampled_from(["x", "x", "x", "y", None]),
            "result": st.sampled_from(["r", "r", "s", None]),
            "run": st.sampled_from(["one", "two"]),
            "failed": st.sampled_from([False, False, False, True]),
            "served": st.sampled_from([False] * 5 + [True]),
            "verify_match": st.sampled_from([None] * 7 + [True, False]),
            "version": st.sampled_from([None, None, "2"]),
        }
    ),
    max_size=24,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=_rows, scope=st.sampled_from(["all", "trace"]))
def test_verdicts_are_those_of_a_literal_reading(recorded, call, rows, scope):
    calls = []
    for row in rows:
        start = row["start"]
        end = None if start is None else start + row.pop("lasts")
        row.pop("lasts", None)
        calls.append(call(end=end, **row))
    history = recorded(*calls)
    columns = read_calls(history.store, Settings(scope=scope))
    found = judge_calls(columns, writers_of(columns))
    table = verdict_table(columns, found)
    got = zip(
        table.column("verdict").to_pylist(),
        table.column("source_call_key").to_pylist(),
        found.repeat.tolist(),
        strict=True,
    )
    assert list(got) == _literally(history.calls, scope)


def test_every_verdict_has_a_code():
    assert set(VERDICTS) == set(Verdict)
