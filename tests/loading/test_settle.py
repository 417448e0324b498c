"""Copies set aside, and calls in the order of time with whom they belong to."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.calls import merge
from visceral_cli.calls.conventions import CONVENTIONS
from visceral_cli.store.database import run_file, temporary_store


def calls(store, columns="span_id, call_key"):
    return store.execute(f"SELECT {columns} FROM tool_call ORDER BY call_key").fetchall()


def test_a_span_that_was_exported_three_times_is_one_span_and_one_call(span, fill):
    again = [span(7, arguments={"q": "a"}), span(8, arguments={"q": "b"})]
    with fill(again, again, again) as store:
        assert store.execute("SELECT count(*) FROM _span_record").fetchone() == (6,)
        assert store.execute("SELECT count(*) FROM span").fetchone() == (2,)
        assert [row[0][-1] for row in calls(store)] == ["7", "8"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_differing_copies_the_one_with_the_later_end_stays(span, fill, order):
    copies = [span(7, end=1), span(7, end=2)]
    with fill([copies[order[0]]], [copies[order[1]]]) as store:
        assert calls(store, "duration_ns") == [(2_000_000_000,)]


def test_of_copies_that_end_together_the_one_with_more_attributes_stays(span, fill):
    with fill([span(7)], [span(7, arguments={"q": "a"})], [span(7)]) as store:
        assert calls(store, "identity_missing") == [(None,)]


def test_equal_span_ids_of_two_traces_are_two_spans(span, fill):
    with fill([span(7, trace=1)], [span(7, trace=2)]) as store:
        assert len(calls(store)) == 2


def test_calls_are_numbered_by_time_whatever_the_order_of_files(span, fill):
    late, early = span(1, start=5, end=6), span(2, start=1, end=2)
    with fill([late], [early]) as store:
        assert [row[0][-1] for row in calls(store)] == ["2", "1"]
        assert [row[1] for row in calls(store)] == [0, 1]


def test_calls_that_start_together_are_in_order_of_end_then_ids(span, fill):
    with fill([span(3, end=2), span(2, end=1), span(1, end=2)]) as store:
        assert [row[0][-1] for row in calls(store)] == ["2", "1", "3"]


@pytest.mark.parametrize(("start", "end", "known"), [(2, 3, True), (3, 3, True), (4, 3, False)])
def test_a_call_that_ends_before_it_starts_has_no_times(span, fill, start, end, known):
    with fill([span(1, start=start, end=end)]) as store:
        assert calls(store, "start_ns IS NOT NULL") == [(known,)]


def test_a_call_without_times_stands_last(span, fill):
    with fill([span(1, start=5, end=1), span(2, start=6, end=7)]) as store:
        assert [row[0][-1] for row in calls(store)] == ["2", "1"]


def test_a_session_told_by_another_span_of_the_trace_is_the_call_s(span, fill):
    chat = span(1, tool=None, session__id="s-1", user__id="u-1")
    with fill([chat, span(2, parent=1), span(3, trace=2)]) as store:
        assert calls(store, "session, user_id") == [("s-1", "u-1"), (None, None)]


def test_a_trace_of_two_sessions_gives_none_to_its_calls(span, fill):
    chats = [span(n, tool=None, session__id=f"s-{n}") for n in (1, 2)]
    with fill([*chats, span(3, parent=1)]) as store:
        assert calls(store, "session") == [(None,)]


def test_a_call_s_own_session_is_believed(span, fill):
    chat = span(1, tool=None, session__id="s-1")
    with fill([chat, span(2, parent=1, session__id="own")]) as store:
        assert calls(store, "session") == [("own",)]


@pytest.mark.parametrize(
    ("service", "namespace"), [("desk", "desk"), (None, "")], ids=["a service", "no service"]
)
def test_the_service_is_the_namespace(span, export, fill, service, namespace):
    with fill(export([span(1)], service=service) + "\n") as store:
        assert calls(store, "namespace") == [(namespace,)]


def test_the_conventions_that_tell_phases_are_named_as_the_table_names_them():
    sql = (resources.files("visceral_cli.loading") / "settle.sql").read_text()
    (named,) = re.findall(r"convention IN \(([^)]*)\)", sql)
    known = {row.name for row in CONVENTIONS}
    phases = {name.strip(" '") for name in named.split(",")}
    assert phases == {merge.PHASED, merge.EXECUTION}
    assert phases <= known


@pytest.fixture(scope="module")
def views():
    """An empty store in which the views of `settle` are defined."""
    with temporary_store() as store:
        run_file(store, "visceral_cli.loading", "settle.sql")
        yield store


CALL_OF_A_TRACE = st.tuples(
    st.sampled_from("ab"),  # trace
    st.sampled_from("xy"),  # tool
    st.sampled_from(["otel-genai", "mcp", merge.PHASED]),
    st.sampled_from([None, "client", "server"]),
    st.sampled_from([1, 3]),
)


@given(st.lists(CALL_OF_A_TRACE, max_size=6))
def test_traces_in_which_several_tell_of_one_tool_are_found_among_those_that_hashes_tell(
    views, told
):
    views.execute("DELETE FROM _call_record")
    for row in told:
        views.execute(
            "INSERT INTO _call_record (record, file_id, trace_id, span_id, position, tool, kind,"
            " convention, scope, span_kind, failed, recorded_hash, hash_disagrees, empty_result,"
            " unnamed_arguments) VALUES (0, 0, $1, '', 0, $2, 'tool', $3, $4, $5,"
            " FALSE, FALSE, FALSE, FALSE, FALSE)",
            row,
        )
    several = set()
    for trace, tool in {row[:2] for row in told}:
        tellers = [row[2:] for row in told if row[:2] == (trace, tool)]
        differ = any(len({*column} - {None}) > 1 for column in zip(*tellers, strict=True))
        if differ or any(convention == merge.PHASED for convention, *_ in tellers):
            several.add((trace,))
    assert {*views.execute("SELECT trace_id FROM _told_by_several").fetchall()} == several
    perhaps = views.execute("SELECT 1 FROM _perhaps_told_by_several LIMIT 1").fetchall()
    assert perhaps or not several
