"""Time that only the calls in question cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visceral_cli.analysis import wall
from visceral_cli.analysis.spans import read_spans
from visceral_cli.analysis.wall import wall_ns

SECOND = 1_000_000_000


def covered_seconds(recorded_calls, chosen):
    columns = recorded_calls.columns()
    flags = np.array([chosen(c) for c in recorded_calls.calls], np.bool_)
    (covered,) = wall_ns(columns, read_spans(recorded_calls.store, columns), [flags])
    return covered / SECOND


@pytest.mark.parametrize(
    ("served", "others", "expected"),
    [
        ([(0, 10)], [], 10),
        ([(0, 10)], [(0, 4)], 6),
        ([(0, 10), (0, 4)], [], 10),
        ([(0, 10)], [(0, 100)], 0),
        ([(0, 3), (5, 9)], [(2, 6)], 5),
        ([(0, 10)], [(10, 20)], 10),
        ([(0, 10)], [(3, 3)], 10),
        ([(5, 5)], [], 0),
        ([(0, 10), (0, 10)], [(0, 10)], 0),
    ],
)
@pytest.mark.parametrize("other_is", ["span", "call"])
def test_time_counts_where_nothing_else_covers_it(
    recorded, call, other_span, served, others, expected, other_is
):
    calls = [call(*times, tool="get_served") for times in served]
    spans = []
    if other_is == "call":
        calls += [call(*times, tool="get_other") for times in others]
    else:
        spans = [other_span(*times, f"o{n}") for n, times in enumerate(others)]
    found = covered_seconds(recorded(*calls, spans=spans), lambda c: c.tool == "get_served")
    assert found == expected


def test_a_span_above_hides_nothing_and_one_inside_of_the_call_is_gone_with_it(
    recorded, call, other_span
):
    calls = recorded(
        call(2, 8, span="served", parent="agent"),
        spans=[other_span(0, 10, "agent"), other_span(3, 7, "http", "served")],
    )
    assert covered_seconds(calls, lambda _: True) == 6


def test_a_span_inside_of_another_call_hides_the_time(recorded, call, other_span):
    calls = recorded(
        call(0, 10, tool="get_served"),
        call(0, 10, span="outer", tool="get_outer"),
        spans=[other_span(4, 7, "inside", "outer")],
    )
    assert covered_seconds(calls, lambda c: c.tool == "get_served") == 7


def test_a_call_inside_of_a_chosen_call_hides_nothing(recorded, call):
    calls = recorded(
        call(0, 10, span="outer", tool="get_outer"),
        call(4, 7, span="inner", parent="outer", tool="get_inner"),
    )
    assert covered_seconds(calls, lambda c: c.tool == "get_outer") == 10
    assert covered_seconds(calls, lambda c: c.tool == "get_inner") == 3
    assert covered_seconds(calls, lambda _: True) == 10


def test_other_traces_hide_nothing(recorded, call):
    calls = recorded(call(0, 10, tool="get_served"), call(0, 10, run="another"))
    assert covered_seconds(calls, lambda c: c.tool == "get_served") == 10


def test_a_call_without_times_covers_nothing(recorded, call):
    assert covered_seconds(recorded(call(None), call(0, 1)), lambda _: True) == 1


def test_several_sets_are_measured_at_once(recorded, call):
    calls = recorded(call(0, 1), call(1, 3))
    columns = calls.columns()
    sets = [np.array(chosen, np.bool_) for chosen in ([True, True], [True, False], [False, False])]
    measured = wall_ns(columns, read_spans(calls.store, columns), sets)
    assert measured == [3 * SECOND, SECOND, 0]


_times = st.tuples(st.integers(0, 20), st.integers(0, 8), st.sampled_from(["one", "two", "three"]))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    served=st.lists(_times, max_size=8),
    others=st.lists(_times, max_size=8),
    block=st.integers(1, 5),
)
def test_time_is_that_of_a_second_by_second_count(
    recorded, call, other_span, served, others, block
):
    calls = [call(start, start + lasts, run=run) for start, lasts, run in served]
    spans = [
        other_span(start, start + lasts, f"o{n}", run=run)
        for n, (start, lasts, run) in enumerate(others)
    ]
    expected = 0
    for run in ("one", "two", "three"):
        ours = {t for s, n, r in served if r == run for t in range(s, s + n)}
        theirs = {t for s, n, r in others if r == run for t in range(s, s + n)}
        expected += len(ours - theirs)
    history = recorded(*calls, spans=spans)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wall, "_BLOCK", block)  # cut between traces anywhere
        assert covered_seconds(history, lambda _: True) == expected
